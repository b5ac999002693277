"""`roundtable build`: from a task to code that runs, with a person who says what of it is written."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.doors.coding_seats import CALC, NOTES, RIGHT, WRONG, coder, read_record
from tests.doors.command_line import ROUNDTABLE, Cli
from tests.repository import git

TASK = "Make double() double"


@pytest.fixture
def cli(coding_cli: Cli) -> Cli:
    return coding_cli


def code(cli: Cli) -> str:
    return (cli.work / "calc.py").read_text()


def test_a_task_is_written_by_all_run_and_shown_and_only_what_the_person_takes_is_written(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT, NOTES), bob=coder(WRONG))
    with cli.terminal("build", f"{TASK} in calc.py", *seats, columns=120, lines=50) as terminal:
        assert "Not requested: NOTES.md#1." in terminal.expect("1 of 2 · NOTES.md: new file")
        terminal.expect("Not requested, written by ada")
        terminal.type("n\n")
        terminal.expect("calc.py: hunk 1 of 1")
        terminal.expect(f"Requested by the task “{TASK} in calc.py”")
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
    assert end.count("Not requested: NOTES.md#1.") == 1
    end = end.rpartition("Decision reached")[2]
    assert "Written:\n  calc.py: 1 hunk, +1 -1\n" in end
    assert "Here it is." not in end
    assert "roundtable undo" in end
    assert git(cli.work, "log", "--format=%s").splitlines()[0] == f"{TASK} in calc.py"
    told = cli.run("show", "last").stdout
    assert "## Candidates" in told
    assert "**calc.py#1**" in told
    assert "left out" in told


def test_a_terminal_that_is_behind_is_shown_a_whole_hunk_before_it_is_asked_about_it(cli: Cli) -> None:
    long = "".join(f"    # Line {number} of what is to be known about doubling.\n" for number in range(1000))
    with cli.terminal("build", TASK, *cli.script(ada=coder(f"{RIGHT}\n{long}"))) as terminal:
        terminal.expect("Keys: y approve it")
        terminal.look_away()
        shown = terminal.expect("Approve it?")
        assert "+     # Line 999 of" in shown
        assert "calc.py: hunk 1 of 1" in shown.rpartition("# Line 999 of")[2], "the heading has scrolled away"
        terminal.type("q\n")
        terminal.end(code=0)


def test_what_was_written_is_shown_under_the_name_of_its_file_and_nothing_is_called_a_vote(cli: Cli) -> None:
    cli.run("build", TASK, "--headless", *cli.script(ada=coder(RIGHT), bob=coder(WRONG)), code=3)
    with cli.terminal("show", "last", columns=120) as terminal:
        shown = [line.strip(" ▌") for line in terminal.end(code=0).splitlines()]
    begun = [at for at, line in enumerate(shown) if line.startswith("def double(x):")]
    above = [next(line for line in reversed(shown[:at]) if line) for at in begun]
    assert above.count("calc.py") >= 2
    assert all(line.startswith("calc.py") for line in above)
    assert "Votes" not in shown
    assert "Proposals" in shown


@pytest.mark.feature("S3.87")
def test_all_is_an_answer_ahead_and_says_that_it_writes_without_asking(cli: Cli) -> None:
    done = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT), bob=coder(WRONG)))
    assert "--all" in done.stderr
    assert "writes every file without asking" in done.stderr
    assert RIGHT in code(cli)
    (said,) = [it for it in read_record(cli) if it["kind"] == "gate.answered"]
    assert (said["option"], said["by"]) == ("all", "answered ahead")


def test_all_and_another_answer_to_the_same_gate_contradict_each_other(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    said = cli.run("build", TASK, *seats, "--all", "--answer", "approve=none", code=2).stderr
    assert "contradicts another answer" in said
    assert code(cli) == CALC


def test_a_quorum_holds_for_those_who_write(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT), bob={"turns": [{"fault": "quota"}]})
    told = cli.run("build", TASK, *seats, "--quorum", "2", "--all", code=6)
    assert "which is less than the quorum" in told.stdout
    assert code(cli) == CALC
    said = cli.run("build", TASK, *seats, "--all").stdout
    assert "DEGRADED: counted 1 of 2." in said
    assert "meet the quorum" not in said, "where nobody asked for more, one that runs is enough"
    assert RIGHT in code(cli)


def test_without_anybody_there_nothing_is_written_and_it_says_how_to_go_on(cli: Cli) -> None:
    done = cli.run("build", TASK, "--headless", *cli.script(ada=coder(RIGHT)), code=3)
    assert "nobody said yes" in done.stdout
    assert "roundtable apply" in done.stdout
    assert code(cli) == CALC
    cli.run("apply", "--all")
    assert RIGHT in code(cli)


def test_a_draft_that_was_turned_down_can_be_taken_up_again_by_its_name_alone(cli: Cli) -> None:
    with cli.terminal("build", TASK, *cli.script(ada=coder(RIGHT))) as terminal:
        terminal.expect("Approve it?")
        terminal.type("n\n")
        terminal.expect("Write nothing?")
        terminal.type("q\n")
        end = terminal.end(code=0)
    assert "Decision rejected" in end
    assert "`roundtable apply` with this session shows it again." in " ".join(end.split())
    (opened, *_) = read_record(cli)
    name = opened["charter"]["slug"]
    assert "Nothing was decided here that could be carried out." in cli.run("apply", "--all", code=2).stderr
    assert "calc.py: 1 hunk, +1 -1" in cli.run("apply", name, "--headless", code=3).stdout
    assert code(cli) == CALC
    cli.run("apply", name, "--all")
    assert RIGHT in code(cli)
    assert "was carried out already" in cli.run("apply", name, "--all", code=2).stderr


@pytest.mark.parametrize("closed", ["", ".git"])
def test_a_workspace_that_cannot_be_written_to_is_said_before_anybody_is_asked(cli: Cli, closed: str) -> None:
    seats = cli.script(ada=coder(RIGHT))
    folder = str(cli.work / closed).rstrip("/")
    locked = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", folder, folder, *ROUNDTABLE]
    done = subprocess.run(
        [*locked, "build", TASK, "--all", *seats],
        cwd=cli.work,
        env=cli.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"{folder} cannot be written to, so nobody was asked." in done.stderr
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_a_dry_run_shows_the_plan_and_a_branch_leaves_the_files_alone(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    shown = cli.run("build", TASK, "--dry-run", *seats).stdout
    assert "calc.py: 1 hunk, +1 -1" in shown
    assert f"  -    return x + x + 1\n  +    {RIGHT}\n" in shown
    assert "Write it with: roundtable apply 2" in shown
    assert "is written" not in cli.run("apply", "last", "--all", "--dry-run").stderr
    assert code(cli) == CALC
    cli.run("build", TASK, "--all", "--branch", "doubled", *seats)
    (asked,) = [it["gate"]["question"] for it in read_record(cli) if it["kind"] == "gate.opened"]
    assert asked == "ada wants to change 1 hunk in calc.py. Commit it to the branch doubled?"
    assert code(cli) == CALC
    assert RIGHT in git(cli.work, "show", "doubled:calc.py")


@pytest.mark.feature("S4.104")
def test_what_would_be_lost_for_good_is_written_once_the_phrase_itself_is_typed(cli: Cli) -> None:
    notes = cli.work / "mine.md"
    notes.write_text("Only here.\n")
    seats = cli.script(ada=coder(RIGHT, "\nDELETE mine.md\n"))
    with cli.terminal("build", TASK, *seats, columns=80, lines=50) as terminal:
        terminal.expect("calc.py: hunk 1 of 1")
        terminal.type("y\n")
        terminal.expect("2 of 2 · mine.md: deleted")
        terminal.type("y\n")
        terminal.expect("Write it?")
        terminal.type("y\n")
        terminal.expect("Type `delete 1 file` to continue")
        terminal.type("yes\n")
        terminal.expect("The phrase does not match.")
        assert notes.exists()
        assert code(cli) == CALC
        terminal.type("delete 1 file\n")
        terminal.end(code=0)
    assert not notes.exists()
    assert RIGHT in code(cli)
    cli.run("undo")
    assert notes.read_text() == "Only here.\n", "and even that can be taken back"


@pytest.mark.feature("S3.85")
def test_a_change_that_was_undone_reads_as_undone_everywhere_and_can_be_applied_again(cli: Cli) -> None:
    cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    assert "Undo it with: roundtable undo 1" in cli.run("show", "last").stdout
    cli.run("undo")
    for told in (cli.run("show", "last").stdout, cli.run("show", "last", "--format", "html").stdout):
        assert "its change was undone" in told
        assert "Change 1 was undone by" in told
        assert "Undo it with" not in told
    assert "its change was undone" in cli.run("status", "last").stdout
    assert json.loads(cli.run("show", "last", "--format", "json").stdout)["change"]["undone"]["files"] == ["calc.py"]
    cli.run("apply", "last", "--all")
    assert RIGHT in code(cli)


def test_nobody_there_at_a_resume_is_not_a_no(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    with cli.terminal("build", TASK, *seats) as terminal:
        terminal.expect("Approve it?")
        terminal.type("\x04")
        terminal.end(code=3)
    done = cli.run("resume", "last", "--headless", code=3)
    assert "nobody said yes" in done.stdout
    assert code(cli) == CALC


def test_candidates_that_fail_are_told_and_nothing_is_offered(cli: Cli) -> None:
    done = cli.run("build", TASK, "--all", *cli.script(ada=coder(WRONG), bob=coder("return x")), code=3)
    assert "No candidate passed" in done.stdout
    assert "  bob: The check tests failed with exit code 1: AssertionError: 2 != 4." in done.stdout
    assert "  tests failed with bob" in done.stdout, "progress is told in a pipe too"
    assert "Proposed files:\n[ada]   calc.py: whole file, +6\n" in done.stdout
    assert "def half" not in done.stdout, "the reply itself is for `show`"
    assert code(cli) == CALC


def test_programs_get_every_fact_and_nothing_else(cli: Cli) -> None:
    lines = cli.json("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    results = [it["result"]["result"] for it in lines if it["kind"] == "effect.done"]
    assert results[-1] == "applied"
    assert "candidates_tried" in results
