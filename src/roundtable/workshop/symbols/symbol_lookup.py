"""Finds the symbols of a file that a name means, as a person wrote it or as another file has it."""

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
from roundtable.workshop.symbols.symbol_names import split_code_at_top_level_commas, split_symbol_name

_MEMBER_SEPARATOR = re.compile(r"(?<=\w)#|(?<!operator)->")
_PARAMETER_LIST = re.compile(r"(?<!operator)\s*\((.*)\)\s*$", re.S)
_CONSTRUCTOR_NAMES = {"__init__", "constructor", "initialize", "__construct"}
_INTERCHANGEABLE_KINDS = {SymbolKind.METHOD: SymbolKind.FUNCTION, SymbolKind.PROTOTYPE: SymbolKind.FUNCTION}


class RequestedKind(StrEnum):
    """The kind of symbol that a request names, next to the symbol's name."""

    ANY = ""
    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    CONSTRUCTOR = "constructor"


class SymbolQuery(NamedTuple):
    """A requested symbol: the parts of its name, its parameter types and its kind, if they were given."""

    parts: tuple[str, ...]
    parameter_types: tuple[str, ...] | None = None
    kind: RequestedKind = RequestedKind.ANY

    def filter_by_parameters(self, symbols: Sequence[Symbol], language: Language) -> list[Symbol]:
        """Return the symbols with the requested parameters; all of them where parameters do not distinguish symbols.

        That is so in languages without overloads; and empty parentheses may only mean that it is a function.
        """
        requested = self.parameter_types if self.parameter_types or language.has_overloads else None
        matching = [
            symbol
            for symbol in symbols
            if requested is None
            or requested in {list_parameter_types(symbol.node), *list_parameter_spellings(symbol.node)}
        ]
        return matching or ([] if requested and language.has_overloads else list(symbols))


def parse_symbol_query(symbol: str, kind: RequestedKind = RequestedKind.ANY) -> SymbolQuery:
    """Parse `Session.login`, `Session::login()` or `login(String, int)`."""
    parameters = _PARAMETER_LIST.search(symbol)
    parameter_types = (
        tuple(map(normalize_type_spelling, split_code_at_top_level_commas(parameters[1]))) if parameters else None
    )
    return SymbolQuery(
        split_symbol_name(_MEMBER_SEPARATOR.sub(".", _PARAMETER_LIST.sub("", symbol))), parameter_types, kind
    )


def interchangeable_symbol_kind(symbol: Symbol) -> SymbolKind:
    """Return the kind that a symbol can replace: methods and prototypes count as functions."""
    return _INTERCHANGEABLE_KINDS.get(symbol.kind, symbol.kind)


def _is_constructor_symbol(symbol: Symbol) -> bool:
    """Tell whether a symbol is a constructor: named like its class, or by a constructor name."""
    names = {*_CONSTRUCTOR_NAMES, symbol.owner.rpartition(".")[2]}
    return (
        bool(symbol.owner) and interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION and symbol.base_name in names
    )


def find_symbols_by_query(file: Outline, query: SymbolQuery) -> list[Symbol]:
    """Return the symbols that a query means: `login`, `Session.login`, or with the file's name, `auth.login`.

    Of several, the outermost is meant: a function before a method, a class before its constructors.
    """
    if query.kind is RequestedKind.CONSTRUCTOR:
        constructors = [symbol for symbol in file.symbols if _is_constructor_symbol(symbol)]
        return query.filter_by_parameters(
            keep_best_symbol_matches(
                _with_name(constructors, query.parts) or _members_of(constructors, query.parts), query
            ),
            file.language,
        )
    module = PurePosixPath(file.path).with_suffix("").parts
    without_file_name = next(
        (query.parts[at:] for at in range(1, len(query.parts)) if symbol_name_ends_with(module, query.parts[:at])), ()
    )
    if file.language.has_overloads and query.parts[-2:-1] == query.parts[-1:]:
        without_file_name = ()  # `Door.Door` is a constructor, even if the file is called Door too.
    for parts in (query.parts, without_file_name):
        if matches := _with_name(file.symbols, parts):
            return keep_best_symbol_matches(
                query.filter_by_parameters(matches, file.language), query._replace(parts=parts)
            )
    return []


def find_equally_qualified_symbols(file: Outline, query: SymbolQuery, other: Symbol) -> list[Symbol]:
    """Return the symbols that a query names in the same form as a symbol of another file.

    The form is whether the query's parts end the name of the symbol, or also name its file.
    """
    is_suffix = symbol_name_ends_with(other.name.split("."), query.parts)
    return [
        symbol
        for symbol in find_symbols_by_query(file, query)
        if symbol_name_ends_with(symbol.name.split("."), query.parts) is is_suffix
    ]


def _with_name(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol_name_ends_with(symbol.name.split("."), parts)]


def _members_of(symbols: Iterable[Symbol], parts: Sequence[str]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol_name_ends_with(symbol.owner.split("."), parts)]


def keep_best_symbol_matches(symbols: Sequence[Symbol], query: SymbolQuery) -> list[Symbol]:
    """Keep the best matches: exact names, outer symbols, and definitions before prototypes."""
    best = _narrow(
        symbols,
        lambda symbol: symbol.kind is not SymbolKind.SCOPE,
        lambda symbol: _is_of_kind(
            query.kind or (RequestedKind.ANY if query.parameter_types is None else RequestedKind.FUNCTION), symbol
        ),
        lambda symbol: symbol.name.split(".") == list(query.parts),
        lambda symbol: not symbol.owner,
        lambda symbol: symbol.kind is not SymbolKind.PROTOTYPE,
    )
    return [symbol for symbol in best if symbol.container not in best]


def _narrow(symbols: Sequence[Symbol], *tests: Callable[[Symbol], bool]) -> list[Symbol]:
    """Apply one test after the other. A test that no symbol passes is skipped."""
    remaining = list(symbols)
    for passes in tests:
        remaining = [symbol for symbol in remaining if passes(symbol)] or remaining
    return remaining


def _is_of_kind(kind: RequestedKind, symbol: Symbol) -> bool:
    match kind:
        case RequestedKind.FUNCTION:
            return interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION
        case RequestedKind.METHOD:
            return interchangeable_symbol_kind(symbol) is SymbolKind.FUNCTION and bool(symbol.owner)
        case RequestedKind.CLASS:
            return symbol.kind is SymbolKind.CLASS
        case RequestedKind.CONSTRUCTOR:
            return _is_constructor_symbol(symbol)
        case RequestedKind.ANY:
            return True


def find_counterpart_symbols(file: Outline, other_file: Outline, other: Symbol) -> list[Symbol]:
    """Return the symbols of a file that correspond to one of another file, ignoring a namespace around them."""
    namesakes = [symbol for symbol in file.symbols if symbol.name == other.name]
    other_names = {symbol.name for symbol in other_file.symbols}
    similar = [
        symbol
        for symbol in file.symbols
        if symbol.name not in other_names and _differ_by_namespace(file, symbol, other_file, other)
    ]
    return _narrow(
        namesakes or similar,
        lambda symbol: interchangeable_symbol_kind(symbol) is interchangeable_symbol_kind(other),
        lambda symbol: list_parameter_types(symbol.node) == list_parameter_types(other.node),
        lambda symbol: symbol.kind not in {SymbolKind.SCOPE, SymbolKind.PROTOTYPE},
    )


def _differ_by_namespace(file: Outline, one: Symbol, other_file: Outline, other: Symbol) -> bool:
    """Tell whether one name is the other with a prefix that is not a class."""
    if bool(one.owner) != bool(other.owner):
        return False
    longer, shorter, outline = (one, other, file) if len(one.name) > len(other.name) else (other, one, other_file)
    prefix = longer.name.removesuffix(f".{shorter.name}")
    return prefix != longer.name and not any(
        symbol.name == prefix and symbol.owns_members for symbol in outline.symbols
    )


def symbol_name_ends_with(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether the parts of a name end with the wanted parts."""
    return bool(wanted) and tuple(parts[-len(wanted) :]) == tuple(wanted)
