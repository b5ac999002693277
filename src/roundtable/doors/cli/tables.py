"""Tables at a terminal, and tab-separated rows in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from roundtable.core.text.sanitize import escape_hidden_characters_in_json, sanitize_line

MIN_LAST_COLUMN = 24
"""Fewest columns of the terminal that the last column of a table needs."""

COLUMN_GAP = 2


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool = False) -> None:
    """Print a table. At a terminal, the first column is never broken, so that it can be copied.

    The last column is wrapped or, with `cut`, truncated; if there is no room for it, a `cut` column is omitted. If the
    other columns do not fit either, every cell gets a line of its own.
    """
    rows = [[sanitize_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (head, *rows):
            click.echo("\t".join(row))
        return
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = [max(cell_len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    room = console.width - sum(widths[:-1]) - COLUMN_GAP * (len(head) - 1)
    if room < (-COLUMN_GAP if cut else min(widths[-1], MIN_LAST_COLUMN)):
        for line in _stack_rows(head, rows):
            console.print(Text(line))
        return
    if cut and room < MIN_LAST_COLUMN:
        head, rows = head[:-1], [row[:-1] for row in rows]
    elif cut:
        rows = [[*row[:-1], sanitize_line(row[-1], room)] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for place, name in enumerate(head):
        table.add_column(name, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _stack_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row as a block: the first cell, then the other cells with their column names."""
    for row in rows:
        yield row[0]
        yield from (f"  {name}: {cell}" for name, cell in zip(head[1:], row[1:], strict=True) if cell)


def print_json(data: Any) -> None:
    """Print a JSON document."""
    document = msgspec.json.format(msgspec.json.encode(data), indent=2)
    click.echo(escape_hidden_characters_in_json(document))
