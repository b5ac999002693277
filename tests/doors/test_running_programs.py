"""Programs that a session runs: heard at one terminal, stopped from another, and installed only with a typed yes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.doors.coding_seats import read_record
from tests.doors.command_line import Cli
from tests.repository import sandbox

STAGES = """
[[stages]]
name = "development"
kind = "files"
rounds = 1

[[stages]]
name = "execution"
kind = "run"
"""
TICKING = """Here it is.

### main.py
```python
import time
for number in range(9999):
    print("tick", number)
    time.sleep(0.05)
```
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    asyncio.run(sandbox())
    return Cli(tmp_path)


@pytest.mark.feature("S0.57", "S0.61")
def test_stop_ends_only_the_program_that_another_terminal_shows(cli: Cli) -> None:
    (cli.work / "mine.toml").write_text(STAGES)
    seats = cli.script(claude={"turns": [{"round": "*", "text": TICKING}]})
    with cli.terminal("sdlc", "A clock.", "--stages", "mine.toml", "--yes", "--plain", *seats) as terminal:
        terminal.expect("tick 3")
        assert "Stopping the program of" in cli.run("stop", "last").stdout
        terminal.expect("Gate deliver")
        assert "is not running a program" in cli.run("stop", "last", code=2).stderr
        cli.run("answer", "last", "deliver=later")
        screen = terminal.end(0)
    assert "stopped the program." in screen
    facts = read_record(cli)
    (run,) = [
        fact["result"] for fact in facts if fact["kind"] == "effect.done" and fact["result"]["result"] == "project_ran"
    ]
    assert run["stopped"] is True
    assert "tick 3" in run["steps"][0]["output"]
    assert [fact["kind"] for fact in facts].count("stop.asked") == 1


NEEDY = """Here it is.

### main.py
```python
print(open("fetched.txt").read())
```

### run.toml
```toml
[install]
argv = ["sh", "-c", "echo it was fetched >fetched.txt"]
[run]
argv = ["python", "main.py"]
```
"""


def test_installing_packages_is_shown_and_confirmed_at_the_terminal(cli: Cli) -> None:
    (cli.work / "mine.toml").write_text(STAGES)
    seats = cli.script(claude={"turns": [{"round": "*", "text": NEEDY}]})
    with cli.terminal("sdlc", "A reader.", "--stages", "mine.toml", "--yes", "--plain", *seats) as terminal:
        terminal.expect("Gate execution-install")
        terminal.expect("Your choice")
        terminal.type("yes\n")
        terminal.expect("it was fetched")
        terminal.expect("Gate deliver")
        terminal.expect("Your choice")
        terminal.type("later\n")
        screen = terminal.end(0)
    assert "echo it was fetched >fetched.txt" in screen
