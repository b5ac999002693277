"""Where a file says a name: what stands before it, whether it is called there, and what the line reads.

How long a file is for a chunk, and where it may be cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.chunks import SizedFile
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.workshop.symbols.outline import Outline, parse_source_outline
from roundtable.workshop.symbols.symbol_names import node_text

MAX_MAP_LINE_LENGTH = 240
"""Letters of a signature or a calling line that are shown."""

_MOST_LINES = 8
_LONGEST_BYTES = 4 * MAX_MAP_LINE_LENGTH
_REACH = 200
_NAMES = {"constant", "name"}
_IMPORTS = {"use_declaration", "using_directive", "namespace_use_declaration", "package_declaration", "package_clause"}
_MEMBERS = {"property_identifier", "field_identifier"}
_JOINTS = (b".", b"->", b"::", b"\\")
_MORE_BEFORE = (*_JOINTS, b"$", b"@")
_CHAIN = re.compile(rb"(?:[^\W\d][\w$]*(?:<[^<>]*>)?\s*(?:\?\.|\.|->|::|\\)\s*)+$")
_BETWEEN = re.compile(r"\s*(?:<[^<>]*>)?\s*(?:\?\.|\.|->|::|\\)\s*")
_LITERAL = re.compile(rb"[\"'`\d]\s*\??\.$")
_CALLED = re.compile(rb"\s{0,40}(?:::)?(?:<[^()<>;=]{0,99}>)?\s{0,40}!?(?:\?\.)?\(")


class NameMention(NamedTuple):
    """A name as it is said. `chain` is what it is reached through: `a.b` of `a.b.c`; None for an expression."""

    name: str
    chain: tuple[str, ...] | None
    is_called: bool
    offset: int


class SourceLines:
    """The lines of a source: which one a byte is on, and what it reads."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins, and the end."""
        return [0, *(it.end() for it in re.finditer(rb"\n", self._source)), len(self._source) + 1]

    def number_at(self, at: int) -> int:
        """The line a byte is on, counted from 1."""
        return bisect_right(self._starts, at)

    def text_of(self, line: int) -> str:
        """A line, with those that follow as long as a bracket is open, on one line that is safe to show."""
        read, starts = b"", self._starts[line - 1 : line + _MOST_LINES]
        for start, end in pairwise(starts):
            read += self._source[start : min(end, start + _LONGEST_BYTES)]
            if read.count(b"(") <= read.count(b")"):
                break
        return sanitize_line(read.decode(errors="replace"), MAX_MAP_LINE_LENGTH)


def find_name_mentions(read: Outline, telling: Container[str]) -> Iterator[NameMention]:
    """Where a file says one of the names that tell something, outside its imports; comments and texts say none."""
    for node in _leaves(read.root):
        name = node_text(node)
        if name in telling and (mention := _mention(read.source, node, name)):
            yield mention


def _leaves(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        at = waiting.pop()
        if not at.child_count:
            if at.type.endswith("identifier") or at.type in _NAMES:
                yield at
        elif not _brings_in(at):
            waiting.extend(reversed(at.children))


def _brings_in(node: Node) -> bool:
    passes_on = node.type == "export_statement" and node.child_by_field_name("source") is not None
    value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
    requires = value is not None and (value.text or b"").startswith(b"require(")
    return passes_on or requires or node.type.startswith("import_") or node.type in _IMPORTS


def _mention(source: bytes, node: Node, name: str) -> NameMention | None:
    start, chain = node.start_byte, ()
    before = source[max(0, start - _REACH) : start].rstrip()
    if before.endswith(_JOINTS):
        chain = _chain(before)
        if chain is None and _LITERAL.search(before[-4:]):
            return None
    elif before.endswith((b"$", b"@")) or node.type in _MEMBERS:
        return None
    return NameMention(name, chain, _CALLED.match(source, node.end_byte) is not None, start)


def _chain(before: bytes) -> tuple[str, ...] | None:
    """The names that lead up to a name; None where they begin with more than a name."""
    found = _CHAIN.search(before)
    if found is None or before[: found.start()].endswith(_MORE_BEFORE):
        return None
    return tuple(it for it in _BETWEEN.split(found[0].decode(errors="replace")) if it)


_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def measure_source_file(path: str, source: bytes) -> SizedFile:
    """A file with its tokens, the bytes of each of its lines, and the lines on which a symbol begins."""
    read, lines = parse_source_outline(path, source), SourceLines(source)
    bounds = {lines.number_at(it.start) for it in read.symbols} if isinstance(read, Outline) else set[int]()
    lengths = tuple(len(it) for it in _LINE.findall(source))
    return SizedFile(path, -(-len(source) // BYTES_PER_TOKEN), lengths, tuple(sorted(bounds)))
