"""The wire formats we speak, one small file each."""

from __future__ import annotations

from roundtable.voices.dialects.dialect import Dialect
from roundtable.voices.endpoints import Endpoint


def create_dialect(endpoint: Endpoint, model: str) -> Dialect:
    """The dialect that an endpoint's data names; the others are not even imported."""
    match endpoint.dialect:
        case "anthropic":
            from roundtable.voices.dialects.anthropic import AnthropicDialect as Spoken
        case "gemini":
            from roundtable.voices.dialects.gemini import GeminiDialect as Spoken
        case "openai-chat":
            from roundtable.voices.dialects.openai_chat import OpenAIChatDialect as Spoken
        case "openai-responses":
            from roundtable.voices.dialects.openai_responses import OpenAIResponsesDialect as Spoken
    return Spoken(endpoint, model)
