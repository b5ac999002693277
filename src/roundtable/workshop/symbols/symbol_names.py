"""What a symbol is called and of which kind it is, read off its node.

Objects written out in JavaScript and TypeScript, whose functions are known by the name the object has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language, SymbolKind

FUNCTION_NODE_TYPES = {"arrow_function", "function_expression", "generator_function", "function"}
_HOLDING = {
    "variable_declarator", "pair", "export_statement", "assignment_expression", "field_definition",
    "public_field_definition",
}  # fmt: skip
_AROUND = {"as_expression", "satisfies_expression", "parenthesized_expression"}
_CALLS = {"call_expression", "new_expression"}
MAX_OBJECT_DEPTH = 5
"""So deep in an object its functions are known. Data may be nested as deep as it likes."""


def find_object_literal(node: Node) -> Node | None:
    """The object that a name is given to, or that is handed to the call it is given to."""
    value = (node.child_by_field_name("value") or node.child_by_field_name("right")) if node.type in _HOLDING else None
    while value is not None and value.type in _AROUND:
        value = (value.named_children or [None])[0]
    if value is not None and value.type in _CALLS:
        handed = value.child_by_field_name("arguments")
        value = next((it for it in handed.named_children if it.type == "object"), None) if handed else None
    return value if value is not None and value.type == "object" else None


def list_object_literal_members(node: Node) -> list[Node]:
    """What stands in the object that a name is given to."""
    found = find_object_literal(node)
    return found.children if found is not None else []


def object_literal_has_functions(node: Node) -> bool:
    """Whether there is a function in the object that a name is given to, or not far below in it."""
    level = list(_members_of_worth(node))
    for _ in range(MAX_OBJECT_DEPTH):
        if any(_is_function(it) for it in level):
            return True
        level = [inner for it in level for inner in _members_of_worth(it)]
    return False


def _members_of_worth(node: Node) -> Iterator[Node]:
    return (it for it in list_object_literal_members(node) if it.type in {"pair", "method_definition"})


def _is_function(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return node.type == "method_definition" or (value is not None and value.type in FUNCTION_NODE_TYPES)


_DECLARED = {
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name",
    "operator_cast",
}  # fmt: skip
_PLAIN = {"identifier", "constant", "property_identifier", "private_property_identifier"}
_WITH_BODY = {"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"}
_ELEMENTS = ("_declarator", "_element", "variable_declaration")
_BETWEEN = re.compile(r"::|\.|\\|\s+")
_OPERATOR = re.compile(
    r"(?:^|(?<=[.:\\]))"
    r"(?:operator(?:\s+\w[^(]*|\s*(?:\(\)|\[\]|[^\w\s.(\[]+))|\[\]=?|[-+*/%^&|~!=<>]+@?)"
    r"(?=\s*(?:\(|$))"
)
"""A name made of signs: `operator==` and `operator bool` in C++ and C#, `==` and `[]=` in Ruby."""


def node_text(node: Node | None) -> str:
    """The source text of a node."""
    return (node.text or b"").decode(errors="replace") if node else ""


def parse_symbol_name_and_kind(language: Language, node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """The parts of a symbol's own name and what it is, or None where the node names nothing that could be spliced."""
    kind = language.symbols[node.type]
    is_empty = node.child_by_field_name("body") is None and not any(it.type == "end" for it in node.children[-1:])
    if is_empty and (kind is SymbolKind.SCOPE or node.type in _WITH_BODY):
        return None
    declarators = node.children_by_field_name("declarator")
    if declarators:
        return _declared(declarators, kind)
    match node.type:
        case "assignment_expression":
            return _assigned_member(node)
        case "export_statement":
            return _default(node)
        case "operator_declaration" | "conversion_operator_declaration" | "indexer_declaration":
            return split_symbol_name(_signs(node)), kind
        case "destructor_declaration":
            return (f"~{node_text(node.child_by_field_name('name'))}",), kind
        case _:
            pass
    found = _named(node)
    if found is None:
        return None
    name = split_symbol_name(node_text(found))
    owner = _receiver(node)
    return (((owner, *name) if owner else name), _kind_of(node.child_by_field_name("value"), kind)) if name else None


def _kind_of(value: Node | None, kind: SymbolKind) -> SymbolKind:
    """A name that is given to a function or a class is one."""
    if value is not None and value.type in FUNCTION_NODE_TYPES:
        return SymbolKind.FUNCTION
    return SymbolKind.CLASS if value is not None and value.type == "class" else kind


def split_symbol_name(text: str) -> tuple[str, ...]:
    """A written name as its parts: `N::V<T>::m`, `N.V.m` and `N\\V\\m` are the same."""
    if signs := _OPERATOR.search(text):
        return (*_plain_parts(text[: signs.start()]), re.sub(r"\s+(?!\w)|(?<=\s)\s+", "", signs[0]))
    return _plain_parts(text)


def _plain_parts(text: str) -> tuple[str, ...]:
    kept: list[str] = []
    depth = 0
    for sign in text:
        depth += sign in "<["
        if not depth:
            kept.append(sign)
        depth -= sign in ">]" and depth > 0
    return tuple(part for part in _BETWEEN.split("".join(kept)) if part)


def split_at_top_level_commas(text: str) -> list[str]:
    """What stands between the commas of a list, with the commas inside brackets left alone."""
    parts, depth = [""], 0
    for sign in text:
        depth = max(0, depth + (sign in "{[(<") - (sign in "}])>"))
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [it for it in parts if it.strip()]


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
        case "pair":
            key = node.child_by_field_name("key")
            matters = _kind_of(
                node.child_by_field_name("value"), SymbolKind.VALUE
            ) is not SymbolKind.VALUE or object_literal_has_functions(node)
            return key if key is not None and key.type in _PLAIN and matters else None
        case "field_declaration" | "const_declaration" | "property_declaration" | "event_field_declaration" if (
            not node.child_by_field_name("name")
        ):
            return _element(node)
        case "const_spec" | "var_spec" if len(node.children_by_field_name("name")) > 1:
            return None
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
    return value is not None and node_text(value.child_by_field_name("function")) == "require"


def _assigned_member(node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """`exports.name = function …`, `Type.prototype.name = function …` and `module.exports = {…}`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression":
        return None
    whole = node_text(left).split(".")
    parts = tuple(it for it in whole if it not in {"module", "exports", "prototype"}) or tuple(whole)
    if not all(it.isidentifier() for it in parts):
        return None
    if right.type in FUNCTION_NODE_TYPES:
        return parts, SymbolKind.METHOD if len(parts) > 1 else SymbolKind.FUNCTION
    return (parts, SymbolKind.VALUE) if object_literal_has_functions(node) else None


def _default(node: Node) -> tuple[tuple[str, ...], SymbolKind] | None:
    """What a file exports without giving it a name."""
    kind = _kind_of(node.child_by_field_name("value"), SymbolKind.VALUE)
    return (("default",), kind) if kind is not SymbolKind.VALUE or find_object_literal(node) is not None else None


def _signs(node: Node) -> str:
    """How an operator or an indexer of C# is called: `operator +`, `operator int`, `this`."""
    taken = node.child_by_field_name("parameters")
    before = (node.text or b"")[: taken.start_byte - node.start_byte] if taken is not None else b""
    found = re.search(rb"\boperator\b.*|\bthis\b", before, re.S)
    return " ".join(found[0].decode(errors="replace").split()) if found else ""


def _receiver(node: Node) -> str:
    receiver = node.child_by_field_name("receiver")
    found = re.search(r"([\w]+)\s*(?:\[[^\]]*\])?\s*\)$", node_text(receiver)) if receiver else None
    return found[1] if found else ""


def _declared(declarators: list[Node], kind: SymbolKind) -> tuple[tuple[str, ...], SymbolKind] | None:
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
    if kind is SymbolKind.PROTOTYPE and not is_function and at.type not in {"operator_cast"}:
        kind = SymbolKind.VALUE
    name = split_symbol_name(node_text(at))
    return (name, kind) if name else None
