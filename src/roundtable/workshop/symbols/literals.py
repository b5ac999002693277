"""Objects written out in JavaScript and TypeScript, whose functions are known by the name the object has."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}
_HOLDING = {
    "variable_declarator", "pair", "export_statement", "assignment_expression", "field_definition",
    "public_field_definition",
}  # fmt: skip
_AROUND = {"as_expression", "satisfies_expression", "parenthesized_expression"}
_CALLS = {"call_expression", "new_expression"}
DEEPEST = 5
"""So deep in an object its functions are known. Data may be nested as deep as it likes."""


def written_out(node: Node) -> Node | None:
    """The object that a name is given to, or that is handed to the call it is given to."""
    value = (node.child_by_field_name("value") or node.child_by_field_name("right")) if node.type in _HOLDING else None
    while value is not None and value.type in _AROUND:
        value = (value.named_children or [None])[0]
    if value is not None and value.type in _CALLS:
        handed = value.child_by_field_name("arguments")
        value = next((it for it in handed.named_children if it.type == "object"), None) if handed else None
    return value if value is not None and value.type == "object" else None


def members(node: Node) -> list[Node]:
    """What stands in the object that a name is given to."""
    found = written_out(node)
    return found.children if found is not None else []


def holds_functions(node: Node) -> bool:
    """Whether there is a function in the object that a name is given to, or not far below in it."""
    level = list(_members_of_worth(node))
    for _ in range(DEEPEST):
        if any(_is_function(it) for it in level):
            return True
        level = [inner for it in level for inner in _members_of_worth(it)]
    return False


def _members_of_worth(node: Node) -> Iterator[Node]:
    return (it for it in members(node) if it.type in {"pair", "method_definition"})


def _is_function(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return node.type == "method_definition" or (value is not None and value.type in FUNCTIONS)
