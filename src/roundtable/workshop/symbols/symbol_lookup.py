"""Which symbols of a file a name means, as somebody wrote it or as another file has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.workshop.symbols.languages import Kind, Language
from roundtable.workshop.symbols.names import between_commas, parts_of
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.signatures import plain_type, takes, takes_as_written

_MEMBER = re.compile(r"(?<=\w)#|(?<!operator)->")
_CALLED = re.compile(r"(?<!operator)\s*\((.*)\)\s*$", re.S)
_CONSTRUCTORS = {"__init__", "constructor", "initialize", "__construct"}
_SORTS = {Kind.METHOD: Kind.FUNCTION, Kind.PROTOTYPE: Kind.FUNCTION}


class Sort(StrEnum):
    """What a symbol was said to be, besides its name."""

    ANY = ""
    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CONSTRUCTOR = "constructor"


class Wanted(NamedTuple):
    """A symbol as it was asked for: the parts of its name, what it takes if that was said, and what it is."""

    parts: tuple[str, ...]
    takes: tuple[str, ...] | None = None
    sort: Sort = Sort.ANY

    def of(self, symbols: Sequence[Symbol], language: Language) -> list[Symbol]:
        """Those of the symbols that take what was said; all of them where that need not tell.

        It need not where there are no overloads, and empty parentheses may only say that it is a function.
        """
        said = self.takes if self.takes or language.overloads else None
        fit = [it for it in symbols if said is None or said in {takes(it.node), *takes_as_written(it.node)}]
        return fit or ([] if said and language.overloads else list(symbols))


def wanted(symbol: str, sort: Sort = Sort.ANY) -> Wanted:
    """Read `Session.login`, `Session::login()` or `login(String, int)`."""
    called = _CALLED.search(symbol)
    given = tuple(map(plain_type, between_commas(called[1]))) if called else None
    return Wanted(parts_of(_MEMBER.sub(".", _CALLED.sub("", symbol))), given, sort)


def sort_of(symbol: Symbol) -> Kind:
    """What a symbol can stand in for: a method and a prototype are functions."""
    return _SORTS.get(symbol.kind, symbol.kind)


def is_constructor(symbol: Symbol) -> bool:
    """Whether it makes the things of its class: by the name of the class itself, or by a name that means this."""
    made = {*_CONSTRUCTORS, symbol.owner.rpartition(".")[2]}
    return bool(symbol.owner) and sort_of(symbol) is Kind.FUNCTION and symbol.simple in made


def named(file: Outline, name: Wanted) -> list[Symbol]:
    """The symbols a name means in a file: `login`, `Session.login`, or with the file's own name before, `auth.login`.

    Where it could be several, the outermost is meant: a function before a method, a class before its constructors.
    """
    if name.sort is Sort.CONSTRUCTOR:
        made = [it for it in file.symbols if is_constructor(it)]
        return name.of(foremost(_called(made, name.parts) or _of_class(made, name.parts), name), file.language)
    module = PurePosixPath(file.path).with_suffix("").parts
    inside = next((name.parts[at:] for at in range(1, len(name.parts)) if ends(module, name.parts[:at])), ())
    if file.language.overloads and name.parts[-2:-1] == name.parts[-1:]:
        inside = ()  # `Door.Door` is a constructor, even where the file is called Door too.
    for parts in (name.parts, inside):
        if found := _called(file.symbols, parts):
            return foremost(name.of(found, file.language), name._replace(parts=parts))
    return []


def read_alike(file: Outline, name: Wanted, other: Symbol) -> list[Symbol]:
    """The symbols a name means in a file, if it is read there as it was for another file's symbol."""
    whole = ends(other.name.split("."), name.parts)
    return [it for it in named(file, name) if ends(it.name.split("."), name.parts) is whole]


def _called(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [it for it in symbols if ends(it.name.split("."), parts)]


def _of_class(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [it for it in symbols if ends(it.owner.split("."), parts)]


def foremost(symbols: Sequence[Symbol], name: Wanted) -> list[Symbol]:
    """Those that a name means first: a definition before a prototype, and what stands outside before what is inside."""
    found = _rather(
        symbols,
        lambda it: it.kind is not Kind.SCOPE,
        lambda it: _is_of(name.sort or (Sort.ANY if name.takes is None else Sort.FUNCTION), it),
        lambda it: it.name.split(".") == list(name.parts),
        lambda it: not it.owner,
        lambda it: it.kind is not Kind.PROTOTYPE,
    )
    return [it for it in found if it.holder not in found]


def _rather(symbols: Sequence[Symbol], *tests: Callable[[Symbol], bool]) -> list[Symbol]:
    """Those that pass one test after the other; a test that none passes does not count."""
    found = list(symbols)
    for passes in tests:
        found = [it for it in found if passes(it)] or found
    return found


def _is_of(sort: Sort, symbol: Symbol) -> bool:
    match sort:
        case Sort.FUNCTION:
            return sort_of(symbol) is Kind.FUNCTION
        case Sort.METHOD:
            return sort_of(symbol) is Kind.FUNCTION and bool(symbol.owner)
        case Sort.CLASS:
            return symbol.kind is Kind.CLASS
        case Sort.CONSTRUCTOR:
            return is_constructor(symbol)
        case Sort.ANY:
            return True


def counterparts(file: Outline, within: Outline, other: Symbol) -> list[Symbol]:
    """The symbols of a file that stand where one of another file does, give or take a namespace around them."""
    same = [it for it in file.symbols if it.name == other.name]
    theirs = {it.name for it in within.symbols}
    near = [it for it in file.symbols if it.name not in theirs and _differ_by_namespace(file, it, within, other)]
    return _rather(
        same or near,
        lambda it: sort_of(it) is sort_of(other),
        lambda it: takes(it.node) == takes(other.node),
        lambda it: it.kind not in {Kind.SCOPE, Kind.PROTOTYPE},
    )


def _differ_by_namespace(file: Outline, one: Symbol, within: Outline, other: Symbol) -> bool:
    """Whether one name is the other with something before it that is no class."""
    if bool(one.owner) != bool(other.owner):
        return False
    longer, shorter, read = (one, other, file) if len(one.name) > len(other.name) else (other, one, within)
    before = longer.name.removesuffix(f".{shorter.name}")
    return before != longer.name and not any(it.name == before and it.owns for it in read.symbols)


def ends(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the parts of a name end in these."""
    return bool(wanted) and tuple(parts[-len(wanted) :]) == tuple(wanted)
