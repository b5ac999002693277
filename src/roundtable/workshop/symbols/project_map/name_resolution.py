"""Resolves names in a file to the symbols of other files that are visible there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.project_map.import_resolution import (
    ImportTarget,
    ProjectIndex,
    ResolvedImport,
    resolve_python_import,
    resolve_rust_symbol_import,
    resolve_source_imports,
)
from roundtable.workshop.symbols.project_map.mentions import NameMention

_LANGUAGES_WITH_GLOBAL_NAMES = {"C", "C++", "Ruby"}
_DEFAULT_EXPORT = re.compile(
    rb"export\s+default\s+(?:async\s+|abstract\s+)*(?:function\b[\s*]{0,20}|class\b)?\s{0,20}([\w$]+)"
    rb"|module\.exports\s*=\s*(?:new\s+)?([\w$]+)"
)
_LANGUAGES_WITH_REEXPORTS = {"Python", "JavaScript", "TypeScript", "Rust"}
_MAX_FILES_SEARCHED = 100
"""The most files that are searched for one name."""


class ResolvedSymbol(NamedTuple):
    """A symbol and the file that defines it."""

    path: str
    symbol: Symbol


def symbol_name_without_namespace(symbol: Symbol) -> str:
    """Return a symbol's name without the namespaces and modules around it."""
    container = symbol.container
    while container is not None and (container.kind is not SymbolKind.SCOPE or container.node.type == "impl_item"):
        container = container.container
    return symbol.name[len(container.name) + 1 :] if container is not None else symbol.name


class FileNames:
    """The names of one file: what it defines, what it imports by name, and what it sees unqualified."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.imported_names: dict[str, list[ImportTarget]] = {}
        self.wildcard_sources: dict[str, None] = {}
        self.imports: set[str] = set()

    @cached_property
    def defined(self) -> dict[str, list[Symbol]]:
        """The file's own symbols by their names without namespaces."""
        symbols: dict[str, list[Symbol]] = {}
        for symbol in self.outline.symbols:
            if symbol.kind is not SymbolKind.SCOPE:
                symbols.setdefault(symbol_name_without_namespace(symbol), []).append(symbol)
        return symbols

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that the file binds itself."""
        return self.outline.name_usage().bound

    @cached_property
    def default_export(self) -> str:
        """The name of the default export of a script."""
        match = _DEFAULT_EXPORT.search(self.outline.source)
        return (match[1] or match[2]).decode(errors="replace") if match else ""

    def add_imports(self, imports: Iterable[ResolvedImport]) -> None:
        """Add the imports of the file. A package of several files counts only where it is really used."""
        own_path = self.outline.path
        for statement in imports:
            others = [bound for bound in statement.targets if bound.path != own_path]
            if statement.name:
                self.imported_names.setdefault(statement.name, []).extend(others)
            else:
                self.wildcard_sources.update((bound.path, None) for bound in others)
            if statement.is_explicit and len(others) == 1:
                self.imports.add(others[0].path)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that it can use names from."""
        named_paths = (bound.path for several in self.imported_names.values() for bound in several)
        return tuple(dict.fromkeys((*named_paths, *self.wildcard_sources)))


class ProjectNames:
    """The names of all files, which lead from one file to another."""

    def __init__(self, project: ProjectIndex) -> None:
        self._project = project
        self.files = {path: FileNames(read) for path, read in project.outlines.items()}
        for path, names in self.files.items():
            names.add_imports(resolve_source_imports(project, project.outlines[path]))
        self._reachable: dict[str, frozenset[str]] = {}
        self._visible: dict[str, tuple[str, ...]] = {}

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The last parts of all symbol names."""
        return frozenset(symbol.base_name for names in self.files.values() for symbol in names.outline.symbols)

    @cached_property
    def methods(self) -> dict[str, list[tuple[str, ResolvedSymbol]]]:
        """All methods by name, each with its class."""
        methods: dict[str, list[tuple[str, ResolvedSymbol]]] = {}
        for path, names in self.files.items():
            for full_name, symbols in names.defined.items():
                owner, _, method_name = full_name.rpartition(".")
                if owner:
                    pairs = (
                        (owner.rpartition(".")[2], ResolvedSymbol(path, symbol))
                        for symbol in symbols
                        if symbol.kind is not SymbolKind.VALUE
                    )
                    methods.setdefault(method_name, []).extend(pairs)
        return methods

    @cached_property
    def _importers(self) -> Mapping[str, list[str]]:
        importers: dict[str, list[str]] = {}
        for path, names in self.files.items():
            for source in names.sources:
                importers.setdefault(source, []).append(path)
        return importers

    def reachable_files(self, path: str) -> frozenset[str]:
        """Return all files that a file imports, directly or indirectly."""
        if path not in self._reachable:
            self._reachable[path] = frozenset(self._closure(path, lambda other: self.files[other].sources))
        return self._reachable[path]

    def visible_files(self, path: str) -> tuple[str, ...]:
        """Return the files whose names a file can use unqualified."""
        names = self.files[path]
        if names.outline.language.name not in _LANGUAGES_WITH_GLOBAL_NAMES:
            return tuple(names.wildcard_sources)
        if path not in self._visible:
            self._visible[path] = tuple(self._closure(path, lambda other: self.files[other].wildcard_sources))
        return self._visible[path]

    @staticmethod
    def _closure(start: str, after: Callable[[str], Iterable[str]]) -> dict[str, None]:
        reached: dict[str, None] = {}
        pending = [start]
        while pending:
            fresh = [other for other in after(pending.pop()) if other not in reached and other != start]
            reached.update(dict.fromkeys(fresh))
            pending.extend(fresh)
        return reached

    def resolve_mention(self, path: str, mention: NameMention) -> list[ResolvedSymbol]:
        """Return the symbols of other files that a mention means, as far as names alone tell."""
        names = self.files[path]
        if mention.chain is None or (not mention.is_called and not mention.chain and mention.name in names.bound_names):
            return []
        is_constructor_call = mention.name == "new" and names.outline.language.name == "Ruby"
        words = mention.chain if is_constructor_call else (*mention.chain, mention.name)
        for cut in range(len(words), 0, -1):
            key = ".".join(words[:cut])
            if key in names.imported_names:
                symbols = (
                    symbol
                    for targets in names.imported_names[key]
                    for symbol in self._symbols_of_target(targets, key, words[cut:])
                )
                return self.prefer_definitions(symbols)
        if words[0] in names.defined or ".".join(words) in names.defined:
            return []
        if names.outline.language.name == "Rust" and len(words) > 1:
            targets = list(resolve_rust_symbol_import(self._project, path, list(words)))
            return [
                symbol
                for target in targets
                if target.path != path
                for symbol in self.find_symbol(target.path, tuple(target.member.split(".")))
            ]
        return self.prefer_definitions(self._visible_symbols(path, words))

    def _symbols_of_target(self, target: ImportTarget, name: str, rest: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        member = tuple(target.member.split(".")) if target.member else ()
        if target.member == "default":
            default_name = self.files[target.path].default_export
            symbols = list(
                self.find_symbol(target.path, ((default_name,) if default_name else (name,)) + rest)
            ) or self.find_symbol(target.path, rest)
            yield from symbols
        elif member or rest:
            yield from self.find_symbol(target.path, member + rest)
        else:
            yield from self.find_symbol(target.path, (name,))

    def _visible_symbols(self, path: str, words: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        """Yield the symbols of visible files with this name: unqualified, or with class or namespace."""
        for other in self.visible_files(path):
            defined = self.files[other].defined
            exact = defined.get(".".join(words[-2:]), [])
            yield from (ResolvedSymbol(other, symbol) for symbol in exact)
            if len(words) > 1 and not exact:
                qualified = (
                    symbol for symbol in defined.get(words[-1], ()) if symbol.name.split(".")[-2:] == list(words[-2:])
                )
                yield from (ResolvedSymbol(other, symbol) for symbol in qualified)

    def find_symbol(self, path: str, parts: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        """Yield a symbol by its name: defined in the file, or where the file imports it from."""
        pending = [(path, parts)]
        for current in pending:
            symbols = self.files[current[0]].defined.get(".".join(current[1]), ())
            yield from (ResolvedSymbol(current[0], symbol) for symbol in symbols)
            if not symbols and len(pending) < _MAX_FILES_SEARCHED:
                pending.extend(step for step in dict.fromkeys(self._next_sources(*current)) if step not in pending)

    def _next_sources(self, path: str, parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield where a file has a name from: a named import, a submodule of a package, or all it re-exports."""
        names = self.files[path]
        if parts and parts[0] in names.imported_names:
            for target in names.imported_names[parts[0]]:
                yield target.path, (tuple(target.member.split(".")) if target.member else ()) + parts[1:]
        elif len(parts) > 1 and path.endswith("__init__.py"):
            submodule = resolve_python_import(self._project, path, f".{parts[0]}")
            if submodule:
                yield submodule, parts[1:]
        elif names.outline.language.name in _LANGUAGES_WITH_REEXPORTS:
            yield from ((other, parts) for other in names.wildcard_sources)

    def prefer_definitions(self, symbols: Iterable[ResolvedSymbol]) -> list[ResolvedSymbol]:
        """Replace prototypes in headers by the functions that define them in files that include the header."""
        return list(dict.fromkeys(other for symbol in symbols for other in (self._definitions_of(symbol) or [symbol])))

    def _definitions_of(self, resolved: ResolvedSymbol) -> list[ResolvedSymbol]:
        if resolved.symbol.kind is not SymbolKind.PROTOTYPE:
            return []
        name = symbol_name_without_namespace(resolved.symbol)
        in_importers = (
            (path, self.files[path].defined.get(name, ())) for path in self._importers.get(resolved.path, ())
        )
        kinds = {SymbolKind.FUNCTION, SymbolKind.METHOD}
        return [
            ResolvedSymbol(path, symbol) for path, symbols in in_importers for symbol in symbols if symbol.kind in kinds
        ]
