"""The project map as plain values without a syntax tree, so that it can be cached and shown."""

from __future__ import annotations

import msgspec

from roundtable.workshop.symbols.languages import SymbolKind


class SymbolUse(msgspec.Struct, frozen=True):
    """One place outside its file where a symbol is used: the line, and the symbol around it.

    `text` is empty where a class is only named.
    """

    path: str
    line: int
    text: str
    enclosing_symbol: str = ""

    @property
    def place(self) -> str:
        """The path and line, separated by a colon."""
        return f"{self.path}:{self.line}"


class MappedSymbol(msgspec.Struct, frozen=True):
    """One symbol of a file, with every place in another file that uses it."""

    name: str
    kind: SymbolKind
    signature: str
    line: int
    is_private: bool = False
    uses: tuple[SymbolUse, ...] = ()


class MappedFile(msgspec.Struct, frozen=True):
    """One file: its symbols in order, and the project files that it imports from."""

    path: str
    symbols: tuple[MappedSymbol, ...] = ()
    imports: tuple[str, ...] = ()


class ProjectMap(msgspec.Struct, frozen=True):
    """All files of a project by path. Files in an unknown language have no symbols."""

    files: tuple[MappedFile, ...] = ()

    @property
    def imports(self) -> dict[str, tuple[str, ...]]:
        """For each file, the project files that it imports from."""
        return {file.path: file.imports for file in self.files}
