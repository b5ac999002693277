"""How symbols of the same name are told apart: by their headings, and by the types of what they take."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from roundtable.workshop.symbols.symbol_names import node_text

_SIGNATURES = {"function_signature", "method_signature"}
_LISTS = {"parameters", "parameter_list", "formal_parameters", "method_parameters"}


def symbol_signature_line(node: Node) -> str:
    """A symbol's text up to its body, on one line."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    body = node.child_by_field_name("body") or (value.child_by_field_name("body") if value is not None else None)
    text = (node.text or b"")[: body.start_byte - node.start_byte] if body is not None else node.text or b""
    lines = text if body is not None else text.split(b"\n")[0]
    return " ".join(lines.decode(errors="replace").split()).rstrip("{ ")


def list_symbol_decorators(node: Node) -> tuple[str, ...]:
    """The decorators around a function, by which a getter and a setter differ."""
    parent = node.parent
    if parent is None or parent.type != "decorated_definition":
        return ()
    return tuple(node_text(it) for it in parent.named_children if it.type == "decorator")


def list_parameter_types(node: Node) -> tuple[str, ...] | None:
    """What a function takes, each by its type where it has one, else by its name. None for what takes nothing."""
    found = _parameters(node)
    return None if found is None else tuple(map(_type_of, found))


def list_parameter_spellings(node: Node) -> set[tuple[str, ...]]:
    """The other ways to say what a function takes: with types and names, and by the names of untyped languages."""
    found = _parameters(node) or []
    whole = tuple(normalize_type_spelling(node_text(it)) for it in found)
    return {whole, tuple(re.split(r"[:=]", it)[0].strip() for it in map(_type_of, found))}


def _parameters(node: Node) -> list[Node] | None:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at.type in _LISTS:
            return [it for it in at.named_children if "comment" not in it.type]
        skipped = {"block", "body_statement", "compound_statement", "statement_block", "class_body", "decorator"}
        waiting.extend(it for it in reversed(at.named_children) if it.type not in skipped)
    return None


def _type_of(parameter: Node) -> str:
    """A parameter without its name and default: `const char *`, `int`; a bare name is left as it is."""
    kind, text = parameter.child_by_field_name("type"), node_text(parameter)
    if kind is None:
        return " ".join(text.split())
    default = parameter.child_by_field_name("default_value") or parameter.child_by_field_name("value")
    name = parameter.child_by_field_name("name") or parameter.child_by_field_name("pattern") or _innermost(parameter)
    for part in (node_text(default), node_text(name)):
        if part and part != node_text(kind):
            text = re.sub(rf"(=\s*)?{re.escape(part)}(?!.*{re.escape(part)})", "", text, count=1, flags=re.S)
    return normalize_type_spelling(re.sub(r"@\w+(?:\([^()]*\))?|\bfinal\b", "", text))


def normalize_type_spelling(text: str) -> str:
    """A type however its blanks are set."""
    return re.sub(r"\s*([*&:,<>\[\]])\s*", r"\1", " ".join(text.split())).strip("=: ")


def _innermost(parameter: Node) -> Node | None:
    at = parameter.child_by_field_name("declarator")
    while at is not None and at.type != "identifier":
        at = at.child_by_field_name("declarator") or (at.named_children or [None])[-1]
    return at


def is_overload_signature(node: Node) -> bool:
    """Whether this is one signature of several that end in an implementation."""
    overload = any(it.split("(")[0].split(".")[-1].lstrip("@") == "overload" for it in list_symbol_decorators(node))
    return node.type in _SIGNATURES or overload


def match_nodes_by_signature(nodes: Sequence[Node], other: Node) -> list[int]:
    """Which of these are told by another's signature: by the whole heading, else by decorators and what it takes."""
    for key in (_whole, _within, _taking):
        found = [index for index, it in enumerate(nodes) if key(it) == key(other)]
        if len(found) == 1:
            return found
    return list(range(len(nodes)))


def _whole(node: Node) -> object:
    return list_symbol_decorators(node), symbol_signature_line(node)


def _within(node: Node) -> object:
    """The heading with that of the `impl` it stands in, by which two traits' methods differ."""
    at = node.parent
    while at is not None and at.type != "impl_item":
        at = at.parent
    return _whole(node), symbol_signature_line(at) if at is not None else ""


def _taking(node: Node) -> object:
    accessor = next((it.type for it in node.children if it.type in {"get", "set", "static"}), "")
    return list_symbol_decorators(node), list_parameter_types(node), accessor
