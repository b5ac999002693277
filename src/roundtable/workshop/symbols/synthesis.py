"""One candidate with the symbols that the judge's directives take from the others. No model is asked.

Every candidate has all files that any candidate touches, as they are in its own tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.core.effects import Contribution, RemovedSymbol, UnmergedDirective
from roundtable.core.refusals import Refusal, RefusalCode, distinct_refusals
from roundtable.workshop.symbols.fragments import SymbolVariant, explain_unparsable_fragment
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.merge_directives import (
    DirectiveVocabulary,
    MergeAction,
    MergeOrder,
    UnclearDirective,
    plan_symbol_merges_of_directive,
)
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.splice import match_symbol_to_variant, remove_symbol_from_source
from roundtable.workshop.symbols.symbol_lookup import (
    SymbolQuery,
    find_counterpart_symbols,
    find_equally_qualified_symbols,
    find_symbols_by_query,
    parse_symbol_query,
)
from roundtable.workshop.symbols.syntax_trees import find_syntax_errors
from roundtable.workshop.symbols.transplant import insert_import_statements, splice_symbol_with_dependencies

CandidateFiles = Mapping[str, bytes]
_REMOVAL_NOT_ASKED = Refusal.of("", RefusalCode.FIX_REMOVES_CODE)


class SynthesizedFiles(NamedTuple):
    """The files, what each seat contributed, which directives were not applied, and what was removed."""

    files: dict[str, bytes]
    took: tuple[Contribution, ...] = ()
    left: tuple[UnmergedDirective, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


class _Result(NamedTuple):
    """The result of one order: changed files, what was taken, possible conflicts, and what was removed."""

    files: dict[str, bytes]
    took: tuple[Contribution, ...] = ()
    conflicts: tuple[Refusal, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


def merge_candidate_symbols(
    base: str,
    candidates: Mapping[str, CandidateFiles],
    directives: Sequence[str],
    must_fix: Sequence[str] = (),
) -> SynthesizedFiles:
    """Apply the directives in order to the files of the base. A directive that is not understood is never guessed.

    Directives that say what `must_fix` come last and never remove anything.
    """
    files = dict(candidates[base])
    took: list[Contribution] = []
    unmerged: list[UnmergedDirective] = []
    removed: list[RemovedSymbol] = []
    vocabulary = _make_vocabulary(base, candidates)
    wanted = [*((directive, True) for directive in directives), *((directive, False) for directive in must_fix)]
    for directive, may_remove in wanted:
        for order in plan_symbol_merges_of_directive(directive, vocabulary):
            if isinstance(order, UnclearDirective):
                concerned = _files_named_in(order.text, vocabulary)
                unmerged.append(UnmergedDirective(order.text, (order.refusal,), concerned))
                continue
            result = (
                _carry_out(order, files, candidates)
                if may_remove or order.action is not MergeAction.REMOVE
                else _REMOVAL_NOT_ASKED
            )
            if isinstance(result, Refusal):
                paths = _files_of_order(order, files, candidates) or _files_named_in(directive, vocabulary)
                unmerged.append(UnmergedDirective(directive, (result,), paths))
                continue
            files.update(result.files)
            later = (*result.took, *result.removed)
            took = [contribution for contribution in took if not _is_superseded(contribution, later)] + list(
                dict.fromkeys(result.took)
            )
            removed = [removal for removal in removed if not _is_superseded(removal, later)] + list(result.removed)
            if result.conflicts:
                conflicts = distinct_refusals(result.conflicts)
                unmerged.append(UnmergedDirective(directive, conflicts, tuple(result.files)))
    return SynthesizedFiles(files, tuple(took), tuple(unmerged), tuple(removed))


def _is_superseded(contribution: Contribution | RemovedSymbol, later: Sequence[Contribution | RemovedSymbol]) -> bool:
    """Tell whether a later change replaced it: its symbol, the class around it or the whole file."""
    prefix = f"{contribution.symbol.partition(' ')[0]}."
    later_symbols = [other.symbol for other in later if other.path == contribution.path]
    return any(symbol in {"", contribution.symbol} or prefix.startswith(f"{symbol}.") for symbol in later_symbols)


def _make_vocabulary(base: str, candidates: Mapping[str, CandidateFiles]) -> DirectiveVocabulary:
    paths = dict.fromkeys(path for files in candidates.values() for path in files)
    symbols = {
        symbol.base_name for files in candidates.values() for outline in _outlines(files) for symbol in outline.symbols
    }
    return DirectiveVocabulary(base, tuple(candidates), tuple(paths), symbols)


def _outlines(files: CandidateFiles, path: str = "") -> Iterator[Outline]:
    for name, source in files.items():
        outline = parse_source_outline(name, source) if not path or name == path else None
        if isinstance(outline, Outline):
            yield outline


def _files_named_in(text: str, vocabulary: DirectiveVocabulary) -> tuple[str, ...]:
    """Return the files that a text names; all files that any candidate touches if it names none."""
    return tuple(path for path in vocabulary.paths if path in text) or tuple(vocabulary.paths)


def _files_of_order(
    order: MergeOrder, files: CandidateFiles, candidates: Mapping[str, CandidateFiles]
) -> tuple[str, ...]:
    """Return the files that a failed order was about, as far as known."""
    if order.path:
        return (order.path,)
    both_trees = (files, candidates.get(order.seat, {}))
    names = [parse_symbol_query(symbol_name, order.kind) for symbol_name in order.names]
    matches = (match.file.path for files in both_trees for name in names for match in _find_all(files, name))
    return tuple(dict.fromkeys(matches))


def _carry_out(
    order: MergeOrder, files: dict[str, bytes], candidates: Mapping[str, CandidateFiles]
) -> _Result | Refusal:
    donor_files = candidates.get(order.seat, {})
    match order.action:
        case MergeAction.TAKE_FILE:
            return _take_file(order, donor_files)
        case MergeAction.TAKE_IMPORTS:
            return _take_imports(order, files, donor_files)
        case MergeAction.REMOVE:
            return _carry_out_each(order, files, lambda name, current: _remove_symbol(order, name, current))
        case MergeAction.TAKE:
            return _carry_out_each(order, files, lambda name, current: _take_symbol(order, name, current, donor_files))


def _carry_out_each(
    order: MergeOrder, files: dict[str, bytes], carry_out: Callable[[str, CandidateFiles], _Result | Refusal]
) -> _Result | Refusal:
    """Carry out an order for all its symbols, one after the other; all of them or none."""
    result = _Result({})
    for name in order.names:
        next_result = carry_out(name, {**files, **result.files})
        if isinstance(next_result, Refusal):
            return next_result
        result = _combine(result, next_result)
    return result


def _take_file(order: MergeOrder, donor_files: CandidateFiles) -> _Result | Refusal:
    if order.path not in donor_files:
        return Refusal.of(order.path, RefusalCode.SEAT_LACKS_FILE, seat=order.seat)
    return _Result({order.path: donor_files[order.path]}, (Contribution(order.path, "", order.seat),))


def _take_imports(order: MergeOrder, files: CandidateFiles, donor_files: CandidateFiles) -> _Result | Refusal:
    result = _Result({})
    for donor in _outlines(donor_files, order.path):
        base = parse_source_outline(donor.path, files.get(donor.path, b""))
        if donor.path not in files or isinstance(base, Refusal):
            continue
        existing = {statement.text for statement in base.imports}
        lines = list(dict.fromkeys(statement.text for statement in donor.imports if statement.text not in existing))
        source = insert_import_statements(donor.path, base, base.source, lines)
        took = tuple(Contribution(donor.path, line, order.seat) for line in lines)
        result = _Result({**result.files, donor.path: source}, result.took + took)
    if not result.files:
        return Refusal.of(order.path, RefusalCode.SEAT_LACKS_IMPORTS, seat=order.seat)
    return result


def _remove_symbol(order: MergeOrder, name: str, files: CandidateFiles) -> _Result | Refusal:
    symbol = _find_only(order, name, files)
    if isinstance(symbol, Refusal):
        return symbol
    source = remove_symbol_from_source(symbol.file, symbol.symbols)
    path, name_in_file = symbol.file.path, symbol.symbols[0].name
    return (
        source if isinstance(source, Refusal) else _Result({path: source}, removed=(RemovedSymbol(path, name_in_file),))
    )


def _take_symbol(order: MergeOrder, name: str, files: CandidateFiles, donor_files: CandidateFiles) -> _Result | Refusal:
    match = _find_only(order, name, donor_files, order.seat)
    if isinstance(match, Refusal):
        return match
    path = match.file.path
    base = parse_source_outline(path, files[path]) if path in files else None
    if not isinstance(base, Outline):
        return Refusal.of(path, RefusalCode.BASE_LACKS_FILE, seat=order.seat)
    query = parse_symbol_query(name, order.kind)
    targets = [] if order.is_new else find_equally_qualified_symbols(base, query, match.symbols[0])
    if targets and not {symbol.name for symbol in targets} & {symbol.name for symbol in match.there(base)}:
        facts = {"symbol": name, "in_base": targets[0].name, "in_seat": match.symbols[0].name, "seat": order.seat}
        return Refusal.of(path, RefusalCode.SYMBOL_DIFFERS, **facts)
    return _splice_taken(order.seat, base, query, match, files, donor_files)


def _splice_taken(
    seat: str,
    base: Outline,
    query: SymbolQuery,
    match: _FoundSymbols,
    files: CandidateFiles,
    donor_files: CandidateFiles,
) -> _Result | Refusal:
    """Return the base's file with one symbol of a seat, and the files that its new imports need."""
    if any(find_syntax_errors(match.file.language, match.file.source)):
        return explain_unparsable_fragment(match.file.language, base.path, match.file.source)
    request = match_symbol_to_variant(
        base,
        query,
        query.filter_by_parameters(match.there(base), base.language),
        [SymbolVariant(match.file, symbol) for symbol in match.symbols],
    )
    transplanted = request if isinstance(request, Refusal) else splice_symbol_with_dependencies(request)
    if isinstance(transplanted, Refusal):
        return transplanted
    took = tuple(Contribution(base.path, name, seat) for name in (*transplanted.symbols, *transplanted.imports))
    result = _Result({base.path: transplanted.source}, took, transplanted.conflicts)
    return _take_imported_files(seat, transplanted.imports, result, files, donor_files)


def _take_imported_files(
    seat: str, statements: Sequence[str], result: _Result, files: CandidateFiles, donor_files: CandidateFiles
) -> _Result:
    """Add the donor's own files and symbols that the new imports name and the base does not have."""
    pending = list(statements)
    while pending:
        words = set(re.findall(r"\w+", pending.pop(0)))
        for donor in _outlines(donor_files):
            current = {**files, **result.files}
            if _module_name(donor.path) not in words:
                continue
            if donor.path not in current:
                result = _Result(
                    {**result.files, donor.path: donor.source},
                    (*result.took, Contribution(donor.path, "", seat)),
                    result.conflicts,
                )
                pending += [statement.text for statement in donor.imports]
                continue
            for symbol in donor.symbols:
                current = {**files, **result.files}
                base = parse_source_outline(donor.path, current[donor.path])
                if symbol.container is not None or symbol.base_name not in words or isinstance(base, Refusal):
                    continue
                if not find_counterpart_symbols(base, donor, symbol):
                    query = SymbolQuery(tuple(symbol.name.split(".")))
                    addition = _splice_taken(seat, base, query, _FoundSymbols(donor, [symbol]), current, donor_files)
                    result = _combine(result, addition) if isinstance(addition, _Result) else result
    return result


def _module_name(path: str) -> str:
    """Return the name by which a file is imported."""
    file = PurePosixPath(path)
    return file.parent.name if file.stem in {"__init__", "index", "mod"} else file.stem


def _combine(one: _Result, other: _Result) -> _Result:
    conflicts, removed = one.conflicts + other.conflicts, one.removed + other.removed
    return _Result({**one.files, **other.files}, one.took + other.took, conflicts, removed)


class _FoundSymbols(NamedTuple):
    """The symbols of one name in a file: one, or overloads of each other."""

    file: Outline
    symbols: list[Symbol]

    def there(self, base: Outline) -> list[Symbol]:
        """Return the corresponding symbols of the base."""
        return list(
            dict.fromkeys(
                counterpart
                for symbol in self.symbols
                for counterpart in find_counterpart_symbols(base, self.file, symbol)
            )
        )


def _find_only(order: MergeOrder, name: str, files: CandidateFiles, seat: str = "") -> _FoundSymbols | Refusal:
    """Return the only place that a name means in these files of a seat or of the base, or a refusal."""
    matches = [
        match for match in _find_all(files, parse_symbol_query(name, order.kind)) if order.path in {"", match.file.path}
    ]
    places = list(dict.fromkeys((symbol.name, match.file.path) for match in matches for symbol in match.symbols))
    if not places:
        if seat:
            return Refusal.of(order.path, RefusalCode.SEAT_LACKS_SYMBOL, seat=seat, symbol=name)
        return Refusal.of(order.path, RefusalCode.BASE_LACKS_SYMBOL, symbol=name)
    if len(places) > 1:
        several = ", ".join(f"{symbol} ({path})" for symbol, path in places[:4])
        return Refusal.of(order.path, RefusalCode.SYMBOL_IN_SEVERAL_PLACES, symbol=name, candidates=several)
    return matches[0]


def _find_all(files: CandidateFiles, query: SymbolQuery) -> list[_FoundSymbols]:
    """Return all symbols that a name may mean, by file. A definition is preferred to its prototype in another file."""
    matches = [
        _FoundSymbols(outline, symbols)
        for outline in _outlines(files)
        if (symbols := find_symbols_by_query(outline, query))
    ]
    defined = [match for match in matches if any(symbol.kind is not SymbolKind.PROTOTYPE for symbol in match.symbols)]
    return defined or matches
