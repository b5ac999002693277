"""A hunk at a terminal: side by side with syntax colour where there is room, as a diff where there is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from roundtable.core.changes import Hunk
from roundtable.core.views.changes import diff_lines

WIDE = 100
"""Columns from which two halves of a line are still lines."""
LONGEST = 40_000
"""Characters that are coloured; colouring far more than anybody reads only takes time."""
REMOVED, ADDED = "red", "green"


def shown_hunk(hunk: Hunk, console: Console) -> RenderableType:
    """The hunk as it fits the console."""
    before, after = _colored(hunk.path, diff_lines(hunk), console)
    if console.width < WIDE or console.color_system is None or not (before and after):
        lines = [_signed("-", it, REMOVED) for it in before] + [_signed("+", it, ADDED) for it in after]
        return Text("\n").join(lines)
    sides = Table.grid(expand=True, padding=(0, 1))
    for _ in range(2):
        sides.add_column(ratio=1, overflow="fold")
    for old, new in zip_longest(before, after):
        left = _signed("-", old, REMOVED) if old is not None else Text()
        right = _signed("+", new, ADDED) if new is not None else Text()
        sides.add_row(left, right)
    return sides


def _signed(sign: str, line: Text, style: str) -> Text:
    return Text(f"{sign} ", style).append_text(line)


def _colored(path: str, lines: Sequence[str], console: Console) -> tuple[list[Text], list[Text]]:
    """What goes and what comes, each line in the colours of its language."""
    sides = [[line[1:].expandtabs(4) for line in lines if line[0] == sign] for sign in "-+"]
    before, after = (_highlighted(path, side, console) for side in sides)
    return before, after


def _highlighted(path: str, lines: list[str], console: Console) -> list[Text]:
    code = "\n".join(lines)
    if console.no_color or console.color_system is None or len(code) > LONGEST:
        return [Text(line) for line in lines]
    syntax = Syntax(code, Syntax.guess_lexer(path), theme="ansi_dark", background_color="default")
    colored = syntax.highlight(code).split("\n", allow_blank=True)
    return [colored[at] if at < len(colored) else Text(line) for at, line in enumerate(lines)]
