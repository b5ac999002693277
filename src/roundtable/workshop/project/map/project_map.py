"""A program as a map: plain values without a tree behind them, so that they can be kept and shown."""

from __future__ import annotations

import msgspec

from roundtable.workshop.symbols.languages import SymbolKind


class SymbolUse(msgspec.Struct, frozen=True):
    """One place outside its file where a symbol is used: what stands there, and inside which symbol.

    `text` is empty where a class is only named.
    """

    path: str
    line: int
    text: str
    enclosing_symbol: str = ""

    @property
    def place(self) -> str:
        """As people write it."""
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
    """One file: its symbols in their order, and the project's own files that it takes something from."""

    path: str
    symbols: tuple[MappedSymbol, ...] = ()
    imports: tuple[str, ...] = ()


class ProjectMap(msgspec.Struct, frozen=True):
    """All files of a program by their paths, those in a language we cannot read without entries."""

    files: tuple[MappedFile, ...] = ()

    @property
    def imports(self) -> dict[str, tuple[str, ...]]:
        """For each file the project's own files that it takes something from."""
        return {it.path: it.imports for it in self.files}
