"""Which bytes belong to a symbol, and on which lines they stand."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language

_TRAILING = {";", "heredoc_body"}


def find_outermost_wrapper(language: Language, node: Node) -> tuple[Node, bool]:
    """The node with all that is wrapped around it; False where a wrapper holds others besides."""
    while node.parent is not None and node.parent.type in language.wrappers:
        if not _is_only_one(language, node.parent):
            return node, False
        node = node.parent
    return node, True


def _is_only_one(language: Language, wrapper: Node) -> bool:
    """Whether a wrapper holds one symbol. It is not read further than to the second: there may be thousands."""
    found = 0
    for index in range(wrapper.named_child_count):
        child = wrapper.named_child(index)
        found += child is not None and (child.type in language.symbols or child.type in language.transparent)
        if found > 1:
            return False
    return True


def symbol_start_offsets(language: Language, source: bytes, outer: Node) -> tuple[int, int]:
    """Where a symbol begins with what stands directly above it, and where without the comments on top."""
    start = bare = outer.start_byte
    at = outer
    while above := _above(language, at):
        text = (above.text or b"").rstrip()
        apart = source.count(b"\n", above.start_byte + len(text), start) > 1
        is_comment = "comment" in above.type
        if apart or (is_comment and not _own_line(source, above)) or text.startswith(b"#!"):
            break
        at, start = above, above.start_byte
        if not is_comment:
            bare = start
    return start, bare


def list_nodes_above_symbol(language: Language, outer: Node, start: int) -> Iterator[Node]:
    """The decorators and attributes of a symbol that begins here, where they stand before its node."""
    at: Node | None = outer
    while (at := _above(language, at)) is not None and at.start_byte >= start:
        yield at


def _above(language: Language, node: Node) -> Node | None:
    above = node.prev_sibling
    if above is None and node.parent is not None and node.parent.type in language.transparent:
        above = node.parent.prev_sibling
    return above if above is not None and above.type in language.leading else None


def _own_line(source: bytes, node: Node) -> bool:
    return not source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].strip()


def symbol_end_offset(source: bytes, outer: Node) -> int:
    """Where a symbol ends, with its semicolon and without the newline. A function has none, even if one follows."""
    end, after = outer.end_byte, outer.next_sibling if outer.type != "function_definition" else None
    while after is not None and after.type in _TRAILING and not source[end : after.start_byte].strip():
        end, after = after.end_byte, after.next_sibling
    return outer.start_byte + len(source[outer.start_byte : end].rstrip())


def find_trailing_comma(node: Node) -> Node | None:
    """The comma that parts what stands in an object from the next."""
    after = node.next_sibling if node.parent is not None and node.parent.type == "object" else None
    return after if after is not None and after.type == "," else None


def line_start_offset(source: bytes, at: int) -> int:
    """The beginning of the line, if only blanks stand before this place; else the place itself."""
    start = source.rfind(b"\n", 0, at) + 1
    return at if source[start:at].strip(b" \t") else start


def line_indentation(source: bytes, at: int) -> bytes:
    """The blanks at the beginning of the line this place is on."""
    start = source.rfind(b"\n", 0, at) + 1
    line = source[start:at]
    return line[: len(line) - len(line.lstrip(b" \t"))]


def line_end_offset(source: bytes, at: int) -> int:
    """The end of the line this place is on, before its newline."""
    end = source.find(b"\n", at)
    end = len(source) if end < 0 else end
    return end - 1 if end > at and source[end - 1 : end] == b"\r" else end
