"""The three ways of showing a session: JSON lines, plain lines, and live panels. None of them decides anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Protocol

import msgspec

from roundtable.core.events import Delta, Recorded, encode_event_line
from roundtable.core.faults import UsageError
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.live.board import SessionView
from roundtable.live.fact_words import FactNarrator, LiveLine, brief_fact_lines, render_plain_lines


class Display(Protocol):
    """Somewhere a session is shown."""

    outlet: OutputQueue

    def take(self, item: Recorded | Delta) -> None:
        """Show one fact or word."""
        ...

    def tell(self, lines: Iterable[LiveLine]) -> None:
        """Say something besides the facts."""
        ...

    def suspend(self) -> None:
        """Make room, so that a person can be asked."""
        ...

    def resume(self) -> None:
        """Go on after that."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


class OutputMode(msgspec.Struct, frozen=True):
    """How a person wants to see a session."""

    json: bool = False
    plain: bool = False

    def check(self) -> None:
        """Refuse what cannot both be."""
        if self.json and self.plain:
            raise UsageError("--json and --plain exclude each other.", "Give only one of them.")

    @property
    def live(self) -> bool:
        """Whether panels make sense here."""
        return not (self.json or self.plain) and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def asks(self, headless: bool = False) -> bool:
        """Whether a person sits here who can be asked."""
        alone = headless or self.json or os.environ.get("CI", "").lower() in ("1", "true", "yes")
        return not alone and sys.stdin.isatty() and sys.stdout.isatty()


def create_display(manner: OutputMode, view: SessionView) -> Display:
    """The display that fits; facts up to `brief_until` are told in short, panels open with `live_from`."""
    outlet = OutputQueue()
    if manner.json:
        return JsonLines(outlet)
    if not manner.live:
        return PlainLines(outlet, view)
    from roundtable.doors.cli.panels import LivePanels

    return LivePanels(outlet, view)


class JsonLines:
    """Every fact and every word as one object per line, and nothing else."""

    def __init__(self, outlet: OutputQueue) -> None:
        self.outlet = outlet

    def take(self, item: Recorded | Delta) -> None:
        """One line."""
        self.outlet.put(encode_event_line(item) + b"\n")

    def tell(self, lines: Iterable[LiveLine]) -> None:
        """Words for people do not belong here; errors go to standard error by themselves."""

    def suspend(self) -> None:
        """Nothing to make room for."""

    def resume(self) -> None:
        """Nothing to bring back."""

    def close(self) -> None:
        """Nothing to put back."""


class PlainLines:
    """Lines for pipes and for terminals that cannot move the cursor; words come whole, when a turn ends."""

    def __init__(self, outlet: OutputQueue, view: SessionView) -> None:
        self.outlet = outlet
        self._brief_until = view.brief_until
        self._teller = FactNarrator(view.charter)

    def take(self, item: Recorded | Delta) -> None:
        """The lines of one fact, or of what a step says while it runs."""
        if isinstance(item, Recorded):
            self.tell(brief_fact_lines(item.event) if item.seq <= self._brief_until else self._teller.facts(item.event))
        elif not item.seat:
            self.tell([LiveLine(line, "dim", indent=2) for line in item.text.splitlines()])

    def tell(self, lines: Iterable[LiveLine]) -> None:
        """Write lines out at once."""
        if text := render_plain_lines(lines):
            self.outlet.write(text)

    def suspend(self) -> None:
        """Lines leave room anyway."""

    def resume(self) -> None:
        """Nothing to bring back."""

    def close(self) -> None:
        """Nothing to put back."""
