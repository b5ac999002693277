"""The names a piece of code says: what it uses, what it reaches into, what it makes itself and what it calls."""

from __future__ import annotations

from typing import NamedTuple

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language
from roundtable.workshop.symbols.names import spelled

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
