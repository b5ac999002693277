"""Where a new symbol goes: beside the neighbours it had, else after the last one, else into the empty body.

What stands around a symbol besides its class: a condition, `class << self`, a heading such as `private:`.

What is put there gets a meaning that it does not have elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.fragments import FRAME_CLASS_NAME, SymbolVariant
from roundtable.workshop.symbols.languages import Language, SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.spans import find_trailing_comma, line_end_offset, line_indentation, line_start_offset
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, symbol_name_ends_with
from roundtable.workshop.symbols.symbol_names import find_object_literal, node_text
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal

_VISIBLE = {"private", "protected", "public", "module_function"}


def list_enclosing_conditions(file: Outline, symbol: Symbol) -> tuple[str, ...]:
    """The first lines of what it stands under. A guard around all of a header is none."""
    return tuple(node_text(it).split("\n", 1)[0].strip() for it in _around(file, symbol))


def _around(file: Outline, symbol: Symbol) -> Iterator[Node]:
    first, last = file.symbols_extent
    top = symbol.container.node if symbol.container else file.root
    at = symbol.outer_node.parent
    while at is not None and at.id != top.id:
        is_guard = at.type.startswith("preproc") and at.start_byte <= first and last <= at.end_byte
        if at.type in file.language.conditional and not is_guard:
            yield at
        at = at.parent


class VisibilityHeadings:
    """What a class says, above some of its members, about who may see them: `private:` and the like."""

    def __init__(self, holder: Symbol | None) -> None:
        body = holder.node.child_by_field_name("body") if holder else None
        self._found = [it for it in body.named_children if _is_heading(it)] if body is not None else []

    def heading_above(self, symbol: Symbol) -> str:
        """The heading that a member stands under; nothing above the first one."""
        return next((_said(it) for it in reversed(self._found) if it.start_byte < symbol.start), "")

    def last_heading(self, said: str) -> Node | None:
        """The last heading that says this."""
        return next((it for it in reversed(self._found) if _said(it) == said), None)

    def first_heading(self) -> Node | None:
        """The first heading of all."""
        return next(iter(self._found), None)


def _is_heading(node: Node) -> bool:
    return node.type == "access_specifier" or (node.type == "identifier" and node_text(node) in _VISIBLE)


def _said(heading: Node) -> str:
    return node_text(heading).strip(": ")


def is_in_singleton_class(symbol: Symbol) -> bool:
    """Whether it stands in Ruby's `class << self`, where a method is the class's own."""
    at = symbol.outer_node.parent
    while at is not None and at.type == "body_statement":
        at = at.parent
    return at is not None and at.type == "singleton_class"


_SLIGHT = {SymbolKind.VALUE, SymbolKind.PROTOTYPE}


class InsertionPoint(NamedTuple):
    """An offset, the indentation there, the newlines around what is put there, and what it is then called.

    `closing` is the indentation of what follows on the same line, if something does; `lead` and `tail` are the commas
    that an object needs.
    """

    offset: int
    indent: bytes
    newlines_before: int
    newlines_after: int
    symbol_name: str
    closing_indent: bytes = b""
    prefix: bytes = b""
    suffix: bytes = b""

    def text_around(self, newline: bytes) -> tuple[bytes, bytes]:
        """What is written before and after the symbol's text."""
        return (
            self.prefix + newline * self.newlines_before + self.indent,
            self.suffix + newline * self.newlines_after + self.closing_indent,
        )


def find_symbol_insertion_point(
    base: Outline, name: SymbolQuery, variant: SymbolVariant
) -> InsertionPoint | SpliceRefusal:
    """The place for a symbol in a file that has none of this name."""
    holder = _holder(base, name, variant)
    if isinstance(holder, SpliceRefusal):
        return holder
    own = _own_name(variant.symbol)
    called = f"{holder.name}.{own}" if holder else own
    under = list_enclosing_conditions(variant.outline, variant.symbol)
    siblings = [
        it
        for it in base.symbols
        if it.container is holder and it.declared_alone and list_enclosing_conditions(base, it) == under
    ]
    if under and not siblings:
        sentence = f"{variant.symbol.name} stands under `{under[0]}`, and nothing in {base.path} does."
        return SpliceRefusal(RefusalKind.NOT_FOUND, sentence)
    siblings = _under_heading(base, holder, variant, siblings, called)
    if isinstance(siblings, InsertionPoint):
        return siblings
    anchor, is_before = _anchor(siblings, variant)
    if anchor and holder and find_object_literal(holder.node) is not None:
        return _in_object(base.source, anchor, is_before, called)
    gap = 1 if holder else base.language.blank_lines
    if anchor:
        return _beside(base.source, anchor, is_before, 0 if _slight(anchor, variant) else gap, called)
    return _inside(base, holder, called) if holder else _at_end(base, called)


def _under_heading(
    base: Outline, holder: Symbol | None, variant: SymbolVariant, siblings: list[Symbol], name: str
) -> list[Symbol] | InsertionPoint:
    """The siblings that are seen by the same as the new one; where a heading has none yet, the place below it.

    What came without its class is for all to see.
    """
    ours, theirs = VisibilityHeadings(holder), variant.symbol.container
    wanted = (
        (VisibilityHeadings(theirs).heading_above(variant.symbol),)
        if theirs and theirs.name != FRAME_CLASS_NAME
        else ("public", "")
    )
    first = ours.first_heading()
    if holder is None or first is None:
        return siblings
    for said in wanted:
        if found := [it for it in siblings if ours.heading_above(it) == said]:
            return found
    indent = line_indentation(base.source, holder.start) + _step(base.source, base.language)
    last = next((it for said in wanted if (it := ours.last_heading(said))), None)
    if last is not None:
        return InsertionPoint(line_end_offset(base.source, last.end_byte), indent, 1, 0, name)
    return (
        siblings if wanted[-1] else InsertionPoint(line_start_offset(base.source, first.start_byte), indent, 0, 2, name)
    )


def _slight(anchor: Symbol, variant: SymbolVariant) -> bool:
    return {anchor.kind, variant.symbol.kind} <= _SLIGHT


def _scope(variant: SymbolVariant) -> str:
    """The class or module that the symbol stands inside where it was found."""
    holder = variant.symbol.container
    return holder.name.removeprefix(f"{FRAME_CLASS_NAME}.") if holder and holder.name != FRAME_CLASS_NAME else ""


def _holder(base: Outline, name: SymbolQuery, variant: SymbolVariant) -> Symbol | SpliceRefusal | None:
    scope = _scope(variant) or ".".join(name.parts[:-1])
    free = variant.symbol.container is None and "." in variant.symbol.name
    if not scope or free:
        return None
    parts = tuple(scope.split("."))
    holders = [it for it in base.symbols if _can_hold(it) and symbol_name_ends_with(it.name.split("."), parts)]
    holders = [it for it in holders if it.name == scope] or holders
    origin = variant.symbol.container
    same = [it for it in holders if origin and it.signature == origin.signature]
    blocks = [it for it in holders if it.node.type == "impl_item" and " for " not in it.signature]
    holders = same or blocks or holders
    if len(holders) == 1:
        return holders[0]
    if holders:
        return SpliceRefusal(RefusalKind.AMBIGUOUS, f"{base.path} has {len(holders)} places called {scope}.")
    if PurePosixPath(base.path).with_suffix("").parts[-len(parts) :] == parts:
        return None
    return SpliceRefusal(RefusalKind.NOT_FOUND, f"{base.path} has no {scope} to add {name.parts[-1]} to.")


def _can_hold(symbol: Symbol) -> bool:
    return symbol.kind in {SymbolKind.CLASS, SymbolKind.SCOPE} or find_object_literal(symbol.node) is not None


def _anchor(siblings: list[Symbol], variant: SymbolVariant) -> tuple[Symbol | None, bool]:
    """The neighbour to stand beside, and whether before it: the nearest above where it came from, else below."""
    there = [it for it in variant.outline.symbols if it.container is variant.symbol.container]
    at = there.index(variant.symbol)
    last = {_own_name(it): it for it in siblings}
    first = {_own_name(it): it for it in reversed(siblings)}
    above = next((last[it] for it in map(_own_name, reversed(there[:at])) if it in last), None)
    below = next((first[it] for it in map(_own_name, there[at + 1 :]) if it in first), None)
    if above or below:
        return above or below, above is None
    return (siblings[-1] if siblings else None), False


def _own_name(symbol: Symbol) -> str:
    return symbol.name.removeprefix(f"{symbol.container.name}.") if symbol.container else symbol.name


def _beside(source: bytes, anchor: Symbol, is_before: bool, gap: int, name: str) -> InsertionPoint:
    indent = line_indentation(source, anchor.start)
    if is_before:
        at = line_start_offset(source, anchor.start)
        return InsertionPoint(at, indent, 0, gap + 1, name, b"" if at != anchor.start else indent)
    end = line_end_offset(source, anchor.end)
    rest = source[anchor.end : end].strip()
    if not rest or rest.startswith((b"#", b"//", b"/*")):
        return InsertionPoint(end, indent, gap + 1, 0, name)
    return InsertionPoint(anchor.end, indent, gap + 1, 1, name, indent)


def _in_object(source: bytes, anchor: Symbol, is_before: bool, name: str) -> InsertionPoint:
    comma = find_trailing_comma(anchor.node)
    if is_before or not comma:
        place = _beside(source, anchor, is_before, 0, name)
        return place._replace(suffix=b",") if is_before else place._replace(offset=anchor.end, prefix=b",")
    end, indent = line_end_offset(source, comma.end_byte), line_indentation(source, anchor.start)
    if source[comma.end_byte : end].strip():
        return InsertionPoint(comma.end_byte, indent, 1, 1, name, indent, suffix=b",")
    return InsertionPoint(end, indent, 1, 0, name, suffix=b",")


def _inside(base: Outline, holder: Symbol, name: str) -> InsertionPoint:
    """The end of a body that has no symbol yet."""
    source, outer = base.source, line_indentation(base.source, holder.start)
    body = holder.node.child_by_field_name("body") or find_object_literal(holder.node) or holder.node
    indent = outer + _step(base.source, base.language)
    last = (body.children or [body])[-1]
    if last.type == "}" or body is holder.node or body.type == "body_statement":
        close = last if last.type in {"}", "end"} else holder.node.children[-1]
        at = line_start_offset(source, close.start_byte)
        if at != close.start_byte or source[:at].endswith(b"\n"):
            return InsertionPoint(at, indent, 0, 1, name)
        return InsertionPoint(at, indent, 1, 1, name, outer)
    return InsertionPoint(
        line_end_offset(source, body.end_byte), line_indentation(source, body.start_byte) or indent, 2, 0, name
    )


def _step(source: bytes, language: Language) -> bytes:
    """One step of indentation: the first one in the file, else what is usual in the language."""
    lines = (line for line in source.splitlines() if line[:1] in b" \t" and line.strip())
    first = next(lines, language.indent + b"x")
    return first[: len(first) - len(first.lstrip(b" \t"))]


def _at_end(base: Outline, name: str) -> InsertionPoint:
    source, gap, closes = base.source, base.language.blank_lines, base.language.code_closer
    if not source.strip():
        return InsertionPoint(len(source), b"", 0, 1, name)
    if closes and source.rstrip().endswith(closes):
        return InsertionPoint(source.rindex(closes), b"", 0, gap + 1, name)
    return InsertionPoint(len(source), b"", gap + (not source.endswith(b"\n")), 1, name)
