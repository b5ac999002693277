"""A piece of code parsed by itself: which symbol in it is meant, and how its text looks elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.languages import LANGUAGES, Language
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_outline_in_language
from roundtable.workshop.symbols.signatures import match_nodes_by_signature
from roundtable.workshop.symbols.spans import line_start_offset, symbol_line_indentation
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, keep_best_symbol_matches
from roundtable.workshop.symbols.syntax_trees import find_syntax_errors, syntax_node_line

FRAME_CLASS_NAME = "_"
"""Name of the class that is put around a piece of code so that it can be parsed."""


class SymbolVariant(NamedTuple):
    """A symbol, with the outline of the text that contains it."""

    outline: Outline
    symbol: Symbol


def _parse_fragment_outlines(language: Language, path: str, text: bytes) -> Iterator[Outline]:
    """Yield each way to parse a piece of code without error: as it is, or as the body of a class."""
    for before, after in ((b"", b""), *language.frames):
        framed = before + text + after
        if language.code_opener in framed and not any(find_syntax_errors(language, framed)):
            yield parse_outline_in_language(language, path, framed)


def find_symbol_variants(
    language: Language, path: str, text: bytes, query: SymbolQuery
) -> tuple[SymbolVariant, ...] | Refusal:
    """Return the symbols of a text that match a query; those that match more of the name win."""
    defined: set[str] = set()
    readable = False
    for outline in _parse_fragment_outlines(language, path, text):
        readable = True
        matches = query.filter_by_parameters(
            [symbol for symbol in outline.symbols if symbol.base_name == query.parts[-1]], language
        )
        if matches:
            most = max(_count_shared_parts(symbol, query) for symbol in matches)
            matches = keep_best_symbol_matches(
                [symbol for symbol in matches if _count_shared_parts(symbol, query) == most], query
            )
            return tuple(SymbolVariant(outline, symbol) for symbol in matches)
        defined.update(symbol.base_name for symbol in outline.symbols)
    if readable:
        found = ", ".join(sorted(defined - {FRAME_CLASS_NAME})[:5])
        return Refusal.of(path, RefusalCode.SYMBOL_NOT_IN_TEXT, symbol=query.parts[-1], found=found)
    return explain_unparsable_fragment(language, path, text)


def _count_shared_parts(symbol: Symbol, query: SymbolQuery) -> int:
    """Count how many parts of the queried name a symbol has, from the end."""
    pairs = zip(reversed(symbol.name.split(".")), reversed(query.parts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def explain_unparsable_fragment(language: Language, path: str, text: bytes) -> Refusal:
    """Return why a text cannot be parsed: it is in another language, or has a syntax error."""
    for other in LANGUAGES:
        if other is not language and any(outline.symbols for outline in _parse_fragment_outlines(other, path, text)):
            return Refusal.of(path, RefusalCode.LANGUAGE_DIFFERS, language=other.name, expected=language.name)
    error = next(find_syntax_errors(language, text), None)
    line = syntax_node_line(text, error) if error else 1
    return Refusal.of(path, RefusalCode.TEXT_SYNTAX, line=line, language=language.name)


def filter_overloads_by_signature(symbols: Sequence[Symbol], others: Sequence[Symbol]) -> list[Symbol]:
    """Keep the overload that matches the signature of the only other symbol; all without a match."""
    if len(symbols) > 1 and len(others) == 1:
        return [
            symbols[index] for index in match_nodes_by_signature([symbol.node for symbol in symbols], others[0].node)
        ]
    return list(symbols)


def reindent_symbol_source(variant: SymbolVariant, has_comment: bool, indent: bytes, newline: bytes) -> bytes:
    """Return a symbol's text at another indentation, without the whitespace before its first line.

    Lines inside a string stay as they are, and so do lines that are indented less than the first.
    """
    source, symbol = variant.outline.source, variant.symbol
    start = symbol.start if has_comment else symbol.start_without_comments
    text = source[line_start_offset(source, start) : symbol.end]
    old_indent = symbol_line_indentation(source, start)
    lines = text.split(b"\n")
    if old_indent != indent:
        first = source.count(b"\n", 0, start)
        string_rows = _rows_inside_strings(variant, start)
        lines = [
            indent + line[len(old_indent) :]
            if line.startswith(old_indent) and line.strip() and first + row not in string_rows
            else line
            for row, line in enumerate(lines)
        ]
    text = b"\n".join(lines)
    text = text[len(indent) :] if text.startswith(indent) else text.lstrip(b" \t")
    has_cr, wants_cr = b"\r\n" in text, newline == b"\r\n"
    if wants_cr and not has_cr:
        return text.replace(b"\n", newline)
    if has_cr and not wants_cr and text.count(b"\n") == text.count(b"\r\n"):
        return text.replace(b"\r\n", b"\n")
    return text


def _rows_inside_strings(variant: SymbolVariant, start: int) -> set[int]:
    rows: set[int] = set()
    strings = variant.outline.language.strings
    pending = [variant.outline.root]
    while pending:
        node = pending.pop()
        if node.end_byte < start or node.start_byte > variant.symbol.end:
            continue
        if node.type in strings:
            first = syntax_node_line(variant.outline.source, node)
            rows.update(range(first, first + (node.text or b"").count(b"\n")))
        else:
            pending.extend(node.children)
    return rows
