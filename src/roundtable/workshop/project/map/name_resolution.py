"""What a name in a file means: the symbols of other files that can be seen from there, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from roundtable.workshop.project.map.import_resolution import (
    ImportTarget,
    ProjectIndex,
    ResolvedImport,
    resolve_file_imports,
    resolve_python_module,
    resolve_rust_path,
)
from roundtable.workshop.project.map.mentions import NameMention
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol

_GLOBAL = {"C", "C++", "Ruby"}
_DEFAULT = re.compile(
    rb"export\s+default\s+(?:async\s+|abstract\s+)*(?:function\b[\s*]{0,20}|class\b)?\s{0,20}([\w$]+)"
    rb"|module\.exports\s*=\s*(?:new\s+)?([\w$]+)"
)
_PASSING_ON = {"Python", "JavaScript", "TypeScript", "Rust"}
_FARTHEST = 100
"""Files that are looked through for one name."""


class ResolvedSymbol(NamedTuple):
    """A symbol in its file."""

    path: str
    symbol: Symbol


def symbol_name_without_namespace(symbol: Symbol) -> str:
    """A symbol's name without the namespaces and modules around it."""
    at = symbol.container
    while at is not None and (at.kind is not SymbolKind.SCOPE or at.node.type == "impl_item"):
        at = at.container
    return symbol.name[len(at.name) + 1 :] if at is not None else symbol.name


class FileNames:
    """The names of one file: what it defines, what it brings in under a name, and what it sees without one."""

    def __init__(self, read: Outline) -> None:
        self.outline = read
        self.imported_names: dict[str, list[ImportTarget]] = {}
        self.wildcard_sources: dict[str, None] = {}
        self.imports: set[str] = set()

    @cached_property
    def defined(self) -> dict[str, list[Symbol]]:
        """The file's own symbols by their plain names."""
        found: dict[str, list[Symbol]] = {}
        for it in self.outline.symbols:
            if it.kind is not SymbolKind.SCOPE:
                found.setdefault(symbol_name_without_namespace(it), []).append(it)
        return found

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that the file gives to things of its own."""
        return self.outline.name_usage().bound

    @cached_property
    def default_export(self) -> str:
        """What a script exports as its one thing."""
        found = _DEFAULT.search(self.outline.source)
        return (found[1] or found[2]).decode(errors="replace") if found else ""

    def add_imports(self, brought: Iterable[ResolvedImport]) -> None:
        """Take note of what the file imports. Of a package of several files, those count later that it really uses."""
        own = self.outline.path
        for it in brought:
            others = [bound for bound in it.targets if bound.path != own]
            if it.name:
                self.imported_names.setdefault(it.name, []).extend(others)
            else:
                self.wildcard_sources.update((bound.path, None) for bound in others)
            if it.is_explicit and len(others) == 1:
                self.imports.add(others[0].path)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files it can have something from."""
        named = (bound.path for several in self.imported_names.values() for bound in several)
        return tuple(dict.fromkeys((*named, *self.wildcard_sources)))


class ProjectNames:
    """The names of all files, which lead from one to another."""

    def __init__(self, project: ProjectIndex) -> None:
        self._project = project
        self.files = {path: FileNames(read) for path, read in project.outlines.items()}
        for path, names in self.files.items():
            names.add_imports(resolve_file_imports(project, project.outlines[path]))
        self._reached: dict[str, frozenset[str]] = {}
        self._seen: dict[str, tuple[str, ...]] = {}

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The last parts of all symbols' names."""
        return frozenset(it.base_name for names in self.files.values() for it in names.outline.symbols)

    @cached_property
    def methods(self) -> dict[str, list[tuple[str, ResolvedSymbol]]]:
        """All methods by their own names, each with its class."""
        found: dict[str, list[tuple[str, ResolvedSymbol]]] = {}
        for path, names in self.files.items():
            for plain, symbols in names.defined.items():
                owner, _, simple = plain.rpartition(".")
                if owner:
                    pairs = (
                        (owner.rpartition(".")[2], ResolvedSymbol(path, it))
                        for it in symbols
                        if it.kind is not SymbolKind.VALUE
                    )
                    found.setdefault(simple, []).extend(pairs)
        return found

    @cached_property
    def _importers(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, names in self.files.items():
            for source in names.sources:
                found.setdefault(source, []).append(path)
        return found

    def reachable_files(self, path: str) -> frozenset[str]:
        """All files that a file imports, and those that these import."""
        if path not in self._reached:
            self._reached[path] = frozenset(self._closure(path, lambda it: self.files[it].sources))
        return self._reached[path]

    def visible_files(self, path: str) -> tuple[str, ...]:
        """The files whose names can be said without a word before them."""
        names = self.files[path]
        if names.outline.language.name not in _GLOBAL:
            return tuple(names.wildcard_sources)
        if path not in self._seen:
            self._seen[path] = tuple(self._closure(path, lambda it: self.files[it].wildcard_sources))
        return self._seen[path]

    @staticmethod
    def _closure(start: str, after: Callable[[str], Iterable[str]]) -> dict[str, None]:
        found: dict[str, None] = {}
        waiting = [start]
        while waiting:
            fresh = [it for it in after(waiting.pop()) if it not in found and it != start]
            found.update(dict.fromkeys(fresh))
            waiting.extend(fresh)
        return found

    def resolve_mention(self, path: str, said: NameMention) -> list[ResolvedSymbol]:
        """The symbols of other files that a mention means, where the names alone tell."""
        names = self.files[path]
        if said.chain is None or (not said.is_called and not said.chain and said.name in names.bound_names):
            return []
        is_new = said.name == "new" and names.outline.language.name == "Ruby"
        words = said.chain if is_new else (*said.chain, said.name)
        for cut in range(len(words), 0, -1):
            key = ".".join(words[:cut])
            if key in names.imported_names:
                found = (it for bound in names.imported_names[key] for it in self._of(bound, key, words[cut:]))
                return self.prefer_definitions(found)
        if words[0] in names.defined or ".".join(words) in names.defined:
            return []
        if names.outline.language.name == "Rust" and len(words) > 1:
            bound = list(resolve_rust_path(self._project, path, list(words)))
            return [
                it
                for one in bound
                if one.path != path
                for it in self.find_symbol(one.path, tuple(one.member.split(".")))
            ]
        return self.prefer_definitions(self._open(path, words))

    def _of(self, bound: ImportTarget, name: str, rest: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        member = tuple(bound.member.split(".")) if bound.member else ()
        if bound.member == "default":
            own = self.files[bound.path].default_export
            found = list(self.find_symbol(bound.path, ((own,) if own else (name,)) + rest)) or self.find_symbol(
                bound.path, rest
            )
            yield from found
        elif member or rest:
            yield from self.find_symbol(bound.path, member + rest)
        else:
            yield from self.find_symbol(bound.path, (name,))

    def _open(self, path: str, words: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        """What files that are open to this one define by this name: bare, or by its class or namespace."""
        for other in self.visible_files(path):
            defined = self.files[other].defined
            exact = defined.get(".".join(words[-2:]), [])
            yield from (ResolvedSymbol(other, it) for it in exact)
            if len(words) > 1 and not exact:
                found = (it for it in defined.get(words[-1], ()) if it.name.split(".")[-2:] == list(words[-2:]))
                yield from (ResolvedSymbol(other, it) for it in found)

    def find_symbol(self, path: str, parts: tuple[str, ...]) -> Iterator[ResolvedSymbol]:
        """A symbol by its name from a file on: there, or where that file has it from."""
        waiting = [(path, parts)]
        for at in waiting:
            own = self.files[at[0]].defined.get(".".join(at[1]), ())
            yield from (ResolvedSymbol(at[0], it) for it in own)
            if not own and len(waiting) < _FARTHEST:
                waiting.extend(it for it in dict.fromkeys(self._onward(*at)) if it not in waiting)

    def _onward(self, path: str, parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Where a file has a name from: what it imports by this name, a module inside a package, all it passes on."""
        names = self.files[path]
        if parts and parts[0] in names.imported_names:
            for it in names.imported_names[parts[0]]:
                yield it.path, (tuple(it.member.split(".")) if it.member else ()) + parts[1:]
        elif len(parts) > 1 and path.endswith("__init__.py"):
            inner = resolve_python_module(self._project, path, f".{parts[0]}")
            if inner:
                yield inner, parts[1:]
        elif names.outline.language.name in _PASSING_ON:
            yield from ((other, parts) for other in names.wildcard_sources)

    def prefer_definitions(self, found: Iterable[ResolvedSymbol]) -> list[ResolvedSymbol]:
        """Instead of a prototype in a header, the functions that are written for it in files that include it."""
        return list(dict.fromkeys(other for it in found for other in (self._bodies(it) or [it])))

    def _bodies(self, meant: ResolvedSymbol) -> list[ResolvedSymbol]:
        if meant.symbol.kind is not SymbolKind.PROTOTYPE:
            return []
        name = symbol_name_without_namespace(meant.symbol)
        near = ((path, self.files[path].defined.get(name, ())) for path in self._importers.get(meant.path, ()))
        written = {SymbolKind.FUNCTION, SymbolKind.METHOD}
        return [ResolvedSymbol(path, it) for path, symbols in near for it in symbols if it.kind in written]
