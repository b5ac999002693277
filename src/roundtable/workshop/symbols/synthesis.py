"""One candidate as it is, with what the judge's directives take from the others spliced in. No model is asked.

Every candidate is all files any of them touches, as they stand in its own tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.core.changeset import RefusalKind
from roundtable.core.decide.merge_ruling import MUST_FIX_PREFIX
from roundtable.core.effects import Contribution, RemovedSymbol, UnmergedDirective
from roundtable.workshop.symbols.fragments import SymbolVariant, explain_unparsable_fragment
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.merge_directives import (
    DirectiveVocabulary,
    MergeAction,
    MergeOrder,
    UnclearDirective,
    parse_merge_directive,
)
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.splice import match_symbol_to_variant, remove_symbol_from_source
from roundtable.workshop.symbols.symbol_lookup import (
    SymbolQuery,
    find_counterpart_symbols,
    find_symbols_by_query,
    find_symbols_with_same_reading,
    parse_symbol_query,
)
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal, find_syntax_errors
from roundtable.workshop.symbols.transplant import insert_import_statements, splice_symbol_with_dependencies

CandidateFiles = Mapping[str, bytes]
_UNASKED = SpliceRefusal(RefusalKind.MISSING, "What must only be mended is not taken out.")


class SynthesizedFiles(NamedTuple):
    """The files, what in them came from whom, what could not be spliced, and what was taken out."""

    files: dict[str, bytes]
    took: tuple[Contribution, ...] = ()
    left: tuple[UnmergedDirective, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


class _Done(NamedTuple):
    """What one order came to: files that changed, what was taken, what may not fit, and what was taken out."""

    files: dict[str, bytes]
    took: tuple[Contribution, ...] = ()
    clashes: tuple[str, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


def synthesize_candidates(
    base: str, candidates: Mapping[str, CandidateFiles], directives: Sequence[str]
) -> SynthesizedFiles:
    """Carry out the directives in their order on the base's files. What is not understood is left, never guessed."""
    files = dict(candidates[base])
    took: list[Contribution] = []
    left: list[UnmergedDirective] = []
    gone: list[RemovedSymbol] = []
    known = _known(base, candidates)
    for directive in directives:
        for order in parse_merge_directive(directive.removeprefix(MUST_FIX_PREFIX), known):
            if isinstance(order, UnclearDirective):
                left.append(UnmergedDirective(order.text, order.reason, _concerned(order.text, known)))
                continue
            done = _carried_out(order, files, candidates) if _may(order, directive) else _UNASKED
            if isinstance(done, SpliceRefusal):
                paths = _paths_of(order, files, candidates) or _concerned(directive, known)
                left.append(UnmergedDirective(directive, done.sentence, paths))
                continue
            files.update(done.files)
            now = (*done.took, *done.removed)
            took = [it for it in took if not _undone(it, now)] + list(dict.fromkeys(done.took))
            gone = [it for it in gone if not _undone(it, now)] + list(done.removed)
            if done.clashes:
                left.append(UnmergedDirective(directive, " ".join(dict.fromkeys(done.clashes)), tuple(done.files)))
    return SynthesizedFiles(files, tuple(took), tuple(left), tuple(gone))


def _undone(it: Contribution | RemovedSymbol, later: Sequence[Contribution | RemovedSymbol]) -> bool:
    """Whether nothing is left of it: the same, the class around it or the whole file came later or went."""
    inside = f"{it.symbol.partition(' ')[0]}."
    now = [other.symbol for other in later if other.path == it.path]
    return any(symbol in {"", it.symbol} or inside.startswith(f"{symbol}.") for symbol in now)


def _may(order: MergeOrder, directive: str) -> bool:
    return order.action is not MergeAction.REMOVE or not directive.startswith(MUST_FIX_PREFIX)


def _known(base: str, candidates: Mapping[str, CandidateFiles]) -> DirectiveVocabulary:
    paths = dict.fromkeys(path for files in candidates.values() for path in files)
    symbols = {it.base_name for files in candidates.values() for read in _outlines(files) for it in read.symbols}
    return DirectiveVocabulary(base, tuple(candidates), tuple(paths), symbols)


def _outlines(files: CandidateFiles, path: str = "") -> Iterator[Outline]:
    for name, source in files.items():
        read = parse_source_outline(name, source) if not path or name == path else None
        if isinstance(read, Outline):
            yield read


def _concerned(words: str, known: DirectiveVocabulary) -> tuple[str, ...]:
    """The files that words name; where they name none, all that any candidate touches."""
    return tuple(it for it in known.paths if it in words) or tuple(known.paths)


def _paths_of(order: MergeOrder, files: CandidateFiles, candidates: Mapping[str, CandidateFiles]) -> tuple[str, ...]:
    """The files an order that failed was about, as far as that is known."""
    if order.path:
        return (order.path,)
    everywhere = (files, candidates.get(order.seat, {}))
    names = [parse_symbol_query(it, order.kind) for it in order.names]
    found = (it.file.path for files in everywhere for name in names for it in _meant(files, name))
    return tuple(dict.fromkeys(found))


def _carried_out(
    order: MergeOrder, files: dict[str, bytes], candidates: Mapping[str, CandidateFiles]
) -> _Done | SpliceRefusal:
    theirs = candidates.get(order.seat, {})
    match order.action:
        case MergeAction.TAKE_FILE:
            return _whole_file(order, theirs)
        case MergeAction.TAKE_IMPORTS:
            return _imports(order, files, theirs)
        case MergeAction.REMOVE:
            return _each(order, files, lambda name, now: _without(order, name, now))
        case MergeAction.TAKE:
            return _each(order, files, lambda name, now: _symbol(order, name, now, theirs))


def _each(
    order: MergeOrder, files: dict[str, bytes], carry_out: Callable[[str, CandidateFiles], _Done | SpliceRefusal]
) -> _Done | SpliceRefusal:
    """All symbols of an order, one upon the other; all of them or none."""
    done = _Done({})
    for name in order.names:
        one = carry_out(name, {**files, **done.files})
        if isinstance(one, SpliceRefusal):
            return one
        done = _both(done, one)
    return done


def _whole_file(order: MergeOrder, theirs: CandidateFiles) -> _Done | SpliceRefusal:
    if order.path not in theirs:
        return SpliceRefusal(RefusalKind.MISSING, f"{order.seat} has no {order.path}.")
    return _Done({order.path: theirs[order.path]}, (Contribution(order.path, "", order.seat),))


def _imports(order: MergeOrder, files: CandidateFiles, theirs: CandidateFiles) -> _Done | SpliceRefusal:
    done = _Done({})
    for donor in _outlines(theirs, order.path):
        base = parse_source_outline(donor.path, files.get(donor.path, b""))
        if donor.path not in files or isinstance(base, SpliceRefusal):
            continue
        ours = {it.text for it in base.imports}
        lines = list(dict.fromkeys(it.text for it in donor.imports if it.text not in ours))
        made = insert_import_statements(donor.path, base, base.source, lines)
        took = tuple(Contribution(donor.path, it, order.seat) for it in lines)
        done = _Done({**done.files, donor.path: made}, done.took + took)
    if not done.files:
        return SpliceRefusal(RefusalKind.MISSING, f"No file of {order.seat} has imports for the base.")
    return done


def _without(order: MergeOrder, name: str, files: CandidateFiles) -> _Done | SpliceRefusal:
    found = _only(order, name, files, "The base")
    if isinstance(found, SpliceRefusal):
        return found
    made = remove_symbol_from_source(found.file, found.symbols)
    path, gone = found.file.path, found.symbols[0].name
    return made if isinstance(made, SpliceRefusal) else _Done({path: made}, removed=(RemovedSymbol(path, gone),))


def _symbol(order: MergeOrder, name: str, files: CandidateFiles, theirs: CandidateFiles) -> _Done | SpliceRefusal:
    found = _only(order, name, theirs, order.seat)
    if isinstance(found, SpliceRefusal):
        return found
    path = found.file.path
    base = parse_source_outline(path, files[path]) if path in files else None
    if not isinstance(base, Outline):
        return SpliceRefusal(
            RefusalKind.MISSING, f"The base has no {path}; {order.seat}'s may be taken as a whole file."
        )
    asked = parse_symbol_query(name, order.kind)
    ours = [] if order.is_new else find_symbols_with_same_reading(base, asked, found.symbols[0])
    if ours and not {it.name for it in ours} & {it.name for it in found.there(base)}:
        sentence = f"{name} is {ours[0].name} in the base, and {found.symbols[0].name} in {order.seat}'s {path}."
        return SpliceRefusal(RefusalKind.AMBIGUOUS, sentence)
    return _taken(order.seat, base, asked, found, files, theirs)


def _taken(
    seat: str, base: Outline, asked: SymbolQuery, found: _Found, files: CandidateFiles, theirs: CandidateFiles
) -> _Done | SpliceRefusal:
    """The base's file with one symbol of a seat, and what the imports it needs bring along."""
    if any(find_syntax_errors(found.file.language, found.file.source)):
        return explain_unparsable_fragment(found.file.language, base.path, found.file.source)
    read = match_symbol_to_variant(
        base,
        asked,
        asked.filter_by_parameters(found.there(base), base.language),
        [SymbolVariant(found.file, it) for it in found.symbols],
    )
    made = read if isinstance(read, SpliceRefusal) else splice_symbol_with_dependencies(read)
    if isinstance(made, SpliceRefusal):
        return made
    took = tuple(Contribution(base.path, it, seat) for it in (*made.symbols, *made.imports))
    done = _Done({base.path: made.source}, took, made.conflicts)
    return _followed(seat, made.imports, done, files, theirs)


def _followed(seat: str, lines: Sequence[str], done: _Done, files: CandidateFiles, theirs: CandidateFiles) -> _Done:
    """With what the new imports bring in from the donor's own files, where the base has no such file or symbol."""
    waiting = list(lines)
    while waiting:
        words = set(re.findall(r"\w+", waiting.pop(0)))
        for donor in _outlines(theirs):
            now = {**files, **done.files}
            if _module(donor.path) not in words:
                continue
            if donor.path not in now:
                done = _Done(
                    {**done.files, donor.path: donor.source},
                    (*done.took, Contribution(donor.path, "", seat)),
                    done.clashes,
                )
                waiting += [it.text for it in donor.imports]
                continue
            for symbol in donor.symbols:
                now = {**files, **done.files}
                base = parse_source_outline(donor.path, now[donor.path])
                if symbol.container is not None or symbol.base_name not in words or isinstance(base, SpliceRefusal):
                    continue
                if not find_counterpart_symbols(base, donor, symbol):
                    asked = SymbolQuery(tuple(symbol.name.split(".")))
                    more = _taken(seat, base, asked, _Found(donor, [symbol]), now, theirs)
                    done = _both(done, more) if isinstance(more, _Done) else done
    return done


def _module(path: str) -> str:
    """The name a file is imported by."""
    whole = PurePosixPath(path)
    return whole.parent.name if whole.stem in {"__init__", "index", "mod"} else whole.stem


def _both(one: _Done, other: _Done) -> _Done:
    clashes, gone = one.clashes + other.clashes, one.removed + other.removed
    return _Done({**one.files, **other.files}, one.took + other.took, clashes, gone)


class _Found(NamedTuple):
    """The symbols of one name in a file: one, or overloads of each other."""

    file: Outline
    symbols: list[Symbol]

    def there(self, base: Outline) -> list[Symbol]:
        """What stands in their place in the base."""
        return list(
            dict.fromkeys(it for symbol in self.symbols for it in find_counterpart_symbols(base, self.file, symbol))
        )


def _only(order: MergeOrder, name: str, files: CandidateFiles, whose: str) -> _Found | SpliceRefusal:
    """The one place a name means in these files."""
    found = [it for it in _meant(files, parse_symbol_query(name, order.kind)) if order.path in {"", it.file.path}]
    places = list(dict.fromkeys((symbol.name, it.file.path) for it in found for symbol in it.symbols))
    if not places:
        where = order.path or "any file"
        return SpliceRefusal(RefusalKind.NOT_FOUND, f"{whose} has no {name} in {where}.")
    if len(places) > 1:
        several = ", ".join(f"{symbol} in {path}" for symbol, path in places[:4])
        return SpliceRefusal(RefusalKind.AMBIGUOUS, f"{name} may be {several}.")
    return found[0]


def _meant(files: CandidateFiles, name: SymbolQuery) -> list[_Found]:
    """All symbols a name may mean, by file. A definition is meant before its prototype in another file."""
    found = [_Found(read, symbols) for read in _outlines(files) if (symbols := find_symbols_by_query(read, name))]
    defined = [it for it in found if any(symbol.kind is not SymbolKind.PROTOTYPE for symbol in it.symbols)]
    return defined or found
