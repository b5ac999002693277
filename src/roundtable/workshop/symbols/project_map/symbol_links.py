"""Builds the project map: each symbol with the places in other files that use it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.project_map.import_resolution import ProjectIndex
from roundtable.workshop.symbols.project_map.mentions import (
    MAX_MAP_LINE_LENGTH,
    NameMention,
    SourceLines,
    find_symbol_mentions,
)
from roundtable.workshop.symbols.project_map.name_resolution import (
    ProjectNames,
    ResolvedSymbol,
    symbol_name_without_namespace,
)
from roundtable.workshop.symbols.project_map.project_map import MappedFile, MappedSymbol, ProjectMap, SymbolUse

_CONSTRUCTOR_NAMES = ("__init__", "constructor", "initialize", "__construct")
_SELF_NAMES = {"self", "this", "cls"}
_WORD = re.compile(r"[^\W\d][\w$]*")
_TYPED_NAME = re.compile(
    r"\b([a-z_]\w*)[ \t]{0,4}(?::=|[:=]?)[ \t]{0,4}(?:(?:await|new|mut)[ \t]{1,4}|[&*]){0,3}(?:\w+[.:]{1,2}){0,4}"
    r"([A-Z]\w*|(?:dict|list|set|tuple|str|bytes|int|float|string|number)\b)"
    r"|\b([A-Z]\w*)(?:<[^<>;]{0,99}>)?[\s*&]{1,8}([a-z_]\w*)[ \t]{0,4}[=;,)]"
)
_COMPOUND_NAME = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z0-9][A-Z]")
_MAX_OWNERS = 3


def build_symbol_map_of_project(files: Mapping[str, bytes]) -> ProjectMap:
    """Build the map of a project from names and imports; nothing is executed."""
    outlines = {
        path: outline
        for path, text in sorted(files.items())
        if isinstance(outline := parse_source_outline(path, text), Outline)
    }
    names = ProjectNames(ProjectIndex(outlines, files))
    uses: dict[Symbol, list[SymbolUse]] = {}
    for path in outlines:
        _FileLinker(names, path).add_to(uses)
    return ProjectMap(tuple(_map_file(path, names, uses) for path in sorted(files)))


class _FileLinker:
    """Finds the symbols of other files that one file uses."""

    def __init__(self, names: ProjectNames, path: str) -> None:
        self._names = names
        self._path = path
        self._outline = names.files[path].outline
        self._lines = SourceLines(self._outline.source)
        self._mentions = list(
            find_symbol_mentions(self._outline, names.known_names | names.files[path].imported_names.keys() | {"new"})
        )

    def add_to(self, uses: dict[Symbol, list[SymbolUse]]) -> None:
        """Add each use of another file's symbol: first those that names alone tell, then methods of the known classes.

        For a class that is only named, as a type, the first place in the file is enough.
        """
        resolved = [(mention, self._names.resolve_mention(self._path, mention)) for mention in self._mentions]
        known_classes = self._known_classes(symbol for _, symbols in resolved for symbol in symbols)
        linked: set[tuple[Symbol, int]] = set()
        imports = self._names.files[self._path].imports
        for mention, symbols in resolved:
            for target in symbols or self._names.prefer_definitions(self._find_methods(mention, known_classes)):
                if target.path == self._path:
                    continue
                symbol, line = self._constructor_of(mention, target).symbol, self._lines.number_at(mention.offset)
                is_only_named = symbol.kind is SymbolKind.CLASS and not mention.is_called
                key = (symbol, 0 if is_only_named else line)
                if key not in linked:
                    text = "" if is_only_named else self._lines.text_of(line)
                    uses.setdefault(symbol, []).append(
                        SymbolUse(self._path, line, text, self._enclosing_symbol(mention.offset))
                    )
                    imports.add(target.path)
                linked.add(key)

    def _enclosing_symbol(self, offset: int) -> str:
        enclosing = [
            symbol
            for symbol in self._outline.symbols
            if symbol.start <= offset < symbol.end and symbol.kind is not SymbolKind.SCOPE
        ]
        return symbol_name_without_namespace(enclosing[-1]) if enclosing else ""

    def _known_classes(self, used: Iterable[ResolvedSymbol]) -> set[str]:
        """Return the classes this file knows: those it mentions, and those in signatures of what it uses."""
        mentioned = {word for mention in self._mentions for word in (mention.name, *(mention.chain or ()))}
        signatures = {word for symbol in used for word in _WORD.findall(symbol.symbol.signature)}
        return mentioned | signatures | self._names.files[self._path].imported_names.keys()

    @cached_property
    def _types_of_names(self) -> dict[str, set[str]]:
        """The types written next to names, as far as one line tells."""
        types: dict[str, set[str]] = {}
        for name, kind, kind_before, name_after in _TYPED_NAME.findall(self._outline.source.decode(errors="replace")):
            types.setdefault(name or name_after, set()).add(kind or kind_before)
        return types

    @cached_property
    def _own_names(self) -> set[str]:
        return {symbol.base_name for symbol in self._outline.symbols}

    def _find_methods(self, mention: NameMention, known: set[str]) -> list[ResolvedSymbol]:
        """Return the methods that `x.name()` may mean in reachable files: of the type of `x`, else of known classes.

        Without a known class, a compound name that only one class has is enough.
        """
        candidates = self._names.methods.get(mention.name, [])
        if not candidates or not mention.is_called or mention.chain == ():
            return []
        last = mention.chain[-1] if mention.chain else ""
        if last in _SELF_NAMES and mention.name in self._own_names:
            return []
        reached = self._names.reachable_files(self._path)
        reachable = [(owner, method) for owner, method in candidates if method.path in reached]
        types = self._types_of_names.get(last, set())
        typed = [method for owner, method in reachable if owner in types]
        if typed or (types and not any(owner in types for owner, _ in candidates) and not types & known):
            return typed
        likely = [(owner, method) for owner, method in reachable if owner in known]
        if not likely and len({owner for owner, _ in candidates}) == 1 and _COMPOUND_NAME.search(mention.name):
            likely = reachable
        named_like_owner = [
            method for owner, method in likely if last and owner.lower() in last.replace("_", "").lower()
        ]
        return named_like_owner or (
            [method for _, method in likely] if len({owner for owner, _ in likely}) <= _MAX_OWNERS else []
        )

    def _constructor_of(self, mention: NameMention, resolved: ResolvedSymbol) -> ResolvedSymbol:
        """For a class that is called, return its constructor if it has one."""
        if not mention.is_called or resolved.symbol.kind is not SymbolKind.CLASS:
            return resolved
        defined, name = self._names.files[resolved.path].defined, symbol_name_without_namespace(resolved.symbol)
        constructor_names = (*_CONSTRUCTOR_NAMES, resolved.symbol.base_name)
        constructor = next(
            (
                defined[f"{name}.{constructor_name}"]
                for constructor_name in constructor_names
                if f"{name}.{constructor_name}" in defined
            ),
            None,
        )
        return ResolvedSymbol(resolved.path, constructor[0]) if constructor else resolved


def _map_file(path: str, names: ProjectNames, uses: Mapping[Symbol, list[SymbolUse]]) -> MappedFile:
    if path not in names.files:
        return MappedFile(path)
    outline = names.files[path].outline
    lines = SourceLines(outline.source)
    entries = tuple(
        MappedSymbol(
            sanitize_line(symbol.name),
            symbol.kind,
            sanitize_line(symbol.signature, MAX_MAP_LINE_LENGTH).rstrip(":"),
            lines.number_at(symbol.node.start_byte),
            _is_private(outline, symbol),
            tuple(sorted(uses.get(symbol, ()), key=lambda use: (use.path, use.line))),
        )
        for symbol in outline.symbols
        if symbol.kind is not SymbolKind.SCOPE
    )
    return MappedFile(path, entries, tuple(sorted(names.files[path].imports)))


def _is_private(outline: Outline, symbol: Symbol) -> bool:
    """Tell whether a symbol is private to its file by the rules of its language."""
    name, keywords = symbol.base_name, symbol.signature.split("(")[0].split()
    if name.startswith(("_", "#")) and name not in _CONSTRUCTOR_NAMES and not name.endswith("__"):
        return True
    match outline.language.name:
        case "Go":
            return name[:1].islower()
        case "Rust":
            return not any(word.startswith("pub") for word in keywords)
        case "C" | "C++":
            return "static" in keywords
        case _:
            return "private" in keywords
