"""Who could not speak, who spoke for whom, and what could not be read: a person is told all of it, and in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.doors.coding_seats import RIGHT, coder, open_coding_workspace
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat
from tests.repository import sandbox

OPTIONS = ("--option", "REST", "--option", "GraphQL")
NO_KEY = "The key env:V_KEY of the endpoint v was not found."
ENDPOINT = '[endpoints.v]\nbase_url = "http://127.0.0.1:9/v1"\nkey = "env:V_KEY"\n'


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    person = Cli(tmp_path)
    configure(person)
    return person


def configure(cli: Cli, **chains: str) -> None:
    cli.home.mkdir(exist_ok=True)
    seats = "".join(f"[seats.{name}]\nvoices = [{chain}]\n" for name, chain in chains.items())
    (cli.home / "config.toml").write_text(ENDPOINT + seats)


def test_a_meeting_that_cannot_reach_its_quorum_is_refused_before_any_seat_is_asked(cli: Cli) -> None:
    rest = cli.script(rest=council_seat("REST"))
    result = cli.run("discuss", "Which?", "--seat", "x=v:big,nowhere:model", *rest, code=2)
    assert "Error: 1 of 2 seats can speak, but the quorum requires 2." in result.stderr
    assert f"Seat x cannot speak: {NO_KEY} Set the variable V_KEY" in result.stderr
    assert "There is no endpoint called `nowhere`" in result.stderr
    configure(cli, x='"v:big"', rest='"script:s.json"')
    assert f"Seat x cannot speak: {NO_KEY}" in cli.run("discuss", "Which?", code=2).stderr
    assert "There are no sessions" in cli.run("list").stderr


def test_an_unavailable_seat_is_reported_before_the_meeting(cli: Cli) -> None:
    args = (
        "discuss",
        "Which?",
        "--seat",
        "x=v:big",
        *cli.script(a=council_seat("REST"), b=council_seat("REST")),
        *OPTIONS,
    )
    result = cli.run(*args)
    assert f"Seat x is unavailable: {NO_KEY}" in result.stderr
    assert "Decision reached: REST" in result.stdout
    with (cli.home / "config.toml").open("a") as file:
        file.write('[limits.quorum]\nessential = ["x"]\n')
    assert "2 of 3 seats can speak, but the quorum requires x." in cli.run(*args, code=2).stderr


def test_a_seat_that_used_a_fallback_voice_is_reported_everywhere(cli: Cli) -> None:
    rest = cli.script(x=council_seat("REST"), rest=council_seat("REST"))[2:]
    chain = ("--seat", "x=v:big,nowhere:model,script:s.json")
    lines = cli.run("discuss", "Which?", *chain, *rest, *OPTIONS, "--strict").stdout
    assert "Seats: x (v:big, then nowhere:model, then script:s.json), rest (script:s.json)" in lines
    assert f"[x] v:big: {NO_KEY} nowhere:model: There is no endpoint called `nowhere`." in lines
    assert "Asking the next voice, script:s.json." in lines
    instead = "x spoke through script:s.json instead of v:big (council/1-blind)"
    assert f"{instead}: {NO_KEY} nowhere:model was not available either: There is no endpoint" in lines
    assert "x and rest used the same model, script:s.json." in lines
    assert "DEGRADED" not in lines
    assert "script:s.json instead of v:big" in cli.run("status").stdout
    for form in ("markdown", "html"):
        output = cli.run("show", "--format", form).stdout.replace("\\", "")
        assert instead in output
        assert "x and rest used the same model, script:s.json." in output


def test_seats_with_a_single_voice_show_no_fallback_notice(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    assert "the same model" not in cli.run("discuss", "Which?", *seats, *OPTIONS).stdout


def test_an_unreadable_round_is_reported_with_the_round_that_decides(cli: Cli) -> None:
    def mumbling(position: str) -> dict[str, Any]:
        first = council_seat(position)["turns"][:1]
        return {"turns": [*first, {"round": "*reconsider", "text": "Hm, well."}]}

    seats = cli.script(a=mumbling("REST"), b=mumbling("REST"), c=mumbling("GraphQL"))
    output = cli.run("discuss", "Which?", *seats, *OPTIONS, "--headless").stdout
    assert "Round council/3-reconsider closed: 3 of 3 answered; quorum not reached." in output
    decides = "which is fewer than the quorum, so the answers of council/1-blind decide."
    assert f"0 of 3 seats gave a valid answer in council/3-reconsider, {decides}" in output
    assert "counted 0 of 3, could not read a, b, c, quorum not reached" in cli.run("show").stdout


async def test_a_reply_without_a_file_is_reported_with_the_reason(tmp_path: Path) -> None:
    await sandbox()
    cli = open_coding_workspace(tmp_path / "coding")
    seats = cli.script(ada=coder(RIGHT), bob={"turns": [{"text": "No."}]})
    output = cli.run("build", "Make double() double", "--dry-run", "--headless", *seats).stdout
    assert "[bob] Its reply could not be read; asking again.\n" in output
    reason = "No block in the reply names the file it is for."
    assert f"[bob] This reply does not count because no file could be read from it: {reason}\n" in output
    assert "vote" not in output


def test_a_session_without_a_decision_says_so(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b={"turns": [{"fault": "refused"}]})
    assert "\nNo decision (insufficient)\n" in cli.run("discuss", "Which?", *seats, *OPTIONS, code=6).stdout


def test_a_huge_unfinished_answer_is_shown_by_its_first_words(cli: Cli) -> None:
    endless = {"turns": [{"hang": True, "text": "number " * 60_000, "after": 50_000}]}
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"), c=endless)
    result = cli.run("discuss", "Which?", *seats, *OPTIONS, "--timeout", "5")
    assert "[c] Partial answer: number number" in result.stdout
    for view in (result.stdout, cli.run("show").stdout, cli.run("show", "--format", "html").stdout):
        assert " characters)" in view
        assert len(view) < 20_000
