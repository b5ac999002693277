"""One symbol of a file replaced, added or taken out. All other bytes stay as they are, and the result must parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.fragments import (
    FRAME_CLASS_NAME,
    SymbolVariant,
    filter_overloads_by_signature,
    find_symbol_variants,
    reindent_symbol_source,
)
from roundtable.workshop.symbols.insertion_point import find_symbol_insertion_point, is_in_singleton_class
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.spans import find_trailing_comma, line_end_offset, line_indentation, line_start_offset
from roundtable.workshop.symbols.symbol_lookup import (
    SymbolQuery,
    find_symbols_by_query,
    interchangeable_symbol_kind,
    parse_symbol_query,
)
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal, find_syntax_errors, syntax_node_line


class SpliceRequest(NamedTuple):
    """A file, what was asked for, which of its symbols that is (None: a new one), and the variant of it."""

    base: Outline
    query: SymbolQuery
    target: Symbol | None
    variant: SymbolVariant


def splice_symbol(read: SpliceRequest) -> bytes | SpliceRefusal:
    """The file with the variant in it: replaced where the file has the symbol, added where it has not."""
    return _replaced(read.base, read.target, read.variant) if read.target else _added(read)


def remove_symbol_from_source(base: Outline, symbols: Sequence[Symbol]) -> bytes | SpliceRefusal:
    """The file without the one symbol that is meant, and without the blank lines above it."""
    if len(symbols) > 1 or not symbols[0].declared_alone:
        return _ambiguous(base.path, symbols)
    comma = find_trailing_comma(symbols[0].node)
    source, start, end = base.source, symbols[0].start, comma.end_byte if comma else symbols[0].end
    if line_start_offset(source, start) != start or start == 0 or source[start - 1 : start] == b"\n":
        start, end = line_start_offset(source, start), line_end_offset(source, end)
        above = source[:start].rstrip(b" \t\r\n")
        if above:
            start = len(above)
        else:
            end += len(source[end:]) - len(source[end:].lstrip(b"\r\n"))
    return verify_spliced_source(base, source[:start] + source[end:])


def parse_splice_request(path: str, source: bytes, symbol: str, text: bytes) -> SpliceRequest | SpliceRefusal:
    """The file, which of its symbols is meant, and the one variant of it in the text."""
    base = parse_source_outline(path, source)
    if isinstance(base, SpliceRefusal):
        return base
    name = parse_symbol_query(symbol)
    if not name.parts:
        return SpliceRefusal(RefusalKind.NOT_FOUND, f"No symbol was named for {path}.")
    found = find_symbol_variants(base.language, path, text, name)
    return (
        found
        if isinstance(found, SpliceRefusal)
        else match_symbol_to_variant(base, name, find_symbols_by_query(base, name), found)
    )


def match_symbol_to_variant(
    base: Outline, name: SymbolQuery, there: Sequence[Symbol], found: Sequence[SymbolVariant]
) -> SpliceRequest | SpliceRefusal:
    """The one symbol of a file and the one variant that belong together, of all that have the name."""
    theirs = filter_overloads_by_signature([it.symbol for it in found], there)
    ours = filter_overloads_by_signature(
        [it for it in there if interchangeable_symbol_kind(it) is interchangeable_symbol_kind(theirs[0])] or there,
        theirs,
    )
    if len(theirs) > 1:
        return _ambiguous("the text", theirs)
    if len(ours) > 1:
        return _ambiguous(base.path, ours)
    chosen = next(it for it in found if it.symbol is theirs[0])
    if not all(it.declared_alone for it in (*theirs, *ours)):
        sentence = f"{chosen.symbol.base_name} is declared in one statement with others, which cannot be taken apart."
        return SpliceRefusal(RefusalKind.AMBIGUOUS, sentence)
    if ours and not _is_of_sort(chosen.symbol, ours[0]):
        sentence = f"{ours[0].name} is a {ours[0].kind} in {base.path}, and in the text it is a {theirs[0].kind}"
        return SpliceRefusal(RefusalKind.NOT_FOUND, f"{sentence}, {theirs[0].name}.")
    if ours and theirs[0].container and is_in_singleton_class(theirs[0]) is not is_in_singleton_class(ours[0]):
        sentence = f"Of {base.path} and the text only one has {ours[0].name} in `class << self`."
        return SpliceRefusal(RefusalKind.NOT_FOUND, sentence)
    return SpliceRequest(base, name, ours[0] if ours else None, chosen)


def _is_of_sort(symbol: Symbol, target: Symbol) -> bool:
    """Whether one can be put where the other is: of the same sort, and of the same class as far as both have one."""
    owners = {it.owner.rpartition(".")[2] for it in (symbol, target)} - {"", FRAME_CLASS_NAME}
    return interchangeable_symbol_kind(symbol) is interchangeable_symbol_kind(target) and len(owners) < 2


def _ambiguous(where: str, symbols: Sequence[Symbol]) -> SpliceRefusal:
    several = "; ".join(dict.fromkeys(it.signature for it in symbols[:4]))
    return SpliceRefusal(
        RefusalKind.AMBIGUOUS, f"{symbols[0].name} may be any of {len(symbols)} in {where}: {several}."
    )


def detect_source_newline(source: bytes) -> bytes:
    """The newline a file is written with, by its first."""
    first = source.find(b"\n")
    return b"\r\n" if first > 0 and source[first - 1 : first] == b"\r" else b"\n"


def _replaced(base: Outline, target: Symbol, variant: SymbolVariant) -> bytes | SpliceRefusal:
    symbol, source = variant.symbol, base.source
    has_comment = symbol.start < symbol.start_without_comments
    start = target.start if has_comment else target.start_without_comments
    kept = base.language.kept_wrappers
    if target.outer_node.type in kept and symbol.outer_node.type not in kept:
        inner = target.outer_node.child_by_field_name("declaration")
        start = inner.start_byte if inner is not None else start
        has_comment = False
    text = reindent_symbol_source(variant, has_comment, line_indentation(source, start), detect_source_newline(source))
    return verify_spliced_source(base, source[:start] + text + source[target.end :], target.name, start)


def _added(read: SpliceRequest) -> bytes | SpliceRefusal:
    base, variant, source = read.base, read.variant, read.base.source
    place = find_symbol_insertion_point(base, read.query, variant)
    if isinstance(place, SpliceRefusal):
        return place
    text = reindent_symbol_source(variant, True, place.indent, detect_source_newline(source))
    before, after = place.text_around(detect_source_newline(source))
    made = source[: place.offset] + before + text + after + source[place.offset :]
    return verify_spliced_source(base, made, place.symbol_name, place.offset + len(before))


def verify_spliced_source(base: Outline, made: bytes, name: str = "", at: int = 0) -> bytes | SpliceRefusal:
    """The result, if it parses no worse than before and has the symbol where it was put."""
    after = parse_source_outline(base.path, made)
    if isinstance(after, SpliceRefusal):
        return after
    wrong = list(find_syntax_errors(base.language, made))
    if len(wrong) > sum(1 for _ in find_syntax_errors(base.language, base.source)):
        line = syntax_node_line(made, wrong[0])
        sentence = f"Line {line} of {base.path} would not be valid {base.language.name} with this."
        return SpliceRefusal(RefusalKind.SYNTAX, sentence)
    if name and not any(it.name == name and it.start <= at < it.end for it in after.symbols):
        return SpliceRefusal(RefusalKind.NOT_FOUND, f"What was put into {base.path} would not be {name} there.")
    return made
