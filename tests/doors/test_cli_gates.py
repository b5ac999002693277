"""Gates as a person meets them: asked in words, answered by key or from elsewhere, left open and found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import debater, doctor, knight, voter
from tests.live.test_gate_options import FINAL_OPTIONS


def knights(cli: Cli, *scores: int) -> list[str]:
    seats = cli.script(a=knight(*scores, text="Use Redis."), b=knight(9, text="Keep it in memory."))
    return ["discuss", "Redis?", "--meeting", "knights", *seats]


@pytest.mark.feature("S3.50")
@pytest.mark.parametrize(
    ("typed", "step"), [("a", "apply"), ("2", "myself"), ("later", "later"), ("\n", "later"), ("M", "myself")]
)
def test_the_final_choice_is_asked_in_words_and_answered_by_letter_number_name_or_enter(
    cli: Cli, typed: str, step: str
) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        screen = terminal.expect("Your choice [1-6, Enter for later]:")
        terminal.type(typed.rstrip("\n") + "\n")
        terminal.end(code=0)
    assert "1. apply (a): mark it to be carried out (with `roundtable apply`)" in screen
    assert "2. myself (m): you carry it out yourself" in screen
    assert "3. later (l): decide later (default)" in screen
    assert json.loads(cli.run("status", "--json").stdout)["decision"]["next_step"] == step


@pytest.mark.feature("S3.45")
def test_rejecting_asks_for_a_reason_that_becomes_a_decree(cli: Cli) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        terminal.expect("Your choice")
        terminal.type("r\n")
        terminal.expect("Why is it rejected? Later meetings will see the reason [Enter to skip]:")
        terminal.type("We have no one to run Redis.\n")
        terminal.end(code=0)
    assert "We have no one to run Redis." in cli.run("decrees").stdout


def test_sending_the_seats_back_asks_for_a_note_that_they_read(cli: Cli) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        terminal.expect("Your choice")
        terminal.type("back: think of the cache\n")
        terminal.expect("Gate decide: back: think of the cache")
        terminal.expect("Gate decide-2:")
        terminal.type("myself\n")
        terminal.end(code=0)


@pytest.mark.feature("S3.61")
@pytest.mark.parametrize(("typed", "option"), [("f", "fix"), ("report", "report"), ("3", "log")])
def test_a_diagnosis_ends_with_a_fix_a_report_or_a_log_entry(cli: Cli, typed: str, option: str) -> None:
    seats = cli.script(a=doctor("stale-token"), b=doctor("stale-token"))
    with cli.terminal("code-red", "login crashes", "--plain", *seats) as terminal:
        screen = terminal.expect("Your choice [1-3, Enter for report]:")
        terminal.type(typed + "\n")
        assert f"Gate outcome: {option}" in terminal.end(code=0)
    assert "1. fix (f): mark it to be fixed (with `roundtable apply`)" in screen
    assert "3. log (l): write it into the error log for later" in screen


def test_the_proposals_are_shown_when_a_tie_is_broken(cli: Cli) -> None:
    seats = cli.script(a=voter("A chess app", "A", "B"), b=voter("A garden app", "B", "A"))
    with cli.terminal("vote", "What next?", "--plain", *seats) as terminal:
        screen = terminal.expect("Your choice [1-3, Enter for none]:")
        terminal.type("?\n")
        again = terminal.expect("[1-3, Enter for none]: ?\n  1. A:")
        assert "There is no option" not in again
        terminal.type("1\n")
        assert "Decision reached" in terminal.end(code=0)
    assert "A chess app" in screen
    assert "A garden app" in screen


def test_nothing_is_executed_without_approval(cli: Cli) -> None:
    agree = "AGREE: a\nSimple is enough."
    seats = cli.script(a=debater("Use REST", agree), b=debater("Use REST", agree))
    with cli.terminal("debate", "REST?", "--plain", *seats) as terminal:
        screen = terminal.expect("Your choice [1-2, Enter for no]:")
        terminal.type("\n")
        terminal.end(code=0)
    assert "2. no (n): nothing is carried out (default)" in screen
    assert json.loads(cli.run("status", "--json").stdout)["decision"].get("next_step", "") == ""


def test_an_approval_is_recorded_without_claiming_that_anything_was_done(cli: Cli) -> None:
    agree = "AGREE: a\nSimple is enough."
    seats = cli.script(a=debater("Use REST", agree), b=debater("Use REST", agree))
    output = cli.run("debate", "REST?", *seats, "--answer", "execute=yes").stdout
    assert "1. yes (y): mark it to be carried out (with `roundtable apply`)" in output
    assert "Next step: carry it out with `roundtable apply`." in output


# --- later, and from elsewhere -------------------------------------------------------------------


def test_ctrl_c_leaves_the_gate_open_and_prints_how_to_answer_it_later(cli: Cli) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        terminal.expect("Your choice")
        terminal.type("\x03")
        screen = terminal.end(code=130)
    assert "Gate decide stays open. Its options are: apply, myself, later, back, choose, reject." in screen
    assert "decide=OPTION" in screen
    (waiting,) = json.loads(cli.run("gates", "--json").stdout)["gates"]
    assert (waiting["gate"], tuple(waiting["options"]), waiting["default"]) == ("decide", FINAL_OPTIONS, "later")
    assert waiting["asks"] == "Redis?"
    assert waiting["since"].endswith("Z")
    assert waiting["pid"] is None
    output = cli.run("answer", waiting["address"], "decide=m", "--text", "On Monday.").stdout
    assert output == f"Gate decide is answered: myself; continue with: roundtable resume {waiting['address']}\n"
    assert "Next step: a person carries it out by hand." in cli.run("resume").stdout
    assert "No gate is waiting in this workspace." in cli.run("gates").stderr


def test_an_answer_without_a_session_goes_to_the_waiting_session(cli: Cli) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        terminal.expect("Your choice")
        terminal.type("\x03")
        terminal.end(code=130)
    cli.run(*knights(cli, 9))
    assert "Gate decide is answered: myself" in cli.run("answer", "decide=myself").stdout
    assert "already answered" in cli.run("answer", "decide=myself", code=2).stderr


def test_gates_lists_open_gates_with_their_options_and_how_to_answer(cli: Cli, tmp_path: Path) -> None:
    with cli.terminal(*knights(cli, 9), "--plain") as terminal:
        terminal.expect("Your choice")
        listed = cli.run("gates").stdout
        assert "continues at once" in listed
        assert "Gate decide:" in listed
        assert "3. later (l): decide later (default)" in listed
        assert "decide=OPTION" in listed
        cli.work = tmp_path / "elsewhere"
        cli.work.mkdir()
        assert cli.run("gates").stdout == ""
        assert "Gate decide:" in cli.run("gates", "--all").stdout


def test_a_gate_takes_its_default_without_a_terminal(cli: Cli) -> None:
    lines = cli.json(*knights(cli, 9))
    (opened,) = [line["gate"] for line in lines if line["kind"] == "gate.opened"]
    (answered,) = [line for line in lines if line["kind"] == "gate.answered"]
    assert (answered["option"], answered["by"]) == (opened["default"], "headless default")


def test_a_gate_can_be_answered_in_advance(cli: Cli) -> None:
    output = cli.run(*knights(cli, 9), "--answer", "decide=myself").stdout
    assert "Gate decide: myself (answered in advance)." in output


def test_a_repeated_gate_can_be_answered_in_advance_by_its_number(cli: Cli) -> None:
    output = cli.run(*knights(cli, 9), "--answer", "decide=back", "--answer", "decide-2=myself").stdout
    assert "Gate decide-2: myself (answered in advance)." in output
    seats = cli.script(a=debater("REST", "AGREE: a"), b=debater("REST", "AGREE: a"))
    cli.run("debate", "REST?", *seats, "--answer", "interjection-3=end")
    for unknown in ("interjection=end", "chose-2=a"):
        refused = cli.run("debate", "REST?", *seats, "--answer", unknown, code=2).stderr
        assert f"has no gate called {unknown.partition('=')[0]}." in refused
