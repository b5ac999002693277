"""Presets and meetings from data files at the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import Seat, with_json_block

PAGE = Path(__file__).parents[2] / "docs" / "meetings.md"
(EXAMPLE,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)


def nine(*issues: str) -> Seat:
    """A seat that would sign it, whatever it is asked, and leaves these issues open."""
    text = with_json_block("Do it.", position="Do it", consensus_score=9, agrees_with=[], pending_issues=list(issues))
    return {"turns": [{"round": "*", "text": text}]}


def decision(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next(line["decision"] for line in lines if line["kind"] == "decision.made")


@pytest.mark.feature("S3.55")
def test_a_preset_is_stricter_than_the_default_where_its_document_is(cli: Cli) -> None:
    seats = cli.script(claude=nine("a name is open"), gpt=nine())
    assert decision(cli.json("discuss", "Shall we?", "--meeting", "knights", *seats))["outcome"] == "reached"
    strict = cli.json("discuss", "Shall we?", "--meeting", "theroundtaible", *seats, code=3)
    assert decision(strict)["outcome"] == "deadlock"


def test_a_meeting_of_the_workspace_is_held_only_after_trust(cli: Cli) -> None:
    seats = cli.script(claude=nine(), gpt=nine())
    (cli.work / ".roundtable" / "meetings").mkdir(parents=True)
    (cli.work / ".roundtable" / "meetings" / "design-review.toml").write_text(EXAMPLE)
    refused = cli.run("discuss", "Shall we?", "--meeting", "design-review", *seats, code=2)
    assert "run `roundtable trust`" in refused.stderr
    output = cli.run("trust", "--yes").stderr
    assert ".roundtable/meetings/design-review.toml = " in output
    assert "Read the listed files in .roundtable/ before you answer" in output
    assert decision(cli.json("discuss", "Shall we?", "--meeting", "design-review", *seats))["outcome"] == "reached"
