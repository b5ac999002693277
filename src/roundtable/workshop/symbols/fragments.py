"""A piece of code read by itself: which symbol in it is meant, and how it looks somewhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.languages import LANGUAGES, Language
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_outline_in_language
from roundtable.workshop.symbols.signatures import match_nodes_by_signature
from roundtable.workshop.symbols.spans import line_indentation, line_start_offset
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, keep_best_symbol_matches
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal, find_syntax_errors, syntax_node_line

FRAME_CLASS_NAME = "_"
"""What the class is called that a piece of code is put into to be read."""


class SymbolVariant(NamedTuple):
    """A symbol in the text it was found in."""

    outline: Outline
    symbol: Symbol


def parse_fragment_outlines(language: Language, path: str, text: bytes) -> Iterator[Outline]:
    """The ways a piece of code can be read without error: as it is, or as what stands inside a class."""
    for before, after in ((b"", b""), *language.frames):
        framed = before + text + after
        if language.code_opener in framed and not any(find_syntax_errors(language, framed)):
            yield parse_outline_in_language(language, path, framed)


def find_symbol_variants(
    language: Language, path: str, text: bytes, name: SymbolQuery
) -> tuple[SymbolVariant, ...] | SpliceRefusal:
    """The symbols of a text that have this name; those that have more of it go before the others."""
    defined: set[str] = set()
    readable = False
    for read in parse_fragment_outlines(language, path, text):
        readable = True
        found = name.filter_by_parameters([it for it in read.symbols if it.base_name == name.parts[-1]], language)
        if found:
            most = max(_shared(it, name) for it in found)
            found = keep_best_symbol_matches([it for it in found if _shared(it, name) == most], name)
            return tuple(SymbolVariant(read, it) for it in found)
        defined.update(it.base_name for it in read.symbols)
    if readable:
        known = ", ".join(sorted(defined - {FRAME_CLASS_NAME})[:5]) or "nothing with a name"
        return SpliceRefusal(RefusalKind.NOT_FOUND, f"The text for {name.parts[-1]} does not define it, but {known}.")
    return explain_unparsable_fragment(language, path, text)


def _shared(symbol: Symbol, name: SymbolQuery) -> int:
    """How many parts of the name it has, from the end on."""
    pairs = zip(reversed(symbol.name.split(".")), reversed(name.parts), strict=False)
    return sum(1 for _ in takewhile(lambda it: it[0] == it[1], pairs))


def explain_unparsable_fragment(language: Language, path: str, text: bytes) -> SpliceRefusal:
    """Why a text cannot be read: it is in another language, or broken."""
    for other in LANGUAGES:
        if other is not language and any(it.symbols for it in parse_fragment_outlines(other, path, text)):
            sentence = f"The text reads as {other.name}, and {path} is {language.name}."
            return SpliceRefusal(RefusalKind.LANGUAGE, sentence)
    wrong = next(find_syntax_errors(language, text), None)
    line = syntax_node_line(text, wrong) if wrong else 1
    return SpliceRefusal(RefusalKind.SYNTAX, f"Line {line} of the text for {path} is not valid {language.name}.")


def filter_overloads_by_signature(symbols: Sequence[Symbol], by: Sequence[Symbol]) -> list[Symbol]:
    """Those of several symbols of one name that the only other one's signature tells."""
    if len(symbols) > 1 and len(by) == 1:
        return [symbols[index] for index in match_nodes_by_signature([it.node for it in symbols], by[0].node)]
    return list(symbols)


def reindent_symbol_source(variant: SymbolVariant, has_comment: bool, indent: bytes, newline: bytes) -> bytes:
    """A symbol's text as it stands at another indentation, without the blanks before its first line.

    Lines inside a string stay as they are, and so do lines that are indented less than the first.
    """
    source, symbol = variant.outline.source, variant.symbol
    start = symbol.start if has_comment else symbol.start_without_comments
    text = source[line_start_offset(source, start) : symbol.end]
    own = line_indentation(source, start)
    lines = text.split(b"\n")
    if own != indent:
        first = source.count(b"\n", 0, start)
        fixed = _string_rows(variant, start)
        lines = [
            indent + line[len(own) :] if line.startswith(own) and line.strip() and first + row not in fixed else line
            for row, line in enumerate(lines)
        ]
    text = b"\n".join(lines)
    text = text[len(indent) :] if text.startswith(indent) else text.lstrip(b" \t")
    has_cr, cr_wanted = b"\r\n" in text, newline == b"\r\n"
    if cr_wanted and not has_cr:
        return text.replace(b"\n", newline)
    if has_cr and not cr_wanted and text.count(b"\n") == text.count(b"\r\n"):
        return text.replace(b"\r\n", b"\n")
    return text


def _string_rows(variant: SymbolVariant, start: int) -> set[int]:
    rows: set[int] = set()
    strings = variant.outline.language.strings
    waiting = [variant.outline.root]
    while waiting:
        at = waiting.pop()
        if at.end_byte < start or at.start_byte > variant.symbol.end:
            continue
        if at.type in strings:
            first = syntax_node_line(variant.outline.source, at)
            rows.update(range(first, first + (at.text or b"").count(b"\n")))
        else:
            waiting.extend(at.children)
    return rows
