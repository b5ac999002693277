"""The Anthropic messages dialect: `/v1/messages`, with marks for the prompt cache."""

from __future__ import annotations

from typing import Any

import msgspec

from roundtable.core.values import Request, Usage
from roundtable.voices.dialects.dialect import (
    Dialect,
    ReplyReader,
    RequestBody,
    group_dialect_messages,
    join_system_messages_for_provider,
)

_CACHE_MARK = {"type": "ephemeral"}


class AnthropicDialect(Dialect):
    """Sends alternating turns and reads content blocks."""

    means = ("schema", "tool")
    headers = {"anthropic-version": "2023-06-01"}

    @property
    def url(self) -> str:
        """The address of a request."""
        return f"{self.endpoint.base_url}/v1/messages"

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-api-key": key}

    def body(self, request: Request) -> RequestBody:
        """Return the request as data."""
        messages = [
            {"role": role, "content": _blocks(texts)} for role, texts in group_dialect_messages(request.messages)
        ]
        system = join_system_messages_for_provider(request.messages)
        body: RequestBody = {
            "model": self.model,
            "messages": messages,
            "max_tokens": self.max_output_tokens(request),
            "temperature": min(request.temperature, 1.0),
            "stream": True,
        }
        if system:
            body["system"] = _blocks([system])
        if self.endpoint.prompt_cache:
            _mark_cache_points(body)
        schema = self.build_reply_schema(request)
        if schema is not None:
            body.update(self._constrain_reply(schema, request.schema_name or "reply"))
        return self.apply_endpoint_settings(body)

    def answer(self) -> ReplyReader:
        """Create a reader for one reply."""
        return AnthropicReplyReader()

    def _constrain_reply(self, schema: dict[str, Any], name: str) -> RequestBody:
        if self.held_by == "tool":
            tool = {"name": name, "description": "Submit the reply.", "input_schema": schema}
            return {"tools": [tool], "tool_choice": {"type": "tool", "name": name}}
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def _blocks(texts: list[str]) -> list[RequestBody]:
    return [{"type": "text", "text": text} for text in texts]


def _mark_cache_points(body: RequestBody) -> None:
    """Mark the ends of the system prompt and of the last two user turns: prompts share these prefixes."""
    prompts = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for blocks in (body.get("system"), *prompts[-2:]):
        if blocks:
            blocks[-1]["cache_control"] = _CACHE_MARK


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    input: msgspec.Raw = msgspec.Raw()


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Delta(msgspec.Struct, gc=False):
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Message(msgspec.Struct, gc=False):
    model: str | None = None
    usage: _Usage | None = None
    content: list[_Block] | None = None
    stop_reason: str | None = None
    error: Any = None


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    delta: _Delta | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_whole = msgspec.json.Decoder(_Message).decode

_TRUNCATED_REASONS = ("max_tokens", "model_context_window_exceeded")


class AnthropicReplyReader(ReplyReader):
    """Reads the events of one reply. Later token counts replace earlier ones."""

    def __init__(self) -> None:
        super().__init__()
        self._input = self._output = self._cache_read = self._cache_written = 0

    def read(self, data: bytes) -> str:
        """Return the words of one event: text, or the arguments of a tool call."""
        try:
            event = _decode(data)
        except msgspec.ValidationError:
            return self.odd(data)
        delta = event.delta
        if event.type == "content_block_delta":
            return (delta.text or delta.partial_json or "") if delta else ""
        if event.message is not None:
            self._read_message(event.message)
        if event.usage is not None:
            self._read_counts(event.usage)
        if delta is not None and delta.stop_reason:
            self._read_stop_reason(delta.stop_reason)
        if event.type == "message_stop":
            self.done = True
        if event.error is not None:
            self.error = event.error
        return ""

    def whole(self, body: bytes) -> str:
        """Read a message that came in one piece."""
        try:
            message = _decode_whole(body)
        except msgspec.ValidationError:
            return self.odd(body)
        self.error = message.error
        self._read_message(message)
        return "".join(block.text or bytes(block.input).decode() for block in message.content or ())

    def usage(self) -> Usage | None:
        """Return the reported usage. The server counts cached input separately; here it is part of the input."""
        if not (self._input or self._output):
            return None
        counts = (self._input, self._cache_read, self._cache_written)
        input_tokens = sum(counts) if min(counts) >= 0 else min(counts)
        return Usage(input_tokens, self._output, self._cache_read, cache_write_tokens=self._cache_written)

    def _read_message(self, message: _Message) -> None:
        self.model = message.model or ""
        if message.usage is not None:
            self._read_counts(message.usage)
        if message.stop_reason:
            self._read_stop_reason(message.stop_reason)

    def _read_counts(self, usage: _Usage) -> None:
        self._input = usage.input_tokens or self._input
        self._output = usage.output_tokens or self._output
        self._cache_read = usage.cache_read_input_tokens or self._cache_read
        self._cache_written = usage.cache_creation_input_tokens or self._cache_written

    def _read_stop_reason(self, reason: str) -> None:
        self.finished = True
        self.truncated = reason in _TRUNCATED_REASONS
        self.filtered = reason == "refusal"
