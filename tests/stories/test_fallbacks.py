"""If the first voice of a seat fails, its fallback voice answers and the decision says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from roundtable.core.events import CallFailed, MoveMade, RoundOpened, TurnAsked
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Limits, Outcome, Reply, Request
from roundtable.report.reasons import substitution_sentence
from roundtable.voices.scripted import ScriptedVoice, parse_voice_script
from tests.stories.session_harness import (
    DISPUTE,
    CrashingStore,
    ProcessKilled,
    SessionHarness,
    council_turns,
    position_reply,
)

LIMITS = Limits(retries=1, retry_delay=0.001, seat_timeout=5, round_deadline=20)
CHAIN = ("cli:claude", "anthropic:claude", "embedded:small")
GOOD = {"seats": {name: council_turns(position_reply("Use REST")) for name in ("claude", "gpt", "gemini")}}


class VoiceChains:
    """Voices by name, each with its own script; `calls` records the requests by voice."""

    def __init__(self, **scripts: dict[str, Any]) -> None:
        self._voices = {name: ScriptedVoice(name, parse_voice_script(script)) for name, script in scripts.items()}
        self.calls: list[tuple[str, Request]] = []
        self.at_once = self.most_at_once = 0

    def find(self, voice: str) -> Voice | Fault:
        kind = voice.partition(":")[0]
        return (
            _ObservedVoice(voice, self._voices[kind], self)
            if kind in self._voices
            else Fault.of(FaultKind.MISSING, "No.")
        )

    def asked(self) -> list[tuple[str, str]]:
        return [(voice.partition(":")[0], request.call) for voice, request in self.calls]


class _ObservedVoice:
    """A voice of a chain that records its requests."""

    def __init__(self, name: str, voice: ScriptedVoice, chains: VoiceChains) -> None:
        self.name, self.vendor, self.structured = name, voice.vendor, voice.structured
        self.plain_when_long = False
        self.edits = False
        self._voice, self._chains = voice, chains

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        self._chains.calls.append((self.name, request))
        self._chains.at_once += 1
        self._chains.most_at_once = max(self._chains.most_at_once, self._chains.at_once)
        try:
            async for piece in self._voice.speak(request):
                yield piece
        finally:
            self._chains.at_once -= 1

    async def close(self) -> None:
        await self._voice.close()


def failing(kind: str) -> dict[str, Any]:
    return {"turns": [{"fault": kind, "message": f"planted {kind}"}]}


@pytest.mark.feature("S3.21", "S3.77")
async def test_a_fallback_voice_answers_and_the_decision_says_so() -> None:
    chains = VoiceChains(cli=failing("crashed"), anthropic=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN, limits=LIMITS)
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.counted == ("claude", "gpt", "gemini")
    assert not decision.degraded
    (first, *_) = decision.substitutions
    assert (first.seat, first.voice, first.instead_of) == ("claude", "anthropic:claude", "cli:claude")
    assert first.rounds == ("council/1-blind",)
    assert "planted crashed" in substitution_sentence(first)
    records = await harness.records()
    purposes = [
        record.event.purpose for record in records if isinstance(record.event, TurnAsked) and record.event.seat == "gpt"
    ]
    assert purposes == ["answer", "retry", "fallback"]
    assert {record.event.voice for record in records if isinstance(record.event, MoveMade)} == {"anthropic:claude"}


async def test_each_seat_reports_its_cause_and_every_skipped_voice() -> None:
    causes = {"claude": "server", "gpt": "refused", "gemini": "refused"}
    first = {"seats": {seat: failing(kind) for seat, kind in causes.items()}}
    chains = VoiceChains(cli=first, anthropic=failing("context_overflow"), embedded=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN, limits=LIMITS)
    decision = await harness.run()
    assert {substitution.seat: substitution.fault.kind for substitution in decision.substitutions} == causes
    for substitution in decision.substitutions:
        assert "anthropic:claude was not available either: planted context_overflow" in substitution_sentence(
            substitution
        )


async def test_no_fallback_is_reported_if_the_first_voice_answers() -> None:
    harness = SessionHarness(GOOD, other_voices=VoiceChains(cli=GOOD, anthropic=GOOD))
    await harness.open(chain=CHAIN, limits=LIMITS)
    assert (await harness.run()).substitutions == ()


async def test_a_voice_with_a_permanent_fault_is_tried_once_per_run() -> None:
    """A missing program, an invalid key or an empty account will not be fixed by the next round."""
    chains = VoiceChains(cli=failing("unauthorized"), anthropic=DISPUTE)
    harness = SessionHarness(DISPUTE, other_voices=chains)
    await harness.open(chain=CHAIN, limits=LIMITS, seats=("claude", "gpt", "gemini"))
    decision = await harness.run()
    opened = [record.event.round for record in await harness.records() if isinstance(record.event, RoundOpened)]
    assert len(opened) > 1
    first_round = {(voice, call) for voice, call in chains.asked() if voice == "cli"}
    assert all(call.startswith(opened[0]) for _, call in first_round)
    assert {substitution.rounds for substitution in decision.substitutions} == {tuple(opened)}
    assert all("unauthorized" in substitution.fault.message for substitution in decision.substitutions)


async def test_a_voice_that_failed_for_one_seat_is_skipped_by_the_others_with_the_reason() -> None:
    """Asked one at a time, only the first seat finds that the key is invalid; the others skip the call."""
    chains = VoiceChains(cli=failing("unauthorized"), anthropic=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN, limits=msgspec.structs.replace(LIMITS, sequential=True))
    decision = await harness.run()
    assert sum(voice == "cli" for voice, _ in chains.asked()) == 1
    assert {substitution.fault.message for substitution in decision.substitutions} == {"planted unauthorized"}
    assert len(decision.substitutions) == 3


async def test_a_voice_with_a_transient_fault_is_tried_again_in_the_next_round() -> None:
    busy = {"round": "*1-blind", "fault": "overloaded", "message": "busy"}
    later = {seat: {"turns": [busy, *part["turns"][1:]]} for seat, part in DISPUTE["seats"].items()}
    chains = VoiceChains(cli={"seats": later}, anthropic=DISPUTE)
    harness = SessionHarness(DISPUTE, other_voices=chains)
    await harness.open(chain=CHAIN, limits=LIMITS)
    decision = await harness.run()
    assert {substitution.rounds for substitution in decision.substitutions} == {("council/1-blind",)}


async def test_a_silent_voice_is_abandoned_in_time_for_its_fallback() -> None:
    chains = VoiceChains(cli={"turns": [{"hang": True}]}, anthropic=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN[:2], limits=msgspec.structs.replace(LIMITS, seat_timeout=4))
    decision = await asyncio.wait_for(harness.run(), 20)
    assert decision.counted == ("claude", "gpt", "gemini")
    assert {substitution.fault.kind for substitution in decision.substitutions} == {FaultKind.TIMEOUT}


async def test_a_voice_that_stops_in_mid_sentence_is_abandoned_in_time_for_its_fallback() -> None:
    chains = VoiceChains(cli={"turns": [{"hang": True, "text": "Well, I would say", "after": 2}]}, anthropic=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN[:2], limits=msgspec.structs.replace(LIMITS, seat_timeout=4))
    decision = await asyncio.wait_for(harness.run(), 20)
    assert decision.counted == ("claude", "gpt", "gemini")
    failures = [record.event for record in await harness.records() if isinstance(record.event, CallFailed)]
    assert {(failure.fault.kind, failure.partial) for failure in failures} == {(FaultKind.TIMEOUT, "Well, I")}


async def test_waiting_in_the_queue_does_not_count_as_silence() -> None:
    """The provider takes one call at a time, each as long as a seat's share of time."""
    one_by_one = QueuedVoice({"defaults": {"latency": 0.35}, **GOOD})
    harness = SessionHarness(GOOD, other_voices=one_by_one)
    await harness.open(chain=CHAIN[:2], limits=msgspec.structs.replace(LIMITS, seat_timeout=2))
    decision = await harness.run()
    assert decision.counted == ("claude", "gpt", "gemini")
    assert decision.substitutions == ()


class QueuedVoice:
    """A provider that takes one call at a time and announces when a call begins."""

    plain_when_long = structured = edits = False
    name = vendor = "queued"

    def __init__(self, script: dict[str, Any]) -> None:
        self._voice = ScriptedVoice("queued", parse_voice_script(script))
        self._slot = asyncio.Semaphore(1)

    def find(self, voice: str) -> Voice | Fault:
        return self

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        async with self._slot:
            yield ""
            async for piece in self._voice.speak(request):
                yield piece

    async def close(self) -> None:
        await self._voice.close()


async def test_a_voice_that_is_speaking_is_not_interrupted_for_its_fallback() -> None:
    """The voice begins at once and ends after more than half of the seat's two seconds."""
    chains = VoiceChains(cli={"defaults": {"rate": 8}, **GOOD}, anthropic=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN[:2], limits=msgspec.structs.replace(LIMITS, seat_timeout=3))
    decision = await harness.run()
    assert decision.substitutions == ()
    assert min(move.timing.total for move in (await harness.session()).rounds["council/1-blind"].moves()) > 0.5


async def test_all_voices_of_a_seat_share_one_retry_budget() -> None:
    chains = VoiceChains(cli=failing("server"), anthropic=failing("server"), embedded=failing("server"))
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=CHAIN, limits=msgspec.structs.replace(LIMITS, retries=2))
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    for seat in ("claude", "gpt", "gemini"):
        assert sum(request.seat == seat for _, request in chains.calls) == len(CHAIN) + 2
    failures = [record.event for record in await harness.records() if isinstance(record.event, CallFailed)]
    assert len(failures) == len(chains.calls)


async def test_a_resumed_session_still_reports_fallbacks() -> None:
    whole = SessionHarness(DISPUTE, other_voices=VoiceChains(cli=failing("crashed"), anthropic=DISPUTE))
    await whole.open(chain=CHAIN, limits=LIMITS)
    expected = (await whole.run()).substitutions
    assert expected
    store = CrashingStore(14)
    first = SessionHarness(DISPUTE, store, VoiceChains(cli=failing("crashed"), anthropic=DISPUTE))
    await first.open(chain=CHAIN, limits=LIMITS)
    with pytest.raises(ProcessKilled):
        await first.run()
    store.events_left = 10_000
    second = SessionHarness(DISPUTE, store, VoiceChains(cli=failing("crashed"), anthropic=DISPUTE))
    assert (await second.run()).substitutions == expected


@pytest.mark.parametrize(("sequential", "most"), [(True, 1), (False, 3)])
async def test_seats_can_be_asked_one_at_a_time_for_rate_limited_plans(sequential: bool, most: int) -> None:
    slow = {"defaults": {"latency": 0.05}, **DISPUTE}
    chains = VoiceChains(cli=slow)
    harness = SessionHarness(slow, other_voices=chains)
    await harness.open(chain=("cli:claude",), limits=msgspec.structs.replace(LIMITS, sequential=sequential))
    decision = await harness.run()
    assert chains.most_at_once == most
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "Use REST"


async def test_seats_asked_one_at_a_time_still_answer_blind() -> None:
    chains = VoiceChains(cli=GOOD)
    harness = SessionHarness(GOOD, other_voices=chains)
    await harness.open(chain=("cli:claude",), limits=msgspec.structs.replace(LIMITS, sequential=True))
    await harness.run()
    last = chains.calls[-1][1]
    assert all("Use REST" not in message.text for message in last.messages)


async def test_seats_asked_one_at_a_time_each_have_their_own_deadline() -> None:
    """Three seats of 0.3 s fit into a round of 0.5 s when each has its own."""
    slow = {"defaults": {"latency": 0.3}, **GOOD}
    harness = SessionHarness(slow, other_voices=VoiceChains(cli=slow))
    limits = msgspec.structs.replace(LIMITS, sequential=True, round_deadline=0.6)
    await harness.open(chain=("cli:claude",), limits=limits)
    assert (await harness.run()).counted == ("claude", "gpt", "gemini")
