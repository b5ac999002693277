"""The wire formats of API providers, one module each."""

from __future__ import annotations

from roundtable.voices.dialects.dialect import Dialect
from roundtable.voices.endpoints import Endpoint


def create_provider_dialect(endpoint: Endpoint, model: str) -> Dialect:
    """Create the dialect that the endpoint names; the modules of other dialects are not imported."""
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
