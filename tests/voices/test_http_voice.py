"""The transport of all dialects, tested with a real local server that simulates every fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Usage
from roundtable.voices import http_client
from roundtable.voices.endpoints import DialectName, Endpoint, parse_voice_endpoint
from roundtable.voices.fault_server import DEFAULT_ANSWER_TEXT
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice
from roundtable.voices.rate_limits import CallPacer
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import collect_events, first_text, last_event, make_request
from tests.voices.lab import BARE_FORM, DIALECTS, FORM, Lab, open_lab


@pytest.fixture(params=DIALECTS)
async def lab(request: pytest.FixtureRequest) -> AsyncGenerator[Lab, None]:
    dialect: DialectName = request.param
    async with open_lab(dialect) as lab:
        yield lab


FAULTS = {
    "400": FaultKind.MALFORMED,
    "401": FaultKind.UNAUTHORIZED,
    "402": FaultKind.QUOTA,
    "403": FaultKind.UNAUTHORIZED,
    "404": FaultKind.MISSING,
    "408": FaultKind.TIMEOUT,
    "413": FaultKind.CONTEXT_OVERFLOW,
    "418": FaultKind.MALFORMED,
    "429": FaultKind.RATE_LIMITED,
    "500": FaultKind.SERVER,
    "502": FaultKind.SERVER,
    "503": FaultKind.OVERLOADED,
    "529": FaultKind.OVERLOADED,
    "bad_key": FaultKind.UNAUTHORIZED,
    "rate_limited": FaultKind.RATE_LIMITED,
    "context_overflow": FaultKind.CONTEXT_OVERFLOW,
    "model_not_found": FaultKind.MISSING,
    "detail": FaultKind.MALFORMED,
    "plain_error": FaultKind.SERVER,
    "html": FaultKind.MALFORMED,
    "html_error": FaultKind.SERVER,
    "wrong_type": FaultKind.MALFORMED,
    "empty": FaultKind.EMPTY,
    "blank": FaultKind.EMPTY,
    "nothing": FaultKind.MALFORMED,
    "truncated": FaultKind.TRUNCATED,
    "cut": FaultKind.TRUNCATED,
    "garbage": FaultKind.MALFORMED,
    "garbage_json": FaultKind.MALFORMED,
    "midstream_error": FaultKind.OVERLOADED,
    "midstream_error_text": FaultKind.SERVER,
    "reset": FaultKind.UNREACHABLE,
    "reset_midway": FaultKind.TRUNCATED,
    "json_error": FaultKind.OVERLOADED,
    "huge": FaultKind.MALFORMED,
    "huge_line": FaultKind.MALFORMED,
    "filtered": FaultKind.REFUSED,
    "refusal": FaultKind.REFUSED,
    "redirect": FaultKind.MALFORMED,
}


@pytest.mark.parametrize("model", FAULTS)
async def test_every_failure_is_a_fault_of_its_kind(lab: Lab, model: str) -> None:
    fault = last_event(await lab.say(model))
    assert isinstance(fault, Fault), fault
    assert fault.kind is FAULTS[model], fault
    assert fault.message.startswith("lab:")
    assert fault.help
    assert SECRET not in fault.message


async def test_an_exhausted_quota_is_not_a_rate_limit(lab: Lab) -> None:
    fault = last_event(await lab.say("insufficient_quota"))
    assert isinstance(fault, Fault)
    # Google words an empty account like a minute's limit, and only that one is known to pass.
    haste = lab.dialect == "gemini"
    assert fault.kind is (FaultKind.RATE_LIMITED if haste else FaultKind.QUOTA)
    assert fault.retryable is haste


async def test_a_voice_asks_once_and_never_retries(lab: Lab) -> None:
    for model in ("429", "500", "reset", "truncated"):
        await lab.say(model)
    assert len(lab.server.seen) == 4


@pytest.mark.parametrize("model", ["json", "no_done", "no_newline", "bytewise", "open_end", "left_open"])
async def test_every_form_of_a_good_answer_is_read_completely(lab: Lab, model: str) -> None:
    events = await lab.say(model)
    reply = last_event(events)
    assert isinstance(reply, Reply), reply
    assert reply.text == DEFAULT_ANSWER_TEXT
    assert "".join(str(piece) for piece in events[:-1]) == DEFAULT_ANSWER_TEXT
    assert reply.usage.input_tokens == 100
    assert reply.model == model


async def test_a_call_signals_when_its_turn_starts(lab: Lab) -> None:
    pace = CallPacer(1)
    endpoint = Endpoint("lab", lab.server.base(lab.dialect), lab.dialect)
    first, second = (
        HttpVoice(endpoint, model, lab.client, key=SECRET, pace=pace) for model in ("hang_midway", "alpha")
    )
    speaking, waiting = first.speak(make_request()), second.speak(make_request())
    await first_text(speaking)
    sign = asyncio.ensure_future(anext(waiting))
    await asyncio.sleep(0.05)
    assert not sign.done(), "it waits for its turn"
    await speaking.aclose()
    async with asyncio.timeout(5):
        assert await sign == ""
    assert isinstance([item async for item in waiting][-1], Reply)


@pytest.mark.feature("S0.129")
async def test_words_are_streamed_as_they_arrive(lab: Lab) -> None:
    lab.server.rate = 50
    assert len(await lab.say("alpha")) > 5


async def test_cached_input_is_part_of_the_input(lab: Lab) -> None:
    usage = (await lab.reply("alpha")).usage
    assert (usage.input_tokens, usage.cached_tokens) == (100, 60)
    assert usage.output_tokens == len(DEFAULT_ANSWER_TEXT.split(" "))


async def test_an_answer_at_the_token_limit_is_marked_as_truncated(lab: Lab) -> None:
    assert (await lab.reply("length")).truncated
    assert not (await lab.reply("alpha")).truncated


async def test_thoughts_are_not_part_of_the_answer(lab: Lab) -> None:
    assert (await lab.reply("reasoning")).text == "Parts, then words."


@pytest.mark.parametrize(("model", "least", "most"), [("rate_limited", 7, 7), ("rate_limited_date", 25, 30)])
async def test_retry_after_is_passed_on(lab: Lab, model: str, least: float, most: float) -> None:
    fault = last_event(await lab.say(model))
    assert isinstance(fault, Fault)
    assert fault.retryable
    assert least <= fault.retry_after <= most


def test_the_wait_may_be_given_in_the_body() -> None:
    body = b'{"error": {"code": 429, "message": "Slow down", "details": [{"retryDelay": "34.5s"}]}}'
    fault = http_client.classify_provider_http_response("lab:alpha", 429, httpx2.Headers(), body)
    assert fault.retry_after == 34.5


async def test_a_rate_limit_slows_all_voices_of_the_endpoint(lab: Lab) -> None:
    pace = CallPacer(4)
    endpoint = Endpoint("lab", lab.server.base(lab.dialect), lab.dialect)
    first, second = (HttpVoice(endpoint, name, lab.client, pace=pace) for name in ("rate_limited", "alpha"))
    await collect_events(first)
    fault = last_event(await collect_events(second, make_request(timeout=1)))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.RATE_LIMITED
    assert 5 < fault.retry_after <= 7
    assert len(lab.server.seen) == 1, "a call that would come too early is not made"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", 0.0),
        ("3", 3.0),
        ("1.5", 1.5),
        ("-4", 0.0),
        ("nan", 0.0),
        ("inf", 3600.0),
        ("soon", 0.0),
        ("Sun, 15 Nov 2026 12:01:00 GMT", 60.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(value: str, seconds: float) -> None:
    assert http_client.parse_provider_retry_after(value, datetime(2026, 11, 15, 12, tzinfo=UTC)) == seconds


async def test_an_error_is_quoted_briefly_and_without_the_key(lab: Lab) -> None:
    fault = last_event(await lab.say("leaky"))
    assert isinstance(fault, Fault)
    assert "provided: [redacted:known-key]. Find yours elsewhere." in fault.message
    assert SECRET not in fault.message
    assert fault.message.isprintable()
    assert len(fault.message) < 260


async def test_silence_is_a_timeout(lab: Lab) -> None:
    for model in ("hang", "hang_midway"):
        fault = last_event(await lab.say(model, make_request(timeout=0.2)))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TIMEOUT


async def test_an_address_without_a_server_is_unreachable(lab: Lab) -> None:
    fault = last_event(await lab.say("alpha", base_url="http://127.0.0.1:9/v1"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.UNREACHABLE
    assert "refused" in fault.message.lower()


async def test_a_key_that_cannot_be_sent_is_not_shown(lab: Lab) -> None:
    endpoint = Endpoint("lab", lab.server.base(lab.dialect), lab.dialect, local=True)
    fault = last_event(await collect_events(HttpVoice(endpoint, "alpha", lab.client, key="bad\nkey-1234")))
    assert isinstance(fault, Fault)
    assert "key-1234" not in fault.message


async def test_cookies_of_a_server_are_not_kept() -> None:
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nset-cookie: who=you\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, open_provider_http_client(parse_voice_endpoint("lab", {"base_url": url})) as client:
        for _ in range(2):
            assert (await client.get(url)).headers["set-cookie"] == "who=you"
    assert len(requests) == 2
    assert not any(b"cookie" in request.lower() for request in requests)


async def test_the_key_is_sent_in_one_header_only(lab: Lab) -> None:
    await lab.say("alpha")
    request = lab.server.seen[0]
    assert request.key == SECRET
    assert [name for name, value in request.headers.items() if SECRET in value] in (
        ["authorization"],
        ["x-api-key"],
        ["x-goog-api-key"],
    )
    assert SECRET not in str(request.body)


async def test_an_endpoint_can_name_another_key_header(lab: Lab) -> None:
    await lab.say("alpha", key_header="api-key")
    headers = lab.server.seen[0].headers
    assert headers["api-key"] == SECRET
    assert sum(SECRET in value for value in headers.values()) == 1


async def test_local_servers_are_called_without_a_proxy(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    endpoint = Endpoint("lab", lab.server.base(lab.dialect), lab.dialect)
    async with open_provider_http_client(endpoint) as client:
        assert isinstance(last_event(await collect_events(HttpVoice(endpoint, "alpha", client, key=SECRET))), Reply)


async def test_the_server_sees_a_cancelled_call(lab: Lab) -> None:
    speech = lab.voice("hang_midway").speak(make_request())
    await first_text(speech)
    await speech.aclose()
    async with asyncio.timeout(2):
        while not lab.server.seen[0].disconnected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_one_connection_serves_consecutive_calls(lab: Lab) -> None:
    for _ in range(5):
        await lab.say("alpha")
    assert lab.server.connections == 1


async def test_concurrent_calls_stay_within_the_endpoints_limit(lab: Lab) -> None:
    lab.server.latency = 0.05
    voice = lab.voice(concurrency=3)
    await asyncio.gather(*(collect_events(voice) for _ in range(9)))
    assert lab.server.most_at_once == 3


async def test_calls_of_one_seat_and_session_share_an_anonymous_id(lab: Lab) -> None:
    habits: dict[str, Any] = {"conversation_field": "prompt_cache_key", "conversation_header": "x-grok-conv-id"}
    ids: list[str] = []
    for seat, session in (("ada", "s-1"), ("ada", "s-1"), ("grace", "s-1"), ("ada", "s-2")):
        body = await lab.body(make_request(seat=seat, session=session), **habits)
        ids.append(body["prompt_cache_key"])
        assert lab.server.seen[-1].headers["x-grok-conv-id"] == ids[-1]
        assert seat not in ids[-1]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert "prompt_cache_key" not in await lab.body(make_request(), **habits), "there is no session to tell apart"


async def test_a_schema_is_sent_without_unsupported_keywords(lab: Lab) -> None:
    body = await lab.body(make_request(schema=FORM), structured=True, schema_without=["maxLength"])
    assert str(BARE_FORM) in str(body)
    assert str(FORM) in str(await lab.body(make_request(schema=FORM), structured=True))


async def test_a_schema_is_not_sent_to_a_model_without_support(lab: Lab) -> None:
    assert not lab.voice(structured=["beta*"]).structured
    assert lab.voice("beta-1", structured=["beta*"]).structured
    assert "maxLength" not in str(await lab.body(make_request(schema=FORM), structured=["beta*"]))


async def test_reasoning_models_get_extra_tokens(lab: Lab) -> None:
    habits: dict[str, Any] = {"reasoning": ["al*"], "thinking_tokens": 1000}
    assert "1200" in str(await lab.body(make_request(max_tokens=200), **habits))
    assert "1200" not in str(await lab.body(make_request(max_tokens=200), model="beta", **habits))


class TestMoney:
    """The cost of a call."""

    async def test_a_local_call_costs_nothing(self, lab: Lab) -> None:
        assert (await lab.reply("no_done", local=True)).usage.cost_usd is not None

    async def test_a_call_is_priced_by_the_price_list(self, lab: Lab) -> None:
        lookups: list[tuple[str, int]] = []

        async def price(model: str, usage: Usage) -> float | None:
            lookups.append((model, usage.cached_tokens))
            return 0.5

        reply = last_event(await collect_events(lab.voice(local=False, price=price)))
        assert isinstance(reply, Reply)
        told_by_server = lab.dialect == "openai-chat"
        assert reply.usage.cost_usd == (0.0025 if told_by_server else 0.5)
        assert lookups == ([] if told_by_server else [("alpha", 60)])

    async def test_an_unknown_price_is_not_guessed(self, lab: Lab) -> None:
        cost = (await lab.reply("alpha", local=False)).usage.cost_usd
        assert cost == (0.0025 if lab.dialect == "openai-chat" else None)

    @pytest.mark.parametrize("model", ["empty", "filtered", "refusal", "truncated", "midstream_error"])
    async def test_a_failed_call_is_billed_like_an_answered_one(self, lab: Lab, model: str) -> None:
        async def price(model: str, usage: Usage) -> float | None:
            return usage.input_tokens / 100

        fault = last_event(await collect_events(lab.voice(model, local=False, price=price)))
        assert isinstance(fault, Fault)
        assert fault.usage.input_tokens > 0
        told_by_server = fault.usage.cost_usd == 0.0025
        assert told_by_server or fault.usage.cost_usd == fault.usage.input_tokens / 100

    async def test_an_unanswered_call_has_no_known_cost(self, lab: Lab) -> None:
        for model in ("500", "json_error"):
            fault = last_event(await lab.say(model, local=False))
            assert isinstance(fault, Fault)
            assert fault.usage == Usage()

    async def test_an_answer_is_kept_if_its_price_lookup_fails(self, lab: Lab) -> None:
        async def price(model: str, usage: Usage) -> float | None:
            raise RuntimeError("the list is torn")

        reply = last_event(await collect_events(lab.voice(local=False, price=price)))
        assert isinstance(reply, Reply)
        assert reply.usage.cost_usd == (0.0025 if lab.dialect == "openai-chat" else None)
