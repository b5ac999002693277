"""Every meeting once on the smallest real model: it ends in a labelled outcome whatever the model writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda
from roundtable.app.desk.setup import DeskSetup
from roundtable.core.events import MoveMade, RoundClosed
from roundtable.core.values import Limits, Outcome
from roundtable.report.reasons import decision_sentence
from tests.stories.embedded_desk import open_desk_with_model

pytestmark = pytest.mark.real
LIMITS = Limits(seat_timeout=600, round_deadline=1800, max_tokens=500)

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "knights": ("Should a small team write tests first?", {"rounds": 2}),
    "debate": ("Tea or coffee for a morning meeting?", {"rounds": 1}),
    "second-opinion": ("Should a small team write tests first?", {"follow_up": True}),
    "code-red": ("The login page crashes on submit since the new session store.", {"rounds": 1}),
    "vote": ("What should a small team build first?", {"rounds": 1}),
}


@pytest.mark.parametrize("meeting", QUESTIONS)
async def test_the_smallest_model_completes_every_meeting(meeting: str, tmp_path: Path) -> None:
    question, settings = QUESTIONS[meeting]
    async with open_desk_with_model("smollm2-135m", tmp_path) as desk:
        seats = DeskSetup.embedded_seats("smollm2-135m")[:2]
        agenda = Agenda(question, seats, meeting=meeting, settings=settings, limits=LIMITS, headless=True)
        session = await desk.meetings.open(agenda)
        decision = await desk.meetings.run(session)
        facts = [record.event for record in await desk.sessions.records(session)]
    assert decision.outcome is not Outcome.FAILED
    assert decision_sentence(decision)
    moves = [event for event in facts if isinstance(event, MoveMade)]
    closed = [event for event in facts if isinstance(event, RoundClosed)]
    assert closed
    assert all(not event.missing for event in closed), "every seat answered whenever it was asked"
    assert all(move.text.strip() or move.verdict.ratings for move in moves)
