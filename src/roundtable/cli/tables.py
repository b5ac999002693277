"""Rows for people on a terminal, and the same rows uncut and tab-separated in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from roundtable.core.views import one_line


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, widest: int = -1) -> None:
    """Print rows; on a terminal the column `widest` gives way first."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (head, *rows):
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, name in enumerate(head):
        gives_way = place == widest % len(head)
        table.add_column(name, overflow="ellipsis" if gives_way else "fold", no_wrap=gives_way)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def show_json(data: Any) -> None:
    """One JSON document on standard output."""
    click.echo(msgspec.json.format(msgspec.json.encode(data), indent=2))


def megabytes(size: int) -> str:
    """`105 MB`, `1.9 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
