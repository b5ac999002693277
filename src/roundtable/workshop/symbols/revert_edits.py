"""Reverts what a new version of a file removed or changed without being asked.

Also detects a text that claims to be a whole file but has only some of its functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from roundtable.core.refusals import Refusal
from roundtable.workshop.symbols.fragments import SymbolVariant
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.splice import match_symbol_to_variant
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, find_counterpart_symbols
from roundtable.workshop.symbols.transplant import splice_symbol_with_dependencies

_CONTAINER_KINDS = frozenset({SymbolKind.CLASS, SymbolKind.SCOPE})


class RevertedEdits(NamedTuple):
    """The new version, and the symbols that were restored in it."""

    source: bytes
    symbols: tuple[str, ...]


def revert_unrelated_symbol_edits(
    path: str, before: bytes, after: bytes, requested: Set[str], new: Set[str] = frozenset(), *, changed: bool
) -> RevertedEdits:
    """Restore removed symbols and, with `changed`, changed ones, unless their names were asked for.

    A renamed symbol, or one that is imported now, does not count as removed. What cannot be restored stays.
    `new` are the names that the whole change defines: these have moved, and code that uses them was changed for them.
    """
    old, current = parse_source_outline(path, before), parse_source_outline(path, after)
    restored: list[str] = []
    if isinstance(old, Refusal) or isinstance(current, Refusal):
        return RevertedEdits(after, ())
    ambiguous = _repeated_names(old) | _repeated_names(current)
    old_names, kept_names = {new_symbol.name for new_symbol in old.symbols}, requested | new
    renamed = {
        _symbol_text_without_name(current, new_symbol)
        for new_symbol in current.symbols
        if new_symbol.name not in old_names
    }
    for symbol in old.symbols:
        is_part_of_restored = symbol.container is not None and (
            symbol.container.name in restored or symbol.container.kind not in _CONTAINER_KINDS
        )
        if (
            symbol.base_name in kept_names
            or symbol.name in ambiguous
            or symbol.kind is SymbolKind.PROTOTYPE
            or is_part_of_restored
        ):
            continue
        counterparts = find_counterpart_symbols(current, old, symbol)
        if counterparts and (
            not changed or symbol.kind in _CONTAINER_KINDS or _is_unchanged(current, counterparts, old, symbol)
        ):
            continue
        if any(new & (_words(current, counterpart) - _words(old, symbol)) for counterpart in counterparts):
            continue
        if not counterparts and (
            _symbol_text_without_name(old, symbol) in renamed
            or any(statement.name == symbol.base_name for statement in current.imports)
        ):
            continue
        next_version = _restore_symbol(current, counterparts, old, symbol)
        if next_version is not None:
            current = next_version
            restored.append(symbol.name)
    return RevertedEdits(current.source, tuple(restored))


def _repeated_names(file: Outline) -> set[str]:
    """Return the names of more than one symbol, which are therefore ambiguous."""
    return {name for name, times in Counter(symbol.name for symbol in file.symbols).items() if times > 1}


def _symbol_text_without_name(file: Outline, symbol: Symbol) -> bytes:
    """Return a symbol's text without its name."""
    return re.sub(rb"\b%b\b" % re.escape(symbol.base_name.encode()), b"", _text_with_unix_newlines(file, symbol))


def _text_with_unix_newlines(file: Outline, symbol: Symbol) -> bytes:
    return file.symbol_text(symbol).replace(b"\r\n", b"\n")


def _words(file: Outline, symbol: Symbol) -> set[str]:
    return set(re.findall(r"\w+", file.symbol_text(symbol).decode("utf-8", "replace")))


def _is_unchanged(current: Outline, counterparts: Sequence[Symbol], old: Outline, symbol: Symbol) -> bool:
    return any(
        _text_with_unix_newlines(current, counterpart) == _text_with_unix_newlines(old, symbol)
        for counterpart in counterparts
    )


def _restore_symbol(current: Outline, counterparts: Sequence[Symbol], old: Outline, symbol: Symbol) -> Outline | None:
    request = match_symbol_to_variant(
        current, SymbolQuery(tuple(symbol.name.split("."))), counterparts, [SymbolVariant(old, symbol)]
    )
    spliced = request if isinstance(request, Refusal) else splice_symbol_with_dependencies(request)
    outline = spliced if isinstance(spliced, Refusal) else parse_source_outline(current.path, spliced.source)
    return None if isinstance(outline, Refusal) else outline


def find_partial_file_symbols(path: str, source: bytes, text: bytes, *, alone: bool) -> tuple[str, ...]:
    """Return the symbols that a text replaces if it is clearly only a part of the file; empty if it is the whole file.

    It is a part if it consists of symbols and imports, lacks some of the file's symbols and does not begin as the file
    does. A change of this file `alone` may also rename or remove symbols; such a text is the whole file.
    """
    old, new = parse_source_outline(path, source), parse_source_outline(path, text)
    if isinstance(old, Refusal) or isinstance(new, Refusal) or not new.symbols:
        return ()
    before, after = (
        tuple(symbol.name for symbol in outline.symbols if symbol.container is None) for outline in (old, new)
    )
    begins_like_file = _first_line(source) in text or (
        bool(before) and not _text_before_symbols(old) and before[0] == after[0]
    )
    if begins_like_file or set(before) <= set(after) or not _has_only_symbols(new):
        return ()
    return () if alone and _only_renames_or_removes(old, new) else after


def _only_renames_or_removes(old: Outline, new: Outline) -> bool:
    """Tell whether all missing symbols only have another name, or nothing is new."""
    old_texts, new_texts = (
        {
            symbol.name: _symbol_text_without_name(outline, symbol)
            for symbol in outline.symbols
            if symbol.container is None
        }
        for outline in (old, new)
    )
    missing = Counter(text for name, text in old_texts.items() if name not in new_texts)
    added = Counter(text for name, text in new_texts.items() if name not in old_texts)
    return missing <= added or new_texts.items() <= old_texts.items()


def _first_line(source: bytes) -> bytes:
    return source.lstrip().partition(b"\n")[0]


def _text_before_symbols(file: Outline) -> bytes:
    """Return the text before the first symbol."""
    return file.source[: file.symbols[0].start].strip() if file.symbols else file.source.strip()


def _has_only_symbols(file: Outline) -> bool:
    """Tell whether a file has only imports, comments and symbols."""
    covered = [(part.start, part.end) for part in (*file.symbols, *file.imports)]
    nodes = (node for node in file.root.named_children if "comment" not in node.type)
    return all(any(start <= node.start_byte < end for start, end in covered) for node in nodes)
