"""What a symbol is called and of which kind it is, read off its node."""

from __future__ import annotations

import re

from tree_sitter import Node

from roundtable.workshop.structure.languages import Kind, Language

_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}
_DECLARED = {
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name",
    "operator_cast",
}  # fmt: skip
_PLAIN = {"identifier", "constant", "property_identifier", "private_property_identifier"}
_WITH_BODY = {"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"}
_ELEMENTS = ("_declarator", "_element", "variable_declaration")
_BETWEEN = re.compile(r"::|\.|\\|\s+")


def spelled(node: Node | None) -> str:
    """The source text of a node."""
    return (node.text or b"").decode(errors="replace") if node else ""


def name_and_kind(language: Language, node: Node) -> tuple[tuple[str, ...], Kind] | None:
    """The parts of a symbol's own name and what it is, or None where the node names nothing that could be spliced."""
    kind = language.symbols[node.type]
    if (kind is Kind.SCOPE or node.type in _WITH_BODY) and node.child_by_field_name("body") is None:
        return None
    declarators = node.children_by_field_name("declarator")
    if declarators:
        return _declared(declarators, kind)
    if node.type == "assignment_expression":
        return _assigned_member(node)
    found = _named(node)
    if found is None:
        return None
    value = node.child_by_field_name("value")
    if value is not None and value.type in _FUNCTIONS:
        kind = Kind.FUNCTION
    elif value is not None and value.type == "class":
        kind = Kind.CLASS
    name = parts_of(spelled(found))
    owner = _receiver(node)
    return (((owner, *name) if owner else name), kind) if name else None


def parts_of(text: str) -> tuple[str, ...]:
    """A written name as its parts: `N::V<T>::m`, `N.V.m` and `N\\V\\m` are the same."""
    kept: list[str] = []
    depth = 0
    for sign in text:
        depth += sign in "<["
        if not depth:
            kept.append(sign)
        depth -= sign in ">]" and depth > 0
    return tuple(part for part in _BETWEEN.split("".join(kept)) if part)


def _named(node: Node) -> Node | None:
    match node.type:
        case "impl_item":
            return node.child_by_field_name("type")
        case "assignment":
            left = node.child_by_field_name("left")
            return left if left is not None and left.type in _PLAIN else None
        case "variable_declarator" | "field_definition" | "public_field_definition":
            found = node.child_by_field_name("name") or node.child_by_field_name("property")
            return found if found is not None and found.type in _PLAIN and not _required(node) else None
        case "field_declaration" | "const_declaration" | "property_declaration" if not node.child_by_field_name("name"):
            return _element(node)
        case _:
            return node.child_by_field_name("name")


def _element(node: Node) -> Node | None:
    """The name in the one element of a declaration (C# fields, PHP constants and properties)."""
    at: Node | None = node
    while at is not None and at.type not in {"identifier", "name"}:
        inner = [it for it in at.named_children if it.type.endswith(_ELEMENTS)]
        if len(inner) > 1:
            return None
        at = inner[0] if inner else at.child_by_field_name("name") or (at.named_children or [None])[0]
    return at


def _required(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and spelled(value.child_by_field_name("function")) == "require"


def _assigned_member(node: Node) -> tuple[tuple[str, ...], Kind] | None:
    """`exports.name = function …` and `Type.prototype.name = function …`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression" or right.type not in _FUNCTIONS:
        return None
    parts = [it for it in spelled(left).split(".") if it not in {"module", "exports", "prototype"}]
    plain = all(it.isidentifier() for it in parts)
    return (tuple(parts), Kind.METHOD if len(parts) > 1 else Kind.FUNCTION) if parts and plain else None


def _receiver(node: Node) -> str:
    receiver = node.child_by_field_name("receiver")
    found = re.search(r"([\w]+)\s*(?:\[[^\]]*\])?\s*\)$", spelled(receiver)) if receiver else None
    return found[1] if found else ""


def _declared(declarators: list[Node], kind: Kind) -> tuple[tuple[str, ...], Kind] | None:
    """A name out of the declarators of C, C++ and Java. A declaration of several things at once is nobody's."""
    if len(declarators) > 1:
        return None
    at, is_function = declarators[0], False
    while at.type not in _DECLARED:
        within = at.child_by_field_name("declarator") or at.child_by_field_name("name")
        inner = within or next((it for it in reversed(at.named_children) if it.type not in {"type_qualifier"}), None)
        if inner is None:
            return None
        if at.type == "function_declarator":
            is_function = inner.type != "parenthesized_declarator"
        at = inner
    if kind is Kind.PROTOTYPE and not is_function and at.type not in {"operator_cast"}:
        kind = Kind.VALUE
    cast = re.sub(r"\W+", "_", spelled(at).split("(")[0].strip())
    name = (cast,) if at.type == "operator_cast" else parts_of(_joined_operator(at))
    return (name, kind) if name else None


def _joined_operator(node: Node) -> str:
    """`operator ==` is one word; nothing in it is a bracket."""
    text = spelled(node)
    before, operator, sign = text.partition("operator")
    if not operator or (sign and (sign[0].isalnum() or sign[0] == "_")):
        return text
    signs = {"(": "call", ")": "", "<": "less", ">": "more", "[": "at", "]": "", ".": "dot", " ": ""}
    return before + operator + "".join(signs.get(it, it) for it in sign)
