"""What a file is made of: its functions, methods, classes and values by name, with the bytes that belong to each.

The names a piece of code says: what it uses, what it reaches into, what it makes itself and what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.imports import Import, parse_file_imports
from roundtable.workshop.symbols.languages import Language, SymbolKind, find_source_language
from roundtable.workshop.symbols.signatures import is_overload_signature, symbol_signature_line
from roundtable.workshop.symbols.spans import (
    find_outermost_wrapper,
    line_start_offset,
    list_nodes_above_symbol,
    symbol_end_offset,
    symbol_start_offsets,
)
from roundtable.workshop.symbols.symbol_names import (
    MAX_OBJECT_DEPTH,
    list_object_literal_members,
    node_text,
    parse_symbol_name_and_kind,
)
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal, parse_syntax_tree

_LEAVES = {
    "identifier", "type_identifier", "field_identifier", "property_identifier", "package_identifier",
    "namespace_identifier", "shorthand_property_identifier", "private_property_identifier", "constant", "name",
}  # fmt: skip
_PARAMETERS = {"parameters", "formal_parameters"}


class NameUsage(NamedTuple):
    """Names by what they are to the code that says them. A name may be of several kinds."""

    used: frozenset[str]
    members: frozenset[str]
    bound: frozenset[str]
    called: frozenset[str]


def collect_name_usage(language: Language, node: Node) -> NameUsage:
    """Read all names below a node."""
    used: set[str] = set()
    members: set[str] = set()
    made: set[str] = set()
    called: set[str] = set()
    with_fields = {
        kind for kind, _ in language.call_fields | language.member_fields | language.binding_fields
    } | _PARAMETERS
    waiting = [(node, "")]
    while waiting:
        at, role = waiting.pop()
        if at.type in _LEAVES and not at.named_child_count:
            {"member": members, "made": made}.get(role, used).add(node_text(at))
            continue
        for index, child in enumerate(at.children):
            if not child.is_named:
                continue
            # Asking for a field reads all children before it, and a list may have a hundred thousand.
            field = (at.type, _field(at, index) if at.type in with_fields else "")
            if field in language.call_fields:
                called.add(node_text(_last_name(child)))
            waiting.append((child, _role(language, field, at, role)))
    return NameUsage(frozenset(used - made), frozenset(members), frozenset(made), frozenset(called))


def _field(parent: Node, index: int) -> str:
    """The name of a child's field; `last` for the last child where it has none."""
    return parent.field_name_for_child(index) or ("last" if index == parent.child_count - 1 else "")


def _last_name(node: Node) -> Node:
    """What is called in the end: `c` of `a.b().c`."""
    while node.named_child_count:
        fields = ("name", "attribute", "property", "field")
        node = next((it for name in fields if (it := node.child_by_field_name(name))), node.named_children[-1])
    return node


def _role(language: Language, field: tuple[str, str], parent: Node, role: str) -> str:
    if field in language.member_fields:
        return "member"
    if field in language.binding_fields or (parent.type in _PARAMETERS and not field[1]):
        return "made"
    inherits = parent.type in {"pattern_list", "tuple_pattern", "expression_list", "as_pattern_target", "variable_name"}
    return role if inherits else ""


@dataclass(frozen=True, eq=False)
class Symbol:
    """One thing with a name. Its bytes go from `start` to `end`; `bare` is where they begin without the comments.

    `alone` is False where it is declared in one statement with others. `holder` is the symbol it stands inside.
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
        """Its name without the last part: the class of a method, or nothing."""
        return self.name.rpartition(".")[0]

    @property
    def owner(self) -> str:
        """The class or object that it belongs to; nothing for what stands free, be it in a namespace or module."""
        return self.scope if self.kind is SymbolKind.METHOD or (self.container and self.container.owns_members) else ""

    @property
    def owns_members(self) -> bool:
        """Whether what stands inside belongs to it, as to a class."""
        return self.kind is not SymbolKind.SCOPE or self.node.type == "impl_item"


@dataclass(frozen=True, eq=False)
class Outline:
    """A file read as symbols and imports, both in their order."""

    path: str
    language: Language
    source: bytes
    root: Node
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]

    @cached_property
    def symbols_extent(self) -> tuple[int, int]:
        """Where its first symbol begins and its last one ends."""
        return min((it.start for it in self.symbols), default=0), max((it.end for it in self.symbols), default=0)

    def name_usage(self, symbol: Symbol | None = None) -> NameUsage:
        """The names that a symbol, or the whole file, uses, reaches into, makes and calls."""
        return collect_name_usage(self.language, symbol.outer_node if symbol else self.root)

    def names_above(self, symbol: Symbol) -> frozenset[str]:
        """The names in the decorators and attributes that stand before a symbol's node."""
        above = list_nodes_above_symbol(self.language, symbol.outer_node, symbol.start_without_comments)
        return frozenset(name for it in above for name in collect_name_usage(self.language, it).used)

    def symbol_text(self, symbol: Symbol) -> bytes:
        """A symbol's bytes with the indentation of its first line, where nothing else stands before it."""
        return self.source[line_start_offset(self.source, symbol.start) : symbol.end]


def parse_source_outline(path: str, source: bytes) -> Outline | SpliceRefusal:
    """A file's symbols and imports; refused for a language we do not know. Broken places are left out."""
    language = find_source_language(path)
    if language is None:
        return SpliceRefusal(RefusalKind.LANGUAGE, f"{path} is in no language that can be spliced.")
    return parse_outline_in_language(language, path, source)


@lru_cache(maxsize=64)
def parse_outline_in_language(language: Language, path: str, source: bytes) -> Outline:
    """An outline in a certain language."""
    root = parse_syntax_tree(language, source).root_node
    symbols = tuple(_merged(_symbols(language, source, root)))
    return Outline(path, language, source, root, symbols, parse_file_imports(language, root))


def _symbols(language: Language, source: bytes, root: Node) -> Iterator[Symbol]:
    waiting: list[tuple[Node, Symbol | None]] = [(it, None) for it in reversed(root.children)]
    while waiting:
        node, holder = waiting.pop()
        symbol = _symbol(language, source, node, holder) if node.type in language.symbols else None
        if symbol:
            yield symbol
        if symbol and symbol.kind in {SymbolKind.CLASS, SymbolKind.SCOPE}:
            waiting.extend((it, symbol) for it in reversed(node.children))
        elif symbol and symbol.name.count(".") < MAX_OBJECT_DEPTH:
            waiting.extend((it, symbol) for it in reversed(list_object_literal_members(node)))
        elif not symbol and node.type in language.transparent:
            waiting.extend((it, holder) for it in reversed(node.children))


def _symbol(language: Language, source: bytes, node: Node, holder: Symbol | None) -> Symbol | None:
    found = parse_symbol_name_and_kind(language, node)
    if not found:
        return None
    name, kind = found
    if kind is SymbolKind.FUNCTION and ((holder and holder.owns_members) or len(name) > 1):
        kind = SymbolKind.METHOD
    outer, alone = find_outermost_wrapper(language, node)
    start, bare = symbol_start_offsets(language, source, outer)
    qualified = ".".join((holder.name, *name) if holder else name)
    return Symbol(
        qualified,
        kind,
        start,
        bare,
        symbol_end_offset(source, outer),
        symbol_signature_line(node),
        node,
        outer,
        holder,
        alone,
    )


def _merged(symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """Overload signatures that lead up to their one implementation are part of it (TypeScript, Python)."""
    leading: Symbol | None = None
    for symbol in symbols:
        if leading and (leading.name, leading.container) == (symbol.name, symbol.container):
            symbol = replace(symbol, start=leading.start, start_without_comments=leading.start_without_comments)
        elif leading:
            yield leading
        leading = symbol if is_overload_signature(symbol.node) else None
        if not leading:
            yield symbol
    if leading:
        yield leading
