"""Councils on real embedded models end in a labelled decision whatever the models write."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Agenda
from roundtable.app.desk.setup import DeskSetup
from roundtable.core.events import MoveMade
from roundtable.core.values import Limits, Outcome
from tests.stories.embedded_desk import open_desk_with_model

pytestmark = pytest.mark.real
LIMITS = Limits(seat_timeout=600, round_deadline=1800, max_tokens=700)


async def council(tmp_path: Path, model: str, question: str, options: tuple[str, ...]) -> list[MoveMade]:
    """Hold a council with the installed embedded models in a temporary home."""
    async with open_desk_with_model(model, tmp_path) as desk:
        agenda = Agenda(
            question, DeskSetup.embedded_seats(model), options=options, limits=LIMITS, headless=True, seed=1
        )
        session = await desk.meetings.open(agenda)
        decision = await desk.meetings.run(session)
        assert decision.outcome in (Outcome.REACHED, Outcome.TIE, Outcome.DEADLOCK)
        assert decision.counted == ("ada", "grace", "alan")
        assert not decision.missing
        return [record.event for record in await desk.sessions.records(session) if isinstance(record.event, MoveMade)]


async def test_the_smallest_model_completes_a_council_with_options(tmp_path: Path) -> None:
    moves = await council(tmp_path, "smollm2-135m", "Tea or coffee for a morning meeting?", ("Tea", "Coffee"))
    assert all(move.verdict.counts for move in moves), "a grammar leaves no room for an unreadable vote"
    blind = [move for move in moves if move.round == "council/1-blind"]
    assert {move.verdict.position for move in blind} <= {"Tea", "Coffee"}
    assert len({move.raw for move in blind}) > 1, "three seats on one model are not three echoes"


async def test_the_smallest_model_completes_a_council_without_options(tmp_path: Path) -> None:
    moves = await council(tmp_path, "smollm2-135m", "What should a small team build first?", ())
    assert all(move.text.strip() for move in moves)


async def test_the_default_embedded_model_knows_a_fact(tmp_path: Path) -> None:
    question = "In Python, what does `[1, 2, 3][::-1]` evaluate to?"
    moves = await council(tmp_path, "qwen2.5-coder-1.5b", question, ("[3, 2, 1]", "[1, 2, 3]", "an error"))
    blind = [move.verdict.position for move in moves if move.round == "council/1-blind"]
    assert blind.count("[3, 2, 1]") >= 2
