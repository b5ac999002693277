"""The wire formats we speak, one small file each."""

from __future__ import annotations

from roundtable.voices.dialects.dialect import Dialect
from roundtable.voices.endpoints import Endpoint


def dialect_for(endpoint: Endpoint, model: str) -> Dialect:
    """The dialect that an endpoint's data names; the others are not even imported."""
    match endpoint.dialect:
        case "anthropic":
            from roundtable.voices.dialects.anthropic import AnthropicMessages as Spoken
        case "gemini":
            from roundtable.voices.dialects.gemini import GeminiContent as Spoken
        case "openai-chat":
            from roundtable.voices.dialects.openai_chat import OpenAIChat as Spoken
        case "openai-responses":
            from roundtable.voices.dialects.openai_responses import OpenAIResponses as Spoken
    return Spoken(endpoint, model)
