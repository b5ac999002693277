"""Helpers on a harness: kill a session after every event, answer its gates, and read the prompts of a seat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from roundtable.core.events import EffectDone, EffectFailed, GateAnswered, MoveMade, Recorded, SeatMissed
from roundtable.core.session import Session
from roundtable.core.values import Decision
from tests.stories.session_harness import SESSION, CrashingStore, ProcessKilled, SessionHarness


def last_message(harness: SessionHarness, round: str, seat: str) -> str:
    """Return the last message of the prompt that a seat got in a round."""
    return next(call for call in harness.voices.calls if call.call.startswith(f"{round}/{seat}#")).messages[-1].text


def full_prompt(harness: SessionHarness, round: str, seat: str) -> str:
    """Return all messages of the prompt that a seat got in a round."""
    call = next(call for call in harness.voices.calls if call.call.startswith(f"{round}/{seat}#"))
    return "\n".join(message.text for message in call.messages)


async def wait_until(harness: SessionHarness, condition: Callable[[Session], bool]) -> None:
    """Wait until a condition on the session is true, by watching the store as another process does."""
    async with asyncio.timeout(10):
        while not condition(session := await harness.session()):
            await harness.store.changed(SESSION, session.seq, 1)


async def run_with_answers(harness: SessionHarness, **answers: str | tuple[str, str]) -> Decision:
    """Run the session while a person answers each gate with an option and an optional text."""
    running = asyncio.create_task(harness.run())
    while not running.done():
        for gate in (await harness.session()).open_gates:
            answer = answers[gate.id.replace("-", "_")]
            option, text = answer if isinstance(answer, tuple) else (answer, "")
            await harness.store.append(SESSION, GateAnswered(gate.id, option, text, by="the person"))
        await asyncio.sleep(0)
    return await running


async def kill_after_every_fact(create_harness: Callable[[CrashingStore], SessionHarness], **opening: Any) -> Decision:
    """Kill and resume a session after each event: the decision is equal and no settled turn or step is repeated."""
    uninterrupted = create_harness(CrashingStore(10_000))
    await uninterrupted.open(**opening)
    expected = await uninterrupted.run()
    events = len(await uninterrupted.records()) - 1
    assert events > 8
    for events_left in range(events):
        store = CrashingStore(events_left)
        first = create_harness(store)
        await first.open(**opening)
        with pytest.raises(ProcessKilled):
            await first.run()
        before = _list_settled_steps(await first.records())
        store.events_left = 10_000
        second = create_harness(store)
        assert await second.run() == expected, f"another decision after {events_left} events"
        assert not before & set(second.voices.turns()), "a settled turn was asked again"
        assert not before & set(second.performer.performed), "a step was done again"
    return expected


async def kill_meeting_after_every_fact(script: dict[str, Any], meeting: str, **opening: Any) -> Decision:
    """Kill and resume a shipped meeting after each of its events."""
    return await kill_after_every_fact(lambda store: SessionHarness(script, store, meeting=meeting), **opening)


def _list_settled_steps(records: list[Recorded]) -> set[str]:
    turns = (record.event for record in records if isinstance(record.event, MoveMade | SeatMissed))
    steps = (record.event for record in records if isinstance(record.event, EffectDone | EffectFailed))
    return {*(f"{turn.round}/{turn.seat}" for turn in turns), *(f"{SESSION}/{step.step}" for step in steps)}
