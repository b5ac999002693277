"""Which symbols of a file a name means, as somebody wrote it or as another file has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from roundtable.workshop.symbols.languages import Language, SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.signatures import (
    list_parameter_spellings,
    list_parameter_types,
    normalize_type_spelling,
)
from roundtable.workshop.symbols.symbol_names import split_at_top_level_commas, split_symbol_name

_MEMBER = re.compile(r"(?<=\w)#|(?<!operator)->")
_CALLED = re.compile(r"(?<!operator)\s*\((.*)\)\s*$", re.S)
_CONSTRUCTORS = {"__init__", "constructor", "initialize", "__construct"}
_SORTS = {SymbolKind.METHOD: SymbolKind.FUNCTION, SymbolKind.PROTOTYPE: SymbolKind.FUNCTION}


class RequestedKind(StrEnum):
    """What a symbol was said to be, besides its name."""

    ANY = ""
    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CONSTRUCTOR = "constructor"


class SymbolQuery(NamedTuple):
    """A symbol as it was asked for: the parts of its name, what it takes if that was said, and what it is."""

    parts: tuple[str, ...]
    parameter_types: tuple[str, ...] | None = None
    kind: RequestedKind = RequestedKind.ANY

    def filter_by_parameters(self, symbols: Sequence[Symbol], language: Language) -> list[Symbol]:
        """Those of the symbols that take what was said; all of them where that need not tell.

        It need not where there are no overloads, and empty parentheses may only say that it is a function.
        """
        said = self.parameter_types if self.parameter_types or language.has_overloads else None
        fit = [
            it
            for it in symbols
            if said is None or said in {list_parameter_types(it.node), *list_parameter_spellings(it.node)}
        ]
        return fit or ([] if said and language.has_overloads else list(symbols))


def parse_symbol_query(symbol: str, sort: RequestedKind = RequestedKind.ANY) -> SymbolQuery:
    """Read `Session.login`, `Session::login()` or `login(String, int)`."""
    called = _CALLED.search(symbol)
    given = tuple(map(normalize_type_spelling, split_at_top_level_commas(called[1]))) if called else None
    return SymbolQuery(split_symbol_name(_MEMBER.sub(".", _CALLED.sub("", symbol))), given, sort)


def interchangeable_symbol_kind(symbol: Symbol) -> SymbolKind:
    """What a symbol can stand in for: a method and a prototype are functions."""
    return _SORTS.get(symbol.kind, symbol.kind)


def is_constructor_symbol(symbol: Symbol) -> bool:
    """Whether it makes the things of its class: by the name of the class itself, or by a name that means this."""
    made = {*_CONSTRUCTORS, symbol.owner.rpartition(".")[2]}
    return (
        bool(symbol.owner) and interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION and symbol.base_name in made
    )


def find_symbols_by_query(file: Outline, name: SymbolQuery) -> list[Symbol]:
    """The symbols a name means in a file: `login`, `Session.login`, or with the file's own name before, `auth.login`.

    Where it could be several, the outermost is meant: a function before a method, a class before its constructors.
    """
    if name.kind is RequestedKind.CONSTRUCTOR:
        made = [it for it in file.symbols if is_constructor_symbol(it)]
        return name.filter_by_parameters(
            keep_best_symbol_matches(_called(made, name.parts) or _of_class(made, name.parts), name), file.language
        )
    module = PurePosixPath(file.path).with_suffix("").parts
    inside = next(
        (name.parts[at:] for at in range(1, len(name.parts)) if symbol_name_ends_with(module, name.parts[:at])), ()
    )
    if file.language.has_overloads and name.parts[-2:-1] == name.parts[-1:]:
        inside = ()  # `Door.Door` is a constructor, even where the file is called Door too.
    for parts in (name.parts, inside):
        if found := _called(file.symbols, parts):
            return keep_best_symbol_matches(name.filter_by_parameters(found, file.language), name._replace(parts=parts))
    return []


def find_symbols_with_same_reading(file: Outline, name: SymbolQuery, other: Symbol) -> list[Symbol]:
    """The symbols a name means in a file, if it is read there as it was for another file's symbol."""
    whole = symbol_name_ends_with(other.name.split("."), name.parts)
    return [
        it for it in find_symbols_by_query(file, name) if symbol_name_ends_with(it.name.split("."), name.parts) is whole
    ]


def _called(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [it for it in symbols if symbol_name_ends_with(it.name.split("."), parts)]


def _of_class(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [it for it in symbols if symbol_name_ends_with(it.owner.split("."), parts)]


def keep_best_symbol_matches(symbols: Sequence[Symbol], name: SymbolQuery) -> list[Symbol]:
    """Those that a name means first: a definition before a prototype, and what stands outside before what is inside."""
    found = _rather(
        symbols,
        lambda it: it.kind is not SymbolKind.SCOPE,
        lambda it: _is_of(
            name.kind or (RequestedKind.ANY if name.parameter_types is None else RequestedKind.FUNCTION), it
        ),
        lambda it: it.name.split(".") == list(name.parts),
        lambda it: not it.owner,
        lambda it: it.kind is not SymbolKind.PROTOTYPE,
    )
    return [it for it in found if it.container not in found]


def _rather(symbols: Sequence[Symbol], *tests: Callable[[Symbol], bool]) -> list[Symbol]:
    """Those that pass one test after the other; a test that none passes does not count."""
    found = list(symbols)
    for passes in tests:
        found = [it for it in found if passes(it)] or found
    return found


def _is_of(sort: RequestedKind, symbol: Symbol) -> bool:
    match sort:
        case RequestedKind.FUNCTION:
            return interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION
        case RequestedKind.METHOD:
            return interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION and bool(symbol.owner)
        case RequestedKind.CLASS:
            return symbol.kind is SymbolKind.CLASS
        case RequestedKind.CONSTRUCTOR:
            return is_constructor_symbol(symbol)
        case RequestedKind.ANY:
            return True


def find_counterpart_symbols(file: Outline, within: Outline, other: Symbol) -> list[Symbol]:
    """The symbols of a file that stand where one of another file does, give or take a namespace around them."""
    same = [it for it in file.symbols if it.name == other.name]
    theirs = {it.name for it in within.symbols}
    near = [it for it in file.symbols if it.name not in theirs and _differ_by_namespace(file, it, within, other)]
    return _rather(
        same or near,
        lambda it: interchangeable_symbol_kind(it) is interchangeable_symbol_kind(other),
        lambda it: list_parameter_types(it.node) == list_parameter_types(other.node),
        lambda it: it.kind not in {SymbolKind.SCOPE, SymbolKind.PROTOTYPE},
    )


def _differ_by_namespace(file: Outline, one: Symbol, within: Outline, other: Symbol) -> bool:
    """Whether one name is the other with something before it that is no class."""
    if bool(one.owner) != bool(other.owner):
        return False
    longer, shorter, read = (one, other, file) if len(one.name) > len(other.name) else (other, one, within)
    before = longer.name.removesuffix(f".{shorter.name}")
    return before != longer.name and not any(it.name == before and it.owns_members for it in read.symbols)


def symbol_name_ends_with(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the parts of a name end in these."""
    return bool(wanted) and tuple(parts[-len(wanted) :]) == tuple(wanted)
