"""The text of a decision: the seats' own words, complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli

FORMATS = ("markdown", "html", "json")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def seat(position: str, text: str, confidence: int = 8) -> dict[str, Any]:
    """A seat that says this before a bare JSON object, in every round."""
    block = json.dumps({"position": position, "stand": position, "confidence": confidence, "error": "", "evidence": []})
    return {"turns": [{"round": "*", "text": f"{text}\n{block}"}]}


def discussed(cli: Cli, **seats: dict[str, Any]) -> str:
    """Put the question to these seats, and return what is printed."""
    return cli.run("discuss", "Which?", "--option", "Tabs", "--option", "Spaces", *cli.script(**seats)).stdout


def test_a_dissent_that_begins_with_its_position_is_quoted_completely(cli: Cli) -> None:
    words = "Tabs let everybody choose the width."
    printed = discussed(cli, ada=seat("Tabs", words), bob=seat("Spaces", "No."), eve=seat("Spaces", "No."))
    assert f"    {words}\n" in printed.partition("Minority report")[2]
    for form in FORMATS:
        assert words in cli.run("show", "last", "--format", form).stdout


def test_a_code_fence_before_a_bare_object_keeps_its_end(cli: Cli) -> None:
    words = "I ran it:\n\n```python\nprint(1)\n```"
    discussed(cli, ada=seat("Tabs", words), bob=seat("Tabs", "Yes."))
    moves = [
        json.loads(line)
        for line in cli.run("show", "last", "--format", "jsonl").stdout.splitlines()
        if '"move.made"' in line and '"ada"' in line
    ]
    assert moves[0]["text"] == words
