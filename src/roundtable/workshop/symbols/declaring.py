"""What the rest of a file declares of a symbol that was taken: its prototypes, and the fields it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.workshop.symbols.fragments import Variant
from roundtable.workshop.symbols.languages import Kind
from roundtable.workshop.symbols.names import spelled
from roundtable.workshop.symbols.outline import Outline, Symbol, outlined
from roundtable.workshop.symbols.signatures import heading, plain_type, takes
from roundtable.workshop.symbols.splice import Read, spliced
from roundtable.workshop.symbols.symbol_lookup import counterparts
from roundtable.workshop.symbols.syntax_trees import Refused


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


def lacking_fields(base: Outline, donor: Outline, taken: Sequence[Symbol]) -> Iterator[str]:
    """A sentence on each struct of the base that lacks fields which what was taken speaks of."""
    words = [donor.words(it) for it in taken]
    said = {name for it in words for name in it.used | it.members} - {it.simple for it in base.symbols}
    for struct in donor.symbols:
        theirs = [it for it in _fields(struct) if it in said]
        ours = counterparts(base, donor, struct) if theirs else []
        known = set(_fields(*ours))
        lacks = ", ".join(f"`{it}`" for it in dict.fromkeys(theirs) if it not in known)
        if ours and lacks:
            yield f"It speaks of {lacks}, which {struct.name} has where it comes from, and not in {base.path}."


def _fields(*structs: Symbol) -> Iterator[str]:
    """The names that structs give to their fields, as C, C++, Go and Rust declare them."""
    waiting = [it.node for it in structs if it.kind is Kind.CLASS or it.node.type == "type_definition"]
    while waiting:
        at = waiting.pop()
        if at.type == "field_identifier":
            yield spelled(at)
        elif at.type != "function_definition":
            waiting.extend(reversed(at.named_children))
