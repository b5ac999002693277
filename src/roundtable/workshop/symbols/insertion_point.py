"""The place of a new symbol: next to the neighbors it had, else after the last one, else in the empty body.

Conditions, `class << self` and headings such as `private:` change the meaning of what is inserted below them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.fragments import FRAME_CLASS_NAME, SymbolVariant
from roundtable.workshop.symbols.languages import Language, SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.spans import (
    find_trailing_comma_syntax_node,
    line_end_offset,
    line_start_offset,
    symbol_line_indentation,
)
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, symbol_name_ends_with
from roundtable.workshop.symbols.symbol_names import find_object_literal_syntax_node, syntax_node_text

_VISIBILITY_WORDS = {"private", "protected", "public", "module_function"}


def _list_enclosing_conditions(file: Outline, symbol: Symbol) -> tuple[str, ...]:
    """Return the first lines of the conditions around a symbol. An include guard around the whole file is not one."""
    return tuple(syntax_node_text(node).split("\n", 1)[0].strip() for node in _conditional_nodes(file, symbol))


def _conditional_nodes(file: Outline, symbol: Symbol) -> Iterator[Node]:
    first, last = file.symbols_extent
    top = symbol.container.node if symbol.container else file.root
    node = symbol.outer_node.parent
    while node is not None and node.id != top.id:
        is_guard = node.type.startswith("preproc") and node.start_byte <= first and last <= node.end_byte
        if node.type in file.language.conditional and not is_guard:
            yield node
        node = node.parent


class VisibilityHeadings:
    """The headings of a class body that set the visibility of the members below: `private:` and similar."""

    def __init__(self, holder: Symbol | None) -> None:
        body = holder.node.child_by_field_name("body") if holder else None
        self._headings = [child for child in body.named_children if _is_heading(child)] if body is not None else []

    def heading_above(self, symbol: Symbol) -> str:
        """Return the heading above a member; empty above the first heading."""
        return next(
            (_heading_text(heading) for heading in reversed(self._headings) if heading.start_byte < symbol.start), ""
        )

    def last_heading(self, text: str) -> Node | None:
        """Return the last heading with this text."""
        return next((heading for heading in reversed(self._headings) if _heading_text(heading) == text), None)

    def first_heading(self) -> Node | None:
        """Return the first heading."""
        return next(iter(self._headings), None)


def _is_heading(node: Node) -> bool:
    return node.type == "access_specifier" or (
        node.type == "identifier" and syntax_node_text(node) in _VISIBILITY_WORDS
    )


def _heading_text(heading: Node) -> str:
    return syntax_node_text(heading).strip(": ")


def is_in_singleton_class(symbol: Symbol) -> bool:
    """Tell whether a symbol is inside Ruby's `class << self`, where methods belong to the class itself."""
    node = symbol.outer_node.parent
    while node is not None and node.type == "body_statement":
        node = node.parent
    return node is not None and node.type == "singleton_class"


_ONE_LINE_KINDS = {SymbolKind.VALUE, SymbolKind.PROTOTYPE}


class InsertionPoint(NamedTuple):
    """An offset, its indentation, the newlines around the inserted text, and the symbol's name there.

    `closing_indent` indents code that follows on the same line; `prefix` and `suffix` are commas of an object literal.
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
        """Return the bytes to write before and after the symbol's text."""
        return (
            self.prefix + newline * self.newlines_before + self.indent,
            self.suffix + newline * self.newlines_after + self.closing_indent,
        )


def find_symbol_insertion_point(base: Outline, query: SymbolQuery, variant: SymbolVariant) -> InsertionPoint | Refusal:
    """Return the insertion point for a symbol in a file that does not have it yet."""
    container = _find_container(base, query, variant)
    if isinstance(container, Refusal):
        return container
    name = _name_in_container(variant.symbol)
    full_name = f"{container.name}.{name}" if container else name
    conditions = _list_enclosing_conditions(variant.outline, variant.symbol)
    siblings = [
        symbol
        for symbol in base.symbols
        if symbol.container is container
        and symbol.declared_alone
        and _list_enclosing_conditions(base, symbol) == conditions
    ]
    if conditions and not siblings:
        facts = {"symbol": variant.symbol.name, "condition": conditions[0]}
        return Refusal.of(base.path, RefusalCode.CONDITION_MISSING, **facts)
    siblings = _siblings_under_heading(base, container, variant, siblings, full_name)
    if isinstance(siblings, InsertionPoint):
        return siblings
    anchor, is_before = _find_neighbor(siblings, variant)
    if anchor and container and find_object_literal_syntax_node(container.node) is not None:
        return _next_to_in_object(base.source, anchor, is_before, full_name)
    blank_lines = 1 if container else base.language.blank_lines
    if anchor:
        return _next_to(
            base.source, anchor, is_before, 0 if _are_one_liners(anchor, variant) else blank_lines, full_name
        )
    return _in_empty_body(base, container, full_name) if container else _at_end_of_file(base, full_name)


def _siblings_under_heading(
    base: Outline, container: Symbol | None, variant: SymbolVariant, siblings: list[Symbol], name: str
) -> list[Symbol] | InsertionPoint:
    """Return the siblings with the new symbol's visibility, or the point below its heading if that has no member.

    A symbol without its class is public.
    """
    headings, original_container = VisibilityHeadings(container), variant.symbol.container
    visibilities = (
        (VisibilityHeadings(original_container).heading_above(variant.symbol),)
        if original_container and original_container.name != FRAME_CLASS_NAME
        else ("public", "")
    )
    first_heading = headings.first_heading()
    if container is None or first_heading is None:
        return siblings
    for visibility in visibilities:
        if matching := [sibling for sibling in siblings if headings.heading_above(sibling) == visibility]:
            return matching
    indent = symbol_line_indentation(base.source, container.start) + _indentation_step(base.source, base.language)
    last_heading = next(
        (heading for visibility in visibilities if (heading := headings.last_heading(visibility))), None
    )
    if last_heading is not None:
        return InsertionPoint(line_end_offset(base.source, last_heading.end_byte), indent, 1, 0, name)
    return (
        siblings
        if visibilities[-1]
        else InsertionPoint(line_start_offset(base.source, first_heading.start_byte), indent, 0, 2, name)
    )


def _are_one_liners(anchor: Symbol, variant: SymbolVariant) -> bool:
    return {anchor.kind, variant.symbol.kind} <= _ONE_LINE_KINDS


def _original_scope(variant: SymbolVariant) -> str:
    """Return the class or module around the symbol in its own text."""
    container = variant.symbol.container
    return (
        container.name.removeprefix(f"{FRAME_CLASS_NAME}.") if container and container.name != FRAME_CLASS_NAME else ""
    )


def _find_container(base: Outline, query: SymbolQuery, variant: SymbolVariant) -> Symbol | Refusal | None:
    scope = _original_scope(variant) or ".".join(query.parts[:-1])
    is_free = variant.symbol.container is None and "." in variant.symbol.name
    if not scope or is_free:
        return None
    parts = tuple(scope.split("."))
    containers = [
        symbol
        for symbol in base.symbols
        if _is_container(symbol) and symbol_name_ends_with(symbol.name.split("."), parts)
    ]
    containers = [holder for holder in containers if holder.name == scope] or containers
    original = variant.symbol.container
    same_signature = [holder for holder in containers if original and holder.signature == original.signature]
    inherent_impls = [
        holder for holder in containers if holder.node.type == "impl_item" and " for " not in holder.signature
    ]
    containers = same_signature or inherent_impls or containers
    if len(containers) == 1:
        return containers[0]
    if containers:
        return Refusal.of(base.path, RefusalCode.CONTAINER_AMBIGUOUS, count=len(containers), container=scope)
    if PurePosixPath(base.path).with_suffix("").parts[-len(parts) :] == parts:
        return None
    return Refusal.of(base.path, RefusalCode.CONTAINER_MISSING, container=scope, symbol=query.parts[-1])


def _is_container(symbol: Symbol) -> bool:
    return (
        symbol.kind in {SymbolKind.CLASS, SymbolKind.SCOPE} or find_object_literal_syntax_node(symbol.node) is not None
    )


def _find_neighbor(siblings: list[Symbol], variant: SymbolVariant) -> tuple[Symbol | None, bool]:
    """Return the neighbor to insert next to, and whether before it: the nearest one above, else below."""
    neighbors = [symbol for symbol in variant.outline.symbols if symbol.container is variant.symbol.container]
    index = neighbors.index(variant.symbol)
    last = {_name_in_container(sibling): sibling for sibling in siblings}
    first = {_name_in_container(sibling): sibling for sibling in reversed(siblings)}
    above = next((last[name] for name in map(_name_in_container, reversed(neighbors[:index])) if name in last), None)
    below = next((first[name] for name in map(_name_in_container, neighbors[index + 1 :]) if name in first), None)
    if above or below:
        return above or below, above is None
    return (siblings[-1] if siblings else None), False


def _name_in_container(symbol: Symbol) -> str:
    return symbol.name.removeprefix(f"{symbol.container.name}.") if symbol.container else symbol.name


def _next_to(source: bytes, anchor: Symbol, is_before: bool, blank_lines: int, name: str) -> InsertionPoint:
    indent = symbol_line_indentation(source, anchor.start)
    if is_before:
        offset = line_start_offset(source, anchor.start)
        return InsertionPoint(offset, indent, 0, blank_lines + 1, name, b"" if offset != anchor.start else indent)
    end = line_end_offset(source, anchor.end)
    rest_of_line = source[anchor.end : end].strip()
    if not rest_of_line or rest_of_line.startswith((b"#", b"//", b"/*")):
        return InsertionPoint(end, indent, blank_lines + 1, 0, name)
    return InsertionPoint(anchor.end, indent, blank_lines + 1, 1, name, indent)


def _next_to_in_object(source: bytes, anchor: Symbol, is_before: bool, name: str) -> InsertionPoint:
    comma = find_trailing_comma_syntax_node(anchor.node)
    if is_before or not comma:
        place = _next_to(source, anchor, is_before, 0, name)
        return place._replace(suffix=b",") if is_before else place._replace(offset=anchor.end, prefix=b",")
    end, indent = line_end_offset(source, comma.end_byte), symbol_line_indentation(source, anchor.start)
    if source[comma.end_byte : end].strip():
        return InsertionPoint(comma.end_byte, indent, 1, 1, name, indent, suffix=b",")
    return InsertionPoint(end, indent, 1, 0, name, suffix=b",")


def _in_empty_body(base: Outline, container: Symbol, name: str) -> InsertionPoint:
    """Return the end of a body that has no symbol yet."""
    source, outer_indent = base.source, symbol_line_indentation(base.source, container.start)
    body = (
        container.node.child_by_field_name("body") or find_object_literal_syntax_node(container.node) or container.node
    )
    indent = outer_indent + _indentation_step(base.source, base.language)
    last_child = (body.children or [body])[-1]
    if last_child.type == "}" or body is container.node or body.type == "body_statement":
        closing = last_child if last_child.type in {"}", "end"} else container.node.children[-1]
        offset = line_start_offset(source, closing.start_byte)
        if offset != closing.start_byte or source[:offset].endswith(b"\n"):
            return InsertionPoint(offset, indent, 0, 1, name)
        return InsertionPoint(offset, indent, 1, 1, name, outer_indent)
    return InsertionPoint(
        line_end_offset(source, body.end_byte), symbol_line_indentation(source, body.start_byte) or indent, 2, 0, name
    )


def _indentation_step(source: bytes, language: Language) -> bytes:
    """Return one step of indentation: the first one in the file, else the default of the language."""
    lines = (line for line in source.splitlines() if line[:1] in b" \t" and line.strip())
    first = next(lines, language.indent + b"x")
    return first[: len(first) - len(first.lstrip(b" \t"))]


def _at_end_of_file(base: Outline, name: str) -> InsertionPoint:
    source, blank_lines, closer = base.source, base.language.blank_lines, base.language.code_closer
    if not source.strip():
        return InsertionPoint(len(source), b"", 0, 1, name)
    if closer and source.rstrip().endswith(closer):
        return InsertionPoint(source.rindex(closer), b"", 0, blank_lines + 1, name)
    return InsertionPoint(len(source), b"", blank_lines + (not source.endswith(b"\n")), 1, name)
