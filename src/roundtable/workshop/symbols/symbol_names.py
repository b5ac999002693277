"""The name and kind of a symbol, read from its syntax node.

Functions in JavaScript and TypeScript object literals are known by the name of the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language, SymbolKind

FUNCTION_NODE_TYPES = {"arrow_function", "function_expression", "generator_function", "function"}
_ASSIGNING_NODES = {
    "variable_declarator", "pair", "export_statement", "assignment_expression", "field_definition",
    "public_field_definition",
}  # fmt: skip
_TRANSPARENT_EXPRESSIONS = {"as_expression", "satisfies_expression", "parenthesized_expression"}
_CALL_NODES = {"call_expression", "new_expression"}
MAX_OBJECT_DEPTH = 5
"""Functions nested deeper than this in an object literal are not symbols. Data may be nested deeper."""


def find_object_literal_syntax_node(node: Node) -> Node | None:
    """Return the object literal assigned to a name, or passed to the call that is assigned to it."""
    value = (
        (node.child_by_field_name("value") or node.child_by_field_name("right"))
        if node.type in _ASSIGNING_NODES
        else None
    )
    while value is not None and value.type in _TRANSPARENT_EXPRESSIONS:
        value = (value.named_children or [None])[0]
    if value is not None and value.type in _CALL_NODES:
        arguments = value.child_by_field_name("arguments")
        value = (
            next((child for child in arguments.named_children if child.type == "object"), None) if arguments else None
        )
    return value if value is not None and value.type == "object" else None


def list_object_literal_members(node: Node) -> list[Node]:
    """Return the children of the object literal assigned to a name."""
    literal = find_object_literal_syntax_node(node)
    return literal.children if literal is not None else []


def _object_literal_has_functions(node: Node) -> bool:
    """Tell whether the object literal assigned to a name contains a function at a small depth."""
    members = list(_list_pairs_and_methods(node))
    for _ in range(MAX_OBJECT_DEPTH):
        if any(_is_function_member(member) for member in members):
            return True
        members = [inner for member in members for inner in _list_pairs_and_methods(member)]
    return False


def _list_pairs_and_methods(node: Node) -> Iterator[Node]:
    return (child for child in list_object_literal_members(node) if child.type in {"pair", "method_definition"})


def _is_function_member(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return node.type == "method_definition" or (value is not None and value.type in FUNCTION_NODE_TYPES)


_DECLARED_NAME_NODES = {
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name",
    "operator_cast",
}  # fmt: skip
_PLAIN_NAME_NODES = {"identifier", "constant", "property_identifier", "private_property_identifier"}
_NODES_NEEDING_BODY = {"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"}
_ELEMENT_SUFFIXES = ("_declarator", "_element", "variable_declaration")
_NAME_SEPARATOR = re.compile(r"::|\.|\\|\s+")
_OPERATOR_NAME = re.compile(
    r"(?:^|(?<=[.:\\]))"
    r"(?:operator(?:\s+\w[^(]*|\s*(?:\(\)|\[\]|[^\w\s.(\[]+))|\[\]=?|[-+*/%^&|~!=<>]+@?)"
    r"(?=\s*(?:\(|$))"
)
"""An operator name: `operator==` and `operator bool` in C++ and C#, `==` and `[]=` in Ruby."""


def syntax_node_text(node: Node | None) -> str:
    """Return the source text of a node of the syntax tree; empty if the node is None."""
    return (node.text or b"").decode(errors="replace") if node else ""


def parse_symbol_name_and_kind(language: Language, node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """Return the parts of a symbol's own name and its kind, or None for a node that cannot be spliced."""
    kind = language.symbols[node.type]
    is_empty = node.child_by_field_name("body") is None and not any(child.type == "end" for child in node.children[-1:])
    if is_empty and (kind is SymbolKind.SCOPE or node.type in _NODES_NEEDING_BODY):
        return None
    declarators = node.children_by_field_name("declarator")
    if declarators:
        return _parse_declarators(declarators, kind)
    match node.type:
        case "assignment_expression":
            return _parse_member_assignment(node)
        case "export_statement":
            return _parse_default_export(node)
        case "operator_declaration" | "conversion_operator_declaration" | "indexer_declaration":
            return split_symbol_name(_operator_name(node)), kind
        case "destructor_declaration":
            return (f"~{syntax_node_text(node.child_by_field_name('name'))}",), kind
        case _:
            pass
    name_node = _find_name_node(node)
    if name_node is None:
        return None
    name = split_symbol_name(syntax_node_text(name_node))
    receiver = _receiver_type(node)
    return (
        (((receiver, *name) if receiver else name), _kind_of_value(node.child_by_field_name("value"), kind))
        if name
        else None
    )


def _kind_of_value(value: Node | None, kind: SymbolKind) -> SymbolKind:
    """Return FUNCTION or CLASS if that is assigned to the name, else the given kind."""
    if value is not None and value.type in FUNCTION_NODE_TYPES:
        return SymbolKind.FUNCTION
    return SymbolKind.CLASS if value is not None and value.type == "class" else kind


def split_symbol_name(text: str) -> tuple[str, ...]:
    """Split a written name into its parts: `N::V<T>::m`, `N.V.m` and `N\\V\\m` give the same parts."""
    if operator := _OPERATOR_NAME.search(text):
        return (*_split_plain_name(text[: operator.start()]), re.sub(r"\s+(?!\w)|(?<=\s)\s+", "", operator[0]))
    return _split_plain_name(text)


def _split_plain_name(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += character in "<["
        if not depth:
            parts.append(character)
        depth -= character in ">]" and depth > 0
    return tuple(part for part in _NAME_SEPARATOR.split("".join(parts)) if part)


def split_code_at_top_level_commas(text: str) -> list[str]:
    """Split a list in source code at its commas, except those inside brackets; empty parts are left out."""
    parts, depth = [""], 0
    for character in text:
        depth = max(0, depth + (character in "{[(<") - (character in "}])>"))
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _find_name_node(node: Node) -> Node | None:
    match node.type:
        case "impl_item":
            return node.child_by_field_name("type")
        case "assignment":
            left = node.child_by_field_name("left")
            return left if left is not None and left.type in _PLAIN_NAME_NODES else None
        case "variable_declarator" | "field_definition" | "public_field_definition":
            name = node.child_by_field_name("name") or node.child_by_field_name("property")
            return name if name is not None and name.type in _PLAIN_NAME_NODES and not _is_require_call(node) else None
        case "pair":
            key = node.child_by_field_name("key")
            has_functions = _kind_of_value(
                node.child_by_field_name("value"), SymbolKind.VALUE
            ) is not SymbolKind.VALUE or _object_literal_has_functions(node)
            return key if key is not None and key.type in _PLAIN_NAME_NODES and has_functions else None
        case "field_declaration" | "const_declaration" | "property_declaration" | "event_field_declaration" if (
            not node.child_by_field_name("name")
        ):
            return _find_single_element_name(node)
        case "const_spec" | "var_spec" if len(node.children_by_field_name("name")) > 1:
            return None
        case _:
            return node.child_by_field_name("name")


def _find_single_element_name(node: Node) -> Node | None:
    """Return the name of the only element of a declaration (C# fields, PHP constants and properties)."""
    current: Node | None = node
    while current is not None and current.type not in {"identifier", "name"}:
        elements = [child for child in current.named_children if child.type.endswith(_ELEMENT_SUFFIXES)]
        if len(elements) > 1:
            return None
        current = (
            elements[0] if elements else current.child_by_field_name("name") or (current.named_children or [None])[0]
        )
    return current


def _is_require_call(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and syntax_node_text(value.child_by_field_name("function")) == "require"


def _parse_member_assignment(node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """Parse `exports.name = function …`, `Type.prototype.name = function …` and `module.exports = {…}`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression":
        return None
    all_parts = syntax_node_text(left).split(".")
    parts = tuple(part for part in all_parts if part not in {"module", "exports", "prototype"}) or tuple(all_parts)
    if not all(part.isidentifier() for part in parts):
        return None
    if right.type in FUNCTION_NODE_TYPES:
        return parts, SymbolKind.METHOD if len(parts) > 1 else SymbolKind.FUNCTION
    return (parts, SymbolKind.VALUE) if _object_literal_has_functions(node) else None


def _parse_default_export(node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """Return the name `default` for an export that has no name of its own."""
    kind = _kind_of_value(node.child_by_field_name("value"), SymbolKind.VALUE)
    return (
        (("default",), kind)
        if kind is not SymbolKind.VALUE or find_object_literal_syntax_node(node) is not None
        else None
    )


def _operator_name(node: Node) -> str:
    """Return the name of a C# operator or indexer: `operator +`, `operator int`, `this`."""
    parameters = node.child_by_field_name("parameters")
    before = (node.text or b"")[: parameters.start_byte - node.start_byte] if parameters is not None else b""
    name = re.search(rb"\boperator\b.*|\bthis\b", before, re.S)
    return " ".join(name[0].decode(errors="replace").split()) if name else ""


def _receiver_type(node: Node) -> str:
    receiver = node.child_by_field_name("receiver")
    match = re.search(r"([\w]+)\s*(?:\[[^\]]*\])?\s*\)$", syntax_node_text(receiver)) if receiver else None
    return match[1] if match else ""


def _parse_declarators(declarators: list[Node], kind: SymbolKind) -> tuple[tuple[str, ...], SymbolKind] | None:
    """Return name and kind from C, C++ and Java declarators; None for a declaration of several names."""
    if len(declarators) > 1:
        return None
    current, is_function = declarators[0], False
    while current.type not in _DECLARED_NAME_NODES:
        nested = current.child_by_field_name("declarator") or current.child_by_field_name("name")
        inner = nested or next(
            (child for child in reversed(current.named_children) if child.type not in {"type_qualifier"}), None
        )
        if inner is None:
            return None
        if current.type == "function_declarator":
            is_function = inner.type != "parenthesized_declarator"
        current = inner
    if kind is SymbolKind.PROTOTYPE and not is_function and current.type not in {"operator_cast"}:
        kind = SymbolKind.VALUE
    name = split_symbol_name(syntax_node_text(current))
    return (name, kind) if name else None
