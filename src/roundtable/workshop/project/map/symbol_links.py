"""A program's files read into its map: each symbol with those places in other files that use it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.project.map.import_resolution import ProjectIndex
from roundtable.workshop.project.map.mentions import MAX_MAP_LINE_LENGTH, NameMention, SourceLines, find_name_mentions
from roundtable.workshop.project.map.name_resolution import ProjectNames, ResolvedSymbol, symbol_name_without_namespace
from roundtable.workshop.project.map.project_map import MappedFile, MappedSymbol, ProjectMap, SymbolUse
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline

_CONSTRUCTORS = ("__init__", "constructor", "initialize", "__construct")
_OWN = {"self", "this", "cls"}
_WORD = re.compile(r"[^\W\d][\w$]*")
_TYPES = re.compile(
    r"\b([a-z_]\w*)[ \t]{0,4}(?::=|[:=]?)[ \t]{0,4}(?:(?:await|new|mut)[ \t]{1,4}|[&*]){0,3}(?:\w+[.:]{1,2}){0,4}"
    r"([A-Z]\w*|(?:dict|list|set|tuple|str|bytes|int|float|string|number)\b)"
    r"|\b([A-Z]\w*)(?:<[^<>;]{0,99}>)?[\s*&]{1,8}([a-z_]\w*)[ \t]{0,4}[=;,)]"
)
_SEVERAL_WORDS = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z0-9][A-Z]")
_MOST_OWNERS = 3


def build_project_map(files: Mapping[str, bytes]) -> ProjectMap:
    """The map of a program. Who uses what is told by names and imports; nothing is run."""
    outlines = {
        path: read
        for path, text in sorted(files.items())
        if isinstance(read := parse_source_outline(path, text), Outline)
    }
    names = ProjectNames(ProjectIndex(outlines, files))
    uses: dict[Symbol, list[SymbolUse]] = {}
    for path in outlines:
        _File(names, path).add_to(uses)
    return ProjectMap(tuple(_mapped(path, names, uses) for path in sorted(files)))


class _File:
    """One file as a user of the others."""

    def __init__(self, names: ProjectNames, path: str) -> None:
        self._names = names
        self._path = path
        self._read = names.files[path].outline
        self._lines = SourceLines(self._read.source)
        self._said = list(
            find_name_mentions(self._read, names.known_names | names.files[path].imported_names.keys() | {"new"})
        )

    def add_to(self, uses: dict[Symbol, list[SymbolUse]]) -> None:
        """Add each use of another file's symbol: what names tell alone, then methods of the classes so known.

        Where a class is only named, as for a type, the first place in the file is enough.
        """
        told = [(said, self._names.resolve_mention(self._path, said)) for said in self._said]
        known = self._classes(it for _, found in told for it in found)
        noted: set[tuple[Symbol, int]] = set()
        imports = self._names.files[self._path].imports
        for said, found in told:
            for it in found or self._names.prefer_definitions(self._methods(said, known)):
                if it.path == self._path:
                    continue
                symbol, line = self._called(said, it).symbol, self._lines.number_at(said.offset)
                only_named = symbol.kind is SymbolKind.CLASS and not said.is_called
                key = (symbol, 0 if only_named else line)
                if key not in noted:
                    text = "" if only_named else self._lines.text_of(line)
                    uses.setdefault(symbol, []).append(SymbolUse(self._path, line, text, self._within(said.offset)))
                    imports.add(it.path)
                noted.add(key)

    def _within(self, at: int) -> str:
        around = [it for it in self._read.symbols if it.start <= at < it.end and it.kind is not SymbolKind.SCOPE]
        return symbol_name_without_namespace(around[-1]) if around else ""

    def _classes(self, used: Iterable[ResolvedSymbol]) -> set[str]:
        """Classes this file knows of: those it says, and those in the signatures of what it uses."""
        said = {word for it in self._said for word in (it.name, *(it.chain or ()))}
        signatures = {word for it in used for word in _WORD.findall(it.symbol.signature)}
        return said | signatures | self._names.files[self._path].imported_names.keys()

    @cached_property
    def _types(self) -> dict[str, set[str]]:
        """The types that are written beside names, as far as one line tells."""
        found: dict[str, set[str]] = {}
        for name, kind, kind_before, name_after in _TYPES.findall(self._read.source.decode(errors="replace")):
            found.setdefault(name or name_after, set()).add(kind or kind_before)
        return found

    @cached_property
    def _own(self) -> set[str]:
        return {it.base_name for it in self._read.symbols}

    def _methods(self, said: NameMention, known: set[str]) -> list[ResolvedSymbol]:
        """The methods that `x.name()` may be, in files that this one reaches: of its type, else of known classes.

        Where no class is known, a name of several words that only one class has is enough.
        """
        every = self._names.methods.get(said.name, [])
        if not every or not said.is_called or said.chain == ():
            return []
        last = said.chain[-1] if said.chain else ""
        if last in _OWN and said.name in self._own:
            return []
        reached = self._names.reachable_files(self._path)
        near = [(owner, it) for owner, it in every if it.path in reached]
        types = self._types.get(last, set())
        typed = [it for owner, it in near if owner in types]
        if typed or (types and not any(owner in types for owner, _ in every) and not types & known):
            return typed
        likely = [(owner, it) for owner, it in near if owner in known]
        if not likely and len({owner for owner, _ in every}) == 1 and _SEVERAL_WORDS.search(said.name):
            likely = near
        called = [it for owner, it in likely if last and owner.lower() in last.replace("_", "").lower()]
        return called or ([it for _, it in likely] if len({owner for owner, _ in likely}) <= _MOST_OWNERS else [])

    def _called(self, said: NameMention, meant: ResolvedSymbol) -> ResolvedSymbol:
        """For a class that is called, its constructor, if it says how."""
        if not said.is_called or meant.symbol.kind is not SymbolKind.CLASS:
            return meant
        defined, name = self._names.files[meant.path].defined, symbol_name_without_namespace(meant.symbol)
        ways = (*_CONSTRUCTORS, meant.symbol.base_name)
        made = next((defined[f"{name}.{way}"] for way in ways if f"{name}.{way}" in defined), None)
        return ResolvedSymbol(meant.path, made[0]) if made else meant


def _mapped(path: str, names: ProjectNames, uses: Mapping[Symbol, list[SymbolUse]]) -> MappedFile:
    if path not in names.files:
        return MappedFile(path)
    read = names.files[path].outline
    lines = SourceLines(read.source)
    entries = tuple(
        MappedSymbol(
            sanitize_line(it.name),
            it.kind,
            sanitize_line(it.signature, MAX_MAP_LINE_LENGTH).rstrip(":"),
            lines.number_at(it.node.start_byte),
            _is_private(read, it),
            tuple(sorted(uses.get(it, ()), key=lambda use: (use.path, use.line))),
        )
        for it in read.symbols
        if it.kind is not SymbolKind.SCOPE
    )
    return MappedFile(path, entries, tuple(sorted(names.files[path].imports)))


def _is_private(read: Outline, symbol: Symbol) -> bool:
    """Whether a symbol is its file's own affair, as its language says it."""
    simple, before = symbol.base_name, symbol.signature.split("(")[0].split()
    if simple.startswith(("_", "#")) and simple not in _CONSTRUCTORS and not simple.endswith("__"):
        return True
    match read.language.name:
        case "Go":
            return simple[:1].islower()
        case "Rust":
            return not any(it.startswith("pub") for it in before)
        case "C" | "C++":
            return "static" in before
        case _:
            return "private" in before
