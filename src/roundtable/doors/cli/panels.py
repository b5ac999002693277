"""The live display: one panel per seat below the transcript, redrawn at most ten times a second."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import time
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from rich.color import Color, ColorParseError
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from roundtable.core.events import Delta, MoveMade, Recorded
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.text.wording import format_count_as_text, format_seconds_as_text
from roundtable.core.values import Seat
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.live.board import Board, SeatPanel, SessionView
from roundtable.live.event_lines import (
    DONE,
    ERROR,
    RESPONDING,
    TIMED_OUT,
    WAITING,
    EventNarrator,
    LiveLine,
    live_earlier_event_lines,
    live_round_label,
)
from roundtable.report.costs import render_price

REDRAW_SECONDS = 0.1
IDLE_REDRAW_SECONDS = 0.5
MIN_PANEL_COLUMNS = 34
MAX_PANEL_LINES = 12
MIN_PANEL_LINES = 4
PANEL_BORDER = 2
STEP_OUTPUT_LINES = 4
"""Lines of a running step's output that are shown."""

SYSTEM_COLOR, PERSON_COLOR = "yellow", "sky_blue1"
SEAT_PALETTE = (
    "dodger_blue2",
    "gold3",
    "medium_purple1",
    "spring_green3",
    "hot_pink",
    "turquoise2",
    "orchid",
    "salmon1",
)
COLOR_ALIASES = {"orange": "dark_orange", "sky blue": "sky_blue1", "pink": "hot_pink", "purple": "medium_purple1"}
TONE_STYLES = {
    "strong": "bold",
    "dim": "dim",
    "system": SYSTEM_COLOR,
    "decision": f"bold {SYSTEM_COLOR}",
    "person": PERSON_COLOR,
    "fault": "red",
    "": "",
}
GLYPH_STYLES = {RESPONDING: "bold", WAITING: "dim", DONE: "green", TIMED_OUT: "yellow", ERROR: "red"}


def assign_terminal_colors(seats: Iterable[Seat]) -> dict[str, str]:
    """A colour for every seat: the configured one, the usual one of its voice, or the next of the palette."""
    palette = list(SEAT_PALETTE)
    colors: dict[str, str] = {}
    for index, seat in enumerate(seats):
        colors[seat.name] = _parse_color(seat.color) or _parse_color(seat.usual_color) or palette[index % len(palette)]
    return colors


def _parse_color(color: str) -> str:
    color = COLOR_ALIASES.get(color.lower(), color)
    try:
        return Color.parse(color).name if color else ""
    except ColorParseError:
        return ""


class LivePanels:
    """Draws a panel per seat; finished replies move up into the scrollback."""

    def __init__(self, outlet: OutputQueue, view: SessionView) -> None:
        self.outlet = outlet
        self._view = view
        self._board = Board(view.charter, time.time)
        self._narrator = EventNarrator(view.charter)
        self._colors = assign_terminal_colors(view.charter.seats)
        self._console = Console(
            file=cast("IO[str]", outlet), force_terminal=True, highlight=False, markup=False, emoji=False
        )
        self._live: Live | None = None
        self._suspended = False
        self._closed = False
        self._dirty = False
        self._ticker: asyncio.Task[None] | None = None
        self._keys = _Keys()

    # --- what happens ----------------------------------------------------------------------------

    def show(self, item: Recorded | Delta) -> None:
        """Display one event or text delta."""
        self._board.apply(item)
        self._dirty = True
        if isinstance(item, Delta):
            self._start()
            return
        if item.seq >= self._view.live_from:
            self._start()
        if item.seq <= self._view.brief_until:
            self.print_lines(live_earlier_event_lines(item.event))
        elif isinstance(item.event, MoveMade):
            self._print_move(item.event)
        else:
            self.print_lines(self._narrator.lines(item.event))

    def print_lines(self, lines: Iterable[LiveLine]) -> None:
        """Print above the panels."""
        for line in lines:
            style = TONE_STYLES[line.tone]
            head = Text(f"{sanitize_line(line.seat)} ", Style(color=self._color(line.seat))) if line.seat else Text()
            self._print(head.append(sanitize_text(line.text), style), line.indent)

    def _print_move(self, move: MoveMade) -> None:
        color = self._color(move.seat)
        usage = move.usage
        figures = (
            f"{format_count_as_text(usage.tokens)} tok",
            render_price(usage),
            format_seconds_as_text(move.timing.total),
        )
        head = Text(f"━ {sanitize_line(move.seat)}", Style(color=color, bold=True))
        head.append(f" · {live_round_label(move.round)} · {' · '.join(figures)}", "dim not bold")
        parts = [Text(sanitize_text(line.text), TONE_STYLES[line.tone]) for line in self._narrator.move_lines(move)]
        self._print(head)
        self._print(Text("\n").join(parts), 2)
        self._print(Text())

    def _print(self, text: Text, indent: int = 0) -> None:
        """Print with every wrapped line indented and without trailing spaces, which would be copied along."""
        lines = list(text.wrap(self._console, max(8, self._console.width - indent)))
        for line in lines:
            line.rstrip()
        self._console.print(Text("\n").join([Text(" " * indent) + line if line.plain else line for line in lines]))

    def suspend(self) -> None:
        """Remove the panels, so that a person can be asked."""
        self._suspended = True
        self._stop()

    def resume(self) -> None:
        """Draw the panels again."""
        self._suspended = False
        self._start()

    def close(self) -> None:
        """Remove the panels permanently."""
        self._closed = True
        self.suspend()
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    # --- the terminal ----------------------------------------------------------------------------

    def _start(self) -> None:
        if self._live is not None or self._suspended or self._closed or self._board.ended:
            return
        self._keys.disable_echo()
        self._live = Live(
            self._render_room(), console=self._console, auto_refresh=False, transient=True, redirect_stdout=False,
            redirect_stderr=False, vertical_overflow="crop",
        )  # fmt: skip
        self._live.start(refresh=True)
        self._ticker = self._ticker or asyncio.create_task(self._tick())

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._keys.restore_echo()

    async def _tick(self) -> None:
        drawn = 0.0
        while True:
            await asyncio.sleep(REDRAW_SECONDS)
            if self._live is None or self.outlet.is_behind:
                continue
            now = time.monotonic()
            if self._dirty or now - drawn >= IDLE_REDRAW_SECONDS:
                self._dirty, drawn = False, now
                self._live.update(self._render_room(), refresh=True)

    # --- the picture -----------------------------------------------------------------------------

    def _render_room(self) -> RenderableType:
        width, height = self._console.size
        seats = [seat for seat in self._board.seats.values() if not seat.off] or list(self._board.seats.values())
        step = self._step_lines(width)
        columns, rows, panel_height = compute_terminal_panel_grid(len(seats), width, height - len(step))
        grid = Table.grid(expand=True)
        for _ in range(columns):
            grid.add_column(ratio=1)
        now = time.time()
        inside = width // columns
        panels = [self._panel(seat, inside, panel_height, now) for seat in seats]
        for row in range(rows):
            cells = panels[row * columns : (row + 1) * columns]
            grid.add_row(*cells, *[""] * (columns - len(cells)))
        return Group(*self._header_lines(width, now), *step, grid, self._footer(width))

    def _panel(self, seat: SeatPanel, width: int, panel_height: int, now: float) -> Panel:
        color = self._color(seat.name)
        quiet = seat.glyph != RESPONDING
        title = Text(no_wrap=True).append(f"{seat.glyph} ", Style.parse(GLYPH_STYLES[seat.glyph]))
        title.append(sanitize_line(seat.name), Style(color=color, bold=True))
        title.append(f" {seat.word}", Style.parse(GLYPH_STYLES[seat.glyph]))
        if seat.round and title.cell_len + len(live_round_label(seat.round)) + 3 <= width - 6:
            title.append(f" · {live_round_label(seat.round)}", "dim")
        approximate = "~" if seat.glyph == RESPONDING and seat.length else ""
        tokens, seconds = format_count_as_text(seat.tokens), format_seconds_as_text(seat.elapsed(now))
        figures = f"{approximate}{tokens} tok · {seat.cost} · {seconds}"
        return Panel(
            self._reply_text(seat, width - PANEL_BORDER * 2, panel_height - PANEL_BORDER),
            title=title,
            title_align="left",
            subtitle=Text(figures, "dim"),
            subtitle_align="right",
            border_style=Style(color=color, dim=quiet),
            height=panel_height,
        )

    def _reply_text(self, seat: SeatPanel, width: int, lines: int) -> Text:
        """The last lines of the reply, with a remark below them."""
        remark = Text(sanitize_text(seat.remark), "red" if seat.glyph == ERROR else "yellow") if seat.remark else None
        remark_lines = list(remark.wrap(self._console, max(1, width)))[:lines] if remark else []
        style = "" if seat.glyph == RESPONDING else "dim"
        spoken = Text(sanitize_text(seat.tail(width * lines * 2 + 200)).strip("\n"), style)
        if not spoken.plain and not remark_lines:
            spoken = Text("thinking…" if seat.glyph == RESPONDING else "", "dim italic")
        room = max(0, lines - len(remark_lines))
        reply_lines = list(spoken.wrap(self._console, max(1, width)))[-room:] if room and spoken.plain else []
        return Text("\n").join([*reply_lines, *remark_lines])

    def _header_lines(self, width: int, now: float) -> Iterator[Text]:
        board = self._board
        yield Text(sanitize_line(board.question, width - 1), "bold", no_wrap=True)
        stage = board.round.partition("/")[0]
        round = live_round_label(board.round) if stage == self._view.charter.meeting else sanitize_line(board.round)
        parts = [f"round {round}" if round else "opening"]
        if board.electorate:
            parts.append(f"{len(board.done)} of {len(board.electorate)} done")
        parts += [f"{format_count_as_text(sum(seat.tokens for seat in board.seats.values()))} tok", board.cost]
        parts.append(format_seconds_as_text(now - board.started) if board.started else "0s")
        parts += ["paused"] if board.paused else []
        parts += [f"waiting at gate {', '.join(board.gates)}"] if board.gates else []
        yield Text(sanitize_line(" · ".join(parts), width - 1), SYSTEM_COLOR, no_wrap=True)

    def _step_lines(self, width: int) -> list[Text]:
        """The running step and the last lines of its output."""
        lines: list[Text] = []
        for step in self._board.steps.values():
            output = [line for line in sanitize_text(step.output).splitlines() if line.strip()][-STEP_OUTPUT_LINES:]
            lines += [
                Text(step.description, SYSTEM_COLOR),
                *(Text(f"  {line.expandtabs(4)}", "dim") for line in output),
            ]
        for line in lines:
            line.no_wrap = True
            line.truncate(width - 1, overflow="ellipsis")
        return lines

    def _footer(self, width: int) -> Text:
        stops = "Ctrl-C stops; `roundtable resume` continues"
        keys = stops if self._view.own else "Ctrl-C stops watching; the session continues"
        address, gate = self._view.address, next(iter(self._board.gates), "")
        words = f"roundtable answer {address} {gate}=OPTION" if gate else f"{address} · {keys}"
        hint = f" · {keys}" if gate else " · in another terminal: roundtable say | pause | cancel"
        words += hint if len(words + hint) < width else ""
        return Text(sanitize_line(words, width - 1), "dim", no_wrap=True)

    def _color(self, seat: str) -> str:
        return self._colors.get(seat, "white")


def compute_terminal_panel_grid(seats: int, width: int, height: int) -> tuple[int, int, int]:
    """Columns, rows and panel height with which all panels fit and one line stays free."""
    room = max(MIN_PANEL_LINES, height - 5)
    columns = max(1, min(seats, width // MIN_PANEL_COLUMNS))
    rows = -(-seats // columns)
    while columns < seats and room // rows < MIN_PANEL_LINES:
        columns += 1
        rows = -(-seats // columns)
    return columns, rows, max(3, min(MAX_PANEL_LINES, room // rows))


class _Keys:
    """Prevents typed keys from being echoed into the panels."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def disable_echo(self) -> None:
        """Stop the echo, unless in the background, where a change of the terminal would suspend the process."""
        with contextlib.suppress(termios.error, OSError, ValueError):
            fd = sys.stdin.fileno()
            if os.tcgetpgrp(fd) != os.getpgrp():
                return
            self._before = termios.tcgetattr(fd)
            changed = list(self._before)
            changed[3] &= ~termios.ECHO
            termios.tcsetattr(fd, termios.TCSANOW, changed)

    def restore_echo(self) -> None:
        """Restore the echo and discard what was typed meanwhile."""
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
