"""The three displays of a session: JSON lines, plain lines and live panels."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Protocol

import msgspec

from roundtable.core.events import Delta, Recorded, event_to_json
from roundtable.core.faults import UsageError
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.live.board import SessionView
from roundtable.live.event_lines import EventNarrator, LiveLine, live_earlier_event_lines, live_lines_as_text


class Display(Protocol):
    """Displays a session while it runs or from its record."""

    outlet: OutputQueue

    def show(self, item: Recorded | Delta) -> None:
        """Display one event or text delta."""
        ...

    def print_lines(self, lines: Iterable[LiveLine]) -> None:
        """Print lines that are not events."""
        ...

    def suspend(self) -> None:
        """Stop drawing, so that a person can be asked."""
        ...

    def resume(self) -> None:
        """Draw again after `suspend`."""
        ...

    def close(self) -> None:
        """Stop drawing and restore the terminal."""
        ...


class OutputMode(msgspec.Struct, frozen=True):
    """How a session is displayed, as chosen by options."""

    json: bool = False
    plain: bool = False

    def check(self) -> None:
        """Reject contradicting options."""
        if self.json and self.plain:
            raise UsageError("--json and --plain cannot be combined.", "Use either --json or --plain.")

    @property
    def has_live_panels(self) -> bool:
        """Whether live panels can be drawn."""
        return not (self.json or self.plain) and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def can_ask(self, headless: bool = False) -> bool:
        """Whether a person can be asked at this terminal."""
        unattended = headless or self.json or os.environ.get("CI", "").lower() in ("1", "true", "yes")
        return not unattended and sys.stdin.isatty() and sys.stdout.isatty()


def create_terminal_display(output_mode: OutputMode, view: SessionView) -> Display:
    """Create the display for a session; panels open at event `live_from`, events up to `brief_until` are abridged."""
    outlet = OutputQueue()
    if output_mode.json:
        return JsonLines(outlet)
    if not output_mode.has_live_panels:
        return PlainLines(outlet, view)
    from roundtable.doors.cli.panels import LivePanels

    return LivePanels(outlet, view)


class JsonLines:
    """Prints one JSON object per event and text delta, and nothing else."""

    def __init__(self, outlet: OutputQueue) -> None:
        self.outlet = outlet

    def show(self, item: Recorded | Delta) -> None:
        """Print one line."""
        self.outlet.put(event_to_json(item) + b"\n")

    def print_lines(self, lines: Iterable[LiveLine]) -> None:
        """Do nothing: this output is for programs."""

    def suspend(self) -> None:
        """Do nothing: there is no drawing."""

    def resume(self) -> None:
        """Do nothing: there is no drawing."""

    def close(self) -> None:
        """Do nothing: the terminal was not changed."""


class PlainLines:
    """Prints lines for pipes and simple terminals; a reply is printed when the turn ends."""

    def __init__(self, outlet: OutputQueue, view: SessionView) -> None:
        self.outlet = outlet
        self._brief_until = view.brief_until
        self._narrator = EventNarrator(view.charter)

    def show(self, item: Recorded | Delta) -> None:
        """Print the lines of one event, or the output of a running step."""
        if isinstance(item, Recorded):
            self.print_lines(
                live_earlier_event_lines(item.event)
                if item.seq <= self._brief_until
                else self._narrator.lines(item.event)
            )
        elif not item.seat:
            self.print_lines([LiveLine(line, "dim", indent=2) for line in item.text.splitlines()])

    def print_lines(self, lines: Iterable[LiveLine]) -> None:
        """Print lines at once."""
        if text := live_lines_as_text(lines):
            self.outlet.write(text)

    def suspend(self) -> None:
        """Do nothing: lines do not block the prompt."""

    def resume(self) -> None:
        """Do nothing: there is no drawing."""

    def close(self) -> None:
        """Do nothing: the terminal was not changed."""
