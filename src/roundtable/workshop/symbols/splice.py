"""Replace, add or remove one symbol of a file. All other bytes stay as they are, and the result must parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.fragments import (
    FRAME_CLASS_NAME,
    SymbolVariant,
    filter_overloads_by_signature,
    find_symbol_variants,
    reindent_symbol_source,
)
from roundtable.workshop.symbols.insertion_point import find_symbol_insertion_point, is_in_singleton_class
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.spans import (
    find_trailing_comma_syntax_node,
    line_end_offset,
    line_start_offset,
    symbol_line_indentation,
)
from roundtable.workshop.symbols.symbol_lookup import (
    SymbolQuery,
    find_symbols_by_query,
    interchangeable_symbol_kind,
    parse_symbol_query,
)
from roundtable.workshop.symbols.syntax_trees import find_syntax_errors, syntax_node_line


class SpliceRequest(NamedTuple):
    """A file, the requested symbol, its match in the file (None for a new symbol), and the variant to write."""

    base: Outline
    query: SymbolQuery
    target: Symbol | None
    variant: SymbolVariant


def splice_symbol(read: SpliceRequest) -> bytes | Refusal:
    """Return the file with the variant: replaced if the file has the symbol, else added."""
    return _replace_symbol(read.base, read.target, read.variant) if read.target else _add_symbol(read)


def remove_symbol_from_source(base: Outline, symbols: Sequence[Symbol]) -> bytes | Refusal:
    """Return the file without the one symbol, and without the blank lines above it."""
    if len(symbols) > 1 or not symbols[0].declared_alone:
        return _ambiguous(base.path, RefusalCode.SYMBOL_AMBIGUOUS, symbols)
    comma = find_trailing_comma_syntax_node(symbols[0].node)
    source, start, end = base.source, symbols[0].start, comma.end_byte if comma else symbols[0].end
    if line_start_offset(source, start) != start or start == 0 or source[start - 1 : start] == b"\n":
        start, end = line_start_offset(source, start), line_end_offset(source, end)
        before = source[:start].rstrip(b" \t\r\n")
        if before:
            start = len(before)
        else:
            end += len(source[end:]) - len(source[end:].lstrip(b"\r\n"))
    return verify_spliced_source(base, source[:start] + source[end:])


def match_splice_to_symbol(path: str, source: bytes, symbol: str, text: bytes) -> SpliceRequest | Refusal:
    """Return which symbol of the file is meant, and the one variant of it in the text."""
    base = parse_source_outline(path, source)
    if isinstance(base, Refusal):
        return base
    query = parse_symbol_query(symbol)
    if not query.parts:
        return Refusal.of(path, RefusalCode.SYMBOL_UNNAMED)
    variants = find_symbol_variants(base.language, path, text, query)
    return (
        variants
        if isinstance(variants, Refusal)
        else match_symbol_to_variant(base, query, find_symbols_by_query(base, query), variants)
    )


def match_symbol_to_variant(
    base: Outline, query: SymbolQuery, candidates: Sequence[Symbol], variants: Sequence[SymbolVariant]
) -> SpliceRequest | Refusal:
    """Return the one symbol of a file and the one variant that belong together."""
    new_symbols = filter_overloads_by_signature([variant.symbol for variant in variants], candidates)
    targets = filter_overloads_by_signature(
        [
            symbol
            for symbol in candidates
            if interchangeable_symbol_kind(symbol) is interchangeable_symbol_kind(new_symbols[0])
        ]
        or candidates,
        new_symbols,
    )
    if len(new_symbols) > 1:
        return _ambiguous(base.path, RefusalCode.TEXT_AMBIGUOUS, new_symbols)
    if len(targets) > 1:
        return _ambiguous(base.path, RefusalCode.SYMBOL_AMBIGUOUS, targets)
    chosen = next(variant for variant in variants if variant.symbol is new_symbols[0])
    if not all(symbol.declared_alone for symbol in (*new_symbols, *targets)):
        return Refusal.of(base.path, RefusalCode.DECLARATION_SHARED, symbol=chosen.symbol.base_name)
    if targets and not _can_replace(chosen.symbol, targets[0]):
        old, new = targets[0], new_symbols[0]
        facts = {"old": old.name, "old_kind": old.kind, "new": new.name, "new_kind": new.kind}
        return Refusal.of(base.path, RefusalCode.KIND_DIFFERS, **facts)
    if (
        targets
        and new_symbols[0].container
        and is_in_singleton_class(new_symbols[0]) is not is_in_singleton_class(targets[0])
    ):
        return Refusal.of(base.path, RefusalCode.SINGLETON_CLASS_DIFFERS, symbol=targets[0].name)
    return SpliceRequest(base, query, targets[0] if targets else None, chosen)


def _can_replace(symbol: Symbol, target: Symbol) -> bool:
    """Tell whether a symbol can replace another: interchangeable kinds, and the same class if both have one."""
    owners = {member.owner.rpartition(".")[2] for member in (symbol, target)} - {"", FRAME_CLASS_NAME}
    return interchangeable_symbol_kind(symbol) is interchangeable_symbol_kind(target) and len(owners) < 2


def _ambiguous(path: str, code: RefusalCode, symbols: Sequence[Symbol]) -> Refusal:
    several = "; ".join(dict.fromkeys(symbol.signature for symbol in symbols[:4]))
    return Refusal.of(path, code, symbol=symbols[0].name, candidates=several)


def detect_symbol_source_newline(source: bytes) -> bytes:
    """Return the newline of a file, as its first line ends."""
    position = source.find(b"\n")
    return b"\r\n" if position > 0 and source[position - 1 : position] == b"\r" else b"\n"


def _replace_symbol(base: Outline, target: Symbol, variant: SymbolVariant) -> bytes | Refusal:
    symbol, source = variant.symbol, base.source
    has_comment = symbol.start < symbol.start_without_comments
    start = target.start if has_comment else target.start_without_comments
    kept_wrappers = base.language.kept_wrappers
    if target.outer_node.type in kept_wrappers and symbol.outer_node.type not in kept_wrappers:
        declaration = target.outer_node.child_by_field_name("declaration")
        start = declaration.start_byte if declaration is not None else start
        has_comment = False
    text = reindent_symbol_source(
        variant, has_comment, symbol_line_indentation(source, start), detect_symbol_source_newline(source)
    )
    return verify_spliced_source(base, source[:start] + text + source[target.end :], target.name, start)


def _add_symbol(read: SpliceRequest) -> bytes | Refusal:
    base, variant, source = read.base, read.variant, read.base.source
    point = find_symbol_insertion_point(base, read.query, variant)
    if isinstance(point, Refusal):
        return point
    text = reindent_symbol_source(variant, True, point.indent, detect_symbol_source_newline(source))
    before, after = point.text_around(detect_symbol_source_newline(source))
    result = source[: point.offset] + before + text + after + source[point.offset :]
    return verify_spliced_source(base, result, point.symbol_name, point.offset + len(before))


def verify_spliced_source(base: Outline, result: bytes, name: str = "", offset: int = 0) -> bytes | Refusal:
    """Return the result if it has no new syntax errors and the symbol is where it was put."""
    after = parse_source_outline(base.path, result)
    if isinstance(after, Refusal):
        return after
    errors = list(find_syntax_errors(base.language, result))
    if len(errors) > sum(1 for _ in find_syntax_errors(base.language, base.source)):
        line = syntax_node_line(result, errors[0])
        return Refusal.of(base.path, RefusalCode.RESULT_SYNTAX, line=line, language=base.language.name)
    if name and not any(symbol.name == name and symbol.start <= offset < symbol.end for symbol in after.symbols):
        return Refusal.of(base.path, RefusalCode.SYMBOL_NOT_DEFINED, symbol=name)
    return result
