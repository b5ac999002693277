"""The map as text for a prompt: all of it, or first what bears on a few files, and never longer than was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.workshop.project.map.project_map import MappedFile, MappedSymbol, ProjectMap, SymbolUse

_FEWER_PLACES = (None, 40, 15, 6, 3, 1)
"""How many places that use one symbol are shown: all, or as many as there is room for."""


class _Less(NamedTuple):
    """What is left out where there is no room for all of it; of symbols in the end all but a few."""

    private: bool = False
    signatures: bool = False
    unused: bool = False
    places: bool = False
    but: frozenset[MappedSymbol] | None = None

    def shows(self, entry: MappedSymbol) -> bool:
        """Whether a symbol has its line."""
        if self.but is not None:
            return entry in self.but
        return bool(entry.uses) or not (self.unused or (self.private and entry.is_private))


_LESS = (
    _Less(),
    _Less(private=True),
    _Less(private=True, signatures=True),
    _Less(private=True, signatures=True, unused=True),
    _Less(private=True, signatures=True, unused=True, places=True),
)


def render_project_map(program: ProjectMap, budget_tokens: int) -> str:
    """The map with a line for each symbol, as much as the budget has room for; the last line says what is left out.

    First go private symbols, then signatures, then symbols that no other file uses, then the places of the uses, and
    then the symbols used least.
    """
    for less in _LESS:
        if _fits(text := _text(program, less), budget_tokens):
            return text
    used = sorted((it for file in program.files for it in file.symbols if it.uses), key=lambda it: -len(it.uses))
    fewest, most = 0, len(used)
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fits = _fits(_text(program, _only(used[:middle])), budget_tokens)
        fewest, most = (middle, most) if fits else (fewest, middle - 1)
    text = _text(program, _only(used[:fewest]))
    return text if _fits(text, budget_tokens) else ""


def _only(entries: Sequence[MappedSymbol]) -> _Less:
    return _LESS[-1]._replace(but=frozenset(entries))


def render_relevant_project_map(program: ProjectMap, paths: Collection[str], budget_tokens: int) -> str:
    """What the map knows about a few files, both ends of it, and after that as much of the other files as has room.

    Of what these files use it has the signature, of what they define every line elsewhere that uses it.
    """
    here = set(paths)
    texts = (_both_ends(program, here, most) for most in _FEWER_PLACES)
    text = next((it for it in texts if _fits(it, budget_tokens)), None)
    if text is None:
        return _shortened(_both_ends(program, here, _FEWER_PLACES[-1]), budget_tokens)
    head = f"{text}\n\nThe other files:\n" if text else "The other files:\n"
    others = ProjectMap(tuple(it for it in program.files if it.path not in here))
    rest = render_project_map(others, budget_tokens - _tokens(head))
    return head + rest if rest else text


def _both_ends(program: ProjectMap, here: Collection[str], most: int | None) -> str:
    return "\n\n".join(it for it in (_used_here(program, here), _used_elsewhere(program, here, most)) if it)


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def _fits(text: str, budget_tokens: int) -> bool:
    return _tokens(text) <= budget_tokens


def _text(program: ProjectMap, less: _Less) -> str:
    lines = [line for it in program.files if it.symbols for line in _file(it, less)]
    unread = [sanitize_line(it.path) for it in program.files if not it.symbols]
    if unread and not less.unused:
        lines.append(f"Without symbols: {', '.join(unread)}")
    return "\n".join((*lines, *_note(program, less)))


def _file(file: MappedFile, less: _Less) -> Iterator[str]:
    shown = [it for it in file.symbols if less.shows(it)]
    if less.unused and not shown:
        return
    imports = f" uses {', '.join(map(sanitize_line, file.imports))}" if file.imports and not less.unused else ""
    yield f"{sanitize_line(file.path)}{imports}"
    for it in shown:
        places = f"{len(it.uses):,} places" if less.places else _places(it.uses)
        yield f"  {it.line} {_named(it, less.signatures)}{f' <- {places}' if it.uses else ''}"


def _named(entry: MappedSymbol, bare: bool = False) -> str:
    """`Cart.total: def total(self, rate)`; the kind and the name alone where there is no room."""
    if bare or not entry.signature:
        return f"{entry.kind} {entry.name}"
    return f"{entry.name}: {entry.signature}" if "." in entry.name else entry.signature


def _places(uses: Sequence[SymbolUse]) -> str:
    """Where a symbol is used, each file once: `a.py:3,9, b.py:4`."""
    by_file: dict[str, list[str]] = {}
    for it in uses:
        by_file.setdefault(sanitize_line(it.path), []).append(str(it.line))
    return ", ".join(f"{path}:{','.join(lines)}" for path, lines in by_file.items())


def _note(program: ProjectMap, less: _Less) -> Iterator[str]:
    hidden = [it for file in program.files for it in file.symbols if not less.shows(it)]
    used = sum(bool(it.uses) for it in hidden)
    private = sum(it.is_private and not it.uses for it in hidden)
    unused = len(hidden) - used - private
    told = [
        f"{private:,} private symbols" if private else "",
        "all signatures" if less.signatures else "",
        f"{unused:,} symbols that no other file uses" if unused else "",
        "what each file uses and the names of files without symbols" if less.unused else "",
        "where each symbol is used" if less.places else "",
        f"{used:,} symbols that are used less" if used else "",
    ]
    if any(told):
        yield f"Left out for want of room: {'; '.join(it for it in told if it)}."


def _used_here(program: ProjectMap, here: Collection[str]) -> str:
    """What the files use from others: its place, its signature, and where they use it."""
    lines: list[str] = []
    for file in program.files:
        for entry in file.symbols if file.path not in here else ():
            uses = [it for it in entry.uses if it.path in here]
            if uses:
                lines.append(f"  {sanitize_line(file.path)}:{entry.line} {_named(entry)} <- {_places(uses)}")
    return "\n".join(("Defined in other files and used here:", *lines)) if lines else ""


def _used_elsewhere(program: ProjectMap, here: Collection[str], most: int | None) -> str:
    """What the files define, with every line of other files that uses it."""
    lines: list[str] = []
    for file in program.files:
        for entry in file.symbols if file.path in here else ():
            uses = [it for it in entry.uses if it.path not in here]
            if uses:
                lines.append(f"  {sanitize_line(file.path)}:{entry.line} {_named(entry)}{_only_named(uses, most)}")
                lines.extend(_lines(uses, most))
    return "\n".join(("Defined here and used in other files:", *lines)) if lines else ""


def _only_named(uses: Sequence[SymbolUse], most: int | None) -> str:
    named = [it for it in uses if not it.text]
    more = f" and {len(named) - most:,} more files" if most is not None and len(named) > most else ""
    return f" <- {_places(named[:most])}{more}" if named else ""


def _lines(uses: Sequence[SymbolUse], most: int | None) -> Iterator[str]:
    written = _spread([it for it in uses if it.text])
    for it in written[:most]:
        inside = f" in {sanitize_line(it.enclosing_symbol)}" if it.enclosing_symbol else ""
        yield f"    {sanitize_line(it.path)}:{it.line}{inside}: {it.text}"
    if most is not None and len(written) > most:
        yield f"    and {len(written) - most:,} more places, left out for want of room"


def _spread(uses: Sequence[SymbolUse]) -> list[SymbolUse]:
    """The first use of each file before the second of any."""
    turns: dict[str, int] = {}
    ranked: list[tuple[int, SymbolUse]] = []
    for it in uses:
        turns[it.path] = turns.get(it.path, 0) + 1
        ranked.append((turns[it.path], it))
    return [it for _, it in sorted(ranked, key=lambda pair: (pair[0], pair[1].path, pair[1].line))]


def _shortened(text: str, budget_tokens: int) -> str:
    """As many of the lines as have room, and how many have none."""
    lines = text.split("\n")
    for kept in range(len(lines), -1, -1):
        shown = "\n".join((*lines[:kept], f"Left out for want of room: {len(lines) - kept:,} more lines."))
        if _fits(shown, budget_tokens):
            return shown
    return ""
