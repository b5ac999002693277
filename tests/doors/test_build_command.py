"""`roundtable build`: from a task to code that runs, with a person who says what of it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.coding import CALC, NOTES, RIGHT, WRONG, coder, facts, workplace
from tests.doors.terminal import Cli
from tests.repository import git, sandbox

TASK = "Make double() double"


@pytest.fixture
async def cli(tmp_path: Path) -> Cli:
    await sandbox()
    return workplace(tmp_path)


def code(cli: Cli) -> str:
    return (cli.work / "calc.py").read_text()


def test_a_task_is_written_by_all_run_and_shown_and_only_what_the_person_takes_is_written(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT, NOTES), bob=coder(WRONG))
    with cli.terminal("build", TASK, *seats, columns=120, lines=50) as terminal:
        terminal.expect("NOTES.md: hunk 1 of 1")
        terminal.type("n\n")
        terminal.expect("calc.py: hunk 1 of 1")
        shown = terminal.expect(f"+     {RIGHT}")
        assert code(cli) == CALC
        terminal.type("y\n")
        terminal.expect("Write it?")
        terminal.type("y\n")
        end = terminal.end(code=0)
    assert "The candidates, best first" in shown
    assert "written by ada" in shown
    assert "-     return x + x + 1" in shown
    assert RIGHT in code(cli)
    assert not (cli.work / "NOTES.md").exists()
    assert "The rehearsal:" in end
    assert "roundtable undo" in end
    assert git(cli.work, "log", "--format=%s").splitlines()[0] == TASK
    told = cli.run("show", "last").stdout
    assert "## Candidates" in told
    assert "**calc.py#1**" in told
    assert "left out" in told


@pytest.mark.feature("S3.87")
def test_all_is_an_answer_ahead_and_says_that_it_writes_without_asking(cli: Cli) -> None:
    done = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT), bob=coder(WRONG)))
    assert "--all" in done.stderr
    assert "without asking file by file" in done.stderr
    assert RIGHT in code(cli)
    (said,) = [it for it in facts(cli) if it["kind"] == "gate.answered"]
    assert (said["option"], said["by"]) == ("all", "answered ahead")


def test_without_anybody_there_nothing_is_written_and_it_says_how_to_go_on(cli: Cli) -> None:
    done = cli.run("build", TASK, "--headless", *cli.script(ada=coder(RIGHT)), code=3)
    assert "nobody said yes" in done.stdout
    assert "roundtable apply" in done.stdout
    assert code(cli) == CALC
    cli.run("apply", "--all")
    assert RIGHT in code(cli)


def test_a_dry_run_shows_the_plan_and_a_branch_leaves_the_files_alone(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    shown = cli.run("build", TASK, "--dry-run", *seats).stdout
    assert "calc.py: 1 hunk, +1 -1" in shown
    assert code(cli) == CALC
    cli.run("build", TASK, "--all", "--branch", "doubled", *seats)
    assert code(cli) == CALC
    assert RIGHT in git(cli.work, "show", "doubled:calc.py")


def test_candidates_that_fail_are_told_and_nothing_is_offered(cli: Cli) -> None:
    done = cli.run("build", TASK, "--all", *cli.script(ada=coder(WRONG), bob=coder("return x")), code=3)
    assert "No candidate passed" in done.stdout
    assert "did not pass" in done.stdout
    assert code(cli) == CALC


def test_programs_get_every_fact_and_nothing_else(cli: Cli) -> None:
    lines = cli.json("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    results = [it["result"]["result"] for it in lines if it["kind"] == "effect.done"]
    assert results[-1] == "applied"
    assert "candidates_tried" in results
