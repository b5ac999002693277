"""Panels, colors, errors and the output queue of the command line, without a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys

import pytest

from roundtable.core.faults import SessionHeld
from roundtable.core.values import Seat
from roundtable.doors.cli.output import print_error_with_help
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.doors.cli.panels import assign_terminal_colors, compute_terminal_panel_grid


@pytest.mark.parametrize(("width", "height"), [(80, 24), (110, 35), (40, 12), (200, 60), (20, 8)])
@pytest.mark.parametrize("seats", [1, 2, 3, 5, 9])
def test_panels_fit_the_terminal(seats: int, width: int, height: int) -> None:
    columns, rows, tall = compute_terminal_panel_grid(seats, width, height)
    assert columns * rows >= seats
    assert rows * tall + 3 <= max(height, rows * 3 + 3)


@pytest.mark.feature("S4.38", "S4.39", "S4.40", "S4.41")
def test_seats_have_the_colours_people_know_them_by() -> None:
    names = ("claude", "gpt-4o", "gemini", "grok", "llama", "mistral")
    colors = assign_terminal_colors(
        [*(Seat(name, ()) for name in names), Seat("own", (), color="orange"), Seat("bad", (), color="?")]
    )
    assert [colors[name] for name in names[:4]] == ["cyan", "green", "magenta", "dark_orange"]
    assert colors["llama"] != colors["mistral"]
    assert colors["own"] == "dark_orange"
    assert colors["bad"]


def test_errors_are_two_sentences_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_error_with_help(SessionHeld("It is held", "Watch it")) == 5
    assert capsys.readouterr().err == "Error: It is held.\nWatch it.\n"
    assert print_error_with_help(ZeroDivisionError("by zero")) == 1
    assert "Internal error: ZeroDivisionError: by zero." in capsys.readouterr().err


async def test_the_outlet_waits_for_its_reader_and_for_nobody_else() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    outlet = OutputQueue(writing)
    sent = b"x" * 300_000
    outlet.put(sent)
    assert outlet.is_behind
    draining = asyncio.create_task(outlet.wait_until_drained())
    got = b""
    while len(got) < len(sent):
        with contextlib.suppress(BlockingIOError):
            got += os.read(reading, 65536)
        await asyncio.sleep(0)
    await draining
    assert got == sent
    assert not outlet.is_behind
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        outlet.put(b"y")
    os.close(writing)


def test_json_output_needs_no_rich() -> None:
    looks = "print([name for name in ('rich', 'httpx2') if name in sys.modules])"
    code = f"import sys, roundtable.doors.cli.meeting_commands, roundtable.app.desk.roundtable; {looks}"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
