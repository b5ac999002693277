"""The ledger: seats see earlier decisions, and a rejected proposal cannot win again without an answer."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import AnswerSource, GateAnswered
from roundtable.core.faults import NotFound, RoundtableError, UsageError
from roundtable.core.ledger import EntryKind
from roundtable.core.values import Limits, Outcome, RecalledEntry, Seat
from roundtable.engine.replay import replay_recorded_asks
from roundtable.meetings import MEETINGS
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.stories.kill_and_resume import kill_meeting_after_every_fact, run_with_answers
from tests.stories.session_harness import SessionHarness, council_turns, position_reply, ratings_reply, reconsider_reply

QUESTION = "REST or GraphQL for the public API?"
MOST_RECALLED, MOST_RECALLED_BYTES = 12, 6000
DECREE = RecalledEntry("R-1a2b3c", "decree", "Use GraphQL", "Nobody here can run it.")
FAILURE = RecalledEntry("F-1a2b3c", "failure", "Use GraphQL", "The resolvers were too slow.")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home", tmp_path / "home")


@pytest.fixture
async def desk(places: Places, tmp_path: Path) -> AsyncIterator[Roundtable]:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    async with await Roundtable.open(tmp_path / "work", places) as desk:
        yield desk


def agenda(workspace: Path, question: str, position: str, **options: Any) -> Agenda:
    script = {"turns": [{"text": options.pop("reply", position_reply(position))}], "seats": options.pop("script", {})}
    name = f"talk-{len(list(workspace.glob('talk-*')))}.json"
    (workspace / name).write_bytes(msgspec.json.encode(script))
    seats = tuple(Seat(seat, (f"script:{name}",)) for seat in ("claude", "gpt", "gemini"))
    return Agenda(question, seats, limits=Limits(retries=0), headless=True, **options)


async def hold_council(desk: Roundtable, question: str, position: str, **options: Any) -> str:
    """Hold a council on a question to its end and return its session."""
    session = await desk.meetings.open(agenda(desk.workspace, question, position, **options))
    assert (await desk.meetings.run(session)).outcome is Outcome.REACHED
    return session


async def recalled_entries(desk: Roundtable, question: str, **options: Any) -> tuple[RecalledEntry, ...]:
    """Return the ledger entries that a new meeting on this question would see."""
    charter, _ = await desk.meetings.draft(agenda(desk.workspace, question, "x", **options))
    return charter.recalled


# --- a new meeting is told ------------------------------------------------------------------------


AT_THE_BENCH = ("build", "apply", "sdlc")
"""They take a real desk: tests/stories/test_approval_gates.py and test_sdlc_stages.py tell the same of them."""


@pytest.mark.feature("S3.14", "S4.102")
@pytest.mark.parametrize("meeting", [name for name in MEETINGS if name not in AT_THE_BENCH])
async def test_an_earlier_decision_on_the_question_is_in_every_first_prompt(desk: Roundtable, meeting: str) -> None:
    session = await hold_council(desk, QUESTION, "Use REST")
    recalled = await recalled_entries(desk, QUESTION, meeting=meeting)
    assert [line.id for line in recalled] == [f"D-{session[-6:]}"]
    said = fenced(findings=[]) if meeting == "review" else position_reply("Use REST")
    harness = SessionHarness({"turns": [{"text": said}]}, meeting=meeting)
    await harness.open(question=QUESTION, recalled=recalled)
    await harness.run()
    first = {call.seat: call for call in reversed(harness.voices.calls)}
    assert set(first) == {"claude", "gpt", "gemini"}
    for call in first.values():
        prompt = "\n".join(message.text for message in call.messages)
        assert f"{recalled[0].id} (decision): {QUESTION} Decided: Use REST" in prompt


async def test_a_new_meeting_sees_only_ledger_entries_related_to_its_question(desk: Roundtable) -> None:
    await hold_council(desk, "Where do user sessions live?", "In Postgres")
    await hold_council(desk, "Which colour has the shed?", "Green")
    decree = await desk.memory.reject("Paint anything pink", "It fades.")
    recalled = await recalled_entries(desk, "Should user sessions expire?")
    assert [line.kind for line in recalled] == ["decision", "decree"]
    assert "Postgres" in recalled[0].text
    assert (recalled[1].id, recalled[1].text, recalled[1].why) == (decree.id, "Paint anything pink", "It fades.")


async def test_recalled_entries_are_limited_and_an_equal_question_comes_first(desk: Roundtable) -> None:
    for number in range(20):
        await desk.memory.reject(f"Rewrite part {number} of the public API in Rust", "long reason " * 60)
    session = await hold_council(desk, QUESTION, "Use REST")
    recalled = await recalled_entries(desk, QUESTION.lower())
    assert recalled[0].id == f"D-{session[-6:]}"
    assert 1 < len(recalled) <= MOST_RECALLED
    assert sum(len(line.text.encode()) + len(line.why.encode()) for line in recalled) <= MOST_RECALLED_BYTES


async def test_a_decree_applies_behind_any_number_of_lifted_decrees_and_similar_decisions(desk: Roundtable) -> None:
    decree = await desk.memory.reject("Use GraphQL", "Nobody here can run it.")
    for number in range(MOST_RECALLED + 1):
        await desk.memory.lift((await desk.memory.reject(f"Write part {number} of the API in Rust")).id)
    for number in range(MOST_RECALLED + 1):
        await hold_council(desk, f"{QUESTION} Part {number}", f"Use REST for part {number}")
    recalled = await recalled_entries(desk, QUESTION)
    assert decree.id in [line.id for line in recalled]
    assert "decision" in [line.kind for line in recalled]
    assert (
        await desk.meetings.run(await desk.meetings.open(agenda(desk.workspace, QUESTION, "Use GraphQL")))
    ).outcome is (Outcome.DEADLOCK)


async def test_a_decree_that_does_not_fit_the_prompt_still_blocks_a_repeated_proposal(desk: Roundtable) -> None:
    decree = await desk.memory.reject("Use GraphQL", "Nobody here can run it.")
    for number in range(MOST_RECALLED + 1):
        await desk.memory.reject(f"Paint shed {number} pink", "It fades.")
    question = "How do clients talk to us?"
    charter, _ = await desk.meetings.draft(agenda(desk.workspace, question, "x"))
    assert decree.id not in [entry.id for entry in charter.recalled]
    assert len(charter.recalled) + len(charter.untold) == MOST_RECALLED + 2
    seats = {
        "claude": council_turns(
            position_reply("Use REST"), ratings_reply(A="opposed", B="same"), reconsider_reply("B")
        ),
        "gpt": council_turns(
            position_reply("Use GraphQL"), ratings_reply(A="same", B="opposed"), reconsider_reply("A")
        ),
    }
    harness = SessionHarness({"seats": seats})
    await harness.open(seats=tuple(seats), recalled=charter.recalled, untold=charter.untold)
    await harness.run()
    warned = [
        call.messages[-1].text for call in harness.voices.calls if f"repeats {decree.id}" in call.messages[-1].text
    ]
    assert warned
    assert all(f"{decree.id} (decree): Use GraphQL Why: Nobody here can run it." in text for text in warned)
    decision = await desk.meetings.run(await desk.meetings.open(agenda(desk.workspace, question, "Use GraphQL")))
    assert (decision.outcome, decree.id in decision_sentence(decision)) == (Outcome.DEADLOCK, True)


async def test_a_rejected_proposal_is_not_recalled_as_a_decision(desk: Roundtable) -> None:
    turn = {"round": "*", "text": fenced(proposal="Use GraphQL", consensus_score=1, pending_issues=[])}
    script = {seat: {"turns": [turn]} for seat in ("claude", "gpt", "gemini")}
    session = await desk.meetings.open(agenda(desk.workspace, QUESTION, "", script=script, meeting="knights"))
    assert (await desk.meetings.run(session)).outcome is Outcome.REJECTED
    (recalled,) = await recalled_entries(desk, QUESTION)
    assert recalled.text.startswith(f"{QUESTION} Rejected: ")


async def test_nothing_is_recalled_with_fresh_in_another_workspace_or_if_switched_off(
    desk: Roundtable, places: Places, tmp_path: Path
) -> None:
    await hold_council(desk, QUESTION, "Use REST")
    assert await recalled_entries(desk, QUESTION)
    assert await recalled_entries(desk, QUESTION, fresh=True) == ()
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)
    async with await Roundtable.open(tmp_path / "elsewhere", places) as other:
        assert await recalled_entries(other, QUESTION) == ()
        assert await other.memory.entries() == []
    (desk.workspace / ".roundtable").mkdir()
    (desk.workspace / ".roundtable" / "config.toml").write_text("[memory]\nrecall = false\n")
    desk.setup.trust(desk.setup.find_trust_request(), may_exceed_limits=False)
    async with await Roundtable.open(desk.workspace, places) as silent:
        assert await recalled_entries(silent, QUESTION) == ()
        assert len(await silent.memory.entries()) == 1


async def test_a_secret_that_became_known_later_is_not_recalled(
    desk: Roundtable, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hold_council(desk, QUESTION, "Use the token tulip-quartz-harbor-lantern")
    monkeypatch.setenv("OPENAI_API_KEY", "tulip-quartz-harbor-lantern")
    async with await Roundtable.open(desk.workspace, desk.setup.places) as later:
        (recalled,) = await recalled_entries(later, QUESTION)
    assert "Use the token" in recalled.text
    assert "tulip" not in recalled.text


async def test_an_unreadable_session_does_not_prevent_a_new_meeting(desk: Roundtable) -> None:
    session = await hold_council(desk, QUESTION, "Use REST")
    await desk.close()
    with sqlite3.connect(desk.setup.places.database) as db:
        db.execute("UPDATE events SET v = 99 WHERE session = ? AND seq = 2", (session,))
    db.close()
    async with await Roundtable.open(desk.workspace, desk.setup.places) as later:
        assert await recalled_entries(later, QUESTION) == ()


# --- what was rejected does not come back unanswered ----------------------------------------------


def fenced(text: str = "Because.", **block: Any) -> str:
    return f"{text}\n\n```json\n{msgspec.json.encode(block).decode()}\n```"


def unanimous_harness(position: str, text: str = "Because.") -> SessionHarness:
    return SessionHarness({"turns": [{"text": position_reply(position, text=text)}]})


@pytest.mark.feature("S4.103")
@pytest.mark.parametrize("entry", [DECREE, FAILURE])
async def test_a_proposal_that_was_rejected_or_failed_earlier_is_flagged_before_it_can_win(
    entry: RecalledEntry,
) -> None:
    harness = unanimous_harness("GraphQL for the public API")
    await harness.open(recalled=(entry,))
    decision = await harness.run()
    session = await harness.session()
    assert session.answers["decree"] == GateAnswered(
        "decree", "uphold", by="headless default", source=AnswerSource.HEADLESS
    )
    assert entry.id in session.gates["decree"].question
    assert entry.why in session.gates["decree"].question
    assert decision.outcome is Outcome.DEADLOCK
    assert entry.id in decision_sentence(decision)
    assert entry.why in decision_sentence(decision)


OPINION: dict[str, Any] = {"recommendation": "Use GraphQL", "stance": "open", "risks": []}
DIAGNOSIS: dict[str, Any] = {
    "confidence_score": 10,
    "root_cause_key": "graphql-use",
    "evidence": [],
    "rules_out": [],
    "confirms": [],
    "file_requests": [],
    "next_test": "",
}
GRAPHQL: dict[str, list[dict[str, Any]]] = {
    "council": [{"text": position_reply("Use GraphQL")}],
    "knights": [{"text": fenced(proposal="Use GraphQL", consensus_score=10, pending_issues=[])}],
    "debate": [{"round": "*1-seed", "text": position_reply("Use GraphQL")}, {"round": "*", "text": "AGREE: claude"}],
    "second-opinion": [{"text": fenced(**OPINION)}],
    "vote": [
        {"round": "*-pitch", "text": position_reply("Use GraphQL")},
        {"round": "*", "text": fenced(ranked_choices=["A", "no-change"])},
    ],
    "code-red": [{"round": "*", "text": fenced(**DIAGNOSIS)}],
}
"""A table that is of one mind, in each kind of meeting."""


@pytest.mark.feature("S4.103")
@pytest.mark.parametrize("meeting", [name for name in MEETINGS if name not in (*AT_THE_BENCH, "review")])
async def test_a_decree_applies_in_every_meeting_with_proposals(meeting: str) -> None:
    harness = SessionHarness({"turns": GRAPHQL[meeting]}, meeting=meeting)
    await harness.open()
    assert "graphql" in (await harness.run()).position.casefold(), "nothing stands against it"
    harness = SessionHarness({"turns": GRAPHQL[meeting]}, meeting=meeting)
    await harness.open(recalled=(DECREE,))
    decision = await harness.run()
    assert (decision.outcome, DECREE.id in decision_sentence(decision)) == (Outcome.DEADLOCK, True)
    assert next(iter((await harness.session()).gates)) == "decree"


@pytest.mark.parametrize(
    ("meeting", "permission", "yes"),
    [("debate", "execute", "yes"), ("knights", "decide", "apply"), ("code-red", "outcome", "fix")],
)
async def test_the_person_is_not_asked_to_execute_a_proposal_that_a_decree_forbids(
    meeting: str, permission: str, yes: str
) -> None:
    script = {"turns": GRAPHQL[meeting]}
    harness = SessionHarness(script, meeting=meeting)
    await harness.open(recalled=(DECREE,), answers={permission: yes})
    decision = await harness.run()
    session = await harness.session()
    assert decision.next_step != "apply"
    assert yes not in [answer.option for answer in session.answers.values()]
    assert not any("plan" in name for name in session.rounds), "nobody drafts a plan for it either"
    decision = await kill_meeting_after_every_fact(
        script, meeting, recalled=(DECREE,), answers={"decree": "allow", permission: yes}
    )
    assert decision.next_step == "apply"
    assert notice_sentences(decision)[0].startswith("The decision repeats ")


BOARD = """
summary = "A board."
[[rounds]]
purpose = "score"
codec = "score-json"
prompt = "Score it."
[rule]
name = "score_threshold"
[[gates]]
id = "go"
after = "score"
question = "Should the plan be carried out?"
options = ["apply", "no"]
default = "no"
"""


@pytest.mark.parametrize(("answer", "asked"), [("uphold", ["decree"]), ("allow", ["decree", "go"])])
async def test_a_custom_meeting_checks_decrees_before_it_asks_to_apply(
    desk: Roundtable, answer: str, asked: list[str]
) -> None:
    (desk.setup.places.config / "meetings").mkdir(parents=True)
    (desk.setup.places.config / "meetings" / "board.toml").write_text(BOARD)
    await desk.memory.reject("Use GraphQL", "Nobody here can run it.")
    reply = GRAPHQL["knights"][0]["text"]
    answers = {"decree": answer, "go": "apply"}
    session = await desk.meetings.open(
        agenda(desk.workspace, QUESTION, "", reply=reply, meeting="board", answers=answers)
    )
    decision = await desk.meetings.run(session)
    assert list((await desk.sessions.get(session)).gates) == asked
    assert decision.next_step == ("apply" if answer == "allow" else "")


async def test_a_plan_that_cites_the_decree_does_not_withdraw_the_decree_gate() -> None:
    plan = {"round": "*plan", "text": "A vendor runs it for us, which answers R-1a2b3c."}
    script = {"turns": [plan, *GRAPHQL["debate"]]}
    decision = await kill_meeting_after_every_fact(script, "debate", recalled=(DECREE,), answers={"decree": "allow"})
    assert notice_sentences(decision)[0].startswith("The decision repeats ")


@pytest.mark.parametrize(("answer", "outcome"), [("uphold", Outcome.DEADLOCK), ("allow", Outcome.REACHED)])
async def test_a_recount_applies_decrees(answer: str, outcome: Outcome) -> None:
    harness = unanimous_harness("Use GraphQL")
    await harness.open(recalled=(DECREE,), answers={"decree": answer})
    await harness.run()
    again = await replay_recorded_asks(await harness.session(), harness.rules.hold, {"gemini"})
    assert again.outcome is outcome


async def test_the_person_is_asked_about_every_decree_that_a_decision_repeats() -> None:
    harness = unanimous_harness("Use GraphQL", "A vendor runs it for us, which answers R-1a2b3c.")
    await harness.open(recalled=(DECREE,), untold=(FAILURE,), answers={"decree": "allow"})
    decision = await harness.run()
    assert ["F-1a2b3c" in notice for notice in notice_sentences(decision)] == [True]
    both = unanimous_harness("Use GraphQL")
    await both.open(recalled=(DECREE,), untold=(FAILURE,), answers={"decree": "allow"})
    decision = await both.run()
    assert list((await both.session()).gates) == ["decree", "decree-2"]
    assert (decision.outcome, "F-1a2b3c" in decision_sentence(decision)) == (Outcome.DEADLOCK, True), (
        "each needs its own yes"
    )


async def test_a_second_opinion_that_answers_the_decree_may_win() -> None:
    said = fenced("A vendor runs it for us, which answers R-1a2b3c.", **OPINION)
    harness = SessionHarness({"turns": [{"text": said}]}, meeting="second-opinion")
    await harness.open(recalled=(DECREE,))
    assert (await harness.run()).outcome is Outcome.REACHED


@pytest.mark.parametrize("position", ["Use GraphQL instead of REST", "GraphQL, not REST", "GraphQL over REST"])
async def test_a_decree_is_not_evaded_by_naming_a_rejected_alternative(position: str) -> None:
    harness = unanimous_harness(position)
    await harness.open(recalled=(DECREE,))
    assert (await harness.run()).outcome is Outcome.DEADLOCK


@pytest.mark.parametrize("position", ["Use REST", "Use REST, not GraphQL"])
async def test_a_different_proposal_is_not_flagged_by_a_decree(position: str) -> None:
    harness = unanimous_harness(position)
    await harness.open(recalled=(DECREE,))
    assert (await harness.run()).outcome is Outcome.REACHED
    assert (await harness.session()).gates == {}


async def test_a_proposal_that_answers_the_objection_of_a_decree_may_win() -> None:
    harness = unanimous_harness("Use GraphQL", "A vendor runs it for us, which answers R-1a2b3c.")
    await harness.open(recalled=(DECREE,))
    decision = await harness.run()
    assert (decision.outcome, notice_sentences(decision)) == (Outcome.REACHED, ())


async def test_the_person_may_allow_a_decreed_proposal_and_a_notice_says_so() -> None:
    harness = unanimous_harness("Use GraphQL")
    await harness.open(recalled=(DECREE,), answers={"decree": "allow"})
    decision = await harness.run()
    assert (decision.outcome, decision.position) == (Outcome.REACHED, "Use GraphQL")
    assert decision.degraded
    assert "R-1a2b3c" in notice_sentences(decision)[0]


async def test_a_decree_gate_waits_for_the_person() -> None:
    harness = unanimous_harness("Use GraphQL")
    await harness.open(recalled=(DECREE,), headless=False)
    assert (await run_with_answers(harness, decree="allow")).outcome is Outcome.REACHED


async def test_a_meeting_killed_around_a_decree_gate_resumes_to_the_expected_decision() -> None:
    script: dict[str, Any] = {"turns": [{"text": position_reply("Use GraphQL")}]}
    decision = await kill_meeting_after_every_fact(script, "council", recalled=(DECREE,))
    assert decision.outcome is Outcome.DEADLOCK


async def test_seats_are_warned_of_a_decree_while_they_can_still_answer_it() -> None:
    still = reconsider_reply("A", text="REST is slow.")
    seats = {
        "claude": council_turns(
            position_reply("Use REST"), ratings_reply(A="opposed", B="same", C="opposed"), reconsider_reply("B")
        ),
        "gpt": council_turns(position_reply("Use GraphQL"), ratings_reply(A="same", B="opposed", C="opposed"), still),
        "gemini": council_turns(
            position_reply("Use tRPC"), ratings_reply(A="opposed", B="opposed", C="same"), reconsider_reply("C")
        ),
    }
    harness = SessionHarness({"seats": seats})
    await harness.open(recalled=(DECREE,))
    await harness.run()
    warned = {
        call.call.partition("#")[0]
        for call in harness.voices.calls
        if "The proposal of A repeats R-1a2b3c without answering the objections to it, so it cannot win."
        in call.messages[-1].text
    }
    assert warned == {f"council/3-reconsider/{seat}" for seat in ("claude", "gpt", "gemini")}


# --- what a person says afterwards ----------------------------------------------------------------


@pytest.mark.feature("S4.103")
async def test_a_failed_decision_is_recalled_and_flagged_in_the_next_meeting(desk: Roundtable) -> None:
    session = await hold_council(desk, QUESTION, "Use GraphQL")
    failure = await desk.memory.fail(f"d-{session[-6:]}", "The resolvers were too slow.")
    assert failure.id == f"F-{session[-6:]}"
    again = await desk.meetings.open(agenda(desk.workspace, QUESTION, "Use GraphQL"))
    decision = await desk.meetings.run(again)
    assert decision.outcome is Outcome.DEADLOCK
    assert failure.id in decision_sentence(decision)
    with pytest.raises(UsageError, match="already"):
        await desk.memory.fail(f"D-{session[-6:]}", "Again.")
    await desk.memory.lift(failure.id)
    assert [entry.id for entry in await recalled_entries(desk, QUESTION)] == [], (
        "neither the lifted failure nor a failed decision"
    )


async def test_a_failed_decision_does_not_block_proposals_for_other_questions(desk: Roundtable) -> None:
    session = await hold_council(desk, QUESTION, "REST")
    failure = await desk.memory.fail(f"D-{session[-6:]}", "The cache went stale.")
    other = await hold_council(desk, "x?", "REST")
    (recalled,) = (await desk.sessions.get(other)).charter.recalled
    assert (recalled.id, recalled.text, recalled.question) == (failure.id, "REST", QUESTION)
    harness = unanimous_harness("REST")
    await harness.open(question="x?", recalled=(recalled,))
    await harness.run()
    assert f"{failure.id} (failure): REST (asked: {QUESTION})" in harness.voices.calls[0].messages[0].text


async def test_a_failed_decision_of_yes_is_remembered_with_its_question(desk: Roundtable) -> None:
    session = await hold_council(desk, "Should we use Redis?", "Yes")
    failure = await desk.memory.fail(f"D-{session[-6:]}", "It lost data.")
    assert failure.text == "Should we use Redis? Yes"
    decision = await desk.meetings.run(await desk.meetings.open(agenda(desk.workspace, "Should we use Redis?", "Yes")))
    assert (decision.outcome, failure.id in decision_sentence(decision)) == (Outcome.DEADLOCK, True)
    session = await hold_council(desk, "Should we use Redis? Think again.", "No")
    assert session, "what argues against it is free"


async def test_a_failure_and_its_effect_on_the_decision_are_recorded_together_or_not_at_all(desk: Roundtable) -> None:
    session = await hold_council(desk, QUESTION, "Use GraphQL")
    stop = "BEFORE INSERT ON events WHEN NEW.seq = 3 BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    with sqlite3.connect(desk.setup.places.database) as db:
        db.execute(f"CREATE TRIGGER full {stop}")
    with pytest.raises(RoundtableError):
        await desk.memory.fail(f"D-{session[-6:]}", "Too slow.")
    with db:
        db.execute("DROP TRIGGER full")
    db.close()
    assert [(entry.kind, entry.state) for entry in await desk.memory.entries()] == [(EntryKind.DECISION, "reached")]
    await desk.memory.fail(f"D-{session[-6:]}", "Too slow.")
    assert {entry.kind: entry.state for entry in await desk.memory.entries()} == {
        EntryKind.DECISION: "failed",
        EntryKind.FAILURE: "standing",
    }


async def test_only_a_reached_decision_can_be_marked_as_failed(desk: Roundtable) -> None:
    script = {"claude": council_turns(position_reply("Use REST")), "gpt": council_turns(position_reply("Use GraphQL"))}
    options = ("Use REST", "Use GraphQL", "Use tRPC")
    open_end = agenda(desk.workspace, QUESTION, "Use tRPC", script=script, options=options, settings={"rounds": 0})
    session = await desk.meetings.open(open_end)
    assert (await desk.meetings.run(session)).outcome is Outcome.TIE
    with pytest.raises(UsageError, match="outcome: tie"):
        await desk.memory.fail(f"D-{session[-6:]}", "Why?")
    assert await desk.memory.entries((EntryKind.FAILURE,)) == []


@pytest.mark.parametrize("text", ["", "  ", "…"])
async def test_a_decree_requires_a_text(desk: Roundtable, text: str) -> None:
    with pytest.raises(UsageError, match="The decree is empty"):
        await desk.memory.reject(text)


async def test_a_rejection_at_a_gate_becomes_a_decree_for_later_meetings(desk: Roundtable) -> None:
    reply = 'Do it.\n\n```json\n{"proposal": "Move it to Redis", "consensus_score": 10, "pending_issues": []}\n```'
    knights = agenda(desk.workspace, QUESTION, "", reply=reply, meeting="knights", answers={"decide": "reject"})
    session = await desk.meetings.open(knights)
    await desk.meetings.run(session)
    (decree,) = await desk.memory.entries((EntryKind.DECREE,))
    assert (decree.id, decree.text) == (f"R-{session[-6:]}", "Move it to Redis")
    decision = await desk.meetings.run(
        await desk.meetings.open(agenda(desk.workspace, QUESTION, "Move it all to Redis"))
    )
    assert (decision.outcome, decree.id in decision_sentence(decision)) == (Outcome.DEADLOCK, True)


async def test_predictions_of_dissenters_become_due_and_count_for_their_seat(desk: Roundtable) -> None:
    foretold = '{"stand": "B", "prediction": "By May three clients ask for batching.", "confidence": 6}'
    options = ("Use REST", "Use GraphQL")
    script: dict[str, Any] = {
        "gpt": council_turns(position_reply("Use GraphQL"), reconsider=foretold),
        "claude": council_turns(position_reply("Use REST"), reconsider=reconsider_reply("A")),
        "gemini": council_turns(position_reply("Use REST"), reconsider=reconsider_reply("A")),
    }
    session = await hold_council(desk, QUESTION, "Use REST", script=script, options=options)
    (prediction,) = await desk.memory.entries((EntryKind.PREDICTION,))
    assert (prediction.seat, prediction.text) == ("gpt", "By May three clients ask for batching.")
    assert (date.fromisoformat(prediction.due) - date.fromisoformat(prediction.at[:10])).days == 90
    settled = await desk.memory.settle(f"P-{session[-6:]}", True, "Four did.")
    assert (settled.state, settled.due) == ("right", prediction.due)
    assert "Four did." in settled.why
    assert (await desk.memory.settle(settled.id, False, "They were ours.")).why.count("Seen:") == 1
    assert (await desk.memory.entries((EntryKind.PREDICTION,)))[0].state == "wrong"


async def test_ledger_entries_made_by_hand_are_recorded_and_not_listed_as_meetings(
    desk: Roundtable, places: Places
) -> None:
    decree = await desk.memory.reject("Use SOAP", "Nobody wants it.")
    assert [row for row in await desk.sessions.list() if not row.is_child] == []
    with pytest.raises(NotFound):
        await desk.sessions.find("last")
    async with await Roundtable.open(desk.workspace, places) as later:
        assert await later.memory.entries() == [decree]
        lifted = await later.memory.lift(decree.id)
    assert await desk.memory.entries() == [lifted]
    with pytest.raises(UsageError, match="already lifted"):
        await desk.memory.lift(decree.id)
    with pytest.raises(NotFound, match="no error"):
        await desk.memory.close(decree.id, "how")
