"""The cached part of a long prompt and its reply format do not change from round to round."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest

from roundtable.core.values import Request
from roundtable.voices.endpoints import Endpoint, load_shipped_voice_endpoints
from roundtable.voices.http_voice import HttpVoice
from tests.stories.session_harness import DISPUTE, ScriptedVoices, SessionHarness

MODELS = {
    "anthropic": ("claude-sonnet-4-6", "claude-3-7-sonnet"),
    "azure": ("my-deployment",),
    "openai": ("gpt-4o",),
    "openai-responses": ("gpt-4o",),
}
ASIDE = ("seed", "prompt_cache_key")
"""Settings that are not part of what the model reads."""


async def rounds_of(endpoint: Endpoint, model: str, question: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """A council in which one seat is asked again and again: what surrounds its messages, and the messages."""
    async with httpx2.AsyncClient() as client:
        voice = HttpVoice(endpoint, model, client)
        voices = ScriptedVoices({"structured": True, **DISPUTE}, plain_when_long=voice.plain_when_long)
        harness = SessionHarness(DISPUTE, other_voices=voices)
        await harness.open(question=question)
        await harness.run()
        return [_parts(voice, call) for call in voices.calls if call.seat == "claude"]


def _parts(voice: HttpVoice, call: Request) -> tuple[dict[str, Any], list[Any]]:
    marked = voice.encode_request(call)
    body: dict[str, Any] = msgspec.json.decode(marked.replace(b',"cache_control":{"type":"ephemeral"}', b""))
    messages = body.pop("input") if "input" in body else body.pop("messages")
    return {key: value for key, value in body.items() if key not in ASIDE}, messages


def test_the_catalog_says_where_a_schema_precedes_the_prompt() -> None:
    assert {name for name, endpoint in load_shipped_voice_endpoints().items() if endpoint.schema_in_prefix} == set(
        MODELS
    )


@pytest.mark.parametrize(("name", "model"), [(name, model) for name, models in MODELS.items() for model in models])
async def test_every_round_starts_with_the_prompt_of_the_first(name: str, model: str) -> None:
    long = "REST or GraphQL? " + "Think of those who call it. " * 200
    (head, opening), *later = await rounds_of(load_shipped_voice_endpoints()[name], model, long)
    assert len(later) >= 2
    for surroundings, messages in later:
        assert surroundings == head
        assert messages[: len(opening)] == opening


async def test_a_short_prompt_is_held_to_a_changing_schema() -> None:
    (first, _), (second, _), *_ = await rounds_of(
        load_shipped_voice_endpoints()["openai"], "gpt-4o", "REST or GraphQL?"
    )
    assert first["response_format"] != second["response_format"]
