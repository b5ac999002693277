"""What stands around a symbol besides its class: a condition, `class << self`, a heading such as `private:`.

What is put there gets a meaning that it does not have elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from roundtable.workshop.symbols.names import spelled
from roundtable.workshop.symbols.outline import Outline, Symbol

_VISIBLE = {"private", "protected", "public", "module_function"}


def conditions(file: Outline, symbol: Symbol) -> tuple[str, ...]:
    """The first lines of what it stands under. A guard around all of a header is none."""
    return tuple(spelled(it).split("\n", 1)[0].strip() for it in _around(file, symbol))


def _around(file: Outline, symbol: Symbol) -> Iterator[Node]:
    first, last = file.extent
    top = symbol.holder.node if symbol.holder else file.root
    at = symbol.outer.parent
    while at is not None and at.id != top.id:
        is_guard = at.type.startswith("preproc") and at.start_byte <= first and last <= at.end_byte
        if at.type in file.language.around and not is_guard:
            yield at
        at = at.parent


class Headings:
    """What a class says, above some of its members, about who may see them: `private:` and the like."""

    def __init__(self, holder: Symbol | None) -> None:
        body = holder.node.child_by_field_name("body") if holder else None
        self._found = [it for it in body.named_children if _is_heading(it)] if body is not None else []

    def over(self, symbol: Symbol) -> str:
        """The heading that a member stands under; nothing above the first one."""
        return next((_said(it) for it in reversed(self._found) if it.start_byte < symbol.start), "")

    def last(self, said: str) -> Node | None:
        """The last heading that says this."""
        return next((it for it in reversed(self._found) if _said(it) == said), None)

    def first(self) -> Node | None:
        """The first heading of all."""
        return next(iter(self._found), None)


def _is_heading(node: Node) -> bool:
    return node.type == "access_specifier" or (node.type == "identifier" and spelled(node) in _VISIBLE)


def _said(heading: Node) -> str:
    return spelled(heading).strip(": ")


def in_class_itself(symbol: Symbol) -> bool:
    """Whether it stands in Ruby's `class << self`, where a method is the class's own."""
    at = symbol.outer.parent
    while at is not None and at.type == "body_statement":
        at = at.parent
    return at is not None and at.type == "singleton_class"
