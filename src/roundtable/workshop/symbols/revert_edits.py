"""What a new version of a file lost or changed without having been asked, put back as it was.

A text that is said to be a whole file and holds only some of its functions: those are meant, and the rest stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from roundtable.workshop.symbols.fragments import SymbolVariant
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.splice import match_symbol_to_variant
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, find_counterpart_symbols
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal
from roundtable.workshop.symbols.transplant import splice_symbol_with_dependencies

_HOLDERS = frozenset({SymbolKind.CLASS, SymbolKind.SCOPE})


class RevertedEdits(NamedTuple):
    """The new version, and the symbols in it that are as they were before it."""

    source: bytes
    symbols: tuple[str, ...]


def revert_unrelated_symbol_edits(
    path: str, before: bytes, after: bytes, asked: Set[str], new: Set[str] = frozenset(), *, changed: bool
) -> RevertedEdits:
    """Put back what is gone and, with `changed`, what is another, unless its name was asked for; with what it needs.

    What has another name or comes from elsewhere now is not gone. What does not fit stays as it is. `new` are the names
    that the whole change defines: what is called so has moved, and what now uses one was changed for it.
    """
    was, now = parse_source_outline(path, before), parse_source_outline(path, after)
    found: list[str] = []
    if isinstance(was, SpliceRefusal) or isinstance(now, SpliceRefusal):
        return RevertedEdits(after, ())
    several = _several(was) | _several(now)
    names, stays = {it.name for it in was.symbols}, asked | new
    renamed = {symbol_text_without_name(now, it) for it in now.symbols if it.name not in names}
    for symbol in was.symbols:
        inside = symbol.container is not None and (
            symbol.container.name in found or symbol.container.kind not in _HOLDERS
        )
        if symbol.base_name in stays or symbol.name in several or symbol.kind is SymbolKind.PROTOTYPE or inside:
            continue
        there = find_counterpart_symbols(now, was, symbol)
        if there and (not changed or symbol.kind in _HOLDERS or _is_same(now, there, was, symbol)):
            continue
        if any(new & (_words(now, it) - _words(was, symbol)) for it in there):
            continue
        if not there and (
            symbol_text_without_name(was, symbol) in renamed or any(it.name == symbol.base_name for it in now.imports)
        ):
            continue
        made = _with_symbol_as_it_was(now, there, was, symbol)
        if made is not None:
            now = made
            found.append(symbol.name)
    return RevertedEdits(now.source, tuple(found))


def _several(file: Outline) -> set[str]:
    """The names that more than one symbol has, so that nobody knows which of them is meant."""
    return {name for name, times in Counter(it.name for it in file.symbols).items() if times > 1}


def symbol_text_without_name(file: Outline, symbol: Symbol) -> bytes:
    """What a symbol says, whatever it is called."""
    return re.sub(rb"\b%b\b" % re.escape(symbol.base_name.encode()), b"", _plain(file, symbol))


def _plain(file: Outline, symbol: Symbol) -> bytes:
    return file.symbol_text(symbol).replace(b"\r\n", b"\n")


def _words(file: Outline, symbol: Symbol) -> set[str]:
    return set(re.findall(r"\w+", file.symbol_text(symbol).decode("utf-8", "replace")))


def _is_same(now: Outline, there: Sequence[Symbol], was: Outline, symbol: Symbol) -> bool:
    return any(_plain(now, it) == _plain(was, symbol) for it in there)


def _with_symbol_as_it_was(now: Outline, there: Sequence[Symbol], was: Outline, symbol: Symbol) -> Outline | None:
    read = match_symbol_to_variant(now, SymbolQuery(tuple(symbol.name.split("."))), there, [SymbolVariant(was, symbol)])
    made = read if isinstance(read, SpliceRefusal) else splice_symbol_with_dependencies(read)
    again = made if isinstance(made, SpliceRefusal) else parse_source_outline(now.path, made.source)
    return None if isinstance(again, SpliceRefusal) else again


def find_partial_file_symbols(path: str, source: bytes, text: bytes, *, alone: bool) -> tuple[str, ...]:
    """The symbols that a text puts into a file, where it is plainly not all of it; none where it is.

    Plainly: it is made of symbols and imports alone, some of the file's symbols are not among them, and it does not
    begin as the file does. Nor does it only rename or remove some, which a text does that is `alone` about the file.
    """
    old, new = parse_source_outline(path, source), parse_source_outline(path, text)
    if isinstance(old, SpliceRefusal) or isinstance(new, SpliceRefusal) or not new.symbols:
        return ()
    before, after = (tuple(it.name for it in they.symbols if it.container is None) for they in (old, new))
    begins = _first_line(source) in text or (bool(before) and not _head(old) and before[0] == after[0])
    if begins or set(before) <= set(after) or not _only_symbols(new):
        return ()
    return () if alone and _renames_or_removes(old, new) else after


def _renames_or_removes(old: Outline, new: Outline) -> bool:
    """Whether all that is missing has another name now, or nothing is new."""
    was, now = (
        {it.name: symbol_text_without_name(each, it) for it in each.symbols if it.container is None}
        for each in (old, new)
    )
    missing = Counter(text for name, text in was.items() if name not in now)
    added = Counter(text for name, text in now.items() if name not in was)
    return missing <= added or now.items() <= was.items()


def _first_line(source: bytes) -> bytes:
    return source.lstrip().partition(b"\n")[0]


def _head(file: Outline) -> bytes:
    """What stands before its first symbol."""
    return file.source[: file.symbols[0].start].strip() if file.symbols else file.source.strip()


def _only_symbols(file: Outline) -> bool:
    """Whether nothing stands in it besides imports, comments and symbols."""
    covered = [(it.start, it.end) for it in (*file.symbols, *file.imports)]
    rest = (node for node in file.root.named_children if "comment" not in node.type)
    return all(any(start <= node.start_byte < end for start, end in covered) for node in rest)
