"""The conformance kit for voices. An implementation joins by subclassing `VoiceKit`.

A voice that can be pointed at the fault server also joins `FaultKit`, in `fault_kit.py`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec
import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Message, Reply, Request

MISREPORTED = {"negative": -1000, "absurd": 10**15}
"""Figures that no call can have."""

Said = list[str | Reply | Fault]


def make_request(text: str = "Hello?", *, seat: str = "one", call: str = "kit/1-round/one#1", **fields: Any) -> Request:
    """Return a request as the engine makes it."""
    request = Request(call, seat, (Message("system", "You are brief."), Message("user", text)), max_tokens=200)
    return msgspec.structs.replace(request, **fields)


async def collect_events(voice: Voice, request: Request | None = None) -> Said:
    """Return everything that a voice yields for one request."""
    return [item async for item in voice.speak(request or make_request())]


def last_event(events: Said) -> Reply | Fault:
    """Return the Reply or Fault at the end."""
    last = events[-1]
    assert not isinstance(last, str)
    return last


async def first_text(speech: AsyncGenerator[str | Reply | Fault]) -> str | Reply | Fault:
    """Return the first delta with text."""
    while not (piece := await anext(speech)):
        pass
    return piece


class Stage(ABC):
    """One implementation set up for the kit: a voice for each behaviour that the kit tests."""

    bound: float = 2.0
    """Seconds within which a cancelled call must have stopped the real work."""

    @abstractmethod
    def talker(self) -> Voice:
        """Return a voice that answers with some words, among them non-ASCII ones."""

    @abstractmethod
    def slow(self) -> Voice:
        """Return a voice that starts to answer and then continues for much longer than a test waits."""

    @abstractmethod
    def mute(self) -> Voice:
        """Return a voice whose answer is empty."""

    @abstractmethod
    def misreporter(self, figures: str) -> Voice:
        """Return a voice that answers with some words and reports a `negative` or an `absurd` usage and cost."""

    @abstractmethod
    async def idle(self) -> bool:
        """Whether no work is running any more."""

    many: int = 20


class VoiceKit(ABC):
    """The contract of the port Voice."""

    @pytest.fixture
    @abstractmethod
    def stage(self) -> Stage | AsyncGenerator[Stage, None]:
        """The implementation under test."""

    @pytest.mark.feature("S3.26", "S4.13", "S4.14")
    async def test_a_call_ends_with_exactly_one_reply(self, stage: Stage) -> None:
        events = await collect_events(stage.talker())
        reply = last_event(events)
        assert isinstance(reply, Reply)
        assert all(isinstance(item, str) for item in events[:-1])
        assert "".join(cast(list[str], events[:-1])) == reply.text

    async def test_nothing_follows_the_ending(self, stage: Stage) -> None:
        speech = stage.talker().speak(make_request())
        async for item in speech:
            if not isinstance(item, str):
                break
        with pytest.raises(StopAsyncIteration):
            await anext(speech)

    @pytest.mark.feature("S4.13")
    async def test_a_voice_has_a_name_and_a_vendor(self, stage: Stage) -> None:
        voice = stage.talker()
        assert voice.name
        assert voice.vendor
        assert isinstance(voice.structured, bool)
        assert isinstance(voice.edits, bool)

    @pytest.mark.feature("S4.14")
    async def test_an_empty_answer_is_a_fault(self, stage: Stage) -> None:
        fault = last_event(await collect_events(stage.mute()))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.EMPTY
        assert fault.message
        assert fault.help

    async def test_a_failed_call_reports_its_usage(self, stage: Stage) -> None:
        fault = last_event(await collect_events(stage.mute()))
        assert isinstance(fault, Fault)
        assert fault.usage.input_tokens > 0

    async def test_a_reply_reports_its_usage(self, stage: Stage) -> None:
        reply = last_event(await collect_events(stage.talker()))
        assert isinstance(reply, Reply)
        assert reply.usage.input_tokens > 0
        assert reply.usage.output_tokens > 0

    @pytest.mark.parametrize("figures", ["negative", "absurd"])
    async def test_an_implausible_usage_is_replaced_by_an_estimate(self, stage: Stage, figures: str) -> None:
        prompt = "Is this true? " * 100
        end = last_event(await collect_events(stage.misreporter(figures), make_request(prompt)))
        if isinstance(end, Fault):
            assert end.kind is FaultKind.MALFORMED
        assert len(prompt) // 8 <= end.usage.input_tokens <= len(prompt)
        assert 0 < end.usage.output_tokens < 1000
        assert 0 <= end.usage.cached_tokens <= end.usage.input_tokens
        assert 0 <= end.usage.cache_write_tokens <= end.usage.input_tokens
        assert 0 <= (end.usage.cost_usd or 0.0) < 1
        assert 0 <= (end.usage.plan_usd or 0.0) < 1

    async def test_concurrent_calls_are_all_answered(self, stage: Stage) -> None:
        voice = stage.talker()
        calls = [make_request(seat=f"s{n}", call=f"kit/1-round/s{n}#1") for n in range(stage.many)]
        for events in await asyncio.gather(*(collect_events(voice, call) for call in calls)):
            reply = last_event(events)
            assert isinstance(reply, Reply), reply
            assert "".join(cast(list[str], events[:-1])) == reply.text

    async def test_closing_the_stream_stops_the_work(self, stage: Stage) -> None:
        speech = stage.slow().speak(make_request())
        assert isinstance(await first_text(speech), str)
        async with asyncio.timeout(stage.bound):
            await speech.aclose()
        await _becomes_idle(stage)

    @pytest.mark.feature("S4.15")
    async def test_cancelling_the_call_stops_the_work(self, stage: Stage) -> None:
        started = asyncio.Event()

        async def listen() -> None:
            async for piece in stage.slow().speak(make_request()):
                if piece:
                    started.set()

        task = asyncio.create_task(listen())
        async with asyncio.timeout(30):
            await started.wait()
        task.cancel()
        async with asyncio.timeout(stage.bound):
            with pytest.raises(asyncio.CancelledError):
                await task
        await _becomes_idle(stage)

    async def test_a_cancelled_call_leaves_the_voice_usable(self, stage: Stage) -> None:
        speech = stage.slow().speak(make_request())
        await first_text(speech)
        await speech.aclose()
        assert isinstance(last_event(await collect_events(stage.talker())), Reply)

    async def test_a_call_cancelled_before_its_start_costs_nothing(self, stage: Stage) -> None:
        speech = stage.slow().speak(make_request())
        await speech.aclose()
        await _becomes_idle(stage)

    async def test_unusual_characters_in_the_prompt_are_accepted(self, stage: Stage) -> None:
        events = await collect_events(
            stage.talker(), make_request("half a character \udc80, a null \x00 and an end \u2028.")
        )
        assert not isinstance(events[-1], str)

    async def test_closing_a_voice_twice_is_safe(self, stage: Stage) -> None:
        voice = stage.talker()
        await voice.close()
        await voice.close()


async def _becomes_idle(stage: Stage) -> None:
    async with asyncio.timeout(stage.bound):
        while not await stage.idle():  # noqa: ASYNC110 (the work may be in another process)
            await asyncio.sleep(0.02)
