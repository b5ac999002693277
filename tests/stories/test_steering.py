"""Interventions of a person: notes, pauses, gates, amendments, cancelling, interrupting."""

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
from tests.stories.session_harness import SESSION, SessionHarness, position_reply

SLOW: dict[str, Any] = {
    "defaults": {"latency": 0.05},
    "turns": [{"text": "One."}, {"text": "Two."}, {"text": "Three."}],
}


async def _three_rounds(table: Table) -> Decision:
    texts: list[str] = []
    for number in (1, 2, 3):
        name = f"talk/{number}"
        if not await table.may_open(name):
            break
        turns = Turns(concurrency="sequential", visibility="previous_rounds")
        texts.append(",".join((await table.ask(name, Prompt("blind"), turns=turns)).electorate))
    return Decision(Outcome.REACHED, how=(Said(" ".join(texts)),))


async def wait_until(harness: SessionHarness, true: Callable[[Session], bool]) -> None:
    """Wait until a condition on the session is true, by watching the store as another process does."""
    async with asyncio.timeout(10):
        while not true(session := await harness.session()):
            await harness.store.changed(SESSION, session.seq, 1)


async def record_event(harness: SessionHarness, event: Event) -> None:
    await harness.store.append(SESSION, event)


def council_harness(**script: Any) -> SessionHarness:
    harness = SessionHarness(script or SLOW)
    harness.meeting = MeetingRules("talk", 1, _three_rounds)
    return harness


async def test_a_note_is_shown_at_the_next_turn_to_its_recipients() -> None:
    harness = council_harness()
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/1" in session.rounds)
    await record_event(harness, NoteSaid("The client is a phone."))
    await record_event(harness, NoteSaid("Be brief, claude.", to=("claude",)))
    await run
    last = {call.seat: call.messages for call in harness.voices.calls if call.call.startswith("talk/3")}
    heard = {seat: "\n".join(message.text for message in messages) for seat, messages in last.items()}
    assert all(text.count("The client is a phone.") == 1 for text in heard.values())
    assert [seat for seat, text in heard.items() if "Be brief" in text] == ["claude"]
    assert all(messages[0].text == harness.voices.calls[0].messages[0].text for messages in last.values())


async def test_a_pause_holds_the_next_turn_until_continued() -> None:
    harness = council_harness()
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/1" in session.rounds)
    await record_event(harness, PauseAsked())
    await asyncio.sleep(0.3)
    assert not run.done()
    calls_before = len(harness.voices.calls)
    await asyncio.sleep(0.2)
    assert len(harness.voices.calls) == calls_before
    await record_event(harness, ContinueAsked())
    assert (await run).outcome is Outcome.REACHED


async def test_cancel_stops_at_once_and_keeps_recorded_replies() -> None:
    endless = {"turns": [{"text": "word " * 500, "rate": 200}]}
    harness = SessionHarness(endless)
    await harness.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.1)
    await record_event(harness, CancelAsked(reason="changed my mind"))
    decision = await asyncio.wait_for(run, 5)
    assert decision.outcome is Outcome.CANCELLED
    session = await harness.session()
    assert session.ended
    missed = session.turn("council/1-blind", "gpt").missed
    assert missed is not None
    assert missed.fault.kind is FaultKind.CANCELLED
    assert missed.partial.startswith("word word")
    assert (await harness.run()).outcome is Outcome.CANCELLED, "a finished session only answers from its record"


async def test_cancelling_a_stopped_session_takes_effect_on_resume() -> None:
    harness = SessionHarness({"turns": [{"text": position_reply("X")}]})
    await harness.open()
    await record_event(harness, CancelAsked())
    assert (await harness.run()).outcome is Outcome.CANCELLED
    assert harness.voices.calls == []


async def test_an_interrupted_run_keeps_partial_replies_and_asks_again_on_resume() -> None:
    slow = {"turns": [{"text": position_reply("X", text="slow words " * 20), "rate": 100}]}
    script: dict[str, Any] = {"seats": {"claude": slow}, "turns": [{"text": position_reply("X")}]}
    harness = SessionHarness(script)
    await harness.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    records = await harness.records()
    interrupted = [record.event for record in records if isinstance(record.event, TurnInterrupted)]
    assert [event.seat for event in interrupted] == ["claude"]
    assert interrupted[0].partial.startswith("slow words")
    assert isinstance(records[-1].event, RunStopped)
    assert records[-1].event.reason == "interrupted"
    second = SessionHarness(script, harness.store)
    assert (await second.run()).outcome is Outcome.REACHED
    assert list(second.voices.turns()) == ["council/1-blind/claude"]


async def test_seats_can_be_switched_off_and_on_from_the_next_round() -> None:
    harness = council_harness()
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/1" in session.rounds)
    await record_event(harness, SessionAmended(seats_off=("gpt",), name="the talk"))
    await wait_until(harness, lambda session: "talk/2" in session.rounds)
    await record_event(harness, SessionAmended(seats_on=("gpt",)))
    decision = await run
    assert decision_sentence(decision) == "claude,gpt,gemini claude,gemini claude,gpt,gemini"
    assert (await harness.session()).name == "the talk"


async def test_context_added_during_a_session_is_shown_at_the_next_turn() -> None:
    harness = council_harness()
    await harness.open()
    digest = await harness.store.keep(b"SECRET SAUCE")
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/1" in session.rounds)
    await record_event(harness, SessionAmended(context_added=(ContextItem("sauce.md", digest, 12),)))
    await run
    last = [call for call in harness.voices.calls if call.call.startswith("talk/3")]
    assert all("SECRET SAUCE" in "\n".join(message.text for message in call.messages) for call in last)


async def test_a_stopped_session_continues_with_a_raised_budget() -> None:
    harness = council_harness()
    await harness.open(limits=Limits(retries=0, rounds=1))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/1" in session.rounds)
    await record_event(harness, SessionAmended(limits=Limits(retries=0, rounds=2)))
    decision = await run
    assert decision_sentence(decision).count("claude") == 2
    assert "Stopped: 2 rounds were held, and the limit is 2." in notice_sentences(decision)


async def _gated(table: Table) -> Decision:
    choice = await table.gate(Gate("go", "Go on?", ("yes", "no"), default="no"))
    first = await table.ask("gated/1", Prompt("blind"))
    return Decision(Outcome.REACHED, how=(Said(f"{choice} {len(first.moves)}"),))


async def test_an_open_gate_survives_a_restart_and_takes_the_first_valid_answer() -> None:
    harness = SessionHarness({"turns": [{"text": "Fine."}]})
    harness.meeting = MeetingRules("gated", 1, _gated)
    await harness.open(headless=False)
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: bool(session.open_gates))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await record_event(harness, GateAnswered("go", "perhaps"))
    second = SessionHarness({"turns": [{"text": "Fine."}]}, harness.store)
    second.meeting = harness.meeting
    run = asyncio.create_task(second.run())
    await asyncio.sleep(0.1)
    assert not run.done()
    await record_event(second, GateAnswered("go", "yes", by="me"))
    await record_event(second, GateAnswered("go", "no", by="someone slower"))
    assert decision_sentence(await run) == "yes 3"


async def test_a_gate_takes_its_default_at_its_deadline() -> None:
    async def hold(table: Table) -> Decision:
        return Decision(
            Outcome.REACHED, how=(Said(await table.gate(Gate("go", "?", ("yes", "no"), "no", deadline=0.05))),)
        )

    harness = SessionHarness({})
    harness.meeting = MeetingRules("gated", 1, hold)
    await harness.open(headless=False)
    assert decision_sentence(await harness.run()) == "no"
    assert (await harness.session()).answers["go"].by == "deadline default"


async def test_two_runs_of_one_session_are_refused() -> None:
    harness = council_harness()
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: session.runs == 1)
    with pytest.raises(SessionHeld):
        await harness.run()
    await run


async def test_resuming_with_another_version_of_the_meeting_is_a_typed_error() -> None:
    harness = council_harness()
    await harness.open()
    harness.meeting = MeetingRules("talk", 2, _three_rounds)
    with pytest.raises(RecordMismatch):
        await harness.run()


async def test_another_reply_format_in_a_recorded_round_is_a_typed_error() -> None:
    harness = council_harness()
    await harness.open()
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "talk/2" in session.rounds)
    run.cancel()
    await asyncio.wait({run})

    async def other(table: Table) -> Decision:
        await table.ask("talk/1", Prompt("blind"), seats=("claude",))
        raise AssertionError

    harness.meeting = MeetingRules("talk", 1, other)
    with pytest.raises(RecordMismatch):
        await harness.run()


async def test_replies_are_shown_live_and_a_late_observer_gets_the_beginning() -> None:
    harness = SessionHarness({"turns": [{"text": position_reply("X", text="many words " * 10), "rate": 150}]})
    await harness.open(limits=Limits(seat_timeout=60))
    run = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "council/1-blind" in session.rounds)
    await asyncio.sleep(0.05)
    late = harness.feed.subscribe(SESSION)
    texts = {delta.seat: delta.text for delta in harness.feed.snapshot(SESSION)}
    facts: list[Recorded] = []
    async for items in late.batches():
        for item in items:
            if isinstance(item, Delta):
                known = texts.get(item.seat, "")
                texts[item.seat] = known[: item.offset] + item.text
            else:
                facts.append(item)
    await run
    assert set(texts.values()) == {position_reply("X", text="many words " * 10)}
    assert [fact.seq for fact in facts] == sorted(fact.seq for fact in facts)


async def test_prompts_of_a_seat_only_grow_by_appending() -> None:
    harness = council_harness()
    await harness.open()
    await harness.run()
    for seat in ("claude", "gpt", "gemini"):
        prompts = [call.messages for call in harness.voices.calls if call.seat == seat]
        for before, after in itertools.pairwise(prompts):
            assert after[: len(before)] == before
            assert len(after) == len(before) + 2


async def test_a_round_records_its_speaking_order() -> None:
    harness = council_harness()
    await harness.open()
    await harness.run()
    opened = [record.event for record in await harness.records() if isinstance(record.event, RoundOpened)]
    assert {event.order for event in opened} == {("claude", "gpt", "gemini")}
