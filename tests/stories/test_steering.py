"""The person at the table: notes, pauses, gates, amendments, cancelling, interrupting."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from roundtable.core.events import (
    CancelAsked,
    ContinueAsked,
    Delta,
    Event,
    GateAnswered,
    NoteSaid,
    PauseAsked,
    Recorded,
    RoundOpened,
    RunStopped,
    SessionAmended,
    TurnInterrupted,
)
from roundtable.core.faults import FaultKind, RecordMismatch, SessionHeld
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.values import ContextItem, Decision, Gate, Limits, Outcome, Prompt, Turns
from roundtable.engine.run import MeetingRules
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.stories.house import SESSION, House, answer

SLOW: dict[str, Any] = {
    "defaults": {"latency": 0.05},
    "turns": [{"text": "One."}, {"text": "Two."}, {"text": "Three."}],
}


async def _three_rounds(table: Table) -> Decision:
    said: list[str] = []
    for number in (1, 2, 3):
        name = f"talk/{number}"
        if not await table.may_open(name):
            break
        turns = Turns(concurrency="sequential", visibility="previous_rounds")
        said.append(",".join((await table.ask(name, Prompt("blind"), turns=turns)).electorate))
    return Decision(Outcome.REACHED, how=(Said(" ".join(said)),))


async def when(house: House, true: Callable[[Session], bool]) -> None:
    """Wait until something holds of the record, as somebody in another process would."""
    async with asyncio.timeout(10):
        while not true(session := await house.session()):
            await house.store.changed(SESSION, session.seq, 1)


async def say(house: House, event: Event) -> None:
    await house.store.append(SESSION, event)


def talking(**script: Any) -> House:
    house = House(script or SLOW)
    house.meeting = MeetingRules("talk", 1, _three_rounds)
    return house


async def test_a_note_is_shown_at_the_next_turn_to_its_recipients() -> None:
    house = talking()
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/1" in session.rounds)
    await say(house, NoteSaid("The client is a phone."))
    await say(house, NoteSaid("Be brief, claude.", to=("claude",)))
    await run
    last = {call.seat: call.messages for call in house.voices.calls if call.call.startswith("talk/3")}
    heard = {seat: "\n".join(message.text for message in messages) for seat, messages in last.items()}
    assert all(text.count("The client is a phone.") == 1 for text in heard.values())
    assert [seat for seat, text in heard.items() if "Be brief" in text] == ["claude"]
    assert all(messages[0].text == house.voices.calls[0].messages[0].text for messages in last.values())


async def test_a_pause_holds_the_next_turn_until_continued() -> None:
    house = talking()
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/1" in session.rounds)
    await say(house, PauseAsked())
    await asyncio.sleep(0.3)
    assert not run.done()
    asked = len(house.voices.calls)
    await asyncio.sleep(0.2)
    assert len(house.voices.calls) == asked
    await say(house, ContinueAsked())
    assert (await run).outcome is Outcome.REACHED


async def test_cancel_stops_at_once_and_keeps_recorded_replies() -> None:
    endless = {"turns": [{"text": "word " * 500, "rate": 200}]}
    house = House(endless)
    await house.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.1)
    await say(house, CancelAsked(reason="changed my mind"))
    decision = await asyncio.wait_for(run, 5)
    assert decision.outcome is Outcome.CANCELLED
    session = await house.session()
    assert session.ended
    missed = session.turn("council/1-blind", "gpt").missed
    assert missed is not None
    assert missed.fault.kind is FaultKind.CANCELLED
    assert missed.partial.startswith("word word")
    assert (await house.run()).outcome is Outcome.CANCELLED, "a finished session only answers from its record"


async def test_cancelling_a_stopped_session_takes_effect_on_resume() -> None:
    house = House({"turns": [{"text": answer("X")}]})
    await house.open()
    await say(house, CancelAsked())
    assert (await house.run()).outcome is Outcome.CANCELLED
    assert house.voices.calls == []


async def test_an_interrupted_run_keeps_partial_replies_and_asks_again_on_resume() -> None:
    slow = {"turns": [{"text": answer("X", text="slow words " * 20), "rate": 100}]}
    script: dict[str, Any] = {"seats": {"claude": slow}, "turns": [{"text": answer("X")}]}
    house = House(script)
    await house.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    records = await house.records()
    interrupted = [record.event for record in records if isinstance(record.event, TurnInterrupted)]
    assert [event.seat for event in interrupted] == ["claude"]
    assert interrupted[0].partial.startswith("slow words")
    assert isinstance(records[-1].event, RunStopped)
    assert records[-1].event.reason == "interrupted"
    second = House(script, house.store)
    assert (await second.run()).outcome is Outcome.REACHED
    assert list(second.voices.turns()) == ["council/1-blind/claude"]


async def test_seats_can_be_switched_off_and_on_from_the_next_round() -> None:
    house = talking()
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/1" in session.rounds)
    await say(house, SessionAmended(seats_off=("gpt",), name="the talk"))
    await when(house, lambda session: "talk/2" in session.rounds)
    await say(house, SessionAmended(seats_on=("gpt",)))
    decision = await run
    assert decision_sentence(decision) == "claude,gpt,gemini claude,gemini claude,gpt,gemini"
    assert (await house.session()).name == "the talk"


async def test_context_added_during_a_session_is_shown_at_the_next_turn() -> None:
    house = talking()
    await house.open()
    digest = await house.store.keep(b"SECRET SAUCE")
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/1" in session.rounds)
    await say(house, SessionAmended(context_added=(ContextItem("sauce.md", digest, 12),)))
    await run
    last = [call for call in house.voices.calls if call.call.startswith("talk/3")]
    assert all("SECRET SAUCE" in "\n".join(message.text for message in call.messages) for call in last)


async def test_a_stopped_session_continues_with_a_raised_budget() -> None:
    house = talking()
    await house.open(limits=Limits(retries=0, rounds=1))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/1" in session.rounds)
    await say(house, SessionAmended(limits=Limits(retries=0, rounds=2)))
    decision = await run
    assert decision_sentence(decision).count("claude") == 2
    assert "Stopped: 2 rounds were held, and the limit is 2." in notice_sentences(decision)


async def _gated(table: Table) -> Decision:
    choice = await table.gate(Gate("go", "Go on?", ("yes", "no"), default="no"))
    first = await table.ask("gated/1", Prompt("blind"))
    return Decision(Outcome.REACHED, how=(Said(f"{choice} {len(first.moves)}"),))


async def test_an_open_gate_survives_a_restart_and_takes_the_first_valid_answer() -> None:
    house = House({"turns": [{"text": "Fine."}]})
    house.meeting = MeetingRules("gated", 1, _gated)
    await house.open(headless=False)
    run = asyncio.create_task(house.run())
    await when(house, lambda session: bool(session.open_gates))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await say(house, GateAnswered("go", "perhaps"))
    second = House({"turns": [{"text": "Fine."}]}, house.store)
    second.meeting = house.meeting
    run = asyncio.create_task(second.run())
    await asyncio.sleep(0.1)
    assert not run.done()
    await say(second, GateAnswered("go", "yes", by="me"))
    await say(second, GateAnswered("go", "no", by="someone slower"))
    assert decision_sentence(await run) == "yes 3"


async def test_a_gate_takes_its_default_at_its_deadline() -> None:
    async def hold(table: Table) -> Decision:
        return Decision(
            Outcome.REACHED, how=(Said(await table.gate(Gate("go", "?", ("yes", "no"), "no", deadline=0.05))),)
        )

    house = House({})
    house.meeting = MeetingRules("gated", 1, hold)
    await house.open(headless=False)
    assert decision_sentence(await house.run()) == "no"
    assert (await house.session()).answers["go"].by == "deadline default"


async def test_two_runs_of_one_session_are_refused() -> None:
    house = talking()
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: session.runs == 1)
    with pytest.raises(SessionHeld):
        await house.run()
    await run


async def test_resuming_with_another_version_of_the_meeting_is_a_typed_error() -> None:
    house = talking()
    await house.open()
    house.meeting = MeetingRules("talk", 2, _three_rounds)
    with pytest.raises(RecordMismatch):
        await house.run()


async def test_another_reply_format_in_a_recorded_round_is_a_typed_error() -> None:
    house = talking()
    await house.open()
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "talk/2" in session.rounds)
    run.cancel()
    await asyncio.wait({run})

    async def other(table: Table) -> Decision:
        await table.ask("talk/1", Prompt("blind"), seats=("claude",))
        raise AssertionError

    house.meeting = MeetingRules("talk", 1, other)
    with pytest.raises(RecordMismatch):
        await house.run()


async def test_replies_are_shown_live_and_a_late_observer_gets_the_beginning() -> None:
    house = House({"turns": [{"text": answer("X", text="many words " * 10), "rate": 150}]})
    await house.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(house.run())
    await when(house, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.05)
    late = house.feed.subscribe(SESSION)
    texts = {delta.seat: delta.text for delta in house.feed.snapshot(SESSION)}
    facts: list[Recorded] = []
    async for items in late.batches():
        for item in items:
            if isinstance(item, Delta):
                known = texts.get(item.seat, "")
                texts[item.seat] = known[: item.offset] + item.text
            else:
                facts.append(item)
    await run
    assert set(texts.values()) == {answer("X", text="many words " * 10)}
    assert [fact.seq for fact in facts] == sorted(fact.seq for fact in facts)


async def test_prompts_of_a_seat_only_grow_by_appending() -> None:
    house = talking()
    await house.open()
    await house.run()
    for seat in ("claude", "gpt", "gemini"):
        prompts = [call.messages for call in house.voices.calls if call.seat == seat]
        for before, after in itertools.pairwise(prompts):
            assert after[: len(before)] == before
            assert len(after) == len(before) + 2


async def test_a_round_records_its_speaking_order() -> None:
    house = talking()
    await house.open()
    await house.run()
    opened = [record.event for record in await house.records() if isinstance(record.event, RoundOpened)]
    assert {event.order for event in opened} == {("claude", "gpt", "gemini")}
