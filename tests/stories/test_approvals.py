"""Builds that require approvals by seats that did not write the change, before the person is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import BROKEN_SLUG, SLUG, STUB, TASK, slug_writer

YES = {"approve": "all"}
FINE, NOT_SO = "I read it.\n\nAPPROVE", "I read it.\n\nREQUEST_CHANGES: tabs are not handled"


def table(desk: Roundtable, gpt: str, gemini: str) -> DeskMeeting:
    """Return a meeting in which one candidate passes and the other seats are asked to approve it."""
    failing = (BROKEN_SLUG, BROKEN_SLUG)
    return DeskMeeting(
        desk,
        claude=slug_writer(SLUG),
        gpt=slug_writer(*failing, approval=gpt),
        gemini=slug_writer(*failing, approval=gemini),
    )


@pytest.mark.feature("S1.92")
async def test_a_change_with_two_approvals_and_passing_checks_is_written_when_the_person_approves(
    bench: Roundtable, code: Path
) -> None:
    meeting = table(bench, FINE, FINE)
    decision = await meeting.hold("build", TASK, answers=YES, settings={"approvals": 2})
    assert (decision.outcome, decision.author) == (Outcome.REACHED, "claude")
    assert (code / "slug.py").read_text() == SLUG
    (question,) = [
        round
        for round in (await bench.sessions.get(meeting.session)).rounds.values()
        if round.name.endswith("-approval")
    ]
    assert set(question.opened.electorate) == {"gpt", "gemini"}, "no author approves its own work"


@pytest.mark.feature("S1.92")
@pytest.mark.parametrize(("needed", "gemini"), [(2, NOT_SO), (1, NOT_SO), (2, "I cannot say."), (3, FINE)])
async def test_without_enough_approvals_the_person_is_not_asked_to_write_the_change(
    bench: Roundtable, code: Path, needed: int, gemini: str
) -> None:
    meeting = table(bench, FINE, gemini)
    decision = await meeting.hold("build", TASK, answers=YES, settings={"approvals": needed})
    assert decision.outcome is Outcome.DEADLOCK
    approvals = pluralize(needed, "approval")
    assert f"The change needs {approvals} from seats that did not write it, and got " in decision_sentence(decision)
    assert ("tabs are not handled" in decision_sentence(decision)) == (gemini == NOT_SO)
    assert "approve" not in (await bench.sessions.get(meeting.session)).gates
    assert (code / "slug.py").read_text() == STUB
