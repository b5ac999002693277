"""What the rest of a file declares of a symbol that was taken: its prototypes."""

from __future__ import annotations

from collections.abc import Iterator

from roundtable.workshop.structure.fragments import Variant
from roundtable.workshop.structure.languages import Kind
from roundtable.workshop.structure.outline import Outline, Symbol, outlined
from roundtable.workshop.structure.signatures import heading, plain_type, takes
from roundtable.workshop.structure.splicing import Read, spliced
from roundtable.workshop.structure.trees import Refused


def declared_alike(read: Read, made: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The file with the prototypes of what was replaced as the new one has them, and what is said if it has none."""
    old, (within, new) = read.target, read.variant
    if old is None or new.kind is Kind.PROTOTYPE or _called(old) == _called(new):
        return made, ()
    theirs = next(_prototypes(within, new), None)
    while stale := next(_prototypes(base := outlined(within.language, read.base.path, made), old, theirs), None):
        more = spliced(Read(base, read.name, stale, Variant(within, theirs))) if theirs else None
        if more is None or isinstance(more, Refused):
            return made, (f"{base.path} declares it as `{stale.signature}`.",)
        made = more
    return made, ()


def _called(symbol: Symbol) -> object:
    """What its prototypes have to say too: what it takes, and what stands before that."""
    return plain_type(heading(symbol.node).partition("(")[0]), takes(symbol.node)


def _prototypes(file: Outline, symbol: Symbol, known: Symbol | None = None) -> Iterator[Symbol]:
    """The prototypes of a symbol that are not like the one that is known."""
    found = (it for it in file.symbols if it.kind is Kind.PROTOTYPE and it.name == symbol.name)
    alike = (it for it in found if takes(it.node) == takes(symbol.node))
    return (it for it in alike if known is None or _called(it) != _called(known))
