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
    with cli.terminal("sdlc", "A clock.", "--stages", "mine.toml", "--yes", "--plain", *seats) as runs:
        runs.expect("tick 3")
        assert "Stopping the program of" in cli.run("stop", "last").stdout
        runs.expect("Gate deliver")
        assert "is not running a program" in cli.run("stop", "last", code=2).stderr
        cli.run("answer", "last", "deliver=later")
        shown = runs.end(0)
    assert "stopped the program." in shown
    told = read_record(cli)
    (ran,) = [
        fact["result"] for fact in told if fact["kind"] == "effect.done" and fact["result"]["result"] == "project_ran"
    ]
    assert ran["stopped"] is True
    assert "tick 3" in ran["steps"][0]["output"]
    assert [fact["kind"] for fact in told].count("stop.asked") == 1


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
    with cli.terminal("sdlc", "A reader.", "--stages", "mine.toml", "--yes", "--plain", *seats) as runs:
        runs.expect("Gate execution-install")
        runs.expect("Your choice")
        runs.type("yes\n")
        runs.expect("it was fetched")
        runs.expect("Gate deliver")
        runs.expect("Your choice")
        runs.type("later\n")
        shown = runs.end(0)
    assert "echo it was fetched >fetched.txt" in shown
