"""What people did meanwhile does not change what a resumed session comes to."""

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
from tests.stories.house import DISPUTE, SESSION, House, Killed, MortalStore, answer, seat_script


async def when(house: House, true: Callable[[Session], bool]) -> None:
    async with asyncio.timeout(10):
        while not true(session := await house.session()):
            await house.store.changed(SESSION, session.seq, 1)


async def say(house: House, event: Event) -> None:
    await house.store.append(SESSION, event)


def slowly(script: dict[str, Any], latency: float = 0.05) -> dict[str, Any]:
    return {
        **script,
        "seats": {name: {**part, "defaults": {"latency": latency}} for name, part in script["seats"].items()},
    }


async def replayed(house: House, kept: Callable[[Event], bool]) -> Decision:
    """Take the record up to the last fact that is kept, as a killed process would have left it, and resume."""
    facts = [record.event for record in await house.records()]
    last = max(index for index, event in enumerate(facts) if kept(event))
    second = House(house.script)
    second.meeting = house.meeting
    for digest in [*(await house.session()).charter.templates.values()]:
        await second.store.keep(await house.store.fetch(digest))
    for record in (await house.session()).rounds.values():
        for digest in filter(None, (record.opened.text_format, record.opened.json_format)):
            await second.store.keep(await house.store.fetch(digest))
    lease, _ = await second.store.acquire(SESSION, "the dead")
    await second.store.append_many(SESSION, facts[: last + 1], lease)
    await second.store.release(lease)
    return await second.run()


async def test_a_session_resumes_after_a_seat_was_switched_off_before_the_ballot() -> None:
    house = House(slowly(DISPUTE))
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await say(house, SessionAmended(seats_off=("gemini",)))
    decision = await run
    assert [(absence.seat, absence.fault.message) for absence in decision.missing] == [
        ("gemini", "It was switched off.")
    ]
    assert await replayed(house, lambda event: isinstance(event, MoveMade)) == decision


async def test_a_cancelled_session_remains_cancelled_after_any_crash() -> None:
    agree = {"turns": [{"seat": "claude", "hang": True}, {"text": answer("X")}]}
    house = House(agree)
    await house.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.05)
    await say(house, CancelAsked())
    assert (await run).outcome is Outcome.CANCELLED
    again = await replayed(house, lambda event: isinstance(event, RoundClosed))
    assert again.outcome is Outcome.CANCELLED


async def test_a_raised_limit_does_not_change_a_recorded_stop() -> None:
    house = House(DISPUTE)
    await house.open(limits=Limits(retries=0, budget_tokens=1), headless=False)
    run = asyncio.create_task(house.run())
    await when(house, lambda session: bool(session.open_gates))
    await say(house, SessionAmended(limits=Limits(retries=0)))
    await say(house, GateAnswered("choose", "A"))
    decision = await run
    assert decision_sentence(decision).startswith("The person chose A")
    assert await replayed(house, lambda event: isinstance(event, GateAnswered)) == decision


async def test_the_quorum_of_a_round_is_fixed_when_it_opens() -> None:
    script = {"turns": [{"seat": "claude", "text": answer("X"), "latency": 0.2}, {"fault": "quota"}]}
    house = House(script)
    await house.open(limits=Limits(retries=0, quorum=Quorum(seats=3)))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await say(house, SessionAmended(limits=Limits(retries=0, quorum=Quorum(seats=1))))
    assert (await run).outcome is Outcome.INSUFFICIENT


async def test_a_debate_continues_after_a_pause_and_an_amendment() -> None:
    house = House(slowly(DISPUTE))
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/2-ballot" in session.rounds)
    await say(house, PauseAsked())
    await when(house, lambda session: len(session.rounds["council/2-ballot"].moves()) == 3)
    await say(house, SessionAmended(limits=Limits(retries=0, budget_tokens=1)))
    await say(house, ContinueAsked())
    decision = await run
    assert decision.blind_vote == {"A": 1, "B": 1, "C": 1}
    assert decision.counted == ("claude", "gpt", "gemini")


async def test_a_pause_in_the_last_round_delays_the_decision() -> None:
    house = House({"defaults": {"latency": 0.05}, "turns": [{"text": answer("X")}]})
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await say(house, PauseAsked())
    await asyncio.sleep(0.4)
    assert (await house.session()).decision is None
    await say(house, ContinueAsked())
    assert (await run).outcome is Outcome.REACHED


async def _in_turn(table: Table) -> Decision:
    turns = Turns(concurrency="sequential", visibility="same_round", order="priority")
    said = await table.ask("slow/1", Prompt("blind"), turns=turns)
    more = await table.ask("slow/2", Prompt("blind"), turns=Turns(visibility="previous_rounds"))
    missing = " ".join(absence.seat for absence in (*said.missing, *more.missing))
    return Decision(Outcome.REACHED, how=(Said(missing or "all"),))


async def test_a_pause_does_not_count_toward_the_round_deadline() -> None:
    house = House({"turns": [{"round": "*", "text": "Said.", "latency": 0.05}]})
    house.meeting = MeetingRules("slow", 1, _in_turn)
    await house.open(limits=Limits(retries=0, round_deadline=0.6))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "slow/1" in session.rounds)
    await say(house, PauseAsked())
    await asyncio.sleep(1.0)
    await say(house, ContinueAsked())
    assert decision_sentence(await run) == "all"


async def test_removed_context_is_no_longer_shown_from_the_next_round_on() -> None:
    house = House({"turns": [{"round": "*", "text": "Said.", "latency": 0.05}]})
    house.meeting = MeetingRules("slow", 1, _in_turn)
    digest = await house.store.keep(b"OPENING FILE")
    await house.open(context=(ContextItem("a.md", digest, 12),))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "slow/1" in session.rounds)
    await say(house, SessionAmended(context_removed=("a.md",)))
    await run
    texts = {call.call: "\n".join(message.text for message in call.messages) for call in house.voices.calls}
    assert "OPENING FILE" in texts["slow/1/claude#1"]
    assert not any("OPENING FILE" in text for call, text in texts.items() if call.startswith("slow/2"))


async def test_a_repair_request_that_hangs_loses_the_vote_but_keeps_the_reply() -> None:
    claude = {"turns": [{"contains": "could not be read", "hang": True}, {"text": "Words without a block."}]}
    house = House({"seats": {"claude": claude, "gpt": seat_script(answer("X")), "gemini": seat_script(answer("X"))}})
    await house.open(limits=Limits(retries=0, seat_timeout=2))
    decision = await house.run()
    assert [absence.seat for absence in decision.missing] == ["claude"]
    move = (await house.session()).turn("council/1-blind", "claude").move
    assert move is not None
    assert (move.text, move.verdict.parse) == ("Words without a block.", ParseStatus.FAILED)


async def test_every_turn_is_settled_only_once() -> None:
    house = House({"turns": [{"text": answer("X"), "latency": 0.1}]})
    await house.open(limits=Limits(retries=0, seat_timeout=0.1))
    await house.run()
    settled = [record.event for record in await house.records() if isinstance(record.event, MoveMade | SeatMissed)]
    assert len(settled) == 3


async def test_a_budget_stops_a_session_between_rounds() -> None:
    dear = {"usage": {"input_tokens": 10, "output_tokens": 10, "cost_usd": 0.5}}
    script = {"seats": {name: {**part, "defaults": dear} for name, part in DISPUTE["seats"].items()}}
    house = House(script)
    await house.open(limits=Limits(retries=0, budget_usd=1.0))
    decision = await house.run()
    assert notice_sentences(decision) == ("Stopped: $1.50 is spent, and the budget is $1.00.",)
    assert decision.outcome is Outcome.TIE


async def test_seats_with_unreadable_replies_are_named_when_the_quorum_is_lost() -> None:
    house = House({"seats": {"claude": seat_script(answer("X"))}, "turns": [{"text": "mumble"}]})
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    assert decision.counted == ("claude",)
    assert {(absence.seat, absence.fault.kind) for absence in decision.missing} == {
        ("gpt", FaultKind.MALFORMED),
        ("gemini", FaultKind.MALFORMED),
    }


@pytest.mark.parametrize("lifetime", range(1, 20))
async def test_a_stop_at_a_limit_is_replayed_after_any_crash(lifetime: int) -> None:
    limits = Limits(retries=0, budget_tokens=1)
    whole = House(DISPUTE)
    await whole.open(limits=limits)
    expected = await whole.run()
    store = MortalStore(lifetime)
    first = House(DISPUTE, store)
    await first.open(limits=limits)
    try:
        decision = await first.run()
    except Killed:
        store.lifetime = 10_000
        decision = await House(DISPUTE, store).run()
    assert decision == expected
