"""The commands that hold and steer a session, as people and programs use them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from importlib import import_module
from typing import Any

import click
import pytest

from roundtable.core.events import event_from_json
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Absence, Decision, Outcome
from roundtable.doors.cli.main import COMMANDS
from roundtable.doors.cli.output import decision_exit_code
from tests.doors.command_line import ROUNDTABLE, Cli
from tests.doors.scripted_seats import HANGING_SEAT, blind_answer, council_seat

OPTIONS = ("--option", "REST", "--option", "GraphQL")
HEAVY = ("msgspec", "rich", "httpx2", "asyncio", "sqlite3")


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [line["kind"] for line in lines]


# --- the front door ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for section in COMMANDS.values() for name in section])
def test_the_table_of_commands_says_what_the_commands_say(name: str) -> None:
    module, attribute, help = next(section[name] for section in COMMANDS.values() if name in section)
    command = getattr(import_module(f"roundtable.doors.cli.{module}"), attribute)
    assert isinstance(command, click.Command)
    assert command.get_short_help_str(200) == help
    assert command.name == name


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from roundtable.doors.cli.main import _run; _run(['--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "discuss" in process.stdout
    assert process.stderr.strip() == "[]"


def test_an_unknown_command_names_the_nearest(cli: Cli) -> None:
    assert "Did you mean `roundtable discuss`?" in cli.run("discus", code=2).stderr


@pytest.mark.feature("S2.43")
@pytest.mark.parametrize("args", [("-C", "nowhere", "discuss", "x"), ("discuss", "x", "--workspace", "nowhere")])
def test_a_missing_workspace_is_reported_in_one_sentence(cli: Cli, args: tuple[str, ...]) -> None:
    assert cli.run(*args, code=2).stderr.startswith("Error: Folder not found: nowhere.")


def test_debug_is_understood_after_the_command_and_adds_the_traceback(cli: Cli) -> None:
    process = subprocess.run(
        [*ROUNDTABLE, "watch", "nothing-here", "--debug"], cwd=cli.work, env=cli.env, capture_output=True, text=True
    )
    assert process.returncode == 2
    assert "Traceback" in process.stderr
    assert "Error: There is no session nothing-here." in process.stderr


# --- exit codes ----------------------------------------------------------------------------------

MISSING = (Absence("gpt", Fault.of(FaultKind.TIMEOUT, "Too slow.")),)


@pytest.mark.parametrize(
    ("outcome", "how", "code"),
    [
        (Outcome.REACHED, {}, 0),
        (Outcome.REJECTED, {}, 0),
        (Outcome.REACHED, {"degraded": True}, 0),
        (Outcome.REACHED, {"degraded": True, "strict": True}, 4),
        (Outcome.REACHED, {"strict": True}, 0),
        (Outcome.TIE, {"degraded": True, "strict": True}, 3),
        (Outcome.DEADLOCK, {}, 3),
        (Outcome.CANCELLED, {}, 3),
        (Outcome.INSUFFICIENT, {"limited": True}, 3),
        (Outcome.INSUFFICIENT, {}, 6),
        (Outcome.FAILED, {}, 6),
    ],
)
def test_exit_codes_of_decisions(outcome: Outcome, how: dict[str, bool], code: int) -> None:
    missing = MISSING if how.pop("degraded", False) else ()
    assert decision_exit_code(Decision(outcome, (), missing=missing), **how) == code


@pytest.mark.parametrize(
    ("seats", "args", "code"),
    [
        ({"a": council_seat("REST"), "b": council_seat("REST")}, (), 0),
        ({"a": council_seat("REST", "A"), "b": council_seat("GraphQL", "B")}, (), 3),
        ({"a": council_seat("REST", "A"), "b": council_seat("GraphQL", "B")}, ("--answer", "choose=B"), 0),
        (
            {"a": council_seat("REST"), "b": council_seat("REST"), "c": HANGING_SEAT},
            ("--timeout", "0.5", "--strict"),
            4,
        ),
        ({"a": council_seat("REST"), "b": {"turns": [{"fault": "refused"}]}}, (), 6),
        ({"a": {"turns": [{"fault": "refused"}]}, "b": {"turns": [{"fault": "quota"}]}}, (), 6),
        ({"a": council_seat("REST", "A"), "b": council_seat("GraphQL", "B")}, ("--budget-usd", "0"), 3),
    ],
)
def test_a_discussion_leaves_with_its_exit_code(
    cli: Cli, seats: dict[str, Any], args: tuple[str, ...], code: int
) -> None:
    result = cli.run("discuss", "REST or GraphQL?", *cli.script(**seats), *OPTIONS, *args, code=code)
    assert ("No decision" if code in (3, 6) else "Decision reached") in result.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("discuss", " "), "The argument QUESTION is missing."),
        (("discuss", "x", "--seat", "nonsense"), "Seat nonsense is not configured. Configured seats: rest, third."),
        (("discuss", "x", "--seat", "nonsense="), "Invalid value for --seat: nonsense=."),
        (("discuss", "x", "--seat", "a=b"), "Invalid voice: b."),
        (("discuss", "x", "--seat", "a=script:absent.toml"), "Seat a cannot speak: There is no script"),
        (("discuss", "x", "--seat", "a=nowhere:model"), "Seat a cannot speak"),
        (("discuss", "x", "--seat", "a=script:s.json", "--quorum", "9"), "1 seat cannot meet a quorum of 9"),
        (("discuss", "x", "--seat", "a=script:s.json", "--answer", "chose=A"), "has no gate called chose"),
        (("discuss", "x", "--seat", "a=script:s.json", "--file", "s.json:900-1000"), "contains no text"),
        (("discuss", "x", "--seat", "a=script:s.json", "--file", "no.txt"), "There is no file no.txt"),
        (("discuss", "x", "--seat", "a=script:s.json", "--file", "."), ". is a folder."),
        (("discuss", "x", "--seat", "a=script:s.json", "--option", "one"), "Give at least two different options."),
        (("discuss", "x", "--seat", "a=script:s.json", "--answer", "yes"), "Invalid value for --answer: yes."),
        (("discuss", "x", "--seat", "a=script:s.json", "--meeting", "brawl"), "brawl"),
        (("discuss", "x", "--json", "--plain"), "cannot be combined"),
        (("discuss", "x", "--timeout", "-1"), "--timeout"),
        (("resume",), "There are no sessions in this workspace yet."),
        (("say", "last", "one", "two"), "3 arguments given"),
        (("amend", "last"), "No change was given"),
    ],
)
def test_a_wrong_argument_is_one_clear_sentence(cli: Cli, args: tuple[str, ...], says: str) -> None:
    (cli.work / "s.json").write_text("{}")
    cli.home.mkdir()
    (cli.home / "config.toml").write_text("[seats]\nrest.voices = ['x:y']\nthird.voices = ['x:y']")
    result = cli.run(*args, code=2)
    assert says in result.stderr
    assert result.stdout == ""


def test_without_seats_it_says_how_to_give_some(cli: Cli) -> None:
    assert "No seats are configured" in cli.run("discuss", "x", code=2).stderr
    assert "Seat ada is not configured.\n" in cli.run("discuss", "x", "--seat", "ada", code=2).stderr


# --- pipes and programs --------------------------------------------------------------------------


def test_json_is_the_record_and_nothing_else(cli: Cli) -> None:
    result = cli.run(
        "discuss", "Which?", *cli.script(a=council_seat("REST", rate=500), b=council_seat("REST")), *OPTIONS, "--json"
    )
    lines = result.stdout.splitlines()
    assert result.stderr == ""
    for line in lines:
        event_from_json(line)
    items = [json.loads(line) for line in lines]
    assert [item["seq"] for item in items if item["kind"] != "delta"] == list(
        range(1, 1 + sum(k != "delta" for k in kinds(items)))
    )
    assert all("seq" not in item for item in items if item["kind"] == "delta")
    text = "".join(item["text"] for item in items if item["kind"] == "delta" and item["seat"] == "a")
    assert text.startswith("Because.")
    assert kinds(items)[-1] == "session.ended"


def test_plain_lines_carry_the_seat_and_no_escape_sequence(cli: Cli) -> None:
    evil = "One.\x1b[31m red\x1b[0m\x1b]0;title\x07 [bold]two[/bold]\n[b] forged\r\nthree"
    result = cli.run(
        "discuss", "Which?", *cli.script(a=council_seat("REST", text=evil), b=council_seat("REST")), *OPTIONS
    )
    assert "\x1b" not in result.stdout
    assert "[a] One. red [bold]two[/bold]\n[a] [b] forged\n[a] three\n" in result.stdout
    assert "[a] Position: REST, 80% sure" in result.stdout
    assert "Decision reached: REST" in result.stdout
    assert "roundtable show " in result.stdout


def test_the_question_may_come_from_standard_input(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    assert "Question: From a pipe?" in cli.run("discuss", *seats, *OPTIONS, input="From a pipe?\n").stdout
    assert "Question: With a dash?" in cli.run("discuss", "-", *seats, *OPTIONS, input="With a dash?\n").stdout


def test_files_are_named_from_where_the_person_stands(cli: Cli) -> None:
    (cli.work / "docs").mkdir()
    (cli.work / "docs" / "api.md").write_text("one\ntwo\nthree\n")
    seats = [
        part.replace("script:", f"script:{cli.work}/")
        for part in cli.script(a=council_seat("REST"), b=council_seat("REST"))
    ]
    lines = cli.json("-C", "docs", "discuss", "Which?", *seats, *OPTIONS, "-f", "api.md:2-3")
    assert lines[0]["charter"]["context"][0]["name"] == "docs/api.md:2-3"


def test_a_closed_pipe_stops_the_run_without_a_traceback(cli: Cli) -> None:
    with cli.started("discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), "--json") as running:
        running.until("round.opened")
        assert running.process.stdout is not None
        running.process.stdout.close()
        cli.run("say", "last", "Anybody there?")
        assert running.process.stderr is not None
        err = running.process.stderr.read()
        assert running.process.wait(60) == 130
    assert "Resume with: roundtable resume" in err
    assert "Traceback" not in err


def test_a_slow_reader_does_not_delay_the_meeting(cli: Cli) -> None:
    long = council_seat("REST", text="word " * 40_000)
    with cli.started("discuss", "Which?", *cli.script(a=long, b=long), *OPTIONS, "--json") as running:
        running.until("run.started")
        assert kinds(cli.json("watch", "last"))[-1] == "session.ended"
        running.rest(code=0)
        assert kinds(running.lines)[-1] == "session.ended"


# --- stopping and resuming -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_session_says_how_to_resume_and_asks_nobody_twice(cli: Cli, number: signal.Signals) -> None:
    with cli.started(
        "discuss", "Which one?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--json"
    ) as running:
        running.until("move.made")
        if not any(line["kind"] == "delta" and line["seat"] == "b" for line in running.lines):
            running.until("delta", seat="b")
        running.signal(number)
        err = running.rest(code=130)
    assert "Stopped. Resume with: roundtable resume" in err
    address = err.split()[-1]
    assert "which-one" in address
    assert {"kind": "turn.interrupted", "seat": "b", "partial": "I was about to"}.items() <= running.lines[-2].items()
    assert kinds(running.lines)[-1] == "run.stopped"

    cli.script(a=HANGING_SEAT, b=council_seat("REST"))
    lines = cli.json("resume", address)
    assert [line["seat"] for line in lines if line["kind"] == "turn.asked"] == ["a", "b", "b"]
    assert lines[-1]["outcome"] == "reached"
    assert "has ended" in cli.run("resume", address).stderr


@pytest.mark.feature("S4.96")
def test_a_killed_session_is_resumed_where_it_was(cli: Cli) -> None:
    with cli.started(
        "discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--json"
    ) as running:
        running.until("move.made")
        running.process.kill()
        running.process.wait()
    cli.script(a=HANGING_SEAT, b=council_seat("REST"))
    output = cli.run("resume").stdout
    assert "[a] 1-blind: REST" in output
    assert output.count("[a] ") == 1
    assert "[b] Because." in output
    assert "Decision reached: REST" in output


@pytest.mark.feature("S4.7")
def test_a_name_continues_an_unfinished_session_or_starts_a_new_one(cli: Cli) -> None:
    options = (*cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--session", "api", "--json")
    with cli.started("discuss", "Which?", *options) as running:
        running.until("move.made")
        assert "is running in process" in cli.run("discuss", "Which?", *options, code=5).stderr
        running.signal(signal.SIGINT)
        running.rest(code=130)
    first = running.lines[0]["session"]
    assert "has another question: Which?" in cli.run("discuss", "Something else?", *options, code=2).stderr
    cli.script(a=council_seat("REST"), b=council_seat("REST"))
    assert {item["session"] for item in cli.json("discuss", "Which?", *options[:-1])} == {first}
    assert first not in {item["session"] for item in cli.json("discuss", "Which?", *options[:-1])}


# --- two terminals -------------------------------------------------------------------------------


def test_a_running_session_is_steered_from_elsewhere(cli: Cli) -> None:
    with cli.started(
        "discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--json"
    ) as running:
        running.until("move.made")
        with cli.started("watch", "last", "--json") as watching:
            assert watching.until("delta", seat="b")["text"] == "I was about to"
            assert "will read the note at the next turn" in cli.run("say", "The budget is small.").stdout
            assert running.until("note.said")["text"] == "The budget is small."
            cli.run("say", "last", "-", "--to", "b", input="Look again.")
            assert running.until("note.said")["to"] == ["b"]
            assert "There is no seat nobody" in cli.run("say", "x", "--to", "nobody", code=2).stderr
            assert "is running in process" in cli.run("resume", code=5).stderr
            assert "pauses after the turns in progress" in cli.run("pause").stdout
            running.until("pause.asked")
            assert "continues" in cli.run("resume").stderr
            running.until("continue.asked")
            cli.run("amend", "last", "--rename", "api", "--seat-off", "b", "--timeout", "300")
            assert running.until("session.amended")["limits"]["seat_timeout"] == 300
            assert "is not waiting at a gate" in cli.run("answer", "yes", code=2).stderr
            assert "is cancelled" in cli.run("cancel", "api", "--reason", "enough").stdout
            assert running.until("cancel.asked")["reason"] == "enough"
            running.rest(code=3)
            watching.rest(code=3)
        assert kinds(running.lines)[-1] == kinds(watching.lines)[-1] == "session.ended"
        facts = [line for line in running.lines if line["kind"] != "delta"]
        assert [line for line in watching.lines if line["kind"] != "delta"] == facts
    assert "has ended" in cli.run("cancel", code=2).stderr
    assert "has ended" in cli.run("say", "hello", code=2).stderr


def test_a_session_without_a_process_accepts_notes_and_can_be_cancelled(cli: Cli) -> None:
    with cli.started("discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), "--json") as running:
        running.until("move.made")
        running.signal(signal.SIGINT)
        running.rest(code=130)
    assert "nothing to pause" in cli.run("pause", code=2).stderr
    assert "when the session continues" in cli.run("say", "Hello.").stdout
    cli.run("cancel")
    lines = cli.json("watch", "last", code=3)
    assert kinds(lines)[-1] == "session.ended"
    assert lines[-1]["outcome"] == "cancelled"
    assert "No decision (cancelled)" in cli.run("resume", code=3).stdout


def test_watching_what_is_there(cli: Cli) -> None:
    cli.run("discuss", "Which?", *cli.script(a=council_seat("REST"), b=council_seat("REST")), *OPTIONS)
    whole = cli.json("watch")
    assert [item["seq"] for item in cli.json("watch", "last", "--after", "3")] == [item["seq"] for item in whole][3:]
    assert cli.json("watch", "last", "--after", "999") == []
    assert "Decision reached: REST" in cli.run("watch", "last", "--no-follow").stdout


def test_a_branch_goes_its_own_way(cli: Cli) -> None:
    cli.run(
        "discuss", "Which?", *cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B")), *OPTIONS, code=3
    )
    first = json.loads(cli.run("list", "--json").stdout)["sessions"][0]["slug"]
    output = cli.run("branch", first[:-2], "--at", "3").stdout.split()[-1]
    assert output == f"{first}-2"
    cli.script(a=council_seat("REST", "A"), b=council_seat("REST", "A"))
    lines = cli.json("resume", output, code=3)
    assert lines[0]["charter"]["parent"]
    assert [line["round"] for line in lines if line["kind"] == "round.opened"] == [
        "council/1-blind",
        "council/3-reconsider",
    ]
    assert "This session has no round 9." in cli.run("branch", output, "--at", "9", code=2).stderr


# --- at a terminal -------------------------------------------------------------------------------


@pytest.mark.feature("S3.88")
def test_the_live_display_shows_every_seat_and_leaves_the_whole_argument_behind(cli: Cli) -> None:
    text = "Plain [bold]REST[/bold] is \x1b[31mcheaper\x1b[0m to run."
    seats = cli.script(
        claude=council_seat("REST", text=text, rate=30),
        gpt={"turns": [{"fault": "unauthorized", "message": "No such key", "latency": 0.5}]},
        gemini=council_seat("REST", rate=30),
        grok=HANGING_SEAT,
    )
    with cli.terminal("discuss", "Which?", *seats, *OPTIONS, "--timeout", "3") as terminal:
        terminal.expect("● claude responding · 1-blind")
        terminal.expect("✗ gpt error")
        terminal.expect("✓ claude done")
        screen = terminal.end(code=0)
    assert "\x1b[36m" in terminal.seen
    assert "\x1b[31mcheaper" not in terminal.seen
    assert "Plain [bold]REST[/bold] is cheaper to run." in screen
    assert "◌ grok did not answer: timed out" in screen
    assert "DEGRADED: counted 2 of 4." in screen
    assert terminal.seen.rindex("\x1b[?25h") > terminal.seen.rindex("\x1b[?25l")


@pytest.mark.feature("S3.88")
def test_while_a_seat_thinks_there_is_a_sign_of_life_with_colours_only_where_they_are_wanted(cli: Cli) -> None:
    seats = cli.script(claude=council_seat("REST", latency=1.5), gpt=council_seat("REST", latency=1.5))
    for colored in (True, False):
        cli.env |= {} if colored else {"NO_COLOR": "1"}
        with cli.terminal("discuss", "Which?", *seats) as terminal:
            terminal.expect("thinking…")
            screen = terminal.end(code=0)
        assert len(set(re.findall(r"· ([\d.]+s) ─╯", screen))) > 1, "a clock that runs"
        assert ("\x1b[36m" in terminal.seen) == colored
    assert "\x1b" not in cli.run("discuss", "Which?", *seats).stdout


def test_a_person_is_asked_at_a_gate(cli: Cli) -> None:
    with cli.terminal(
        "discuss", "Which?", *cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B")), *OPTIONS
    ) as terminal:
        terminal.expect("Your choice [1-3, Enter for none]:")
        terminal.type("7\n")
        terminal.expect("Invalid option: 7.")
        terminal.type("2\n")
        assert "Decision reached: GraphQL" in terminal.end(code=0)


def test_a_gate_can_be_answered_from_another_terminal(cli: Cli) -> None:
    with cli.terminal(
        "discuss", "Which?", *cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B")), *OPTIONS
    ) as terminal:
        terminal.expect("Your choice")
        assert "has no option maybe" in cli.run("answer", "last", "choose=maybe", code=2).stderr
        assert "Gate choose is answered: A" in cli.run("answer", "a").stdout
        screen = terminal.end(code=0)
    assert "Decision reached: REST" in screen
    assert re.search(r"Enter for none\]: *\n", screen), "what follows is not on the line of the question"


def test_watching_at_a_gate_shows_how_to_answer_it(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B"))
    with cli.terminal("discuss", "Which?", *seats, *OPTIONS) as terminal:
        terminal.expect("Your choice")
        with cli.terminal("watch", "last", columns=80) as watches:
            watches.expect("=OPTION")
            address = json.loads(cli.run("list", "--json").stdout)["sessions"][0]["address"]
            watches.expect(f"roundtable answer {address} choose=OPTION")
            watches.expect("✓ a done")
            cli.run("answer", "A")
            watches.end(code=0)


def test_an_unanswered_gate_waits_for_the_next_run(cli: Cli) -> None:
    with cli.terminal(
        "discuss", "Which?", *cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B")), *OPTIONS
    ) as terminal:
        terminal.expect("Your choice")
        terminal.type("\x04")
        assert "The gate was not answered." in terminal.end(code=3)
    assert cli.run("answer", "last", "choose", "1").stdout.startswith("Gate choose is answered: A; continue with")
    assert "Decision reached: REST" in cli.run("resume").stdout


def test_a_gate_takes_its_default_when_resumed_without_a_terminal(cli: Cli) -> None:
    with cli.terminal(
        "discuss", "Which?", *cli.script(a=council_seat("REST", "A"), b=council_seat("GraphQL", "B")), *OPTIONS
    ) as terminal:
        terminal.expect("Your choice")
        terminal.type("\x03")
        assert "Stopped. Resume with" in terminal.end(code=130)
    lines = cli.json("resume", code=3)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    (answered,) = [line for line in lines if line["kind"] == "gate.answered"]
    assert (answered["option"], answered["by"]) == ("none", "headless default")


def test_ctrl_c_removes_the_panels_and_does_not_stop_a_watched_session(cli: Cli) -> None:
    with cli.terminal("discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS) as terminal:
        terminal.expect("I was about to")
        terminal.type("\x03")
        screen = terminal.end(code=130)
    assert "Resume with: roundtable resume" in screen
    assert terminal.seen.rindex("\x1b[?25h") > terminal.seen.rindex("\x1b[?25l")
    with cli.terminal("watch", columns=60, lines=12) as terminal:
        terminal.expect("No process runs this session")
        terminal.expect("The run stopped: interrupted.")
        terminal.type("\x03")
        assert "the session continues" in terminal.end(code=130)


def test_seats_found_here_are_offered_once_and_remembered(cli: Cli) -> None:
    cli.env["OPENAI_API_KEY"] = "not-a-real-key"
    with cli.terminal("discuss", "Which?", "--timeout", "0.1") as terminal:
        terminal.expect("Which seats?")
        terminal.type("q\n")
        assert "No seats were chosen." in terminal.end(code=2)


def test_answers_in_the_script_fit_what_a_model_writes() -> None:
    assert json.loads(blind_answer("REST").partition("```json")[2].strip("`\n")) == {
        "position": "REST",
        "confidence": 8,
    }
