"""A failing change is fixed automatically a limited number of times; then the failure is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.effects import CandidatesTried
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import BROKEN_SLUG, SLUG, STUB, TASK, files_reply

YES = {"approve": "all"}
MENDS = [f"build/{number}-mend" for number in (2, 3, 4)]
BROKEN = [
    {"round": name, "text": files_reply({"slug.py": f"{BROKEN_SLUG}\n# Now in {name}.\n"})}
    for name in ("*-propose", *MENDS)
]
"""Fails every time, and is never the same."""


@pytest.mark.feature("S0.60")
async def test_a_build_gives_up_after_three_failed_fixes_and_reports_the_failure(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=BROKEN)
    decision = await meeting.hold("build", TASK, answers=YES, settings={"mends": 3})
    session = await bench.sessions.get(meeting.session)
    assert list(session.rounds) == ["build/1-propose", *MENDS]
    assert len([result for result in session.results.values() if isinstance(result, CandidatesTried)]) == 4
    assert decision.outcome is Outcome.DEADLOCK
    assert "claude: The check tests failed with exit code 1: AssertionError" in decision_sentence(decision)
    assert (code / "slug.py").read_text() == STUB


@pytest.mark.feature("S0.60")
async def test_a_passing_fix_ends_the_fix_rounds(bench: Roundtable, code: Path) -> None:
    right = {"round": MENDS[1], "text": files_reply({"slug.py": SLUG})}
    meeting = DeskMeeting(bench, claude=[right, *BROKEN])
    decision = await meeting.hold("build", TASK, answers=YES, settings={"mends": 3})
    assert list((await bench.sessions.get(meeting.session)).rounds) == ["build/1-propose", *MENDS[:2]]
    assert decision.next_step == "applied"
    assert (code / "slug.py").read_text() == SLUG


async def test_a_seat_that_resubmits_an_identical_fix_is_asked_again_without_another_trial(
    bench: Roundtable, code: Path
) -> None:
    same = files_reply({"slug.py": BROKEN_SLUG})
    sorry = [{"round": name, "text": f"You are right, this mends it.\n\n{same}"} for name in ("*-mend", "*-anew")]
    meeting = DeskMeeting(bench, claude=[*sorry, {"text": same}])
    decision = await meeting.hold("build", TASK, answers=YES, settings={"mends": 2})
    session = await bench.sessions.get(meeting.session)
    assert list(session.rounds) == ["build/1-propose", "build/2-mend", "build/2-anew"]
    assert len([result for result in session.results.values() if isinstance(result, CandidatesTried)]) == 1
    assert decision.outcome is Outcome.DEADLOCK
    assert (code / "slug.py").read_text() == STUB


async def test_a_seat_that_changes_its_approach_when_asked_again_gets_another_fix_round(
    bench: Roundtable, code: Path
) -> None:
    other = [
        {"round": "build/2-anew", "text": files_reply({"slug.py": f"{BROKEN_SLUG}\n# Another.\n"})},
        {"round": "build/3-mend", "text": files_reply({"slug.py": SLUG})},
    ]
    meeting = DeskMeeting(bench, claude=[*other, *[{"text": files_reply({"slug.py": BROKEN_SLUG})}] * 2])
    await meeting.hold("build", TASK, answers=YES, settings={"mends": 2})
    session = await bench.sessions.get(meeting.session)
    assert list(session.rounds) == ["build/1-propose", "build/2-mend", "build/2-anew", "build/3-mend"]
    assert (code / "slug.py").read_text() == SLUG
