"""Interventions of a person before a crash do not change the result of the resumed session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from roundtable.core.events import (
    CancelAsked,
    ContinueAsked,
    Event,
    GateAnswered,
    MoveMade,
    PauseAsked,
    RoundClosed,
    SeatMissed,
    SessionAmended,
)
from roundtable.core.faults import FaultKind
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.values import ContextItem, Decision, Limits, Outcome, Prompt, Quorum, Turns
from roundtable.core.verdict import ParseStatus
from roundtable.engine.run import MeetingRules
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.stories.session_harness import (
    DISPUTE,
    SESSION,
    CrashingStore,
    ProcessKilled,
    SessionHarness,
    council_turns,
    position_reply,
)


async def wait_until(harness: SessionHarness, true: Callable[[Session], bool]) -> None:
    async with asyncio.timeout(10):
        while not true(session := await harness.session()):
            await harness.store.changed(SESSION, session.seq, 1)


async def record_event(harness: SessionHarness, event: Event) -> None:
    await harness.store.append(SESSION, event)


def slow_script(script: dict[str, Any], latency: float = 0.05) -> dict[str, Any]:
    return {
        **script,
        "seats": {name: {**part, "defaults": {"latency": latency}} for name, part in script["seats"].items()},
    }


async def resume_after(harness: SessionHarness, kept: Callable[[Event], bool]) -> Decision:
    """Cut the record after this event, as a killed process leaves it, and resume."""
    facts = [record.event for record in await harness.records()]
    last = max(index for index, event in enumerate(facts) if kept(event))
    second = SessionHarness(harness.script)
    second.meeting = harness.meeting
    for digest in [*(await harness.session()).charter.templates.values()]:
        await second.store.keep(await harness.store.fetch(digest))
    for record in (await harness.session()).rounds.values():
        for digest in filter(None, (record.opened.text_format, record.opened.json_format)):
            await second.store.keep(await harness.store.fetch(digest))
    lease, _ = await second.store.acquire(SESSION, "the dead")
    await second.store.append_many(SESSION, facts[: last + 1], lease)
    await second.store.release(lease)
    return await second.run()


async def test_a_session_resumes_after_a_seat_was_switched_off_before_the_ballot() -> None:
    harness = SessionHarness(slow_script(DISPUTE))
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await record_event(harness, SessionAmended(seats_off=("gemini",)))
    decision = await run
    assert [(absence.seat, absence.fault.message) for absence in decision.missing] == [
        ("gemini", "It was switched off.")
    ]
    assert await resume_after(harness, lambda event: isinstance(event, MoveMade)) == decision


async def test_a_cancelled_session_remains_cancelled_after_any_crash() -> None:
    agree = {"turns": [{"seat": "claude", "hang": True}, {"text": position_reply("X")}]}
    harness = SessionHarness(agree)
    await harness.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.05)
    await record_event(harness, CancelAsked())
    assert (await run).outcome is Outcome.CANCELLED
    again = await resume_after(harness, lambda event: isinstance(event, RoundClosed))
    assert again.outcome is Outcome.CANCELLED


async def test_a_raised_limit_does_not_change_a_recorded_stop() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open(limits=Limits(retries=0, budget_tokens=1), headless=False)
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: bool(session.open_gates))
    await record_event(harness, SessionAmended(limits=Limits(retries=0)))
    await record_event(harness, GateAnswered("choose", "A"))
    decision = await run
    assert decision_sentence(decision).startswith("The person chose A")
    assert await resume_after(harness, lambda event: isinstance(event, GateAnswered)) == decision


async def test_the_quorum_of_a_round_is_fixed_when_it_opens() -> None:
    script = {"turns": [{"seat": "claude", "text": position_reply("X"), "latency": 0.2}, {"fault": "quota"}]}
    harness = SessionHarness(script)
    await harness.open(limits=Limits(retries=0, quorum=Quorum(seats=3)))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await record_event(harness, SessionAmended(limits=Limits(retries=0, quorum=Quorum(seats=1))))
    assert (await run).outcome is Outcome.INSUFFICIENT


async def test_a_debate_continues_after_a_pause_and_an_amendment() -> None:
    harness = SessionHarness(slow_script(DISPUTE))
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/2-ballot" in session.rounds)
    await record_event(harness, PauseAsked())
    await wait_until(harness, lambda session: len(session.rounds["council/2-ballot"].moves()) == 3)
    await record_event(harness, SessionAmended(limits=Limits(retries=0, budget_tokens=1)))
    await record_event(harness, ContinueAsked())
    decision = await run
    assert decision.blind_vote == {"A": 1, "B": 1, "C": 1}
    assert decision.counted == ("claude", "gpt", "gemini")


async def test_a_pause_in_the_last_round_delays_the_decision() -> None:
    harness = SessionHarness({"defaults": {"latency": 0.05}, "turns": [{"text": position_reply("X")}]})
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await record_event(harness, PauseAsked())
    await asyncio.sleep(0.4)
    assert (await harness.session()).decision is None
    await record_event(harness, ContinueAsked())
    assert (await run).outcome is Outcome.REACHED


async def _in_turn(table: Table) -> Decision:
    turns = Turns(concurrency="sequential", visibility="same_round", order="priority")
    said = await table.ask("slow/1", Prompt("blind"), turns=turns)
    more = await table.ask("slow/2", Prompt("blind"), turns=Turns(visibility="previous_rounds"))
    missing = " ".join(absence.seat for absence in (*said.missing, *more.missing))
    return Decision(Outcome.REACHED, how=(Said(missing or "all"),))


async def test_a_pause_does_not_count_toward_the_round_deadline() -> None:
    harness = SessionHarness({"turns": [{"round": "*", "text": "Said.", "latency": 0.05}]})
    harness.meeting = MeetingRules("slow", 1, _in_turn)
    await harness.open(limits=Limits(retries=0, round_deadline=0.6))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "slow/1" in session.rounds)
    await record_event(harness, PauseAsked())
    await asyncio.sleep(1.0)
    await record_event(harness, ContinueAsked())
    assert decision_sentence(await run) == "all"


async def test_removed_context_is_no_longer_shown_from_the_next_round_on() -> None:
    harness = SessionHarness({"turns": [{"round": "*", "text": "Said.", "latency": 0.05}]})
    harness.meeting = MeetingRules("slow", 1, _in_turn)
    digest = await harness.store.keep(b"OPENING FILE")
    await harness.open(context=(ContextItem("a.md", digest, 12),))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "slow/1" in session.rounds)
    await record_event(harness, SessionAmended(context_removed=("a.md",)))
    await run
    texts = {call.call: "\n".join(message.text for message in call.messages) for call in harness.voices.calls}
    assert "OPENING FILE" in texts["slow/1/claude#1"]
    assert not any("OPENING FILE" in text for call, text in texts.items() if call.startswith("slow/2"))


async def test_a_repair_request_that_hangs_loses_the_vote_but_keeps_the_reply() -> None:
    claude = {"turns": [{"contains": "could not be read", "hang": True}, {"text": "Words without a block."}]}
    harness = SessionHarness(
        {
            "seats": {
                "claude": claude,
                "gpt": council_turns(position_reply("X")),
                "gemini": council_turns(position_reply("X")),
            }
        }
    )
    await harness.open(limits=Limits(retries=0, seat_timeout=2))
    decision = await harness.run()
    assert [absence.seat for absence in decision.missing] == ["claude"]
    move = (await harness.session()).turn("council/1-blind", "claude").move
    assert move is not None
    assert (move.text, move.verdict.parse) == ("Words without a block.", ParseStatus.FAILED)


async def test_every_turn_is_settled_only_once() -> None:
    harness = SessionHarness({"turns": [{"text": position_reply("X"), "latency": 0.1}]})
    await harness.open(limits=Limits(retries=0, seat_timeout=0.1))
    await harness.run()
    settled = [record.event for record in await harness.records() if isinstance(record.event, MoveMade | SeatMissed)]
    assert len(settled) == 3


async def test_a_budget_stops_a_session_between_rounds() -> None:
    dear = {"usage": {"input_tokens": 10, "output_tokens": 10, "cost_usd": 0.5}}
    script = {"seats": {name: {**part, "defaults": dear} for name, part in DISPUTE["seats"].items()}}
    harness = SessionHarness(script)
    await harness.open(limits=Limits(retries=0, budget_usd=1.0))
    decision = await harness.run()
    assert notice_sentences(decision) == ("Stopped: $1.50 is spent, and the budget is $1.00.",)
    assert decision.outcome is Outcome.TIE


async def test_seats_with_unreadable_replies_are_named_when_the_quorum_is_lost() -> None:
    harness = SessionHarness({"seats": {"claude": council_turns(position_reply("X"))}, "turns": [{"text": "mumble"}]})
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    assert decision.counted == ("claude",)
    assert {(absence.seat, absence.fault.kind) for absence in decision.missing} == {
        ("gpt", FaultKind.MALFORMED),
        ("gemini", FaultKind.MALFORMED),
    }


@pytest.mark.parametrize("lifetime", range(1, 20))
async def test_a_stop_at_a_limit_is_replayed_after_any_crash(lifetime: int) -> None:
    limits = Limits(retries=0, budget_tokens=1)
    whole = SessionHarness(DISPUTE)
    await whole.open(limits=limits)
    expected = await whole.run()
    store = CrashingStore(lifetime)
    first = SessionHarness(DISPUTE, store)
    await first.open(limits=limits)
    try:
        decision = await first.run()
    except ProcessKilled:
        store.events_left = 10_000
        decision = await SessionHarness(DISPUTE, store).run()
    assert decision == expected
