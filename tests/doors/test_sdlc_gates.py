"""The gates of `roundtable sdlc` as people meet them: nothing ends in passing, and what is asked about can be read."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.doors.coding_seats import read_record
from tests.doors.command_line import PATIENCE, ROUNDTABLE, Cli
from tests.doors.test_sdlc import IDEA, OPEN, ask, ends, seat
from tests.repository import sandbox

LONG = "\n".join(f"R{number} It keeps to-do {number}." for number in range(1, 31))
HELLO = "Here.\n\n```python main.py\nprint('hello')\n```\n"


def test_enter_alone_does_not_end_a_meeting_between_two_stages(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        screen = terminal.expect("Your choice [1-6]:")
        assert "6. stop: stop here without a result (default when headless)" in screen
        terminal.type("\n")
        terminal.expect("Choose an option; Ctrl-C leaves the gate open.")
        terminal.type("continue\n")
        terminal.expect("Gate after-architecture")
        terminal.type("complete\n")
        screen = terminal.end(0)
    assert ends(read_record(cli)) == {"requirements": "agreed", "architecture": "agreed"}
    assert "Step " not in screen, "what is done is told in words"


def test_a_stopped_meeting_continues_at_the_next_stage(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        terminal.expect("Your choice")
        terminal.type("stop\n")
        assert "The meeting stopped after requirements because the person chose to stop." in terminal.end(3)
    assert "roundtable rollback " in cli.run("resume", "last", code=3).stderr
    assert "requirements, architecture." in cli.run("rollback", "last", "qa", code=2).stderr
    cli.run("rollback", "last", "architecture", "--instruct", "Only one file.")
    with cli.terminal("resume", "last", "--plain") as terminal:
        terminal.expect("Gate after-architecture")
        terminal.type("complete\n")
        assert "The stage Requirements is finished" not in terminal.end(0), (
            "going on with the next stage is the yes to the one before"
        )
    assert ends(read_record(cli)) == {"requirements": "agreed", "architecture": "agreed"}


def test_going_back_to_a_stage_that_was_not_held_is_refused(cli: Cli) -> None:
    seats = cli.script(ada=seat("ada"), bob=seat("bob"))
    with cli.terminal("sdlc", IDEA, "--only", "requirements,architecture,development", *seats, "--plain") as terminal:
        terminal.expect("Your choice")
        terminal.type("continue\n")
        terminal.expect("Gate after-architecture")
        assert "requirements, architecture." in cli.run("rollback", "last", "development", code=2).stderr


@pytest.mark.feature("S0.42")
def test_choosing_your_own_words_requires_a_text(cli: Cli) -> None:
    differ = {"round": "*-judge", "text": OPEN}
    arguments = ask(cli, "--plain", "--rounds", "1", ada=seat("ada", differ), bob=seat("bob", differ))
    with cli.terminal(*arguments) as terminal:
        terminal.expect("Your choice [1-4, Enter for none]:")
        refused = cli.run("answer", "last", "requirements-dispute=own", code=2).stderr
        assert "The answer `own` requires a text." in refused
        terminal.type("own\n")
        terminal.expect("What text should be used instead? ")
        terminal.type("\n")
        terminal.type("Plain WSGI.\n")
        terminal.expect("requirements was decided by the person")
        cli.run("answer", "last", "after-requirements=continue")
        terminal.expect("Gate architecture-dispute")
        again = cli.run("answer", "last", "after-requirements=skip", code=2).stderr
        assert "architecture-dispute=OPTION" in again, "no option is suggested that this gate does not have"
        cli.run("answer", "last", "architecture-dispute=own", "--text", "One file.")
        terminal.expect("Gate after-architecture")
        terminal.type("complete\n")
        assert "One file." in terminal.end(0)


def test_a_stage_result_is_shown_in_the_terminal_that_confirms_it(cli: Cli) -> None:
    agreed = {"round": "*-judge", "text": f"CONSENSUS: {LONG}"}
    with cli.terminal(*ask(cli, "--plain", ada=seat("ada", agreed))) as terminal:
        terminal.expect("Your choice")
        waits = cli.run("gates").stdout
        output = cli.run("status", "last").stdout
        cli.run("answer", "last", "after-requirements=stop")
        terminal.end(3)
    for screen in (waits, output):
        assert "R1 It keeps to-do 1." in screen
        assert "R20 It keeps to-do 20." in screen
        assert "R21 " not in screen, "it may be long"
        assert "`roundtable show` prints the whole result." in screen
    assert "after-requirements=OPTION" in output, "to end it is not what is suggested"


def test_the_export_question_explains_every_option_and_the_path(cli: Cli) -> None:
    asyncio.run(sandbox())
    seats = cli.script(ada={"turns": [{"round": "*", "text": HELLO}]})
    with cli.terminal(
        "sdlc", "a greeting", "--only", "development", "--yes", "--plain", *seats, columns=300
    ) as terminal:
        screen = terminal.expect("Your choice [1-4, Enter for later]:")
        assert f"1. folder (f): as a plain folder: {cli.work}/" in screen
        assert "3. zip (z): as a zip file: " in screen
        assert "4. later (l): write nothing now" in screen
        terminal.type("1\n")
        terminal.end(0)
    assert [path.read_text() for path in cli.work.glob("*/main.py")] == ["print('hello')\n"]


def test_a_question_that_cannot_be_asked_ends_the_run_and_stays_open(cli: Cli) -> None:
    """The prompt goes to standard error, which has no room here; who waits for an answer then waits for ever."""
    own_end, program_end = pty.openpty()
    command = [*ROUNDTABLE, *ask(cli, "--plain")]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(
            command, cwd=cli.work, env=cli.env, stdin=program_end, stdout=program_end, stderr=full
        ) as process,
    ):
        try:
            assert process.wait(PATIENCE) != 0
        finally:
            process.kill()
    os.close(own_end)
    os.close(program_end)
    assert "after-requirements" in cli.run("gates").stdout


def test_a_failed_export_is_explained(cli: Cli) -> None:
    asyncio.run(sandbox())
    seats = cli.script(ada={"turns": [{"round": "*", "text": HELLO}]})
    arguments = ["sdlc", "a greeting", "--only", "development", "--into", "hello", "--yes", "--plain", *seats]
    with cli.terminal(*arguments, columns=300) as terminal:
        terminal.expect("Your choice [1-4, Enter for later]:")
        (cli.work / "hello").mkdir()
        (cli.work / "hello" / "mine.txt").write_text("mine")
        terminal.type("folder\n")
        screen = terminal.end(0)
    assert f"{cli.work}/hello exists already and is not overwritten." in screen
    assert "The step failed: " in screen
    assert "deliver/" not in screen, "which step it was for the program tells a person nothing"
