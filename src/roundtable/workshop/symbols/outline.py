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
from roundtable.workshop.symbols.imports import Import, imports_of
from roundtable.workshop.symbols.languages import Kind, Language, language_of
from roundtable.workshop.symbols.names import DEEPEST, members, name_and_kind, spelled
from roundtable.workshop.symbols.signatures import heading, leads_up
from roundtable.workshop.symbols.spans import beginning, ending, heads, line_start, outermost
from roundtable.workshop.symbols.syntax_trees import Refused, parsed

_LEAVES = {
    "identifier", "type_identifier", "field_identifier", "property_identifier", "package_identifier",
    "namespace_identifier", "shorthand_property_identifier", "private_property_identifier", "constant", "name",
}  # fmt: skip
_PARAMETERS = {"parameters", "formal_parameters"}


class Words(NamedTuple):
    """Names by what they are to the code that says them. A name may be of several kinds."""

    used: frozenset[str]
    members: frozenset[str]
    made: frozenset[str]
    called: frozenset[str]


def words_in(language: Language, node: Node) -> Words:
    """Read all names below a node."""
    used: set[str] = set()
    members: set[str] = set()
    made: set[str] = set()
    called: set[str] = set()
    with_fields = {kind for kind, _ in language.calls | language.members | language.binds} | _PARAMETERS
    waiting = [(node, "")]
    while waiting:
        at, role = waiting.pop()
        if at.type in _LEAVES and not at.named_child_count:
            {"member": members, "made": made}.get(role, used).add(spelled(at))
            continue
        for index, child in enumerate(at.children):
            if not child.is_named:
                continue
            # Asking for a field reads all children before it, and a list may have a hundred thousand.
            field = (at.type, _field(at, index) if at.type in with_fields else "")
            if field in language.calls:
                called.add(spelled(_last_name(child)))
            waiting.append((child, _role(language, field, at, role)))
    return Words(frozenset(used - made), frozenset(members), frozenset(made), frozenset(called))


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
    if field in language.members:
        return "member"
    if field in language.binds or (parent.type in _PARAMETERS and not field[1]):
        return "made"
    inherits = parent.type in {"pattern_list", "tuple_pattern", "expression_list", "as_pattern_target", "variable_name"}
    return role if inherits else ""


@dataclass(frozen=True, eq=False)
class Symbol:
    """One thing with a name. Its bytes go from `start` to `end`; `bare` is where they begin without the comments.

    `alone` is False where it is declared in one statement with others. `holder` is the symbol it stands inside.
    """

    name: str
    kind: Kind
    start: int
    bare: int
    end: int
    signature: str
    node: Node
    outer: Node
    holder: Symbol | None = None
    alone: bool = True

    @property
    def simple(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    @property
    def scope(self) -> str:
        """Its name without the last part: the class of a method, or nothing."""
        return self.name.rpartition(".")[0]

    @property
    def owner(self) -> str:
        """The class or object that it belongs to; nothing for what stands free, be it in a namespace or module."""
        return self.scope if self.kind is Kind.METHOD or (self.holder and self.holder.owns) else ""

    @property
    def owns(self) -> bool:
        """Whether what stands inside belongs to it, as to a class."""
        return self.kind is not Kind.SCOPE or self.node.type == "impl_item"


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
    def extent(self) -> tuple[int, int]:
        """Where its first symbol begins and its last one ends."""
        return min((it.start for it in self.symbols), default=0), max((it.end for it in self.symbols), default=0)

    def words(self, symbol: Symbol | None = None) -> Words:
        """The names that a symbol, or the whole file, uses, reaches into, makes and calls."""
        return words_in(self.language, symbol.outer if symbol else self.root)

    def said_above(self, symbol: Symbol) -> frozenset[str]:
        """The names in the decorators and attributes that stand before a symbol's node."""
        above = heads(self.language, symbol.outer, symbol.bare)
        return frozenset(name for it in above for name in words_in(self.language, it).used)

    def text(self, symbol: Symbol) -> bytes:
        """A symbol's bytes with the indentation of its first line, where nothing else stands before it."""
        return self.source[line_start(self.source, symbol.start) : symbol.end]


def outline(path: str, source: bytes) -> Outline | Refused:
    """A file's symbols and imports; refused for a language we do not know. Broken places are left out."""
    language = language_of(path)
    if language is None:
        return Refused(RefusalKind.LANGUAGE, f"{path} is in no language that can be spliced.")
    return outlined(language, path, source)


@lru_cache(maxsize=64)
def outlined(language: Language, path: str, source: bytes) -> Outline:
    """An outline in a certain language."""
    root = parsed(language, source).root_node
    symbols = tuple(_merged(_symbols(language, source, root)))
    return Outline(path, language, source, root, symbols, imports_of(language, root))


def _symbols(language: Language, source: bytes, root: Node) -> Iterator[Symbol]:
    waiting: list[tuple[Node, Symbol | None]] = [(it, None) for it in reversed(root.children)]
    while waiting:
        node, holder = waiting.pop()
        symbol = _symbol(language, source, node, holder) if node.type in language.symbols else None
        if symbol:
            yield symbol
        if symbol and symbol.kind in {Kind.CLASS, Kind.SCOPE}:
            waiting.extend((it, symbol) for it in reversed(node.children))
        elif symbol and symbol.name.count(".") < DEEPEST:
            waiting.extend((it, symbol) for it in reversed(members(node)))
        elif not symbol and node.type in language.through:
            waiting.extend((it, holder) for it in reversed(node.children))


def _symbol(language: Language, source: bytes, node: Node, holder: Symbol | None) -> Symbol | None:
    found = name_and_kind(language, node)
    if not found:
        return None
    name, kind = found
    if kind is Kind.FUNCTION and ((holder and holder.owns) or len(name) > 1):
        kind = Kind.METHOD
    outer, alone = outermost(language, node)
    start, bare = beginning(language, source, outer)
    qualified = ".".join((holder.name, *name) if holder else name)
    return Symbol(qualified, kind, start, bare, ending(source, outer), heading(node), node, outer, holder, alone)


def _merged(symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """Overload signatures that lead up to their one implementation are part of it (TypeScript, Python)."""
    leading: Symbol | None = None
    for symbol in symbols:
        if leading and (leading.name, leading.holder) == (symbol.name, symbol.holder):
            symbol = replace(symbol, start=leading.start, bare=leading.bare)
        elif leading:
            yield leading
        leading = symbol if leads_up(symbol.node) else None
        if not leading:
            yield symbol
    if leading:
        yield leading
