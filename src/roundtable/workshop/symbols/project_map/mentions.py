"""Mentions of names in a file: the qualifier before the name, whether it is called, and its line.

Also measures a file for chunking: its tokens, and the lines where it may be cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.text.chunks import SizedFile
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.workshop.symbols.outline import Outline, parse_source_outline
from roundtable.workshop.symbols.symbol_names import syntax_node_text

MAX_MAP_LINE_LENGTH = 240
"""Characters of a signature or a calling line that are shown."""

_MAX_CONTINUED_LINES = 8
_MAX_LINE_BYTES = 4 * MAX_MAP_LINE_LENGTH
_MAX_QUALIFIER_BYTES = 200
_NAME_NODES = {"constant", "name"}
_IMPORT_NODES = {
    "use_declaration",
    "using_directive",
    "namespace_use_declaration",
    "package_declaration",
    "package_clause",
}
_MEMBER_NODES = {"property_identifier", "field_identifier"}
_MEMBER_OPERATORS = (b".", b"->", b"::", b"\\")
_EXPRESSION_BEFORE = (*_MEMBER_OPERATORS, b"$", b"@")
_QUALIFIER = re.compile(rb"(?:[^\W\d][\w$]*(?:<[^<>]*>)?\s*(?:\?\.|\.|->|::|\\)\s*)+$")
_QUALIFIER_SEPARATOR = re.compile(r"\s*(?:<[^<>]*>)?\s*(?:\?\.|\.|->|::|\\)\s*")
_AFTER_LITERAL = re.compile(rb"[\"'`\d]\s*\??\.$")
_CALL_SYNTAX = re.compile(rb"\s{0,40}(?:::)?(?:<[^()<>;=]{0,99}>)?\s{0,40}!?(?:\?\.)?\(")


class NameMention(NamedTuple):
    """A mentioned name. `chain` is its qualifier: `a.b` of `a.b.c`; None if the qualifier is an expression."""

    name: str
    chain: tuple[str, ...] | None
    is_called: bool
    offset: int


class SourceLines:
    """The lines of a source: the line number of a byte, and the text of a line."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line, and the end of the source."""
        return [0, *(newline.end() for newline in re.finditer(rb"\n", self._source)), len(self._source) + 1]

    def number_at(self, offset: int) -> int:
        """Return the line that contains a byte, counted from 1."""
        return bisect_right(self._starts, offset)

    def text_of(self, line: int) -> str:
        """Return a line as safe text, joined with the following lines while a bracket is open."""
        joined, starts = b"", self._starts[line - 1 : line + _MAX_CONTINUED_LINES]
        for start, end in pairwise(starts):
            joined += self._source[start : min(end, start + _MAX_LINE_BYTES)]
            if joined.count(b"(") <= joined.count(b")"):
                break
        return sanitize_line(joined.decode(errors="replace"), MAX_MAP_LINE_LENGTH)


def find_symbol_mentions(outline: Outline, names: Container[str]) -> Iterator[NameMention]:
    """Yield where a file mentions one of the given names outside its imports, comments and strings."""
    for node in _name_nodes(outline.root):
        name = syntax_node_text(node)
        if name in names and (mention := _make_mention(outline.source, node, name)):
            yield mention


def _name_nodes(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if not node.child_count:
            if node.type.endswith("identifier") or node.type in _NAME_NODES:
                yield node
        elif not _is_import(node):
            pending.extend(reversed(node.children))


def _is_import(node: Node) -> bool:
    is_reexport = node.type == "export_statement" and node.child_by_field_name("source") is not None
    value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
    is_require = value is not None and (value.text or b"").startswith(b"require(")
    return is_reexport or is_require or node.type.startswith("import_") or node.type in _IMPORT_NODES


def _make_mention(source: bytes, node: Node, name: str) -> NameMention | None:
    start, chain = node.start_byte, ()
    before = source[max(0, start - _MAX_QUALIFIER_BYTES) : start].rstrip()
    if before.endswith(_MEMBER_OPERATORS):
        chain = _read_qualifier(before)
        if chain is None and _AFTER_LITERAL.search(before[-4:]):
            return None
    elif before.endswith((b"$", b"@")) or node.type in _MEMBER_NODES:
        return None
    return NameMention(name, chain, _CALL_SYNTAX.match(source, node.end_byte) is not None, start)


def _read_qualifier(before: bytes) -> tuple[str, ...] | None:
    """Return the names that lead to a name; None if they begin with an expression."""
    match = _QUALIFIER.search(before)
    if match is None or before[: match.start()].endswith(_EXPRESSION_BEFORE):
        return None
    return tuple(name for name in _QUALIFIER_SEPARATOR.split(match[0].decode(errors="replace")) if name)


_LINE_BYTES = re.compile(rb"[^\n]*\n|[^\n]+")


def measure_source_file_with_symbols(path: str, source: bytes) -> SizedFile:
    """Return a file with its tokens, the bytes of each line, and the lines on which a symbol begins."""
    outline, lines = parse_source_outline(path, source), SourceLines(source)
    symbol_lines = (
        {lines.number_at(symbol.start) for symbol in outline.symbols} if isinstance(outline, Outline) else set[int]()
    )
    lengths = tuple(len(line) for line in _LINE_BYTES.findall(source))
    return SizedFile(path, -(-len(source) // BYTES_PER_TOKEN), lengths, tuple(sorted(symbol_lines)))
