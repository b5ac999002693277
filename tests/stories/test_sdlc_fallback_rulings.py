"""How a files stage is settled: by a judge, by test results, by the person, or because all wrote equal files."""

from __future__ import annotations

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.events import SessionAmended
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.values import Limits, Outcome
from roundtable.report.reasons import decision_sentence
from roundtable.report.stage_words import stage_notice_sentences
from tests.stories.account_candidates import ACCOUNTS
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.test_sdlc_files import (
    DEVELOPMENT,
    IDEA,
    QA,
    YES,
    account_seats,
    files_after_stage,
    hold_stages,
    writer_turns,
)
from tests.stories.test_sdlc_stages import AGREED, REQUIREMENTS, stage_settings, stage_turns
from tests.stories.test_sdlc_stages import hold_stages as discussed

SHOUT = {
    "claude": ("text.strip().upper()", "shout('hey') == 'HEY'"),
    "gpt": ("text.upper()", "shout('hello world') == 'HELLO WORLD'"),
    "gemini": ("text.strip().upper()[:5]", "shout(' hey') == 'HEY'"),
}
"""Claude's does all that the others' tests ask for; each of the others fails one of them."""
RUBBISH = "I like them all."


async def test_if_every_judge_fails_the_candidate_with_the_best_test_results_is_taken(
    bench: Roundtable,
) -> None:
    seats = {
        seat: writer_turns(
            {
                "shout.py": f"def shout(text):\n    return {how}\n",
                "test_shout.py": f"from shout import shout\n\n\ndef test_{seat}():\n    assert {test}\n",
            },
            judge=RUBBISH,
        )
        for seat, (how, test) in SHOUT.items()
    }
    meeting, decision, (end,) = await hold_stages(bench, DEVELOPMENT, seats=seats)
    assert (end.how, end.judge, end.base) == ("run", "", "claude")
    assert "claude, gpt and gemini did not answer as judge." in stage_notice_sentences(end)
    assert end.text == "Files written: shout.py, test_shout.py.\nRunning the candidates ranked this one first."
    assert "development-dispute" not in (await bench.sessions.get(meeting.session)).gates
    assert decision.degraded


async def test_if_every_judge_fails_and_test_results_are_equal_the_person_is_asked(bench: Roundtable) -> None:
    meeting, decision, (end,) = await hold_stages(bench, DEVELOPMENT, seats=account_seats(judge=RUBBISH))
    assert (end.how, end.draft) == ("failed", ""), "with nobody there, nobody's files are taken"
    assert decision.outcome is Outcome.DEADLOCK
    gate = (await bench.sessions.get(meeting.session)).gates["development-dispute"]
    assert "No judge answered. Whose files should be used?" in gate.question
    assert gate.details["gpt"] == "accounts.py: no check or test was run."


@pytest.mark.feature("S0.149")
async def test_later_stages_see_rulings_without_labels_and_names(bench: Roundtable) -> None:
    ruling = (
        "A is the better of gpt and claude, I guess.\n\nCONSENSUS: BASE=candidate-B. "
        "INCORPORATE: login from candidate-A; replace rollback by C's. MUST_FIX: none"
    )
    meeting, _, ends = await hold_stages(bench, DEVELOPMENT, QA, seats=account_seats(judge=ruling))
    assert ends[0].text == (
        "Files written: accounts.py.\nThe judge chose one candidate as the base and asked for these additions:\n"
        "- login from another candidate\n- replace rollback by another candidate's"
    )
    later = meeting.prompt("qa/1-write", "gpt")
    assert ends[0].text.partition("\n")[2] in later
    assert [name for name in ("candidate-A", "candidate-B", "gemini", "claude", "I guess") if name in later] == []
    record = await bench.sessions.get(meeting.session)
    assert [round.text for round in record.rounds["development/1-judge"].moves()] == [ruling], "kept as it was said"


async def test_identical_files_of_all_seats_are_not_credited_to_one_seat(bench: Roundtable) -> None:
    same = {"accounts.py": ACCOUNTS["gpt"]}
    meeting, _, (end,) = await hold_stages(
        bench, DEVELOPMENT, seats={"claude": writer_turns(same), "gpt": writer_turns(same)}
    )
    assert end.how == "same"
    assert await files_after_stage(bench, end) == same
    gate = (await bench.sessions.get(meeting.session)).gates["after-development"]
    assert "It was written identically by several seats." in gate.question


async def test_a_seat_that_writes_too_many_files_is_reported_in_a_short_notice(bench: Roundtable) -> None:
    many = {f"m{number}.py": "A = 1\n" for number in range(250)}
    seats = {"claude": writer_turns(many), "gpt": writer_turns({"accounts.py": ACCOUNTS["gpt"]})}
    meeting, _, (end,) = await hold_stages(bench, DEVELOPMENT, seats=seats)
    (said,) = (
        notice for notice in stage_notice_sentences(end) if notice.startswith("claude's candidate was left out.")
    )
    assert said.count("exceeds the limit of 200 files per change.") == 3
    assert said.endswith("47 more reasons are not shown.")
    assert said in (await bench.sessions.get(meeting.session)).gates["after-development"].question


async def test_a_judge_skipped_because_of_limits_is_not_reported_as_failed(
    bench: Roundtable,
) -> None:
    meeting = DeskMeeting(bench, **account_seats(judge="CONSENSUS: BASE=candidate-A."))
    await meeting.open("sdlc", IDEA, settings=stage_settings(DEVELOPMENT), answers=YES, seed=7)
    await bench.sessions.amend(meeting.session, SessionAmended(limits=Limits(rounds=1, retries=0)))
    await meeting.hold("sdlc")
    session = await bench.sessions.get(meeting.session)
    asked = session.gates["development-dispute"].question
    assert "No judge was asked: the limits of the session were reached. Whose files should be used?" in asked
    (end,) = session_stage_ends(session)
    assert "No judge was asked: the limits of the session were reached." in stage_notice_sentences(end)


async def test_a_single_seat_judges_only_its_own_answer(bench: Roundtable) -> None:
    meeting, decision = await discussed(bench, {"claude": stage_turns("claude", ("*-judge", AGREED))}, REQUIREMENTS)
    (end,) = session_stage_ends(await bench.sessions.get(meeting.session))
    assert stage_notice_sentences(end) == ("claude judged only its own answer, because no other seat can judge.",)
    assert "among the others'" not in decision_sentence(decision)
