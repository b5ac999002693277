"""The byte range that belongs to a symbol, and the lines it occupies."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language

_TRAILING_NODES = {";", "heredoc_body"}


def find_outermost_syntax_wrapper(language: Language, node: Node) -> tuple[Node, bool]:
    """Return the node with its wrappers, and False if a wrapper contains other symbols too."""
    while node.parent is not None and node.parent.type in language.wrappers:
        if not _wraps_one_symbol(language, node.parent):
            return node, False
        node = node.parent
    return node, True


def _wraps_one_symbol(language: Language, wrapper: Node) -> bool:
    """Tell whether a wrapper contains one symbol. Stops at the second: there may be thousands."""
    count = 0
    for index in range(wrapper.named_child_count):
        child = wrapper.named_child(index)
        count += bool(child) and (child.type in language.symbols or child.type in language.transparent)
        if count > 1:
            return False
    return True


def symbol_start_offsets(language: Language, source: bytes, outer: Node) -> tuple[int, int]:
    """Return where a symbol begins with the nodes directly above it, and where without its comments."""
    start = without_comments = outer.start_byte
    node = outer
    while above := _node_above(language, node):
        text = (above.text or b"").rstrip()
        is_separated = source.count(b"\n", above.start_byte + len(text), start) > 1
        is_comment = "comment" in above.type
        if is_separated or (is_comment and not _is_on_own_line(source, above)) or text.startswith(b"#!"):
            break
        node, start = above, above.start_byte
        if not is_comment:
            without_comments = start
    return start, without_comments


def list_nodes_preceding_symbol(language: Language, outer: Node, start: int) -> Iterator[Node]:
    """Yield the decorators and attributes between the given start of a symbol and its node."""
    node: Node | None = outer
    while (node := _node_above(language, node)) is not None and node.start_byte >= start:
        yield node


def _node_above(language: Language, node: Node) -> Node | None:
    above = node.prev_sibling
    if above is None and node.parent is not None and node.parent.type in language.transparent:
        above = node.parent.prev_sibling
    return above if above is not None and above.type in language.leading else None


def _is_on_own_line(source: bytes, node: Node) -> bool:
    return not source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].strip()


def symbol_end_offset(source: bytes, outer: Node) -> int:
    """Return where a symbol ends, including its semicolon and without the newline.

    A semicolon after a function definition does not belong to it.
    """
    end, after = outer.end_byte, outer.next_sibling if outer.type != "function_definition" else None
    while after is not None and after.type in _TRAILING_NODES and not source[end : after.start_byte].strip():
        end, after = after.end_byte, after.next_sibling
    return outer.start_byte + len(source[outer.start_byte : end].rstrip())


def find_trailing_comma_syntax_node(node: Node) -> Node | None:
    """Return the comma after a member of an object literal, if there is one."""
    after = node.next_sibling if node.parent is not None and node.parent.type == "object" else None
    return after if after is not None and after.type == "," else None


def line_start_offset(source: bytes, offset: int) -> int:
    """Return the start of the line if only whitespace precedes the offset, else the offset itself."""
    start = source.rfind(b"\n", 0, offset) + 1
    return offset if source[start:offset].strip(b" \t") else start


def symbol_line_indentation(source: bytes, offset: int) -> bytes:
    """Return the whitespace at the beginning of the line that contains the offset."""
    start = source.rfind(b"\n", 0, offset) + 1
    line = source[start:offset]
    return line[: len(line) - len(line.lstrip(b" \t"))]


def line_end_offset(source: bytes, offset: int) -> int:
    """Return the end of the line that contains the offset, before its newline."""
    end = source.find(b"\n", offset)
    end = len(source) if end < 0 else end
    return end - 1 if end > offset and source[end - 1 : end] == b"\r" else end
