"""Two terminals on one session: what is done in one is seen in the other, and only one of them runs it."""

from __future__ import annotations

import json

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import debater, knight

SLOW = 4.0
"""Seconds a seat thinks: long enough for another process to start and say something."""


def test_watch_shows_what_say_and_answer_do_in_another_terminal(cli: Cli) -> None:
    seats = cli.script(a=knight(9, latency=SLOW / 2), b=knight(9, latency=SLOW / 2))
    with cli.terminal("discuss", "Redis?", "--meeting", "knights", "--plain", *seats) as terminal:
        terminal.expect("Round knights/1-speak")
        with cli.started("watch", "last", "--json") as watches:
            watches.until("round.opened")
            cli.run("say", "last", "The budget is 5,000 euros.")
            assert watches.until("note.said")["text"] == "The budget is 5,000 euros."
            assert watches.until("gate.opened")["gate"]["id"] == "decide"
            assert "continue" not in cli.run("answer", "last", "decide=myself", "--text", "On Monday.").stdout
            answered = watches.until("gate.answered")
            assert (answered["option"], answered["text"]) == ("myself", "On Monday.")
            watches.rest(0)
        screen = terminal.end(0)
    assert "The budget is 5,000 euros." in screen
    assert "Gate decide: myself: On Monday." in screen
    numbers = [line["seq"] for line in watches.lines if "seq" in line]
    assert numbers == list(range(1, len(numbers) + 1)), "every fact once, in order"


@pytest.mark.feature("S2.44")
def test_running_a_session_twice_is_refused_with_the_process_and_the_command(cli: Cli) -> None:
    ask = ["discuss", "Redis?", "--meeting", "knights", "--session", "redis", *cli.script(a=knight(9), b=knight(9))]
    with cli.terminal(*ask, "--plain") as terminal:
        terminal.expect("Your choice")
        for again in (ask, ["discuss", "--session", "redis"], ["resume", "redis"]):
            refused = cli.run(*again, code=5).stderr
            assert f"process {terminal.process.pid} on " in refused
            assert "roundtable watch" in refused
            assert "roundtable cancel" in refused
        listed = json.loads(cli.run("list", "--json").stdout)["sessions"]
        assert [(session["name"], session["pid"]) for session in listed] == [("redis", terminal.process.pid)]
        terminal.type("1\n")
        terminal.end(0)
    cli.run(*ask, "--fresh")


@pytest.mark.feature("S4.21", "S4.94")
def test_a_note_from_another_terminal_pauses_the_debate_until_it_is_continued(cli: Cli) -> None:
    agree = "AGREE: a\nSimple is enough."
    seats = cli.script(
        a=debater("Use REST", agree, latency=SLOW / 2), b=debater("Use GraphQL", agree, latency=SLOW / 2)
    )
    with cli.terminal("debate", "REST or GraphQL?", "--plain", *seats, "--answer", "execute=no") as debates:
        debates.expect("Round debate/1-seed: ")
        cli.run("say", "The clients are few.")
        debates.expect("Gate interjection-2: You wrote a note, so the debate is paused.")
        screen = debates.expect("Your choice [1-2, Enter for continue]:")
        assert "Round debate/2-objections" not in screen
        debates.type("c\n")
        debates.expect("Round debate/2-objections")
        assert "Decision reached: Use REST" in debates.end(0)
