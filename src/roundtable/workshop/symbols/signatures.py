"""Signatures: how symbols of the same name are distinguished, by heading and by parameter types."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from roundtable.workshop.symbols.symbol_names import syntax_node_text

_SIGNATURE_NODES = {"function_signature", "method_signature"}
_PARAMETER_LIST_NODES = {"parameters", "parameter_list", "formal_parameters", "method_parameters"}


def symbol_signature_line(node: Node) -> str:
    """Return a symbol's text up to its body, on one line."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    body = node.child_by_field_name("body") or (value.child_by_field_name("body") if value is not None else None)
    text = (node.text or b"")[: body.start_byte - node.start_byte] if body is not None else node.text or b""
    signature = text if body is not None else text.split(b"\n")[0]
    return " ".join(signature.decode(errors="replace").split()).rstrip("{ ")


def _list_symbol_decorators(node: Node) -> tuple[str, ...]:
    """Return the decorators of a function. They distinguish a getter from a setter."""
    parent = node.parent
    if parent is None or parent.type != "decorated_definition":
        return ()
    return tuple(syntax_node_text(child) for child in parent.named_children if child.type == "decorator")


def list_parameter_types(node: Node) -> tuple[str, ...] | None:
    """Return the type of each parameter, or its name where it has no type; None without a parameter list."""
    parameters = _parameter_nodes(node)
    return None if parameters is None else tuple(map(_parameter_type, parameters))


def list_parameter_spellings(node: Node) -> set[tuple[str, ...]]:
    """Return other spellings of the parameter list: types with names, and names alone for untyped languages."""
    parameters = _parameter_nodes(node) or []
    with_names = tuple(normalize_type_spelling(syntax_node_text(parameter)) for parameter in parameters)
    return {
        with_names,
        tuple(re.split(r"[:=]", parameter_type)[0].strip() for parameter_type in map(_parameter_type, parameters)),
    }


def _parameter_nodes(node: Node) -> list[Node] | None:
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in _PARAMETER_LIST_NODES:
            return [child for child in current.named_children if "comment" not in child.type]
        skipped = {"block", "body_statement", "compound_statement", "statement_block", "class_body", "decorator"}
        pending.extend(child for child in reversed(current.named_children) if child.type not in skipped)
    return None


def _parameter_type(parameter: Node) -> str:
    """Return a parameter without its name and default: `const char *`, `int`. A bare name stays as it is."""
    kind, text = parameter.child_by_field_name("type"), syntax_node_text(parameter)
    if kind is None:
        return " ".join(text.split())
    default = parameter.child_by_field_name("default_value") or parameter.child_by_field_name("value")
    name = (
        parameter.child_by_field_name("name")
        or parameter.child_by_field_name("pattern")
        or _innermost_declarator(parameter)
    )
    for part in (syntax_node_text(default), syntax_node_text(name)):
        if part and part != syntax_node_text(kind):
            text = re.sub(rf"(=\s*)?{re.escape(part)}(?!.*{re.escape(part)})", "", text, count=1, flags=re.S)
    return normalize_type_spelling(re.sub(r"@\w+(?:\([^()]*\))?|\bfinal\b", "", text))


def normalize_type_spelling(text: str) -> str:
    """Return a type with its whitespace normalized."""
    return re.sub(r"\s*([*&:,<>\[\]])\s*", r"\1", " ".join(text.split())).strip("=: ")


def _innermost_declarator(parameter: Node) -> Node | None:
    current = parameter.child_by_field_name("declarator")
    while current is not None and current.type != "identifier":
        current = current.child_by_field_name("declarator") or (current.named_children or [None])[-1]
    return current


def is_overload_signature(node: Node) -> bool:
    """Tell whether a node is one of several overload signatures that precede an implementation."""
    overload = any(
        decorator.split("(")[0].split(".")[-1].lstrip("@") == "overload" for decorator in _list_symbol_decorators(node)
    )
    return node.type in _SIGNATURE_NODES or overload


def match_nodes_by_signature(nodes: Sequence[Node], other: Node) -> list[int]:
    """Return the indices of the nodes that match another node's signature; all indices if no key matches exactly one.

    Compares the whole heading, then the heading with its `impl`, then decorators and parameter types.
    """
    for key in (_by_signature, _by_signature_and_impl, _by_parameters):
        matches = [index for index, node in enumerate(nodes) if key(node) == key(other)]
        if len(matches) == 1:
            return matches
    return list(range(len(nodes)))


def _by_signature(node: Node) -> object:
    return _list_symbol_decorators(node), symbol_signature_line(node)


def _by_signature_and_impl(node: Node) -> object:
    """Return the heading and that of the surrounding `impl`, which distinguishes methods of two traits."""
    current = node.parent
    while current is not None and current.type != "impl_item":
        current = current.parent
    return _by_signature(node), symbol_signature_line(current) if current is not None else ""


def _by_parameters(node: Node) -> object:
    accessor = next((child.type for child in node.children if child.type in {"get", "set", "static"}), "")
    return _list_symbol_decorators(node), list_parameter_types(node), accessor
