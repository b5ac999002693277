"""`recount` at the real command line: a table for people, JSON for programs, and no model asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    table = cli.script(
        claude=council_seat("REST", "A"), gpt=council_seat("GraphQL", "A"), gemini=council_seat("REST", "A")
    )
    options = ("--option", "REST", "--option", "GraphQL", "--headless", "--plain")
    cli.run("discuss", "REST or GraphQL?", *options, *table)
    (cli.work / "s.json").unlink()
    return cli


def test_a_recount_shows_which_seats_moved_and_what_each_cost_and_changed(cli: Cli) -> None:
    lines = cli.run("recount").stdout.splitlines()
    assert lines[:2] == ["REST or GraphQL?", "Recorded decision: reached, A: REST"]
    rows = [line.split("\t") for line in lines if "\t" in line]
    assert rows[0] == ["Seat", "Position", "Moved", "Tokens", "Cost", "Without this seat"]
    by_seat = {row[0]: row for row in rows}
    assert by_seat["claude"][1:3] == ["A", "no"]
    assert by_seat["gpt"][1:3] == ["B → A", "yes, without evidence"]
    assert by_seat["gpt"][4:] == ["free", "no change"]
    assert by_seat["claude"][5] == "tie instead of reached"
    assert by_seat["blind vote"][1:4] == ["reached", "A", "claude and gemini"]
    assert not any("applicable" in line for line in lines), "what does not apply is left out"


def test_a_recount_is_available_as_json(cli: Cli) -> None:
    data = json.loads(cli.run("recount", "last", "--json").stdout)
    assert (data["v"], data["outcome"], data["winner"]) == (1, "reached", "A")
    assert [datum["without"]["changed"] for datum in data["seats"]] == [True, False, True]
    assert data["texts"] == {"A": "REST", "B": "GraphQL"}


def test_a_recount_is_a_table_at_a_terminal(cli: Cli) -> None:
    with cli.terminal("recount", columns=80) as terminal:
        screen = terminal.end(0)
    assert "without evidence" in screen
    assert "Seat    Position" in screen, "in columns, not one cell per line"
