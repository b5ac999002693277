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


def test_every_seat_writes_a_candidate_and_only_approved_hunks_are_written(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT, NOTES), bob=coder(WRONG))
    with cli.terminal("build", f"{TASK} in calc.py", *seats, columns=120, lines=50) as terminal:
        shown = terminal.expect("1 of 2 · NOTES.md: new file")
        assert "Neither the task nor a claim requested NOTES.md#1." in shown
        terminal.expect("Not requested, written by ada")
        terminal.type("n\n")
        terminal.expect("calc.py: hunk 1 of 1")
        terminal.expect(f"Requested by the task “{TASK} in calc.py”")
        screen = terminal.expect(f"+     {RIGHT}")
        assert code(cli) == CALC
        terminal.type("y\n")
        terminal.expect("Write the approved hunks?")
        terminal.type("y\n")
        end = terminal.end(code=0)
    assert "The candidates, best first" in screen
    assert "written by ada" in screen
    assert "-     return x + x + 1" in screen
    assert RIGHT in code(cli)
    assert not (cli.work / "NOTES.md").exists()
    assert "The rehearsal:" in end
    assert end.count("Neither the task nor a claim requested NOTES.md#1.") == 1
    end = end.rpartition("Decision reached")[2]
    assert "Written:\n  calc.py: 1 hunk, +1 -1\n" in end
    assert "Here it is." not in end
    assert "roundtable undo" in end
    assert git(cli.work, "log", "--format=%s").splitlines()[0] == f"{TASK} in calc.py"
    output = cli.run("show", "last").stdout
    assert "## Candidates" in output
    assert "**calc.py#1**" in output
    assert "left out" in output


def test_a_slow_terminal_shows_a_whole_hunk_before_the_question_about_it(cli: Cli) -> None:
    long = "".join(f"    # Line {number} of what is to be known about doubling.\n" for number in range(1000))
    with cli.terminal("build", TASK, *cli.script(ada=coder(f"{RIGHT}\n{long}"))) as terminal:
        terminal.expect("Keys: y approve the hunk")
        terminal.look_away()
        screen = terminal.expect("Approve this hunk?")
        assert "+     # Line 999 of" in screen
        assert "calc.py: hunk 1 of 1" in screen.rpartition("# Line 999 of")[2], "the heading has scrolled away"
        terminal.type("q\n")
        terminal.end(code=0)


def test_written_code_is_shown_under_its_file_name_and_never_called_a_vote(cli: Cli) -> None:
    cli.run("build", TASK, "--headless", *cli.script(ada=coder(RIGHT), bob=coder(WRONG)), code=3)
    with cli.terminal("show", "last", columns=120) as terminal:
        lines = [line.strip(" ▌") for line in terminal.end(code=0).splitlines()]
    begun = [at for at, line in enumerate(lines) if line.startswith("def double(x):")]
    above = [next(line for line in reversed(lines[:at]) if line) for at in begun]
    assert above.count("calc.py") >= 2
    assert all(line.startswith("calc.py") for line in above)
    assert "Votes" not in lines
    assert "Proposals" in lines


@pytest.mark.feature("S3.87")
def test_all_answers_in_advance_and_warns_that_it_writes_without_asking(cli: Cli) -> None:
    result = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT), bob=coder(WRONG)))
    assert "--all" in result.stderr
    assert "writes every file without asking" in result.stderr
    assert RIGHT in code(cli)
    (answer,) = [fact for fact in read_record(cli) if fact["kind"] == "gate.answered"]
    assert (answer["option"], answer["by"]) == ("all", "answered in advance")


def test_all_contradicts_another_answer_to_the_same_gate(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    output = cli.run("build", TASK, *seats, "--all", "--answer", "approve=none", code=2).stderr
    assert "contradicts another answer" in output
    assert code(cli) == CALC


def test_a_quorum_counts_the_seats_that_wrote_a_candidate(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT), bob={"turns": [{"fault": "quota"}]})
    result = cli.run("build", TASK, *seats, "--quorum", "2", "--all", code=6)
    assert "Only 1 of 2 seats gave a valid answer: fewer than the quorum." in result.stdout
    assert code(cli) == CALC
    output = cli.run("build", TASK, *seats, "--all").stdout
    assert "DEGRADED: counted 1 of 2." in output
    assert "meet the quorum" not in output, "where nobody asked for more, one that runs is enough"
    assert RIGHT in code(cli)


def test_without_a_terminal_nothing_is_written_and_the_next_command_is_named(cli: Cli) -> None:
    result = cli.run("build", TASK, "--headless", *cli.script(ada=coder(RIGHT)), code=3)
    assert "nobody approved it" in result.stdout
    assert "roundtable apply" in result.stdout
    assert code(cli) == CALC
    cli.run("apply", "--all")
    assert RIGHT in code(cli)


def test_a_rejected_draft_can_be_reviewed_again_only_by_the_name_of_its_session(cli: Cli) -> None:
    with cli.terminal("build", TASK, *cli.script(ada=coder(RIGHT))) as terminal:
        terminal.expect("Approve this hunk?")
        terminal.type("n\n")
        terminal.expect("No hunk is approved. Quit without writing?")
        terminal.type("q\n")
        end = terminal.end(code=0)
    assert "Decision rejected" in end
    assert "To see the change again, run `roundtable apply` with this session." in " ".join(end.split())
    (opened, *_) = read_record(cli)
    name = opened["charter"]["slug"]
    assert "This workspace has no decision that can be applied." in cli.run("apply", "--all", code=2).stderr
    assert "calc.py: 1 hunk, +1 -1" in cli.run("apply", name, "--headless", code=3).stdout
    assert code(cli) == CALC
    cli.run("apply", name, "--all")
    assert RIGHT in code(cli)
    assert "was already applied" in cli.run("apply", name, "--all", code=2).stderr


@pytest.mark.parametrize("closed", ["", ".git"])
def test_a_read_only_workspace_is_reported_before_any_seat_is_asked(cli: Cli, closed: str) -> None:
    seats = cli.script(ada=coder(RIGHT))
    folder = str(cli.work / closed).rstrip("/")
    locked = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", folder, folder, *ROUNDTABLE]
    process = subprocess.run(
        [*locked, "build", TASK, "--all", *seats],
        cwd=cli.work,
        env=cli.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert f"{folder} is not writable, so no seat was asked." in process.stderr
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_a_dry_run_only_shows_the_plan_and_a_branch_leaves_the_files_unchanged(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    output = cli.run("build", TASK, "--dry-run", *seats).stdout
    assert "calc.py: 1 hunk, +1 -1" in output
    assert f"  -    return x + x + 1\n  +    {RIGHT}\n" in output
    assert "Write the change with: roundtable apply 2" in output
    assert "is written" not in cli.run("apply", "last", "--all", "--dry-run").stderr
    assert code(cli) == CALC
    cli.run("build", TASK, "--all", "--branch", "doubled", *seats)
    (question,) = [fact["gate"]["question"] for fact in read_record(cli) if fact["kind"] == "gate.opened"]
    assert question == "ada wants to change 1 hunk in calc.py. Commit it to the branch doubled?"
    assert code(cli) == CALC
    assert RIGHT in git(cli.work, "show", "doubled:calc.py")


@pytest.mark.feature("S4.104")
def test_a_permanent_loss_is_written_once_its_exact_phrase_is_typed(cli: Cli) -> None:
    notes = cli.work / "mine.md"
    notes.write_text("Only here.\n")
    seats = cli.script(ada=coder(RIGHT, "\nDELETE mine.md\n"))
    with cli.terminal("build", TASK, *seats, columns=80, lines=50) as terminal:
        terminal.expect("calc.py: hunk 1 of 1")
        terminal.type("y\n")
        terminal.expect("2 of 2 · mine.md: deleted")
        terminal.type("y\n")
        terminal.expect("Write the approved hunks?")
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


AGENT_FILE = '\n```json .claude/settings.json\n{"hooks": {}}\n```\n'


def test_a_file_that_another_program_executes_is_never_written_in_bulk(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT, AGENT_FILE))
    refused = cli.run("build", TASK, "--all", *seats, code=3)
    assert ".claude/settings.json is written: a coding agent runs its commands." in refused.stdout
    assert code(cli) == CALC
    with cli.terminal("build", TASK, "--all", *seats, columns=120, lines=50) as terminal:
        terminal.expect("Type `write 2 files anyway` to continue")
        terminal.type("write 2 files anyway\n")
        terminal.end(code=0)
    assert (cli.work / ".claude" / "settings.json").read_text() == '{"hooks": {}}\n'


def test_a_file_that_the_task_names_needs_no_approval_of_its_own(cli: Cli) -> None:
    task = f"{TASK} and set up .claude/settings.json"
    cli.run("build", task, "--all", *cli.script(ada=coder(RIGHT, AGENT_FILE)))
    assert (cli.work / ".claude" / "settings.json").exists()


def test_a_makefile_that_a_check_runs_needs_an_approval_of_its_own(cli: Cli) -> None:
    cli.home.mkdir(exist_ok=True)
    (cli.home / "config.toml").write_text('[checks]\ntests = ["make", "test"]\n')
    (cli.work / "Makefile").write_text("test:\n\tpython3 -m unittest -q\n")
    git(cli.work, "add", "Makefile")
    git(cli.work, "commit", "-qm", "Add a Makefile")
    makefile = "\n```make Makefile\ntest:\n\ttrue\n```\n"
    refused = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT, makefile)), code=3)
    assert "Makefile" in refused.stdout
    assert (cli.work / "Makefile").read_text().endswith("unittest -q\n")


@pytest.mark.feature("S3.85")
def test_an_undone_change_is_shown_as_undone_everywhere_and_can_be_applied_again(cli: Cli) -> None:
    cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    assert "Undo it with: roundtable undo 1" in cli.run("show", "last").stdout
    cli.run("undo")
    for view in (cli.run("show", "last").stdout, cli.run("show", "last", "--format", "html").stdout):
        assert "its change was undone" in view
        assert "Change 1 was undone by" in view
        assert "Undo it with" not in view
    assert "its change was undone" in cli.run("status", "last").stdout
    assert json.loads(cli.run("show", "last", "--format", "json").stdout)["change"]["undone"]["files"] == ["calc.py"]
    cli.run("apply", "last", "--all")
    assert RIGHT in code(cli)


def test_resuming_without_a_terminal_does_not_reject_a_change(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    with cli.terminal("build", TASK, *seats) as terminal:
        terminal.expect("Approve this hunk?")
        terminal.type("\x04")
        terminal.end(code=3)
    result = cli.run("resume", "last", "--headless", code=3)
    assert "nobody approved it" in result.stdout
    assert code(cli) == CALC


def test_failed_candidates_are_reported_and_nothing_is_offered(cli: Cli) -> None:
    result = cli.run("build", TASK, "--all", *cli.script(ada=coder(WRONG), bob=coder("return x")), code=3)
    assert "No candidate passed" in result.stdout
    assert "  bob: The check tests failed with exit code 1: AssertionError: 2 != 4." in result.stdout
    assert "  tests failed with bob" in result.stdout, "progress is told in a pipe too"
    assert "Proposed files:\n[ada]   calc.py: whole file, +6\n" in result.stdout
    assert "def half" not in result.stdout, "the reply itself is for `show`"
    assert code(cli) == CALC


def test_json_output_contains_every_event_and_nothing_else(cli: Cli) -> None:
    lines = cli.json("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    results = [line["result"]["result"] for line in lines if line["kind"] == "effect.done"]
    assert results[-1] == "applied"
    assert "candidates_tried" in results
