"""The Anthropic messages dialect: `/v1/messages`, with marks where its prompt cache may break off."""

from __future__ import annotations

from typing import Any

import msgspec

from roundtable.core.values import Request, Usage
from roundtable.voices.dialects.dialect import Dialect, ReplyReader, RequestBody, group_turns, join_system_prompt

_MARK = {"type": "ephemeral"}


class AnthropicDialect(Dialect):
    """Alternating turns in, content blocks out."""

    means = ("schema", "tool")
    headers = {"anthropic-version": "2023-06-01"}

    @property
    def url(self) -> str:
        """Where a request goes."""
        return f"{self.endpoint.base_url}/v1/messages"

    def key_headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"x-api-key": key}

    def body(self, request: Request) -> RequestBody:
        """The request as it goes over the wire."""
        messages = [{"role": role, "content": _blocks(texts)} for role, texts in group_turns(request.messages)]
        system = join_system_prompt(request.messages)
        body: RequestBody = {
            "model": self.model,
            "messages": messages,
            "max_tokens": self.most_tokens(request),
            "temperature": min(request.temperature, 1.0),
            "stream": True,
        }
        if system:
            body["system"] = _blocks([system])
        if self.endpoint.prompt_cache:
            _mark(body)
        schema = self.schema(request)
        if schema is not None:
            body.update(self._held_to(schema, request.schema_name or "reply"))
        return self.fitted(body)

    def answer(self) -> ReplyReader:
        """A reader for one answer."""
        return AnthropicReplyReader()

    def _held_to(self, schema: dict[str, Any], name: str) -> RequestBody:
        if self.held_by == "tool":
            tool = {"name": name, "description": "Hand in the reply.", "input_schema": schema}
            return {"tools": [tool], "tool_choice": {"type": "tool", "name": name}}
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def _blocks(texts: list[str]) -> list[RequestBody]:
    return [{"type": "text", "text": text} for text in texts]


def _mark(body: RequestBody) -> None:
    """A later prompt begins with this one, and this one with an earlier one: mark where each of them ends."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for blocks in (body.get("system"), *asked[-2:]):
        if blocks:
            blocks[-1]["cache_control"] = _MARK


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

_LIMITS = ("max_tokens", "model_context_window_exceeded")


class AnthropicReplyReader(ReplyReader):
    """Events of one answer. Counts come at the beginning and again at the end; the later ones hold."""

    def __init__(self) -> None:
        super().__init__()
        self._input = self._output = self._read_back = self._written = 0

    def read(self, data: bytes) -> str:
        """The words of one event: text, or a form handed in by a tool call."""
        try:
            event = _decode(data)
        except msgspec.ValidationError:
            return self.odd(data)
        delta = event.delta
        if event.type == "content_block_delta":
            return (delta.text or delta.partial_json or "") if delta else ""
        if event.message is not None:
            self._told(event.message)
        if event.usage is not None:
            self._counted(event.usage)
        if delta is not None and delta.stop_reason:
            self._stopped(delta.stop_reason)
        if event.type == "message_stop":
            self.done = True
        if event.error is not None:
            self.error = event.error
        return ""

    def whole(self, body: bytes) -> str:
        """A message that came in one piece."""
        try:
            message = _decode_whole(body)
        except msgspec.ValidationError:
            return self.odd(body)
        self.error = message.error
        self._told(message)
        return "".join(block.text or bytes(block.input).decode() for block in message.content or ())

    def usage(self) -> Usage | None:
        """What the server counted; it tells cached input apart from the rest, and we count it in."""
        if not (self._input or self._output):
            return None
        asked = self._input + self._read_back + self._written
        return Usage(asked, self._output, self._read_back, cache_write_tokens=self._written)

    def _told(self, message: _Message) -> None:
        self.model = message.model or ""
        if message.usage is not None:
            self._counted(message.usage)
        if message.stop_reason:
            self._stopped(message.stop_reason)

    def _counted(self, usage: _Usage) -> None:
        self._input = usage.input_tokens or self._input
        self._output = usage.output_tokens or self._output
        self._read_back = usage.cache_read_input_tokens or self._read_back
        self._written = usage.cache_creation_input_tokens or self._written

    def _stopped(self, reason: str) -> None:
        self.finished = True
        self.truncated = reason in _LIMITS
        self.filtered = reason == "refusal"
