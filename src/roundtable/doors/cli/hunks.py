"""A hunk at a terminal: side by side with syntax colour where there is room, as a diff where there is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat, zip_longest

from rich.console import Console, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from roundtable.core.changeset import Hunk
from roundtable.report.provenance import diff_lines

WIDE = 100
"""Columns from which two halves of a line are still lines."""
LONGEST = 40_000
"""Characters that are coloured; colouring far more than anybody reads only takes time."""
STYLES = {"-": "red", "+": "green", " ": ""}
GOES_ON = "↳"
"""Stands where signs stand, so that what a long line says is not read as a line that comes, goes or stays."""


def shown_hunk(hunk: Hunk, console: Console) -> RenderableType:
    """The hunk as it fits the console, with the lines around it that stay."""
    lines = diff_lines(hunk)
    above, below = lines[: len(hunk.above)], lines[len(lines) - len(hunk.below) :]
    sides = [[line for line in lines if line[0] == sign] for sign in "-+"]
    as_diff = console.width < WIDE or console.color_system is None or not all(sides)
    room = console.width if as_diff else (console.width - 1) // 2
    before, after = (_colored(hunk.path, [*above, *side, *below], console, room) for side in sides)
    if as_diff:
        changed = [*before[: len(before) - len(below)], *after[len(above) :]]
        return Text("\n").join(changed)
    table = Table.grid(padding=(0, 1))
    for _ in range(2):
        table.add_column(width=room)
    # Lines that stay below begin side by side again, however many lines go or come.
    start, end = len(above), len(below)
    middle = zip_longest(before[start : len(before) - end], after[start : len(after) - end], fillvalue=Text())
    staying = zip(before[len(before) - end :], after[len(after) - end :], strict=True)
    for left, right in (*zip(before[:start], after[:start], strict=True), *middle, *staying):
        table.add_row(left, right)
    return table


def _colored(path: str, lines: Sequence[str], console: Console, room: int) -> list[Text]:
    """Lines of a diff in the colours of their language, each folded into the columns there are for it."""
    code = _highlighted(path, [line[1:].expandtabs(4) for line in lines], console)
    return [_folded(line[0], text, console, room) for line, text in zip(lines, code, strict=True)]


def _folded(sign: str, code: Text, console: Console, room: int) -> Text:
    """A line with its sign in our own colours; what there is no room for stands under the code."""
    rows = code.wrap(console, max(1, room - 2), overflow="fold")
    marks = chain([sign], repeat(GOES_ON))
    return Text("\n").join(Text(f"{mark} ", STYLES[sign]) + row for mark, row in zip(marks, rows, strict=False))


def _highlighted(path: str, lines: list[str], console: Console) -> list[Text]:
    code = "\n".join(lines)
    if console.no_color or console.color_system is None or len(code) > LONGEST:
        return [Text(line) for line in lines]
    syntax = Syntax(code, Syntax.guess_lexer(path), theme="ansi_dark", background_color="default")
    colored = syntax.highlight(code).split("\n", allow_blank=True)
    return [colored[at] if at < len(colored) else Text(line) for at, line in enumerate(lines)]
