"""Every kind of fault, alone and combined, ends in a labelled decision or a typed outcome, never in a traceback."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from roundtable.core.events import CallFailed, MoveMade, SeatMissed
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Table, Voice
from roundtable.core.reasons import Said
from roundtable.core.values import Decision, Limits, MoveStatus, Outcome, Prompt, Quorum, Reply, Request
from roundtable.engine.run import MeetingRules
from roundtable.report.reasons import decision_sentence
from tests.stories.session_harness import SEATS, SessionHarness, council_turns, position_reply

QUICK = Limits(retries=1, retry_delay=0.001)
GOOD = council_turns(position_reply("Use REST"))


def failing(kind: FaultKind, **options: Any) -> dict[str, Any]:
    return {"turns": [{"fault": kind.value, "message": f"planted {kind}", **options}]}


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("kind", FaultKind)
async def test_a_meeting_decides_although_one_seat_fails(kind: FaultKind, seat: str) -> None:
    harness = SessionHarness({"seats": {name: failing(kind) if name == seat else GOOD for name in SEATS}})
    await harness.open(limits=QUICK)
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert seat not in decision.counted
    assert [(absence.seat, absence.fault.kind) for absence in decision.missing] == [(seat, kind)]
    assert decision.degraded
    assert decision.missing[0].fault.help
    retryable = Fault.of(kind, "").retryable
    assert harness.voices.turns()[f"council/1-blind/{seat}"] == (2 if retryable else 1)


@pytest.mark.parametrize("kind", FaultKind)
async def test_a_meeting_in_which_all_seats_fail_decides_nothing(kind: FaultKind) -> None:
    harness = SessionHarness({"seats": {name: failing(kind) for name in SEATS}})
    await harness.open(limits=QUICK)
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    assert decision.counted == ()
    assert [absence.fault.kind for absence in decision.missing] == [kind] * 3
    assert (await harness.session()).ended


async def test_a_meeting_handles_every_pair_of_faults() -> None:
    for one, other in itertools.combinations(FaultKind, 2):
        harness = SessionHarness({"seats": {"claude": failing(one), "gpt": failing(other), "gemini": GOOD}})
        await harness.open(limits=QUICK)
        decision = await harness.run()
        assert decision.outcome is Outcome.INSUFFICIENT
        assert decision.counted == ("gemini",)
        assert {absence.seat: absence.fault.kind for absence in decision.missing} == {"claude": one, "gpt": other}


async def test_a_single_remaining_seat_is_a_single_opinion_if_the_quorum_allows_it() -> None:
    harness = SessionHarness(
        {"seats": {"claude": failing(FaultKind.SERVER), "gpt": failing(FaultKind.QUOTA), "gemini": GOOD}}
    )
    limits = Limits(retries=0, quorum=Quorum(seats=1))
    await harness.open(limits=limits)
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision_sentence(decision) == "This is a single opinion, because only one seat could be counted."
    assert decision.degraded


@pytest.mark.feature("S4.97")
async def test_a_seat_that_hangs_costs_only_its_timeout() -> None:
    hung = {"turns": [{"hang": True, "text": "I was about to say", "after": 3}]}
    harness = SessionHarness({"seats": {"claude": hung, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=msgspec.structs.replace(QUICK, seat_timeout=2))
    decision = await asyncio.wait_for(harness.run(), 60)
    assert decision.missing[0].fault.kind is FaultKind.TIMEOUT
    missed = (await harness.session()).turn("council/1-blind", "claude").missed
    assert missed is not None
    assert missed.partial == "I was about"


async def test_empty_answers_never_count() -> None:
    harness = SessionHarness({"seats": {"claude": {"turns": [{"text": "  \n "}]}, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=QUICK)
    decision = await harness.run()
    assert decision.missing[0].fault.kind is FaultKind.EMPTY
    assert decision.counted == ("gpt", "gemini")


async def test_reasoning_without_an_answer_never_counts_and_is_recorded() -> None:
    thoughts = f"<think>\nI would say:\n{position_reply('Use REST')}"
    harness = SessionHarness({"seats": {"claude": {"turns": [{"text": thoughts}]}, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=QUICK)
    decision = await harness.run()
    assert decision.missing[0].fault.kind is FaultKind.EMPTY
    assert "returned reasoning but no answer" in decision.missing[0].fault.message
    assert decision.counted == ("gpt", "gemini")
    failed = next(record.event for record in await harness.records() if isinstance(record.event, CallFailed))
    assert failed.partial == thoughts
    assert failed.usage.output_tokens, "it was paid for"


async def test_each_retry_of_a_transient_fault_is_recorded() -> None:
    flaky = {"turns": [{"fault": "overloaded", "times": 2}, {"text": position_reply("Use REST")}]}
    harness = SessionHarness({"seats": {"claude": flaky, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=Limits(retries=2, retry_delay=0.001))
    decision = await harness.run()
    assert decision.counted == SEATS
    failures = [record.event for record in await harness.records() if isinstance(record.event, CallFailed)]
    assert len(failures) == 2
    assert all(failure.delay is not None for failure in failures)


async def test_a_retry_after_longer_than_the_seats_timeout_is_not_waited_for() -> None:
    harness = SessionHarness(
        {"seats": {"claude": failing(FaultKind.RATE_LIMITED, retry_after=3600), "gpt": GOOD, "gemini": GOOD}}
    )
    await harness.open(limits=QUICK)
    decision = await asyncio.wait_for(harness.run(), 10)
    assert decision.missing[0].fault.kind is FaultKind.RATE_LIMITED


class FaultyVoices:
    """Voices by name: one good voice, the others violate the contract of a voice."""

    def find(self, voice: str) -> Voice | Fault:
        if voice == "gone":
            return Fault.of(FaultKind.MISSING, "not installed")
        return BrokenVoice(voice)


class BrokenVoice:
    """A voice that raises, ends without a reply, or answers."""

    vendor = "test"
    structured = False
    plain_when_long = False
    edits = False

    def __init__(self, name: str) -> None:
        self.name = name

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        if self.name == "raises":
            raise RuntimeError("a bug in a voice")
        if self.name == "endless":
            yield "some words"
            return
        yield position_reply("Use REST")
        yield Reply(position_reply("Use REST"))

    async def close(self) -> None: ...


@pytest.mark.parametrize("first", ["gone", "raises", "endless"])
async def test_the_record_names_the_fallback_voice_that_answered(first: str) -> None:
    harness = SessionHarness({}, other_voices=FaultyVoices())
    await harness.open(limits=Limits(retries=0), chain=(first, "good"))
    decision = await harness.run()
    assert decision.counted == SEATS
    moves = [record.event for record in await harness.records() if isinstance(record.event, MoveMade)]
    assert {move.voice for move in moves} == {"good"}
    failures = [record.event for record in await harness.records() if isinstance(record.event, CallFailed)]
    assert {failure.voice for failure in failures} == {first}


async def _slow(table: Table) -> Decision:
    first = await table.ask("slow/1-first", Prompt("blind"))
    await asyncio.sleep(0.6)
    return Decision(Outcome.REACHED, how=(Said(str(first.quorate)),))


@pytest.mark.feature("S1.91", "S1.89")
async def test_an_answer_after_the_round_deadline_is_stored_but_not_counted() -> None:
    harness = SessionHarness(
        {"turns": [{"seat": "claude", "text": "Late.", "latency": 0.4}, {"seat": "g*", "text": "Soon."}]}
    )
    harness.meeting = MeetingRules("slow", 1, _slow)
    await harness.open(limits=Limits(retries=0, seat_timeout=5, round_deadline=0.15))
    await harness.run()
    record = (await harness.session()).rounds["slow/1-first"]
    assert record.closed is not None
    assert record.closed.how == "deadline"
    assert record.closed.missing == ("claude",)
    move = record.turns["claude"].move
    assert move is not None
    assert move.status is MoveStatus.LATE
    assert [move.seat for move in record.result(record.closed).moves] == ["gpt", "gemini"]


async def test_a_round_can_close_as_soon_as_the_quorum_is_reached() -> None:
    harness = SessionHarness({"seats": {"claude": {"turns": [{"hang": True}]}, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=Limits(retries=0, seat_timeout=60, round_deadline=60, close_on_quorum=True))
    decision = await asyncio.wait_for(harness.run(), 10)
    assert decision.counted == ("gpt", "gemini")
    closed = (await harness.session()).rounds["council/1-blind"].closed
    assert closed is not None
    assert closed.how == "quorum"
    assert any(isinstance(record.event, SeatMissed) for record in await harness.records()), (
        "the hung turn is settled too"
    )


async def test_the_quorum_is_lost_if_a_required_seat_is_missing() -> None:
    harness = SessionHarness({"seats": {"claude": failing(FaultKind.QUOTA), "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=Limits(retries=0, quorum=Quorum(seats=2, essential=("claude",))))
    assert (await harness.run()).outcome is Outcome.INSUFFICIENT
