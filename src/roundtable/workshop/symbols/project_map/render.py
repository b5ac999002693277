"""The project map as text for a prompt, complete or limited to what matters for a few files, within a token budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.workshop.symbols.project_map.project_map import MappedFile, MappedSymbol, ProjectMap, SymbolUse

_USES_SHOWN = (None, 40, 15, 6, 3, 1)
"""The number of uses shown per symbol: all, or fewer to fit the budget."""


class _Omissions(NamedTuple):
    """The parts left out to fit the budget; in the last step all but a few symbols."""

    private: bool = False
    signatures: bool = False
    unused: bool = False
    places: bool = False
    but: frozenset[MappedSymbol] | None = None

    def shows(self, entry: MappedSymbol) -> bool:
        """Tell whether a symbol gets a line."""
        if self.but is not None:
            return entry in self.but
        return bool(entry.uses) or not (self.unused or (self.private and entry.is_private))


_OMISSION_STEPS = (
    _Omissions(),
    _Omissions(private=True),
    _Omissions(private=True, signatures=True),
    _Omissions(private=True, signatures=True, unused=True),
    _Omissions(private=True, signatures=True, unused=True, places=True),
)


def render_symbol_map_within_budget(program: ProjectMap, budget_tokens: int) -> str:
    """Return the map with one line per symbol, as far as the budget allows; the last line says what is left out.

    Left out first are private symbols, then signatures, symbols that no other file uses, places of uses, and last
    the least used symbols.
    """
    for omissions in _OMISSION_STEPS:
        if _fits(text := _render(program, omissions), budget_tokens):
            return text
    used = sorted(
        (symbol for file in program.files for symbol in file.symbols if symbol.uses),
        key=lambda symbol: -len(symbol.uses),
    )
    low, high = 0, len(used)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _fits(_render(program, _keep_only(used[:middle])), budget_tokens)
        low, high = (middle, high) if fits else (low, middle - 1)
    text = _render(program, _keep_only(used[:low]))
    return text if _fits(text, budget_tokens) else ""


def _keep_only(entries: Sequence[MappedSymbol]) -> _Omissions:
    return _OMISSION_STEPS[-1]._replace(but=frozenset(entries))


def render_symbol_map_of_files(program: ProjectMap, paths: Collection[str], budget_tokens: int) -> str:
    """Return what the map knows about a few files, then as much of the other files as the budget allows.

    It shows the signature of what these files use, and every line elsewhere that uses what they define.
    """
    focus = set(paths)
    texts = (_render_both_directions(program, focus, most) for most in _USES_SHOWN)
    text = next((candidate for candidate in texts if _fits(candidate, budget_tokens)), None)
    if text is None:
        return _cut_lines(_render_both_directions(program, focus, _USES_SHOWN[-1]), budget_tokens)
    head = f"{text}\n\nThe other files:\n" if text else "The other files:\n"
    others = ProjectMap(tuple(file for file in program.files if file.path not in focus))
    rest = render_symbol_map_within_budget(others, budget_tokens - _estimate_tokens(head))
    return head + rest if rest else text


def _render_both_directions(program: ProjectMap, focus: Collection[str], limit: int | None) -> str:
    return "\n\n".join(
        part for part in (_render_dependencies(program, focus), _render_uses(program, focus, limit)) if part
    )


def _estimate_tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def _fits(text: str, budget_tokens: int) -> bool:
    return _estimate_tokens(text) <= budget_tokens


def _render(program: ProjectMap, omissions: _Omissions) -> str:
    lines = [line for file in program.files if file.symbols for line in _render_file(file, omissions)]
    unread = [sanitize_line(file.path) for file in program.files if not file.symbols]
    if unread and not omissions.unused:
        lines.append(f"Without symbols: {', '.join(unread)}")
    return "\n".join((*lines, *_omission_note(program, omissions)))


def _render_file(file: MappedFile, omissions: _Omissions) -> Iterator[str]:
    shown = [symbol for symbol in file.symbols if omissions.shows(symbol)]
    if omissions.unused and not shown:
        return
    imports = f" uses {', '.join(map(sanitize_line, file.imports))}" if file.imports and not omissions.unused else ""
    yield f"{sanitize_line(file.path)}{imports}"
    for symbol in shown:
        places = f"{len(symbol.uses):,} places" if omissions.places else _join_places(symbol.uses)
        yield f"  {symbol.line} {_symbol_label(symbol, omissions.signatures)}{f' <- {places}' if symbol.uses else ''}"


def _symbol_label(entry: MappedSymbol, name_only: bool = False) -> str:
    """Return `Cart.total: def total(self, rate)`, or only kind and name if there is no room."""
    if name_only or not entry.signature:
        return f"{entry.kind} {entry.name}"
    return f"{entry.name}: {entry.signature}" if "." in entry.name else entry.signature


def _join_places(uses: Sequence[SymbolUse]) -> str:
    """Return where a symbol is used, each file once: `a.py:3,9, b.py:4`."""
    by_file: dict[str, list[str]] = {}
    for use in uses:
        by_file.setdefault(sanitize_line(use.path), []).append(str(use.line))
    return ", ".join(f"{path}:{','.join(lines)}" for path, lines in by_file.items())


def _omission_note(program: ProjectMap, omissions: _Omissions) -> Iterator[str]:
    hidden = [symbol for file in program.files for symbol in file.symbols if not omissions.shows(symbol)]
    used = sum(bool(symbol.uses) for symbol in hidden)
    private = sum(symbol.is_private and not symbol.uses for symbol in hidden)
    unused = len(hidden) - used - private
    notes = [
        f"{private:,} private symbols" if private else "",
        "all signatures" if omissions.signatures else "",
        f"{unused:,} symbols that no other file uses" if unused else "",
        "what each file uses and the names of files without symbols" if omissions.unused else "",
        "where each symbol is used" if omissions.places else "",
        f"{used:,} symbols that are used less" if used else "",
    ]
    if any(notes):
        yield f"Left out for lack of space: {'; '.join(note for note in notes if note)}."


def _render_dependencies(program: ProjectMap, focus: Collection[str]) -> str:
    """List what the files use from others: place, signature and uses."""
    lines: list[str] = []
    for file in program.files:
        for entry in file.symbols if file.path not in focus else ():
            uses = [use for use in entry.uses if use.path in focus]
            if uses:
                lines.append(
                    f"  {sanitize_line(file.path)}:{entry.line} {_symbol_label(entry)} <- {_join_places(uses)}"
                )
    return "\n".join(("Defined in other files and used here:", *lines)) if lines else ""


def _render_uses(program: ProjectMap, focus: Collection[str], limit: int | None) -> str:
    """List what the files define, with every line of other files that uses it."""
    lines: list[str] = []
    for file in program.files:
        for entry in file.symbols if file.path in focus else ():
            uses = [use for use in entry.uses if use.path not in focus]
            if uses:
                label = f"{_symbol_label(entry)}{_files_with_names_only(uses, limit)}"
                lines.append(f"  {sanitize_line(file.path)}:{entry.line} {label}")
                lines.extend(_use_lines(uses, limit))
    return "\n".join(("Defined here and used in other files:", *lines)) if lines else ""


def _files_with_names_only(uses: Sequence[SymbolUse], limit: int | None) -> str:
    names_only = [use for use in uses if not use.text]
    rest = f" and {len(names_only) - limit:,} more files" if limit is not None and len(names_only) > limit else ""
    return f" <- {_join_places(names_only[:limit])}{rest}" if names_only else ""


def _use_lines(uses: Sequence[SymbolUse], limit: int | None) -> Iterator[str]:
    with_text = _alternate_files([use for use in uses if use.text])
    for use in with_text[:limit]:
        inside = f" in {sanitize_line(use.enclosing_symbol)}" if use.enclosing_symbol else ""
        yield f"    {sanitize_line(use.path)}:{use.line}{inside}: {use.text}"
    if limit is not None and len(with_text) > limit:
        yield f"    and {len(with_text) - limit:,} more places, left out for lack of space"


def _alternate_files(uses: Sequence[SymbolUse]) -> list[SymbolUse]:
    """Sort uses so that the first use of each file comes before the second use of any."""
    turns: dict[str, int] = {}
    ranked: list[tuple[int, SymbolUse]] = []
    for use in uses:
        turns[use.path] = turns.get(use.path, 0) + 1
        ranked.append((turns[use.path], use))
    return [use for _, use in sorted(ranked, key=lambda pair: (pair[0], pair[1].path, pair[1].line))]


def _cut_lines(text: str, budget_tokens: int) -> str:
    """Return as many lines as fit the budget, and the number of omitted lines."""
    lines = text.split("\n")
    for count in range(len(lines), -1, -1):
        cut_text = "\n".join((*lines[:count], f"Left out for lack of space: {len(lines) - count:,} more lines."))
        if _fits(cut_text, budget_tokens):
            return cut_text
    return ""
