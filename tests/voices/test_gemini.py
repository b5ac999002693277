"""The Gemini dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Message
from roundtable.voices.dialects.gemini import GeminiReplyReader
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import last_event, make_request
from tests.voices.lab import DialectKit, Lab, make_conversation, open_lab


class TestKit(DialectKit):
    """The dialect keeps the contract of every voice."""

    dialect = "gemini"


@pytest.fixture
async def lab() -> AsyncGenerator[Lab, None]:
    async with open_lab("gemini") as lab:
        yield lab


def test_thoughts_are_billed_like_words() -> None:
    answer = GeminiReplyReader()
    counts = b'"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 30, "cachedContentTokenCount": 5'
    assert answer.read(b'{"usageMetadata": {' + counts + b"}}") == ""
    usage = answer.usage()
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (9, 34, 5)


async def test_a_blocked_prompt_is_a_refusal_with_the_reason(lab: Lab) -> None:
    fault = last_event(await lab.say("refusal"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.REFUSED
    assert "prohibited content" in fault.message


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"])
def test_a_filtered_answer_is_a_refusal_even_after_words(reason: str) -> None:
    answer = GeminiReplyReader()
    part = '"content": {"parts": [{"text": "Well, "}]}'
    answer.read(f'{{"candidates": [{{{part}, "finishReason": "{reason}"}}]}}'.encode())
    assert answer.filtered


class TestBody:
    """The body of a request."""

    async def test_a_request_without_options_is_encoded(self, lab: Lab) -> None:
        assert await lab.body(make_conversation("Wörtlich.", "Ja.", "Und?")) == {
            "systemInstruction": {"parts": [{"text": "You are brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Wörtlich."}]},
                {"role": "model", "parts": [{"text": "Ja."}]},
                {"role": "user", "parts": [{"text": "Und?"}]},
            ],
            "generationConfig": {"maxOutputTokens": 200, "temperature": 0.7},
        }
        request = lab.server.seen[0]
        assert request.path == "/v1beta/models/alpha:streamGenerateContent"
        assert request.headers["x-goog-api-key"] == SECRET

    async def test_consecutive_messages_of_one_role_are_one_turn(self, lab: Lab) -> None:
        contents = (await lab.body(make_request(messages=(Message("user", "One."), Message("user", "Two.")))))[
            "contents"
        ]
        assert contents == [{"role": "user", "parts": [{"text": "One."}, {"text": "Two."}]}]

    async def test_schema_and_seed_are_generation_settings(self, lab: Lab) -> None:
        schema: dict[str, Any] = {"type": "object"}
        body = await lab.body(make_request(schema=schema, seed=7), structured=True, omit_for={"al*": ["temperature"]})
        assert body["generationConfig"] == {
            "maxOutputTokens": 200,
            "seed": 7,
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
        }

    async def test_a_model_name_cannot_change_the_path(self, lab: Lab) -> None:
        await lab.say("al/pha?key=1")
        assert lab.server.seen[0].path == "/v1beta/models/al/pha?key=1:streamGenerateContent"
