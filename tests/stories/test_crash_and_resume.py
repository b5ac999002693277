"""A session killed after every event resumes to an equal decision without asking anything twice."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.core.effects import FilesRead, ReadFiles
from roundtable.core.events import EffectStarted, MoveMade, Recorded, RunStarted, SeatMissed, TurnAsked
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Decision, Expect, Gate, Limits, Outcome, Prompt, Turns
from roundtable.engine.run import MeetingRules
from tests.stories.session_harness import DISPUTE, CrashingStore, ProcessKilled, SessionHarness, position_reply

FAULTY: dict[str, Any] = {
    "seats": {
        "claude": {"turns": [{"text": position_reply("Use REST")}]},
        "gpt": {"turns": [{"fault": "server", "times": 1}, {"text": position_reply("Use REST")}]},
        "gemini": {"turns": [{"fault": "unauthorized"}]},
    }
}
MENDED: dict[str, Any] = {
    "seats": {
        "claude": {
            "turns": [
                {"contains": "could not be read", "text": position_reply("Use REST")},
                {"text": "No block at all."},
            ]
        },
        "gpt": {"turns": [{"text": position_reply("Use REST")}]},
        "gemini": {"turns": [{"text": "Nothing readable, ever."}]},
    }
}


async def _everything(table: Table) -> Decision:
    """A meeting with every kind of step: rounds in every order, an effect, a gate."""
    read = await table.do("read", ReadFiles(("a.py",)))
    assert isinstance(read, FilesRead)
    first = await table.ask("all/1-free", Prompt("blind"), turns=Turns(concurrency="sequential", order="shuffle"))
    go = await table.gate(Gate("go", "Go on?", ("yes", "no"), default="yes"))
    second = await table.ask(
        "all/2-free",
        Prompt("blind", lists={"choice": ("x", "y", "z")}),
        expect=Expect("free"),
        turns=Turns(concurrency="sequential", visibility="same_round", order="rotate", signed=True),
    )
    counted = tuple(move.seat for move in (*first.moves, *second.moves))
    return Decision(Outcome.REACHED, how=(Said(f"{go}: {[move.text for move in second.moves]}"),), counted=counted)


PLAIN: dict[str, Any] = {"turns": [{"text": "A first word."}, {"text": "A second word."}]}

SCENES: dict[str, tuple[dict[str, Any], MeetingRules | None, Limits]] = {
    "a dispute": (DISPUTE, None, Limits(retries=0)),
    "faults": (FAULTY, None, Limits(retries=2, retry_delay=0.001)),
    "a reply that must be mended": (MENDED, None, Limits(retries=0)),
    "every kind of step": (PLAIN, MeetingRules("everything", 1, _everything), Limits(retries=0)),
}


async def _uninterrupted(scene: str) -> tuple[SessionHarness, Decision]:
    script, meeting, limits = SCENES[scene]
    harness = SessionHarness(script)
    harness.meeting = meeting or harness.meeting
    await harness.open(limits=limits)
    return harness, await harness.run()


async def _killed_after(scene: str, facts: int) -> tuple[SessionHarness, Decision, int]:
    """Crash after this many events, then resume with a new engine and new voices."""
    script, meeting, limits = SCENES[scene]
    store = CrashingStore(facts)
    first = SessionHarness(script, store)
    first.meeting = meeting or first.meeting
    await first.open(limits=limits)
    with pytest.raises(ProcessKilled):
        await first.run()
    on_record = len(await first.records())
    store.events_left = 10_000
    second = SessionHarness(script, store)
    second.meeting = first.meeting
    second.performer.performed = list(first.performer.performed)
    return second, await second.run(), on_record


def _settled(records: list[Recorded]) -> set[str]:
    settled = (record.event for record in records if isinstance(record.event, MoveMade | SeatMissed))
    return {f"{event.round}/{event.seat}" for event in settled}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.feature("S1.34")
async def test_a_council_killed_after_any_fact_resumes_to_the_expected_decision(scene: str) -> None:
    whole, expected = await _uninterrupted(scene)
    facts = len(await whole.records()) - 1
    assert facts > 8
    for lifetime in range(facts):
        harness, decision, on_record = await _killed_after(scene, lifetime)
        assert decision == expected, f"another decision after {lifetime} facts"
        records = await harness.records()
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        before = _settled(records[:on_record])
        assert not before & set(harness.voices.turns()), "a settled turn was asked again"
        assert _settled(records) == _settled(await whole.records())
        started = [record for record in records if isinstance(record.event, EffectStarted)]
        assert len(started) <= 1
        lives = [record for record in records if isinstance(record.event, RunStarted)]
        assert len(lives) == (2 if any(isinstance(record.event, RunStarted) for record in records[:on_record]) else 1)


@pytest.mark.parametrize("scene", SCENES)
async def test_resume_repeats_only_the_calls_that_were_in_flight(scene: str) -> None:
    whole, _ = await _uninterrupted(scene)
    facts = len(await whole.records()) - 1
    for lifetime in range(facts):
        harness, _, on_record = await _killed_after(scene, lifetime)
        records = (await harness.records())[:on_record]
        asked_seats = {
            f"{record.event.round}/{record.event.seat}" for record in records if isinstance(record.event, TurnAsked)
        }
        in_flight = asked_seats - _settled(records)
        for turn, times in harness.voices.turns().items():
            assert times <= whole.voices.turns()[turn], turn
            assert turn in in_flight or turn not in asked_seats


async def test_resume_never_repeats_a_completed_effect() -> None:
    whole, _ = await _uninterrupted("every kind of step")
    facts = len(await whole.records()) - 1
    for lifetime in range(facts):
        harness, _, on_record = await _killed_after("every kind of step", lifetime)
        kinds = [type(record.event).__name__ for record in (await harness.records())[:on_record]]
        if "EffectDone" in kinds:
            assert len(harness.performer.performed) == 1
        if "EffectStarted" in kinds and "EffectDone" not in kinds:
            assert harness.performer.recovered, "a step cut in half was not looked at before doing it again"


async def test_a_session_killed_twice_still_resumes() -> None:
    _, expected = await _uninterrupted("a dispute")
    for first in range(1, 24, 3):
        for second in range(1, 12, 2):
            store = CrashingStore(first)
            harness = SessionHarness(DISPUTE, store)
            await harness.open(limits=Limits(retries=0))
            for lifetime in (second, 10_000):
                with pytest.raises(ProcessKilled):
                    await harness.run()
                store.events_left = lifetime
                harness = SessionHarness(DISPUTE, store)
            assert await harness.run() == expected
