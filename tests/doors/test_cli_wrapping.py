"""Sentences for people at a terminal: broken between words, never inside one, and never inside a command."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from typing import TextIO, cast

import pytest

from roundtable.core.text.redaction import Redactor
from roundtable.doors.cli.stderr import RedactedStderr, wrap_terminal_lines
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat, knight


def test_errors_are_wrapped_between_words_at_a_terminal_and_not_in_a_pipe(cli: Cli) -> None:
    output = ("discuss", "x", "--seat", "ada=nowhere:model")
    whole = cli.run(*output, code=2).stderr
    with cli.terminal(*output, columns=40) as terminal:
        screen = terminal.end(code=2)
    assert max(map(len, whole.splitlines())) > 80
    assert screen.split() == whole.split(), "every word is whole"
    assert max(len(line) for line in re.sub(r"`[^`]+`", "", screen).splitlines()) <= 40


def test_the_output_of_init_is_wrapped_between_words(cli: Cli) -> None:
    cli.env |= {"PATH": "/usr/bin:/bin", "HOME": str(cli.home)}
    with cli.terminal("init", "--yes", columns=50) as terminal:
        lines = terminal.end(code=0).splitlines()
    sentences = [line for line in lines if "/" not in line and "`" not in line]
    assert len(sentences) > 1
    assert max(map(len, sentences)) <= 50


def test_the_options_of_an_open_gate_are_wrapped_between_words(cli: Cli) -> None:
    seats = cli.script(a=knight(9), b=knight(9))
    with cli.terminal("discuss", "Redis?", "--meeting", "knights", "--plain", *seats, columns=60) as terminal:
        terminal.expect("Your choice")
        terminal.type("\x03")
        screen = terminal.end(code=130)
    note = screen[screen.index("Gate decide stays open") :]
    assert max(map(len, note[: note.index("  roundtable answer")].splitlines())) <= 60
    assert "Answer the gate from any terminal:" in " ".join(note.split())


def test_the_output_of_doctor_is_wrapped_between_words(cli: Cli) -> None:
    cli.run("discuss", "Redis?", *cli.script(a=council_seat("REST"), b=council_seat("REST")))
    whole = cli.run("doctor", code=2).stdout
    with cli.terminal("doctor", columns=60) as terminal:
        screen = terminal.end(code=2)
    assert "1 session, schema" in whole
    assert screen.split() == whole.split(), "every word is whole"
    assert all(line[0] in "✓✗–→ TNP" for line in screen.splitlines())


def test_wrapped_hints_are_aligned_with_their_column(cli: Cli) -> None:
    with cli.terminal("voices", columns=70) as terminal:
        screen = terminal.end(code=0).partition("Seats on the command line")[2].splitlines()
    assert sum(line.startswith(" " * 26) for line in screen) >= 2
    assert [line.split()[0] for line in screen[1:] if not line.startswith(" " * 26)] == [
        *("endpoint:model", "cli:agent[:model]", "acp:agent[:model]", "embedded:model", "script:path.toml")
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("one two three four", ["one two", "three four"]),
        ("  one two three four", ["  one two", "  three four"]),
        ("Say `round table` now", ["Say", "`round table`", "now"]),
        ("Go on with: roundtable resume last", ["Go on with:", "roundtable resume last"]),
        ("a 桌子桌子桌子 b", ["a", "桌子桌子桌子", "b"]),
        ("Incomprehensibilities it is", ["Incomprehensibilities", "it is"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("✓ one two three", ["✓ one two", "  three"]),
        ("→ one two three", ["→ one two", "  three"]),
        (" a:b  one two", [" a:b  one", "      two"]),
        (" " * 20, [" " * 20]),
    ],
)
def test_lines_are_wrapped_between_words_and_commands_stay_whole(text: str, lines: list[str]) -> None:
    assert wrap_terminal_lines(text, 12).split("\n") == lines


def test_a_secret_of_several_words_is_redacted_before_wrapping() -> None:
    own_end, program_end = pty.openpty()
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 20, 0, 0))
    with open(program_end, "w", encoding="utf-8") as terminal:
        redacted = RedactedStderr(terminal, Redactor(["correct horse battery staple"]))
        RedactedStderr(cast("TextIO", redacted), Redactor()).write("It said: correct horse battery staple, and left.\n")
        terminal.flush()
        screen = os.read(own_end, 4096).decode()
    os.close(own_end)
    assert "horse" not in screen
    assert len(screen.splitlines()) > 1
