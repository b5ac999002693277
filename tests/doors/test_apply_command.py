"""`roundtable apply`: what was decided becomes a change that the person approves hunk by hunk, or not at all."""

from __future__ import annotations

import pytest

from roundtable.app.desk import Agenda
from tests.doors.coding_seats import CALC, NOTES, RIGHT, coder, read_record
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import hold_meeting
from tests.repository import git


@pytest.fixture
def cli(coding_cli: Cli) -> Cli:
    return coding_cli


def decided(cli: Cli, extra: str = "") -> None:
    hold_meeting(cli, Agenda("What about double()?"), ada=coder(RIGHT, extra), bob=coder(RIGHT))


def code(cli: Cli) -> str:
    return (cli.work / "calc.py").read_text()


@pytest.mark.feature("S3.29", "S3.85", "S3.86", "S4.26", "S4.77")
def test_a_decision_is_applied_only_on_request_and_only_as_approved(cli: Cli) -> None:
    decided(cli, NOTES)
    assert code(cli) == CALC
    with cli.terminal("apply", "--by", "ada", columns=80, lines=40) as terminal:
        terminal.expect("Your choice")
        terminal.type("continue\n")
        terminal.expect("Approve this hunk?")
        terminal.type("t\n")
        terminal.expect("Your question about this hunk:")
        terminal.seen = ""
        terminal.type("Why this way?\n")
        terminal.expect("It was asked for.")
        terminal.expect("Gate approve-2")
        terminal.expect("Approve this hunk?")
        terminal.type("n\n")
        terminal.expect("calc.py: hunk 1 of 1")
        assert code(cli) == CALC
        terminal.type("y\n")
        terminal.expect("Rejected: NOTES.md#1.")
        terminal.type("y\n")
        end = terminal.end(code=0)
    assert "roundtable undo" in end
    assert RIGHT in code(cli)
    assert not (cli.work / "NOTES.md").exists()
    trailers = git(cli.work, "log", "-1", "--format=%B")
    assert "Produced-By: ada" in trailers
    assert "Approved-By:" in trailers
    cli.run("undo")
    assert code(cli) == CALC


def test_quitting_the_approval_writes_nothing(cli: Cli) -> None:
    decided(cli)
    with cli.terminal("apply", "--answer", "plan=continue") as terminal:
        terminal.expect("Approve this hunk?")
        terminal.type("q\n")
        terminal.end(code=0)
    assert code(cli) == CALC
    assert [fact["option"] for fact in read_record(cli) if fact["kind"] == "gate.answered"][-1] == "none"


def test_an_incomplete_answer_from_another_terminal_is_rejected_at_once(cli: Cli) -> None:
    decided(cli, NOTES)
    with cli.terminal("apply", "--answer", "plan=continue") as terminal:
        terminal.expect("Approve this hunk?")
        for text in ((), ("--text", "the first"), ("--text", '{"rejected": ["calc.py#9"]}'), ("--text", "{}")):
            output = cli.run("answer", "last", "approve=some", *text, code=2).stderr
            assert "The hunks are NOTES.md#1, calc.py#1." in " ".join(output.split())
        assert "needs --text with your question" in cli.run("answer", "last", "approve=ask", code=2).stderr
        cli.run("answer", "last", "approve=ask", "--text", "calc.py#1: Why?")
        terminal.expect("Gate approve-2")
        waits = cli.run("answer", "last", "approve=all", code=2).stderr
        assert "waits at approve-2" in waits
        for listing in (cli.run("gates").stdout, cli.run("status", "last").stdout):
            assert "NOTES.md: new file, +1" in listing
            assert "Hunks: NOTES.md#1 (new file), calc.py#1 (line 2)" in listing
            assert """approve-2=some --text '{"rejected": ["calc.py#1"]}'""" in listing
        cli.run("answer", "last", "approve-2=none")
        terminal.end(code=0)
    assert code(cli) == CALC


def test_edited_text_that_does_not_parse_is_reported_before_the_rehearsal(cli: Cli) -> None:
    editor = cli.home.parent / "editor"
    editor.write_text("#!/bin/sh\nprintf '    return (\\n' > \"$1\"\n")
    editor.chmod(0o755)
    cli.env["VISUAL"] = str(editor)
    decided(cli)
    with cli.terminal("apply", "--answer", "plan=continue") as terminal:
        terminal.expect("Approve this hunk?")
        terminal.type("e\n")
        terminal.expect("+     return (")
        terminal.expect("calc.py would not parse")
        terminal.expect("Press e to continue editing.")
        terminal.type("no\n")
        terminal.expect("No hunk is approved. Quit without writing?")
        terminal.type("q\n")
        terminal.end(code=0)
    assert code(cli) == CALC


def test_another_terminal_can_approve_a_change(cli: Cli) -> None:
    decided(cli, NOTES)
    with cli.terminal("apply", "--answer", "plan=continue") as terminal:
        terminal.expect("Approve this hunk?")
        cli.run("answer", "last", "approve=some", "--text", '{"rejected": ["NOTES.md#1"]}')
        terminal.end(code=0)
    assert RIGHT in code(cli)
    assert not (cli.work / "NOTES.md").exists()


def test_a_closed_terminal_leaves_the_gate_open_and_resume_asks_again(cli: Cli) -> None:
    decided(cli)
    with cli.terminal("apply", "--answer", "plan=continue") as terminal:
        terminal.expect("Approve this hunk?")
        terminal.type("\x04")
        assert "Gate approve stays open" in terminal.end(code=3)
    assert code(cli) == CALC
    with cli.terminal("resume", "last") as terminal:
        screen = terminal.expect("Approve this hunk?")
        assert "calc.py: 1 hunk, +1 -1" in screen
        assert "The candidates, best first" in screen
        terminal.type("y\n")
        terminal.expect("Write the approved hunks?")
        terminal.type("y\n")
        terminal.end(code=0)
    assert RIGHT in code(cli)


@pytest.mark.feature("S4.104")
def test_a_permanent_loss_needs_the_typed_phrase_whatever_the_seats_agree_on(cli: Cli) -> None:
    (cli.work / "calc.py.orig").write_text("The only copy.\n")
    decided(cli, "\nDELETE calc.py.orig\n")
    cli.run("apply", "--all", code=3)
    assert (cli.work / "calc.py.orig").exists()
    with cli.terminal("apply", "--all", "--answer", "plan=continue") as terminal:
        terminal.expect("to continue, or press Enter to write nothing")
        terminal.type("yes\n")
        terminal.expect("The phrase does not match.")
        terminal.type("\n")
        terminal.end(code=0)
    assert (cli.work / "calc.py.orig").exists()


def test_a_session_without_a_decision_cannot_be_applied(cli: Cli) -> None:
    output = cli.run("apply", code=2).stderr
    assert "This workspace has no decision that can be applied." in output
