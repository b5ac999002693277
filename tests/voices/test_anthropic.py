"""The Anthropic messages dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Message
from roundtable.voices.dialects.anthropic import AnthropicReplyReader
from roundtable.voices.endpoints import load_shipped_voice_endpoints
from roundtable.voices.reply_stream import ReplyStream
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import last_event, make_request
from tests.voices.lab import DialectKit, Lab, make_conversation, open_lab

MARK = {"cache_control": {"type": "ephemeral"}}


class TestKit(DialectKit):
    """The dialect keeps the contract of every voice."""

    dialect = "anthropic"


@pytest.fixture
async def lab() -> AsyncGenerator[Lab, None]:
    async with open_lab("anthropic") as lab:
        yield lab


@pytest.mark.parametrize("model", ["alpha", "json"])
async def test_input_includes_tokens_read_from_and_written_to_the_cache(lab: Lab, model: str) -> None:
    usage = (await lab.reply(model)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (100, 60, 10)


def test_an_overload_during_an_answer_is_an_overload_fault() -> None:
    hearing = ReplyStream("lab:alpha", "", AnthropicReplyReader())
    event = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    hearing.feed(b"event: error\ndata: " + event + b"\n\n")
    assert hearing.fault is not None
    assert hearing.fault.kind is FaultKind.OVERLOADED
    assert hearing.fault.retryable


def test_a_tool_call_is_read_in_pieces_or_whole() -> None:
    answer = AnthropicReplyReader()
    piece = b'{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "%s"}}'
    assert answer.read(piece % b'{\\"vote\\"') + answer.read(piece % b': \\"yes\\"}') == '{"vote": "yes"}'
    answer.read(b'{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}}')
    assert answer.finished
    whole = b'{"type": "message", "content": [{"type": "tool_use", "name": "v", "input": {"vote": "yes"}}]}'
    assert AnthropicReplyReader().whole(whole) == '{"vote": "yes"}'


def test_a_full_context_window_truncates_the_answer() -> None:
    answer = AnthropicReplyReader()
    answer.read(b'{"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}}')
    assert answer.truncated


class TestBody:
    """The body of a request."""

    async def test_a_request_without_options_is_encoded(self, lab: Lab) -> None:
        assert await lab.body(make_request("Wörtlich.", seed=3)) == {
            "model": "alpha",
            "system": [{"type": "text", "text": "You are brief."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Wörtlich."}]}],
            "max_tokens": 200,
            "temperature": 0.7,
            "stream": True,
        }
        request = lab.server.seen[0]
        assert request.path == "/v1/messages"
        assert request.headers["x-api-key"] == SECRET
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers

    async def test_consecutive_messages_of_one_role_are_one_turn(self, lab: Lab) -> None:
        conversation = (
            Message("user", "One."),
            Message("user", "Two."),
            Message("assistant", " "),
            Message("user", "Three."),
        )
        messages = (await lab.body(make_request(messages=conversation)))["messages"]
        assert [message["role"] for message in messages] == ["user"]
        assert [block["text"] for block in messages[0]["content"]] == ["One.", "Two.", "Three."]

    async def test_cache_marks_are_at_the_end_of_this_prompt_and_of_the_previous_one(self, lab: Lab) -> None:
        body = await lab.body(
            make_conversation("First.", "Mine.", "Second.", "Mine again.", "Third."), prompt_cache=True
        )
        assert body["system"][0] == {"type": "text", "text": "You are brief.", **MARK}
        marked = [text for text, block in _blocks(body) if "cache_control" in block]
        assert marked == ["Second.", "Third."]

    async def test_a_later_prompt_starts_with_the_cached_part_of_an_earlier_one(self, lab: Lab) -> None:
        earlier = await lab.body(make_conversation("First.", "Mine.", "Second."), prompt_cache=True)
        later = await lab.body(
            make_conversation("First.", "Mine.", "Second.", "Mine again.", "Third."), prompt_cache=True
        )
        end = _find_cache_marks(earlier)[-1]
        assert end in _find_cache_marks(later)
        assert [text for text, _ in _blocks(later)][: end + 1] == [text for text, _ in _blocks(earlier)][: end + 1]

    async def test_an_endpoint_without_a_prompt_cache_gets_no_cache_marks(self, lab: Lab) -> None:
        assert "cache_control" not in str(await lab.body(make_conversation("First.", "Mine.", "Second.")))

    async def test_a_reply_is_held_to_a_schema_or_else_to_a_forced_tool_call(self, lab: Lab) -> None:
        schema: dict[str, Any] = {"type": "object"}
        habits: dict[str, Any] = {"structured": ["new-*"], "tools": True}
        request = make_request(schema=schema, schema_name="vote")
        new = await lab.body(request, model="new-1", **habits)
        assert new["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
        assert "tools" not in new
        old = await lab.body(request, model="old-1", **habits)
        assert old["tools"][0]["input_schema"] == schema
        assert old["tool_choice"] == {"type": "tool", "name": "vote"}
        assert "output_config" not in old

    async def test_newer_models_get_no_sampling_settings(self, lab: Lab) -> None:
        shipped = load_shipped_voice_endpoints()["anthropic"]
        habits: dict[str, Any] = {"omit_for": shipped.omit_for}
        assert "temperature" in await lab.body(model=shipped.default_model, **habits)
        assert "temperature" not in await lab.body(model="claude-opus-4-7", **habits)

    async def test_a_refusal_without_words_is_a_refusal_fault(self, lab: Lab) -> None:
        fault = last_event(await lab.say("refusal"))
        assert isinstance(fault, Fault)
        assert fault.message == "lab:refusal declined to answer."


def _blocks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(block["text"], block) for message in body["messages"] for block in message["content"]]


def _find_cache_marks(body: dict[str, Any]) -> list[int]:
    return [number for number, (_, block) in enumerate(_blocks(body)) if "cache_control" in block]
