"""Sources as trees, and where they do not parse. Nothing is ever run to find that out.

Rows are counted here and no node is asked for its points: tree-sitter 0.26.0 frees them too early and crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple, cast

import tree_sitter
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.languages import Language, find_source_language


class SpliceRefusal(NamedTuple):
    """Why something was not spliced: its kind, and one sentence for people."""

    kind: RefusalKind
    sentence: str


@lru_cache(maxsize=16)
def _grammar(module: str, function: str) -> tree_sitter.Language:
    made = cast("Callable[[], object]", getattr(import_module(module), function))
    return tree_sitter.Language(made())


@lru_cache(maxsize=16)
def _query(language: Language, pattern: str) -> Query:
    return Query(_grammar(*language.grammar), pattern)


@lru_cache(maxsize=64)
def parse_syntax_tree(language: Language, source: bytes) -> Tree:
    """The tree of a source. Sources are read again and again while a synthesis is made, so the last ones are kept."""
    return Parser(_grammar(*language.grammar)).parse(source)


def find_syntax_errors(language: Language, source: bytes) -> Iterator[Node]:
    """The places where a source is not of its language."""
    root = parse_syntax_tree(language, source).root_node
    waiting = [root]
    while waiting:
        at = waiting.pop()
        if at.is_error or at.is_missing:
            yield at
        elif at.has_error:
            waiting.extend(reversed(at.children))
    if language.never_empty:
        found = QueryCursor(_query(language, f"({language.never_empty}) @it")).captures(root)
        yield from (it for it in found.get("it", ()) if not it.child_count)


def describe_syntax_error(path: str, source: bytes) -> str | None:
    """One sentence on the first place that does not parse; None if all of it does, or the language is unknown."""
    language = find_source_language(path)
    if language is None:
        return None
    wrong = next(find_syntax_errors(language, source), None)
    if wrong is None:
        return None
    return f"Line {syntax_node_line(source, wrong)} of {path} is not valid {language.name}."


def syntax_node_line(source: bytes, node: Node) -> int:
    """The line a node begins on, counted from 1."""
    return source.count(b"\n", 0, node.start_byte) + 1
