"""One candidate as it is, with what the judge's directives take from the others spliced in. No model is asked.

Every candidate is all files any of them touches, as they stand in its own tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.core.changes import RefusalKind
from roundtable.core.effects import Left, Removed, Took
from roundtable.workshop.structure.directives import Act, Known, Order, Unclear, understood
from roundtable.workshop.structure.fragments import wanted
from roundtable.workshop.structure.grafting import grafted, with_imports
from roundtable.workshop.structure.outline import Outline, Symbol, outline
from roundtable.workshop.structure.splicing import removed
from roundtable.workshop.structure.trees import Refused

Files = Mapping[str, bytes]


class Synthesis(NamedTuple):
    """The files, what in them came from whom, what could not be spliced, and what was taken out."""

    files: dict[str, bytes]
    took: tuple[Took, ...] = ()
    left: tuple[Left, ...] = ()
    removed: tuple[Removed, ...] = ()


class _Done(NamedTuple):
    """What one order came to: files that changed, what was taken, what may not fit, and what was taken out."""

    files: dict[str, bytes]
    took: tuple[Took, ...] = ()
    clashes: tuple[str, ...] = ()
    removed: tuple[Removed, ...] = ()


def synthesised(base: str, candidates: Mapping[str, Files], directives: Sequence[str]) -> Synthesis:
    """Carry out the directives in their order on the base's files. What is not understood is left, never guessed."""
    files = dict(candidates[base])
    took: list[Took] = []
    left: list[Left] = []
    gone: list[Removed] = []
    known = _known(base, candidates)
    for directive in directives:
        for order in understood(directive, known):
            if isinstance(order, Unclear):
                left.append(Left(order.words, order.why, _concerned(order.words, known)))
                continue
            done = _carried_out(order, files, candidates)
            if isinstance(done, Refused):
                left.append(Left(directive, done.sentence, _paths_of(order, files, candidates)))
                continue
            files.update(done.files)
            took += [it for it in done.took if it not in took]
            gone += done.removed
            if done.clashes:
                left.append(Left(directive, " ".join(dict.fromkeys(done.clashes)), tuple(done.files)))
    return Synthesis(files, tuple(took), tuple(left), tuple(gone))


def _known(base: str, candidates: Mapping[str, Files]) -> Known:
    paths = dict.fromkeys(path for files in candidates.values() for path in files)
    symbols = {it.simple for files in candidates.values() for read in _outlines(files) for it in read.symbols}
    return Known(base, tuple(candidates), tuple(paths), symbols)


def _outlines(files: Files, path: str = "") -> Iterator[Outline]:
    for name, source in files.items():
        read = outline(name, source) if not path or name == path else None
        if isinstance(read, Outline):
            yield read


def _concerned(words: str, known: Known) -> tuple[str, ...]:
    return tuple(it for it in known.paths if it in words)


def _paths_of(order: Order, files: Files, candidates: Mapping[str, Files]) -> tuple[str, ...]:
    """The files an order that failed was about, as far as that is known."""
    if order.path:
        return (order.path,)
    everywhere = (files, candidates.get(order.seat, {}))
    found = (read.path for it in everywhere for name in order.names for read, _ in _meant(it, name))
    return tuple(dict.fromkeys(found))


def _carried_out(order: Order, files: dict[str, bytes], candidates: Mapping[str, Files]) -> _Done | Refused:
    theirs = candidates.get(order.seat, {})
    match order.act:
        case Act.TAKE_FILE:
            return _whole_file(order, theirs)
        case Act.TAKE_IMPORTS:
            return _imports(order, files, theirs)
        case Act.REMOVE:
            return _each(order, files, lambda name, now: _without(order, name, now))
        case Act.TAKE:
            return _each(order, files, lambda name, now: _symbol(order, name, now, theirs))


def _each(order: Order, files: dict[str, bytes], carry_out: Callable[[str, Files], _Done | Refused]) -> _Done | Refused:
    """All symbols of an order, one upon the other; all of them or none."""
    done = _Done({})
    for name in order.names:
        one = carry_out(name, {**files, **done.files})
        if isinstance(one, Refused):
            return one
        done = _both(done, one)
    return done


def _whole_file(order: Order, theirs: Files) -> _Done | Refused:
    if order.path not in theirs:
        return Refused(RefusalKind.MISSING, f"{order.seat} has no {order.path}.")
    return _Done({order.path: theirs[order.path]}, (Took(order.path, "", order.seat),))


def _imports(order: Order, files: Files, theirs: Files) -> _Done | Refused:
    done = _Done({})
    for donor in _outlines(theirs, order.path):
        base = outline(donor.path, files.get(donor.path, b""))
        if donor.path not in files or isinstance(base, Refused):
            continue
        ours = {it.text for it in base.imports}
        lines = list(dict.fromkeys(it.text for it in donor.imports if it.text not in ours))
        made = with_imports(donor.path, base, base.source, lines)
        took = tuple(Took(donor.path, it, order.seat) for it in lines)
        done = _Done({**done.files, donor.path: made}, done.took + took)
    if not done.files:
        return Refused(RefusalKind.MISSING, f"No file of {order.seat} has imports for the base.")
    return done


def _without(order: Order, name: str, files: Files) -> _Done | Refused:
    at = _only(order, name, files, "The base")
    if isinstance(at, Refused):
        return at
    made = removed(at.path, files[at.path], name)
    return made if isinstance(made, Refused) else _Done({at.path: made}, removed=(Removed(at.path, name),))


def _symbol(order: Order, name: str, files: Files, theirs: Files) -> _Done | Refused:
    at = _only(order, name, theirs, order.seat)
    if isinstance(at, Refused):
        return at
    if at.path not in files:
        return Refused(RefusalKind.MISSING, f"The base has no {at.path}; {order.seat}'s may be taken as a whole file.")
    made = grafted(at.path, files[at.path], at.called, theirs[at.path])
    if isinstance(made, Refused):
        return made
    took = tuple(Took(at.path, it, order.seat) for it in (*made.symbols, *made.imports))
    done = _Done({at.path: made.source}, took, made.clashes)
    return _followed(order.seat, made.imports, done, files, theirs)


def _followed(seat: str, lines: Sequence[str], done: _Done, files: Files, theirs: Files) -> _Done:
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
                    {**done.files, donor.path: donor.source}, (*done.took, Took(donor.path, "", seat)), done.clashes
                )
                waiting += [it.text for it in donor.imports]
                continue
            for symbol in donor.symbols:
                base = outline(donor.path, now[donor.path])
                lacks = isinstance(base, Outline) and not base.named(symbol.simple)
                if symbol.holder is None and symbol.simple in words and lacks:
                    order = Order(Act.TAKE, seat, (symbol.simple,), donor.path)
                    more = _symbol(order, symbol.name, {**files, **done.files}, theirs)
                    done = _both(done, more) if isinstance(more, _Done) else done
    return done


def _module(path: str) -> str:
    """The name a file is imported by."""
    whole = PurePosixPath(path)
    return whole.parent.name if whole.stem in {"__init__", "index", "mod"} else whole.stem


def _both(one: _Done, other: _Done) -> _Done:
    clashes, gone = one.clashes + other.clashes, one.removed + other.removed
    return _Done({**one.files, **other.files}, one.took + other.took, clashes, gone)


class _At(NamedTuple):
    path: str
    called: str


def _only(order: Order, name: str, files: Files, whose: str) -> _At | Refused:
    """The one place a name means in these files."""
    found = [it for it in _meant(files, name) if order.path in {"", it[0].path}]
    places = list(dict.fromkeys((read.path, symbol.name) for read, symbol in found))
    if not places:
        where = order.path or "any file"
        return Refused(RefusalKind.NOT_FOUND, f"{whose} has no {name} in {where}.")
    if len(places) > 1:
        several = ", ".join(f"{symbol} in {path}" for path, symbol in places[:4])
        return Refused(RefusalKind.AMBIGUOUS, f"{name} may be {several}.")
    path, called = places[0]
    signature = name[name.index("(") :] if "(" in name and not name.endswith("()") else ""
    return _At(path, called + signature)


def _meant(files: Files, name: str) -> list[tuple[Outline, Symbol]]:
    """All symbols a name may mean. A definition is meant before its prototype in another file."""
    asked = wanted(name)
    found = [(read, it) for read in _outlines(files) for it in asked.of(read.named(".".join(asked.parts)))]
    return [it for it in found if it[1].kind != "prototype"] or found
