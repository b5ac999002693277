"""Short ways into a meeting's story: kill it after every fact, answer its gates, and see what a seat was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from roundtable.core.events import EffectDone, EffectFailed, GateAnswered, MoveMade, Recorded, SeatMissed
from roundtable.core.session import Session
from roundtable.core.values import Decision
from tests.stories.house import SESSION, House, Killed, MortalStore


def prompt(house: House, round: str, seat: str) -> str:
    """The newest message of what a seat was asked in a round."""
    return next(call for call in house.voices.calls if call.call.startswith(f"{round}/{seat}#")).messages[-1].text


def whole_prompt(house: House, round: str, seat: str) -> str:
    """Everything a seat read in a round."""
    call = next(call for call in house.voices.calls if call.call.startswith(f"{round}/{seat}#"))
    return "\n".join(message.text for message in call.messages)


async def when(house: House, true: Callable[[Session], bool]) -> None:
    """Wait until something holds of the record, as somebody in another process would."""
    async with asyncio.timeout(10):
        while not true(session := await house.session()):
            await house.store.changed(SESSION, session.seq, 1)


async def answered(house: House, **answers: str | tuple[str, str]) -> Decision:
    """Run with a person at the table who answers each gate, in words too where there are some."""
    running = asyncio.create_task(house.run())
    while not running.done():
        for gate in (await house.session()).open_gates:
            answer = answers[gate.id.replace("-", "_")]
            option, text = answer if isinstance(answer, tuple) else (answer, "")
            await house.store.append(SESSION, GateAnswered(gate.id, option, text, by="the person"))
        await asyncio.sleep(0)
    return await running


async def every_death(life: Callable[[MortalStore], House], **opening: Any) -> Decision:
    """Kill the process after every single fact and resume: the same decision, and nothing settled is done again."""
    whole = life(MortalStore(10_000))
    await whole.open(**opening)
    expected = await whole.run()
    facts = len(await whole.records()) - 1
    assert facts > 8
    for lifetime in range(facts):
        store = MortalStore(lifetime)
        first = life(store)
        await first.open(**opening)
        with pytest.raises(Killed):
            await first.run()
        before = _settled(await first.records())
        store.lifetime = 10_000
        second = life(store)
        assert await second.run() == expected, f"another decision after {lifetime} facts"
        assert not before & set(second.voices.turns()), "a settled turn was asked again"
        assert not before & set(second.performer.performed), "a step was done again"
    return expected


async def survives_every_death(script: dict[str, Any], meeting: str, **opening: Any) -> Decision:
    """The same for a shipped meeting."""
    return await every_death(lambda store: House(script, store, meeting=meeting), **opening)


def _settled(records: list[Recorded]) -> set[str]:
    turns = (record.event for record in records if isinstance(record.event, MoveMade | SeatMissed))
    steps = (record.event for record in records if isinstance(record.event, EffectDone | EffectFailed))
    return {*(f"{turn.round}/{turn.seat}" for turn in turns), *(f"{SESSION}/{step.step}" for step in steps)}
