"""The outline of a source file: its symbols with their byte ranges, its imports, and the names that code uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.imports import Import, parse_file_imports
from roundtable.workshop.symbols.languages import Language, SymbolKind, find_source_language
from roundtable.workshop.symbols.signatures import is_overload_signature, symbol_signature_line
from roundtable.workshop.symbols.spans import (
    find_outermost_syntax_wrapper,
    line_start_offset,
    list_nodes_preceding_symbol,
    symbol_end_offset,
    symbol_start_offsets,
)
from roundtable.workshop.symbols.symbol_names import (
    MAX_OBJECT_DEPTH,
    list_object_literal_members,
    parse_symbol_name_and_kind,
    syntax_node_text,
)
from roundtable.workshop.symbols.syntax_trees import parse_syntax_tree

_NAME_NODES = {
    "identifier", "type_identifier", "field_identifier", "property_identifier", "package_identifier",
    "namespace_identifier", "shorthand_property_identifier", "private_property_identifier", "constant", "name",
}  # fmt: skip
_PARAMETER_LISTS = {"parameters", "formal_parameters"}


class NameUsage(NamedTuple):
    """The names in a piece of code by role. One name may have several roles."""

    used: frozenset[str]
    members: frozenset[str]
    bound: frozenset[str]
    called: frozenset[str]


def _collect_name_usage(language: Language, node: Node) -> NameUsage:
    """Collect all names below a node by role: used, member of something else, bound here, called."""
    used: set[str] = set()
    members: set[str] = set()
    bound: set[str] = set()
    called: set[str] = set()
    nodes_with_fields = {
        kind for kind, _ in language.call_fields | language.member_fields | language.binding_fields
    } | _PARAMETER_LISTS
    pending = [(node, "")]
    while pending:
        current, role = pending.pop()
        if current.type in _NAME_NODES and not current.named_child_count:
            {"member": members, "bound": bound}.get(role, used).add(syntax_node_text(current))
            continue
        for index, child in enumerate(current.children):
            if not child.is_named:
                continue
            # Asking for a field reads all children before it, and a list may have a hundred thousand.
            field = (current.type, _field_name(current, index) if current.type in nodes_with_fields else "")
            if field in language.call_fields:
                called.add(syntax_node_text(_find_called_name(child)))
            pending.append((child, _role_of_child(language, field, current, role)))
    return NameUsage(frozenset(used - bound), frozenset(members), frozenset(bound), frozenset(called))


def _field_name(parent: Node, index: int) -> str:
    """Return the name of a child's field; `last` for the last child without one."""
    return parent.field_name_for_child(index) or ("last" if index == parent.child_count - 1 else "")


def _find_called_name(node: Node) -> Node:
    """Return the last name of a called expression: `c` of `a.b().c`."""
    while node.named_child_count:
        fields = ("name", "attribute", "property", "field")
        node = next((child for name in fields if (child := node.child_by_field_name(name))), node.named_children[-1])
    return node


def _role_of_child(language: Language, field: tuple[str, str], parent: Node, role: str) -> str:
    if field in language.member_fields:
        return "member"
    if field in language.binding_fields or (parent.type in _PARAMETER_LISTS and not field[1]):
        return "bound"
    passes_role_on = parent.type in {
        "pattern_list",
        "tuple_pattern",
        "expression_list",
        "as_pattern_target",
        "variable_name",
    }
    return role if passes_role_on else ""


@dataclass(frozen=True, eq=False)
class Symbol:
    """One named thing in a file. Its bytes are `start` to `end`; `start_without_comments` skips the comments above it.

    `declared_alone` is False if the same statement declares others. `container` is the symbol around it.
    """

    name: str
    kind: SymbolKind
    start: int
    start_without_comments: int
    end: int
    signature: str
    node: Node
    outer_node: Node
    container: Symbol | None = None
    declared_alone: bool = True

    @property
    def base_name(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    @property
    def scope(self) -> str:
        """Its name without the last part: the class of a method, or empty."""
        return self.name.rpartition(".")[0]

    @property
    def owner(self) -> str:
        """The class or object that it belongs to; empty for a free symbol, even inside a namespace or module."""
        return self.scope if self.kind is SymbolKind.METHOD or (self.container and self.container.owns_members) else ""

    @property
    def owns_members(self) -> bool:
        """Whether its contents belong to it, as to a class."""
        return self.kind is not SymbolKind.SCOPE or self.node.type == "impl_item"


@dataclass(frozen=True, eq=False)
class Outline:
    """A file as its symbols and imports, both in file order."""

    path: str
    language: Language
    source: bytes
    root: Node
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]

    @cached_property
    def symbols_extent(self) -> tuple[int, int]:
        """The start of the first symbol and the end of the last one."""
        return min((symbol.start for symbol in self.symbols), default=0), max(
            (symbol.end for symbol in self.symbols), default=0
        )

    def name_usage(self, symbol: Symbol | None = None) -> NameUsage:
        """Collect the names in a symbol, or in the whole file."""
        return _collect_name_usage(self.language, symbol.outer_node if symbol else self.root)

    def names_above(self, symbol: Symbol) -> frozenset[str]:
        """Return the names in the decorators and attributes above a symbol."""
        nodes = list_nodes_preceding_symbol(self.language, symbol.outer_node, symbol.start_without_comments)
        return frozenset(name for node in nodes for name in _collect_name_usage(self.language, node).used)

    def symbol_text(self, symbol: Symbol) -> bytes:
        """Return a symbol's bytes, including the indentation of its first line if nothing else precedes it."""
        return self.source[line_start_offset(self.source, symbol.start) : symbol.end]


def parse_source_outline(path: str, source: bytes) -> Outline | Refusal:
    """Return a file's symbols and imports, or a refusal for an unknown language. Skips broken code."""
    language = find_source_language(path)
    if language is None:
        return Refusal.of(path, RefusalCode.LANGUAGE_UNSUPPORTED)
    return parse_outline_in_language(language, path, source)


@lru_cache(maxsize=64)
def parse_outline_in_language(language: Language, path: str, source: bytes) -> Outline:
    """Return a file's symbols and imports, read in the given language."""
    root = parse_syntax_tree(language, source).root_node
    symbols = tuple(_merge_overload_signatures(_find_symbols(language, source, root)))
    return Outline(path, language, source, root, symbols, parse_file_imports(language, root))


def _find_symbols(language: Language, source: bytes, root: Node) -> Iterator[Symbol]:
    pending: list[tuple[Node, Symbol | None]] = [(child, None) for child in reversed(root.children)]
    while pending:
        node, container = pending.pop()
        symbol = _make_symbol(language, source, node, container) if node.type in language.symbols else None
        if symbol:
            yield symbol
        if symbol and symbol.kind in {SymbolKind.CLASS, SymbolKind.SCOPE}:
            pending.extend((child, symbol) for child in reversed(node.children))
        elif symbol and symbol.name.count(".") < MAX_OBJECT_DEPTH:
            pending.extend((child, symbol) for child in reversed(list_object_literal_members(node)))
        elif not symbol and node.type in language.transparent:
            pending.extend((child, container) for child in reversed(node.children))


def _make_symbol(language: Language, source: bytes, node: Node, container: Symbol | None) -> Symbol | None:
    name_and_kind = parse_symbol_name_and_kind(language, node)
    if not name_and_kind:
        return None
    name, kind = name_and_kind
    if kind is SymbolKind.FUNCTION and ((container and container.owns_members) or len(name) > 1):
        kind = SymbolKind.METHOD
    outer, declared_alone = find_outermost_syntax_wrapper(language, node)
    start, without_comments = symbol_start_offsets(language, source, outer)
    qualified = ".".join((container.name, *name) if container else name)
    return Symbol(
        qualified,
        kind,
        start,
        without_comments,
        symbol_end_offset(source, outer),
        symbol_signature_line(node),
        node,
        outer,
        container,
        declared_alone,
    )


def _merge_overload_signatures(symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """Merge overload signatures into the implementation that follows them (TypeScript, Python)."""
    pending: Symbol | None = None
    for symbol in symbols:
        if pending and (pending.name, pending.container) == (symbol.name, symbol.container):
            symbol = replace(symbol, start=pending.start, start_without_comments=pending.start_without_comments)
        elif pending:
            yield pending
        pending = symbol if is_overload_signature(symbol.node) else None
        if not pending:
            yield symbol
    if pending:
        yield pending


def list_defined_symbol_names(path: str, source: bytes | None) -> set[str]:
    """Return the last parts of the names that a source defines."""
    outline = parse_source_outline(path, source) if source is not None else None
    return {symbol.base_name for symbol in outline.symbols} if isinstance(outline, Outline) else set()
