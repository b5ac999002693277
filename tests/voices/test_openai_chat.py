"""The OpenAI chat dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from roundtable.core.values import Usage
from roundtable.voices.dialects.openai_chat import OpenAIChatReplyReader
from roundtable.voices.reply_stream import ReplyStream
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import make_request
from tests.voices.lab import DialectKit, Lab, open_lab


class TestKit(DialectKit):
    """The dialect keeps the contract of every voice."""

    dialect = "openai-chat"


@pytest.fixture
async def lab() -> AsyncGenerator[Lab, None]:
    async with open_lab("openai-chat") as lab:
        yield lab


async def test_an_event_without_words_is_a_sign_of_life(lab: Lab) -> None:
    assert (await lab.say("slow"))[:2] == ["", ""]


async def test_a_cost_reported_by_the_server_is_used(lab: Lab) -> None:
    assert (await lab.reply("alpha")).usage.cost_usd == 0.0025


def read_usage(counts: bytes) -> Usage:
    answer = OpenAIChatReplyReader()
    answer.read(b'{"choices": [], "usage": {%s}}' % counts)
    usage = answer.usage()
    assert usage is not None
    return usage


def test_thoughts_are_counted_once_inside_or_outside_the_words() -> None:
    counts = b'"prompt_tokens": 32, "completion_tokens": %d, "total_tokens": 135, %s'
    thoughts = b'"completion_tokens_details": {"reasoning_tokens": 94}'
    assert read_usage(counts % (9, thoughts)).output_tokens == 103
    assert read_usage(counts % (103, thoughts)).output_tokens == 103
    assert read_usage(b'"prompt_tokens": 32, "completion_tokens": 103, ' + thoughts).output_tokens == 103


def test_tokens_written_to_a_cache_are_counted_separately() -> None:
    details = b'"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20}'
    usage = read_usage(b'"prompt_tokens": 100, "completion_tokens": 5, ' + details)
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (100, 60, 20)


EVENT = b'data: {"choices": [{"delta": {"content": "Hi."}}]}'


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_may_begin_with_a_byte_order_mark_and_end_its_lines_with_carriage_returns(
    end: bytes, size: int
) -> None:
    stream = ReplyStream("lab:alpha", "", OpenAIChatReplyReader())
    data = b"\xef\xbb\xbf" + end.join((EVENT, b"", EVENT, b"", b"data: [DONE]", b"", b""))
    words = "".join(stream.feed(data[start : start + size]) for start in range(0, len(data), size))
    assert (words, stream.done) == ("Hi.Hi.", True)


def test_content_in_parts_is_read() -> None:
    answer = OpenAIChatReplyReader()
    thought = b'{"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"text": "No."}]}]}}]}'
    words = b'{"choices": [{"delta": {"content": [{"type": "text", "text": "Yes."}]}, "finish_reason": "length"}]}'
    assert answer.read(thought) == ""
    assert answer.read(words) == "Yes."
    assert answer.truncated


def test_the_arguments_of_a_tool_call_are_the_reply() -> None:
    answer = OpenAIChatReplyReader()
    call = b'{"choices": [{"delta": {"content": null, "tool_calls": [{"index": 0, "function": {"arguments": "%s"}}]}}]}'
    pieces = [b'{\\"vote\\":', b' \\"yes\\"}']
    assert "".join(answer.read(call % piece) for piece in pieces) == '{"vote": "yes"}'


class TestBody:
    """The body of a request."""

    @pytest.mark.feature("S3.25")
    async def test_a_request_without_options_is_encoded(self, lab: Lab) -> None:
        assert await lab.body(make_request("Wörtlich.")) == {
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
        assert lab.server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
        assert lab.server.seen[0].path == "/v1/chat/completions"

    async def test_a_schema_is_sent_and_marked_strict_if_possible(self, lab: Lab) -> None:
        loose: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
        strict = {**loose, "required": ["a"], "additionalProperties": False}
        first = await lab.body(make_request(schema=loose, schema_name="vote"), structured=True)
        second = await lab.body(make_request(schema=strict), structured=True)
        assert first["response_format"] == {"type": "json_schema", "json_schema": {"name": "vote", "schema": loose}}
        form = {"name": "reply", "schema": strict, "strict": True}
        assert second["response_format"] == {"type": "json_schema", "json_schema": form}

    async def test_without_schema_support_a_tool_call_is_forced(self, lab: Lab) -> None:
        schema: dict[str, Any] = {"type": "object"}
        voice = lab.voice(tools=True)
        assert voice.structured
        body = await lab.body(make_request(schema=schema, schema_name="vote"), tools=True)
        assert body["tools"][0]["function"]["parameters"] == schema
        assert body["tool_choice"] == {"type": "function", "function": {"name": "vote"}}
        assert "response_format" not in body

    async def test_an_endpoint_adapts_the_body(self, lab: Lab) -> None:
        body = await lab.body(
            make_request(seed=0),
            rename={"max_tokens": "max_completion_tokens"},
            omit=["stream_options"],
            omit_for={"al*": ["temperature"], "be*": ["messages"]},
            headers={"X-Title": "Roundtable"},
            extra={"top_k": 5},
        )
        assert set(body) == {"model", "messages", "stream", "max_completion_tokens", "seed", "top_k"}
        assert lab.server.seen[0].headers["x-title"] == "Roundtable"
