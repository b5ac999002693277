"""The OpenAI responses dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Usage
from roundtable.voices.dialects.openai_responses import OpenAIResponsesReplyReader
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import last_event, make_request
from tests.voices.lab import DialectKit, Lab, make_conversation, open_lab


class TestKit(DialectKit):
    """The dialect keeps the contract of every voice."""

    dialect = "openai-responses"


@pytest.fixture
async def lab() -> AsyncGenerator[Lab, None]:
    async with open_lab("openai-responses") as lab:
        yield lab


async def test_a_refusal_is_quoted(lab: Lab) -> None:
    fault = last_event(await lab.say("refusal"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.REFUSED
    assert "I cannot help with that." in fault.message


def test_an_error_event_is_an_error() -> None:
    answer = OpenAIResponsesReplyReader()
    answer.read(b'{"type": "error", "code": "rate_limit_exceeded", "message": "Too fast", "param": null}')
    assert answer.error == {"code": "rate_limit_exceeded", "message": "Too fast"}


def test_tokens_written_to_a_cache_are_counted_separately() -> None:
    answer = OpenAIResponsesReplyReader()
    details = b'"input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20}'
    answer.whole(b'{"status": "completed", "usage": {"input_tokens": 100, "output_tokens": 5, %s}}' % details)
    assert answer.usage() == Usage(100, 5, 60, cache_write_tokens=20)


def test_words_that_arrive_only_at_the_end_are_read() -> None:
    answer = OpenAIResponsesReplyReader()
    parts = '[{"type": "output_text", "text": "All at once."}]'
    output = f'[{{"type": "reasoning", "summary": []}}, {{"type": "message", "content": {parts}}}]'
    words = answer.read(
        f'{{"type": "response.completed", "response": {{"status": "completed", "output": {output}}}}}'.encode()
    )
    assert words == "All at once."
    assert answer.done


class TestBody:
    """The body of a request."""

    async def test_a_request_stores_nothing_at_the_provider(self, lab: Lab) -> None:
        assert await lab.body(make_conversation("Wörtlich.", "Ja.", "Und?")) == {
            "model": "alpha",
            "instructions": "You are brief.",
            "input": [
                {"role": "user", "content": "Wörtlich."},
                {"role": "assistant", "content": "Ja."},
                {"role": "user", "content": "Und?"},
            ],
            "stream": True,
            "store": False,
            "max_output_tokens": 200,
            "temperature": 0.7,
        }
        assert lab.server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
        assert lab.server.seen[0].path == "/v1/responses"

    async def test_a_schema_is_sent_as_the_text_format(self, lab: Lab) -> None:
        loose: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
        body = await lab.body(make_request(schema=loose, schema_name="vote"), structured=True)
        form = {"type": "json_schema", "name": "vote", "schema": loose, "strict": False}
        assert body["text"] == {"format": form}

    async def test_the_responses_dialect_has_no_tool_call_fallback(self, lab: Lab) -> None:
        assert not lab.voice(tools=True).structured
