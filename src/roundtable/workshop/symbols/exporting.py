"""Where a file lists what others may have: `export { … }`, `module.exports = { … }`, `exports.x = x`, `__all__`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from roundtable.workshop.symbols.names import spelled
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.spans import indentation, line_end, line_start

_ALL = "__all__"
_EXPORT = "export"
_ONE_BY_ONE = re.compile(r"(?:module\.)?exports\.\w+")
_HOISTED = {"function_declaration", "generator_function_declaration"}


class _Listed(NamedTuple):
    """A name that others may have, the list it stands in, and the node that says it there."""

    name: str
    where: str
    node: Node


def listed_too(base: Outline, donor: Outline, symbol: Symbol, newline: bytes) -> bytes | None:
    """The base with its new symbol in the list it has with the donor; None where it cannot stand in such a list."""
    theirs = next((it for it in _listed(donor) if it.name == symbol.name), None)
    ours = list(_listed(base))
    if theirs is None or any(it.name == symbol.name for it in ours):
        return base.source
    last = next((it for it in reversed(ours) if it.where == theirs.where), None)
    if last is None:
        # Without such a list, all of a Python module can be had.
        return base.source if theirs.where == _ALL and _ALL not in {it.name for it in base.symbols} else None
    if theirs.where not in {_ALL, _EXPORT} and _is_made_later(base, symbol, last.node):
        return None
    source, text, end = base.source, theirs.node.text or b"", last.node.end_byte
    if last.node.type == "expression_statement":
        end = line_end(source, end)
        return source[:end] + newline + text + source[end:]
    own_line = line_start(source, last.node.start_byte) != last.node.start_byte
    between = newline + indentation(source, last.node.start_byte) if own_line else b" "
    return source[:end] + b"," + between + text + source[end:]


def _is_made_later(base: Outline, symbol: Symbol, place: Node) -> bool:
    """Whether a symbol is not there yet when the list is made."""
    return any(
        it.name == symbol.name and it.node.type not in _HOISTED and it.start > place.start_byte for it in base.symbols
    )


def _listed(file: Outline) -> Iterator[_Listed]:
    for node in file.root.named_children:
        if node.type == "export_statement" and node.child_by_field_name("source") is None:
            clauses = (it for it in node.named_children if it.type == "export_clause")
            names = (it for clause in clauses for it in clause.named_children if it.type == "export_specifier")
            yield from (_Listed(spelled(it.child_by_field_name("name")), _EXPORT, it) for it in names)
        elif node.type == "expression_statement" and node.named_children:
            yield from _assigned(node, node.named_children[0])


def _assigned(statement: Node, node: Node) -> Iterator[_Listed]:
    left, right = spelled(node.child_by_field_name("left")), node.child_by_field_name("right")
    if right is None:
        return
    if left in {"module.exports", _ALL}:
        for it in right.named_children:
            said = spelled(it.child_by_field_name("value") or it)
            yield _Listed(said.strip("'\""), left, it)
    elif _ONE_BY_ONE.fullmatch(left) and right.type == "identifier":
        yield _Listed(spelled(right), "exports", statement)
