"""The OpenAI chat dialect against a real local server that fails in every way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Reply, Request
from roundtable.voices import http_faults
from roundtable.voices.endpoints import Endpoint, read_endpoint
from roundtable.voices.http_client import open_client
from roundtable.voices.openai_chat import OpenAIChat
from tests.kits.voice_kit import Said, Stage, VoiceKit, ask, ending, hear
from tests.servers.openai_server import TEXT, OpenAIServer

KEY = "sk-very-secret-0123456789"


class ServerStage(Stage):
    """The dialect and a server, both real."""

    def __init__(self, server: OpenAIServer, client: httpx2.AsyncClient) -> None:
        self.server = server
        self.client = client

    def voice(self, model: str = "alpha", **more: Any) -> OpenAIChat:
        endpoint = read_endpoint("lab", {"base_url": self.server.url, "local": True, "structured": True, **more})
        return OpenAIChat(endpoint, model, self.client, key=KEY)

    def talker(self) -> Voice:
        return self.voice()

    def slow(self) -> Voice:
        return self.voice("hang_midway")

    def mute(self) -> Voice:
        return self.voice("blank")

    async def idle(self) -> bool:
        return self.server.at_once == 0


@pytest.fixture
async def stage() -> AsyncGenerator[ServerStage, None]:
    async with (
        OpenAIServer() as server,
        open_client(Endpoint("lab", server.url, local=True)) as client,
    ):
        yield ServerStage(server, client)


class TestKit(VoiceKit):
    """The dialect keeps the contract of every voice."""

    @pytest.fixture
    def stage(self, stage: ServerStage) -> Stage:
        return stage


async def say(stage: ServerStage, model: str, request: Request | None = None) -> Said:
    return await hear(stage.voice(model), request)


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
    "rate_limited": FaultKind.RATE_LIMITED,
    "insufficient_quota": FaultKind.QUOTA,
    "context_overflow": FaultKind.CONTEXT_OVERFLOW,
    "model_not_found": FaultKind.MISSING,
    "detail": FaultKind.MALFORMED,
    "plain_error": FaultKind.SERVER,
    "html": FaultKind.MALFORMED,
    "html_error": FaultKind.SERVER,
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
async def test_every_failure_is_a_fault_of_its_kind(stage: ServerStage, model: str) -> None:
    fault = ending(await say(stage, model))
    assert isinstance(fault, Fault), fault
    assert fault.kind is FAULTS[model], fault
    assert fault.message.startswith("lab:")
    assert fault.help
    assert KEY not in fault.message


async def test_asks_once_and_never_retries(stage: ServerStage) -> None:
    for model in ("429", "500", "reset", "truncated"):
        await say(stage, model)
    assert len(stage.server.seen) == 4


@pytest.mark.parametrize("model", ["json", "no_done", "no_newline", "bytewise", "open_end"])
async def test_every_form_of_a_good_answer_is_heard_whole(stage: ServerStage, model: str) -> None:
    said = await say(stage, model)
    reply = ending(said)
    assert isinstance(reply, Reply), reply
    assert reply.text == TEXT
    assert "".join(str(piece) for piece in said[:-1]) == TEXT


async def test_words_come_as_they_are_said(stage: ServerStage) -> None:
    stage.server.rate = 50
    said = await say(stage, "alpha")
    assert len(said) > 5


async def test_usage_with_cache_and_cost(stage: ServerStage) -> None:
    reply = ending(await say(stage, "alpha"))
    assert isinstance(reply, Reply)
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.cost_usd) == (100, 60, 0.0025)
    assert reply.usage.output_tokens == len(TEXT.split(" "))
    assert reply.model == "alpha"


async def test_an_answer_at_the_token_limit_says_so(stage: ServerStage) -> None:
    reply = ending(await say(stage, "length"))
    assert isinstance(reply, Reply)
    assert reply.truncated


async def test_thoughts_are_not_words(stage: ServerStage) -> None:
    reply = ending(await say(stage, "reasoning"))
    assert isinstance(reply, Reply)
    assert reply.text == "Parts, then words."


@pytest.mark.parametrize(("model", "least", "most"), [("rate_limited", 7, 7), ("rate_limited_date", 25, 30)])
async def test_retry_after_is_passed_on(stage: ServerStage, model: str, least: float, most: float) -> None:
    fault = ending(await say(stage, model))
    assert isinstance(fault, Fault)
    assert fault.retryable
    assert least <= fault.retry_after <= most


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
def test_retry_after_in_both_forms(value: str, seconds: float) -> None:
    assert http_faults.retry_after(value, datetime(2026, 11, 15, 12, tzinfo=UTC)) == seconds


async def test_an_error_is_quoted_short_clean_and_without_the_key(stage: ServerStage) -> None:
    fault = ending(await say(stage, "leaky"))
    assert isinstance(fault, Fault)
    assert "[key]" in fault.message
    assert KEY not in fault.message
    assert fault.message.isprintable()
    assert len(fault.message) < 260


async def test_silence_is_a_timeout(stage: ServerStage) -> None:
    for model in ("hang", "hang_midway"):
        fault = ending(await say(stage, model, ask(timeout=0.2)))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TIMEOUT


async def test_nobody_at_that_address(stage: ServerStage) -> None:
    endpoint = Endpoint("lab", "http://127.0.0.1:9/v1", local=True)
    fault = ending(await hear(OpenAIChat(endpoint, "alpha", stage.client)))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.UNREACHABLE
    assert "refused" in fault.message.lower()


async def test_a_key_that_cannot_be_sent_is_not_told(stage: ServerStage) -> None:
    endpoint = Endpoint("lab", stage.server.url, local=True)
    fault = ending(await hear(OpenAIChat(endpoint, "alpha", stage.client, key="bad\nkey-1234")))
    assert isinstance(fault, Fault)
    assert "key-1234" not in fault.message


async def test_closing_is_seen_by_the_server(stage: ServerStage) -> None:
    speech = stage.voice("hang_midway").speak(ask())
    await anext(speech)
    await speech.aclose()
    async with asyncio.timeout(2):
        while not stage.server.seen[0].disconnected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_one_connection_serves_many_calls_in_turn(stage: ServerStage) -> None:
    for _ in range(5):
        await say(stage, "alpha")
    assert stage.server.connections == 1


async def test_no_more_calls_at_once_than_the_endpoint_allows(stage: ServerStage) -> None:
    stage.server.latency = 0.05
    voice = stage.voice(concurrency=3)
    await asyncio.gather(*(hear(voice) for _ in range(9)))
    assert stage.server.most_at_once == 3


class TestBody:
    """What goes over the wire."""

    async def test_a_plain_request(self, stage: ServerStage) -> None:
        await say(stage, "alpha", ask("Wörtlich."))
        body = stage.server.seen[0].body
        assert body == {
            "model": "alpha",
            "messages": [
                {"role": "system", "content": "You are brief."},
                {"role": "user", "content": "Wörtlich."},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 200,
            "temperature": 0.7,
        }
        assert stage.server.seen[0].headers["authorization"] == f"Bearer {KEY}"

    async def test_a_schema_is_passed_on_and_strict_only_where_it_can_be(self, stage: ServerStage) -> None:
        loose = {"type": "object", "properties": {"a": {"type": "string"}}}
        strict = {**loose, "required": ["a"], "additionalProperties": False}
        await say(stage, "alpha", ask(schema=loose, schema_name="vote"))
        await say(stage, "alpha", ask(schema=strict))
        first, second = (seen.body["response_format"] for seen in stage.server.seen)
        assert first == {"type": "json_schema", "json_schema": {"name": "vote", "schema": loose}}
        assert second == {"type": "json_schema", "json_schema": {"name": "reply", "schema": strict, "strict": True}}

    async def test_a_schema_is_kept_back_where_nobody_holds_to_it(self, stage: ServerStage) -> None:
        voice = stage.voice(structured=["beta*"])
        assert not voice.structured
        await hear(voice, ask(schema={"type": "object"}))
        assert "response_format" not in stage.server.seen[0].body

    async def test_an_endpoint_adapts_the_body(self, stage: ServerStage) -> None:
        voice = stage.voice(
            rename={"max_tokens": "max_completion_tokens"},
            omit=["stream_options"],
            omit_for={"al*": ["temperature"], "be*": ["messages"]},
            headers={"X-Title": "Roundtable"},
        )
        await hear(voice, ask(seed=0))
        seen = stage.server.seen[0]
        assert set(seen.body) == {"model", "messages", "stream", "max_completion_tokens", "seed"}
        assert seen.headers["x-title"] == "Roundtable"
