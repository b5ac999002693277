"""Where a new symbol goes: beside the neighbours it had, else after the last one, else into the empty body."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.core.changes import RefusalKind
from roundtable.workshop.structure.fragments import Variant, Wanted
from roundtable.workshop.structure.languages import Kind, Language
from roundtable.workshop.structure.outline import Outline, Symbol
from roundtable.workshop.structure.spans import indentation, line_end, line_start
from roundtable.workshop.structure.trees import Refused

_SLIGHT = {Kind.VALUE, Kind.PROTOTYPE}
_FRAME = "_"


class Place(NamedTuple):
    """An offset, the indentation there, the newlines around what is put there, and what it is then called.

    `closing` is the indentation of what follows on the same line, if something does.
    """

    at: int
    indent: bytes
    above: int
    below: int
    name: str
    closing: bytes = b""

    def around(self, newline: bytes) -> tuple[bytes, bytes]:
        """What is written before and after the symbol's text."""
        return newline * self.above + self.indent, newline * self.below + self.closing


def place_for(base: Outline, name: Wanted, variant: Variant) -> Place | Refused:
    """The place for a symbol in a file that has none of this name."""
    holder = _holder(base, name, variant)
    if isinstance(holder, Refused):
        return holder
    own = variant.symbol.name.removeprefix(f"{_FRAME}.").removeprefix(f"{_scope(variant)}.")
    called = f"{holder.name}.{own}" if holder else own
    siblings = [it for it in base.symbols if it.holder is holder and it.alone]
    anchor, is_before = _anchor(siblings, variant)
    gap = 1 if holder else base.language.gap
    if anchor:
        return _beside(base.source, anchor, is_before, 0 if _slight(anchor, variant) else gap, called)
    return _inside(base, holder, called) if holder else _at_end(base.source, gap, called)


def _slight(anchor: Symbol, variant: Variant) -> bool:
    return {anchor.kind, variant.symbol.kind} <= _SLIGHT


def _scope(variant: Variant) -> str:
    """The class or module that the symbol stands inside where it was found."""
    holder = variant.symbol.holder
    return holder.name.removeprefix(_FRAME).lstrip(".") if holder else ""


def _holder(base: Outline, name: Wanted, variant: Variant) -> Symbol | Refused | None:
    scope = _scope(variant) or ".".join(name.parts[:-1])
    free = variant.symbol.holder is None and "." in variant.symbol.name
    if not scope or free:
        return None
    parts = tuple(scope.split("."))
    holders = [it for it in base.symbols if it.kind in {Kind.CLASS, Kind.SCOPE} and _is(it, parts)]
    origin = variant.symbol.holder
    same = [it for it in holders if origin and it.signature == origin.signature]
    blocks = [it for it in holders if it.node.type == "impl_item" and " for " not in it.signature]
    holders = same or blocks or holders
    if len(holders) == 1:
        return holders[0]
    if holders:
        return Refused(RefusalKind.AMBIGUOUS, f"{base.path} has {len(holders)} places called {scope}.")
    if PurePosixPath(base.path).with_suffix("").parts[-len(parts) :] == parts:
        return None
    return Refused(RefusalKind.NOT_FOUND, f"{base.path} has no {scope} to add {name.parts[-1]} to.")


def _is(symbol: Symbol, parts: tuple[str, ...]) -> bool:
    return tuple(symbol.name.split(".")[-len(parts) :]) == parts


def _anchor(siblings: list[Symbol], variant: Variant) -> tuple[Symbol | None, bool]:
    """The neighbour to stand beside, and whether before it: the nearest above where it came from, else below."""
    there = [it for it in variant.within.symbols if it.holder is variant.symbol.holder]
    at = there.index(variant.symbol)
    last = {it.simple: it for it in siblings}
    first = {it.simple: it for it in reversed(siblings)}
    above = next((last[it.simple] for it in reversed(there[:at]) if it.simple in last), None)
    below = next((first[it.simple] for it in there[at + 1 :] if it.simple in first), None)
    if above or below:
        return above or below, above is None
    return (siblings[-1] if siblings else None), False


def _beside(source: bytes, anchor: Symbol, is_before: bool, gap: int, name: str) -> Place:
    indent = indentation(source, anchor.start)
    if is_before:
        at = line_start(source, anchor.start)
        return Place(at, indent, 0, gap + 1, name, b"" if at != anchor.start else indent)
    end = line_end(source, anchor.end)
    rest = source[anchor.end : end].strip()
    if not rest or rest.startswith((b"#", b"//", b"/*")):
        return Place(end, indent, gap + 1, 0, name)
    return Place(anchor.end, indent, gap + 1, 1, name, indent)


def _inside(base: Outline, holder: Symbol, name: str) -> Place:
    """The end of a body that has no symbol yet."""
    source, outer = base.source, indentation(base.source, holder.start)
    body = holder.node.child_by_field_name("body") or holder.node
    indent = outer + _step(base.source, base.language)
    last = (body.children or [body])[-1]
    if last.type == "}" or body is holder.node or body.type == "body_statement":
        close = last if last.type in {"}", "end"} else holder.node.children[-1]
        at = line_start(source, close.start_byte)
        if at != close.start_byte:
            return Place(at, indent, 0, 1, name)
        return Place(at, indent, 1, 1, name, outer)
    return Place(line_end(source, body.end_byte), indentation(source, body.start_byte) or indent, 2, 0, name)


def _step(source: bytes, language: Language) -> bytes:
    """One step of indentation: the first one in the file, else what is usual in the language."""
    lines = (line for line in source.splitlines() if line[:1] in b" \t" and line.strip())
    first = next(lines, language.indent + b"x")
    return first[: len(first) - len(first.lstrip(b" \t"))]


def _at_end(source: bytes, gap: int, name: str) -> Place:
    if not source.strip():
        return Place(len(source), b"", 0, 1, name)
    return Place(len(source), b"", gap + (not source.endswith(b"\n")), 1, name)
