"""The Gemini dialect: `models/NAME:streamGenerateContent`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from roundtable.core.values import Request, Usage
from roundtable.voices.dialects.dialect import (
    Dialect,
    ReplyReader,
    RequestBody,
    group_dialect_messages,
    join_system_messages_for_provider,
)

_ROLES = {"user": "user", "assistant": "model"}


class GeminiDialect(Dialect):
    """Sends contents and reads candidates. The key is sent in a header, because addresses are logged."""

    @property
    def url(self) -> str:
        """The address of a request."""
        return f"{self.endpoint.base_url}/models/{quote(self.model)}:streamGenerateContent?alt=sse"

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-goog-api-key": key}

    def body(self, request: Request) -> RequestBody:
        """Return the request as data."""
        settings: RequestBody = {"maxOutputTokens": self.max_output_tokens(request), "temperature": request.temperature}
        if request.seed is not None:
            settings["seed"] = request.seed
        schema = self.build_reply_schema(request)
        if schema is not None:
            settings.update(responseMimeType="application/json", responseJsonSchema=schema)
        body: RequestBody = {
            "contents": [
                {"role": _ROLES[role], "parts": _parts(texts)}
                for role, texts in group_dialect_messages(request.messages)
            ],
            "generationConfig": self.apply_endpoint_settings(settings),
        }
        system = join_system_messages_for_provider(request.messages)
        if system:
            body["systemInstruction"] = {"parts": _parts([system])}
        return body

    def answer(self) -> ReplyReader:
        """Create a reader for one reply."""
        return GeminiReplyReader()


def _parts(texts: list[str]) -> list[RequestBody]:
    return [{"text": text} for text in texts]


class _Part(msgspec.Struct, gc=False):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, gc=False):
    content: _Content | None = None
    finish_reason: str | None = msgspec.field(default=None, name="finishReason")
    finish_message: str | None = msgspec.field(default=None, name="finishMessage")


class _Usage(msgspec.Struct, gc=False, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Feedback(msgspec.Struct, gc=False, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Chunk(msgspec.Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode

# Every other reason means that a filter stopped the answer.
_UNFILTERED_REASONS = (
    "STOP",
    "MAX_TOKENS",
    "OTHER",
    "FINISH_REASON_UNSPECIFIED",
    "MALFORMED_RESPONSE",
    "TOO_MANY_TOOL_CALLS",
)


class GeminiReplyReader(ReplyReader):
    """Reads the chunks of one reply. There is no end mark: the last chunk has a finish reason."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: _Usage | None = None

    def read(self, data: bytes) -> str:
        """Return the words of one chunk without its thoughts."""
        try:
            chunk = _decode(data)
        except msgspec.ValidationError:
            return self.odd(data)
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata
        if chunk.model_version:
            self.model = chunk.model_version
        if chunk.error is not None:
            self.error = chunk.error
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason:
            self._read_stop_reason(feedback.block_reason, feedback.block_reason_message)
        if not chunk.candidates:
            return ""
        candidate = chunk.candidates[0]
        if candidate.finish_reason:
            self._read_stop_reason(candidate.finish_reason, candidate.finish_message)
        parts = candidate.content.parts if candidate.content else None
        return "".join(part.text for part in parts if part.text and not part.thought) if parts else ""

    def usage(self) -> Usage | None:
        """Return the reported usage; thoughts are billed like words."""
        used = self._usage
        if used is None or not (used.prompt_token_count or used.candidates_token_count):
            return None
        counts = (used.candidates_token_count or 0, used.thoughts_token_count or 0)
        output_tokens = sum(counts) if min(counts) >= 0 else min(counts)
        return Usage(used.prompt_token_count or 0, output_tokens, used.cached_content_token_count or 0)

    def _read_stop_reason(self, reason: str, message: str | None) -> None:
        self.finished = True
        self.truncated = reason == "MAX_TOKENS"
        self.filtered = reason not in _UNFILTERED_REASONS
        if self.filtered:
            self.refusal = message or reason.lower().replace("_", " ")
