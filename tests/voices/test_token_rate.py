"""Tokens a minute: who would go over the limit of an account waits its turn; what can never fit is refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.values import Reply, WaitNotice
from roundtable.voices.endpoints import (
    Endpoint,
    load_shipped_voice_endpoints,
    override_shipped_voice_endpoint,
    parse_voice_endpoint,
)
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice
from roundtable.voices.rate_limits import CallPacer, TokenRate
from tests.kits.voice_kit import Said, collect_events, last_event, make_request

SOON = 0.4
"""A minute that a test can wait for."""


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def client(server: FaultServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_provider_http_client(endpoint(server)) as client:
        yield client


def endpoint(server: FaultServer, **limits: int) -> Endpoint:
    token_limits = {name.replace("_", "-"): limit for name, limit in limits.items()}
    return Endpoint("lab", server.base("openai-chat"), tokens_per_minute=token_limits)


async def send_call(rate: TokenRate, tokens: int, used: int | None = None) -> None:
    """One call, from its wait to its end."""
    async with rate.hold_tokens(tokens) as share:
        rate.mark_sent(share)
        share.tokens = tokens if used is None else used


async def test_no_minute_sees_more_tokens_than_the_limit() -> None:
    rate, loop = TokenRate(100, SOON), asyncio.get_running_loop()
    began: list[float] = []

    async def call() -> None:
        async with rate.hold_tokens(40) as share:
            rate.mark_sent(share)
            began.append(loop.time())

    await asyncio.gather(*(call() for _ in range(6)))
    assert all(later - first >= SOON for first, later in zip(began, began[2:], strict=False)), "two of 40 fit into 100"


async def test_calls_are_sent_in_order_and_a_small_one_does_not_overtake_a_large_one() -> None:
    rate, order = TokenRate(100, SOON), list[str]()

    async def call(name: str, tokens: int) -> None:
        await send_call(rate, tokens)
        order.append(name)

    await asyncio.gather(call("first", 60), call("large", 90), call("small", 10))
    assert order == ["first", "large", "small"]


async def test_unused_tokens_are_free_for_the_next_call_at_once() -> None:
    rate = TokenRate(100, window=3600)
    await send_call(rate, 90, used=20)
    async with asyncio.timeout(5):
        await send_call(rate, 80)


async def test_a_finished_call_wakes_calls_that_wait_for_its_tokens() -> None:
    rate, over = TokenRate(100, window=3600), asyncio.Event()

    async def first() -> None:
        async with rate.hold_tokens(90) as share:
            rate.mark_sent(share)
            await over.wait()
            share.tokens = 10

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first())
        await asyncio.sleep(0)
        waiting = tasks.create_task(send_call(rate, 80))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        over.set()
        async with asyncio.timeout(5):
            await waiting


async def test_a_cancelled_wait_holds_no_tokens() -> None:
    rate = TokenRate(100, window=3600)
    await send_call(rate, 60)
    given_up = asyncio.create_task(send_call(rate, 80))
    await asyncio.sleep(0.02)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    assert rate.estimate_wait(40) == 0
    async with asyncio.timeout(5):
        await send_call(rate, 40)


async def test_an_unsent_call_is_not_counted() -> None:
    rate = TokenRate(100, window=3600)
    async with rate.hold_tokens(100):
        assert rate.estimate_wait(1) > 0
    assert rate.estimate_wait(100) == 0


async def test_the_announced_wait_includes_waiting_calls() -> None:
    rate = TokenRate(100, window=60)
    await send_call(rate, 100)
    assert 59 < rate.estimate_wait(50) <= 60
    queue = [asyncio.create_task(send_call(rate, 100)) for _ in range(2)]
    await asyncio.sleep(0.02)
    assert 120 < rate.estimate_wait(50) <= 240
    for task in queue:
        task.cancel()


@pytest.mark.feature("S0.30")
async def test_a_call_over_the_limit_announces_its_wait_and_is_then_answered(
    server: FaultServer, client: httpx2.AsyncClient
) -> None:
    """A request of about 10 tokens may have 200 back; the server counts 100 and a few."""
    slow = CallPacer(4, window=SOON)
    first, second = (HttpVoice(endpoint(server, alpha=300), "alpha", client, pace=slow) for _ in range(2))
    speaking = first.speak(make_request())
    assert not isinstance(await anext(speaking), WaitNotice)
    events: Said = await collect_events(second)
    wait = events[0]
    assert isinstance(wait, WaitNotice)
    assert wait == "", "to who does not ask why, it is a sign of life"
    assert wait.why == "lab:alpha allows 300 tokens a minute"
    assert isinstance(last_event(events), Reply)
    assert isinstance([piece async for piece in speaking][-1], Reply)


async def test_models_have_separate_token_limits(server: FaultServer, client: httpx2.AsyncClient) -> None:
    pace, data = CallPacer(4), endpoint(server, alpha=300)
    await collect_events(HttpVoice(data, "alpha", client, pace=pace))
    async with asyncio.timeout(5):
        assert isinstance(last_event(await collect_events(HttpVoice(data, "alpha-mini", client, pace=pace))), Reply)


@pytest.mark.feature("S0.29", "S0.30")
async def test_a_call_larger_than_the_limit_of_a_minute_fails_at_once_with_what_to_do(
    server: FaultServer, client: httpx2.AsyncClient
) -> None:
    voice = HttpVoice(endpoint(server, alpha=150), "alpha", client)
    fault = last_event(await collect_events(voice))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.retryable) == (FaultKind.RATE_LIMITED, False)
    assert fault.message == "This call could use 205 tokens, but lab:alpha allows 150 per minute."
    assert fault.help == (
        'Include fewer files, or remove the seat. If your account allows more, raise "alpha" under '
        "[endpoints.lab.tokens_per_minute]."
    )
    assert server.seen == [], "what cannot be taken is not sent"


@pytest.mark.feature("S0.30")
def test_openai_has_the_limits_of_its_first_tier_by_default() -> None:
    openai = load_shipped_voice_endpoints()["openai"]
    assert openai.find_token_limit("gpt-4o") == ("gpt-4o", 30_000)
    assert openai.find_token_limit("gpt-4o-mini") == ("", 0)
    assert (
        override_shipped_voice_endpoint("openai", {"tokens_per_minute": {"gpt-4o": 450_000}}).find_token_limit(
            "gpt-4o"
        )[1]
        == 450_000
    )
    assert override_shipped_voice_endpoint("openai", {"tokens_per_minute": {}}).find_token_limit("gpt-4o")[1] == 0


def test_a_token_limit_of_zero_is_rejected() -> None:
    with pytest.raises(ConfigError, match="tokens_per_minute must be 1 or more"):
        parse_voice_endpoint("lab", {"base_url": "http://127.0.0.1", "tokens_per_minute": {"alpha": 0}})
