"""What a new version of a file lost or changed without having been asked, put back as it was."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from roundtable.workshop.structure.fragments import Variant
from roundtable.workshop.structure.grafting import with_needs
from roundtable.workshop.structure.languages import Kind
from roundtable.workshop.structure.outline import Outline, Symbol, outline
from roundtable.workshop.structure.splicing import paired
from roundtable.workshop.structure.trees import Refused
from roundtable.workshop.structure.wanted import Wanted, counterparts

_HOLDERS = frozenset({Kind.CLASS, Kind.SCOPE})


class PutBack(NamedTuple):
    """The new version, and the symbols in it that are as they were before it."""

    source: bytes
    symbols: tuple[str, ...]


def put_back(path: str, before: bytes, after: bytes, asked: Container[str]) -> PutBack:
    """Put back all symbols but those whose names were asked for, with what they need; what does not fit stays new."""
    was, now = outline(path, before), outline(path, after)
    found: list[str] = []
    if isinstance(was, Refused) or isinstance(now, Refused):
        return PutBack(after, ())
    for symbol in was.symbols:
        inside = symbol.holder is not None and (symbol.holder.name in found or symbol.holder.kind not in _HOLDERS)
        if symbol.simple in asked or symbol.kind is Kind.PROTOTYPE or inside:
            continue
        made = _with(now, was, symbol)
        if made is not None:
            now = made
            found.append(symbol.name)
    return PutBack(now.source, tuple(found))


def _with(now: Outline, was: Outline, symbol: Symbol) -> Outline | None:
    """The new version with one symbol as it was; none where it is still the same, or cannot be put there."""
    there = counterparts(now, was, symbol)
    if there and (symbol.kind in _HOLDERS or any(now.text(it) == was.text(symbol) for it in there)):
        return None
    read = paired(now, Wanted(tuple(symbol.name.split("."))), there, [Variant(was, symbol)])
    made = read if isinstance(read, Refused) else with_needs(read)
    read_again = made if isinstance(made, Refused) else outline(now.path, made.source)
    return None if isinstance(read_again, Refused) else read_again
