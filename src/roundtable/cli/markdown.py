"""Markdown at a terminal, where a table that is too wide is folded and nothing in it is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.markdown import Markdown, TableElement
from rich.table import Table


class _Folded(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Document(Markdown):
    elements = {**Markdown.elements, "table_open": _Folded}


def show_markdown(text: str) -> None:
    """Print it as wide as the terminal is."""
    Console().print(_Document(text))
