"""Markdown at a terminal: a wide table is folded and nothing in it cut, and a block of code says which file it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.markdown import CodeBlock, Markdown, TableElement
from rich.table import Table
from rich.text import Text

from roundtable.core.text.sanitize import one_line


class _Folded(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Block(CodeBlock):
    """A block of code, under the path that stands behind its language."""

    path = ""

    @classmethod
    def create(cls, markdown: Markdown, token: Any) -> _Block:
        language, _, path = str(token.info or "").partition(" ")
        block = cls(language or "text", markdown.code_theme)
        block.path = one_line(path)
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        if self.path:
            yield Text(self.path, "bold")
        yield from super().__rich_console__(console, options)


class _Document(Markdown):
    elements = {**Markdown.elements, "table_open": _Folded, "fence": _Block}


def show_markdown(text: str) -> None:
    """Print it as wide as the terminal is."""
    Console().print(_Document(text))
