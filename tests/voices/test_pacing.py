"""One provider's patience is shared by every seat that asks it."""

from __future__ import annotations

import asyncio

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply
from roundtable.voices.rate_limits import (
    FIRST_WAIT_SECONDS,
    CallPacer,
    RateLimitWaitError,
    create_voice_rate_limit_fault,
)


def rate_limit_fault(after: float = 0.0) -> Fault:
    return Fault.of(FaultKind.RATE_LIMITED, "slow down", retry_after=after)


async def measure_wait(pace: CallPacer) -> float:
    """How long the next caller would have to wait."""
    with pytest.raises(RateLimitWaitError) as raised:
        async with pace.hold_slot(0):
            pass
    return raised.value.wait


async def test_concurrent_calls_stay_within_the_providers_limit() -> None:
    pace, now, most = CallPacer(2), 0, 0

    async def call() -> None:
        nonlocal now, most
        async with pace.hold_slot(5):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

    await asyncio.gather(*(call() for _ in range(8)))
    assert most == 2


async def test_a_wait_requested_by_the_provider_holds_every_seat() -> None:
    pace = CallPacer(4)
    pace.record_ending(rate_limit_fault(0.2))
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with pace.hold_slot(5):
        assert loop.time() - began >= 0.19
    async with pace.hold_slot(5):
        pass


async def test_a_call_that_cannot_wait_fails_at_once() -> None:
    pace = CallPacer(4)
    pace.record_ending(rate_limit_fault(30))
    with pytest.raises(RateLimitWaitError) as raised:
        async with asyncio.timeout(5), pace.hold_slot(2):
            pass
    fault = create_voice_rate_limit_fault("openai:gpt", raised.value)
    assert fault.kind is FaultKind.RATE_LIMITED
    assert 29 < fault.retry_after <= 30
    assert "openai:gpt" in fault.message


async def test_without_a_requested_time_the_wait_grows() -> None:
    pace = CallPacer(4)
    pace.record_ending(rate_limit_fault())
    async with pace.hold_slot(5):
        pace.record_ending(rate_limit_fault())
    assert await measure_wait(pace) > FIRST_WAIT_SECONDS * 0.95


async def test_an_answer_resets_the_growing_wait() -> None:
    pace = CallPacer(4)
    pace.record_ending(rate_limit_fault())
    async with pace.hold_slot(5):
        pace.record_ending(Reply("fine"))
        pace.record_ending(rate_limit_fault())
    assert await measure_wait(pace) <= FIRST_WAIT_SECONDS


async def test_concurrent_rejections_count_once() -> None:
    pace = CallPacer(4)
    for _ in range(4):
        pace.record_ending(rate_limit_fault())
    assert await measure_wait(pace) <= FIRST_WAIT_SECONDS


async def test_waiting_calls_continue_at_different_times() -> None:
    pace, starts = CallPacer(8), list[float]()
    pace.record_ending(rate_limit_fault(0.2))

    async def call() -> None:
        async with pace.hold_slot(5):
            starts.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(call() for _ in range(8)))
    assert max(starts) - min(starts) > 0.02


async def test_other_faults_and_answers_delay_no_call() -> None:
    pace, let_in = CallPacer(4), 0
    for ending in (Fault.of(FaultKind.SERVER, "down"), Reply("fine")):
        pace.record_ending(ending)
        async with asyncio.timeout(5), pace.hold_slot(0):
            let_in += 1
    assert let_in == 2


async def test_the_calls_a_minute_stay_within_the_limit() -> None:
    pace = CallPacer(8, per_minute=3)
    for _ in range(3):
        async with pace.hold_slot(0):
            pass
    with pytest.raises(RateLimitWaitError) as raised:
        async with pace.hold_slot(1):
            pass
    assert 50 < raised.value.wait <= 60
