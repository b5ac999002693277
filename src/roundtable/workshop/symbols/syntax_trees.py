"""Syntax trees of source files, and the places that do not parse. Nothing is ever executed.

Lines are counted here and no node is asked for its points: tree-sitter 0.26.0 frees them too early and crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple, cast

import tree_sitter
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from roundtable.workshop.symbols.languages import Language, find_source_language


class SyntaxProblem(NamedTuple):
    """The line on which a source does not parse, counted from 1, and the name of its language."""

    line: int
    language: str


@lru_cache(maxsize=16)
def _grammar(module: str, function: str) -> tree_sitter.Language:
    load_grammar = cast("Callable[[], object]", getattr(import_module(module), function))
    return tree_sitter.Language(load_grammar())


@lru_cache(maxsize=16)
def _query(language: Language, pattern: str) -> Query:
    return Query(_grammar(*language.grammar), pattern)


@lru_cache(maxsize=64)
def parse_syntax_tree(language: Language, source: bytes) -> Tree:
    """Parse a source. The last trees are cached, because a synthesis parses the same sources repeatedly."""
    return Parser(_grammar(*language.grammar)).parse(source)


def find_syntax_errors(language: Language, source: bytes) -> Iterator[Node]:
    """Yield the nodes where a source does not parse in its language."""
    root = parse_syntax_tree(language, source).root_node
    pending = [root]
    while pending:
        current = pending.pop()
        if current.is_error or current.is_missing:
            yield current
        elif current.has_error:
            pending.extend(reversed(current.children))
    if language.never_empty:
        captures = QueryCursor(_query(language, f"({language.never_empty}) @it")).captures(root)
        yield from (node for node in captures.get("it", ()) if not node.child_count)


def find_first_syntax_error(path: str, source: bytes) -> SyntaxProblem | None:
    """Return the first syntax error; None if there is none or the language is unknown."""
    language = find_source_language(path)
    if language is None:
        return None
    error = next(find_syntax_errors(language, source), None)
    return None if error is None else SyntaxProblem(syntax_node_line(source, error), language.name)


def syntax_node_line(source: bytes, node: Node) -> int:
    """Return the line on which a node begins, counted from 1."""
    return source.count(b"\n", 0, node.start_byte) + 1
