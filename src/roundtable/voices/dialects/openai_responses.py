"""The OpenAI responses dialect: `/responses`, with storage at the provider turned off."""

from __future__ import annotations

from typing import Any

import msgspec

from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.values import Request, Usage
from roundtable.voices.dialects.dialect import (
    Dialect,
    ReplyReader,
    RequestBody,
    is_schema_strict_for_provider,
    join_system_messages_for_provider,
)


class OpenAIResponsesDialect(Dialect):
    """Sends input items and reads typed events. Nothing is stored at the provider."""

    @property
    def url(self) -> str:
        """The address of a request."""
        return f"{self.endpoint.base_url}/responses"

    def body(self, request: Request) -> RequestBody:
        """Return the request as data."""
        talk = [message for message in request.messages if message.role != "system"]
        body: RequestBody = {
            "model": self.model,
            "input": [{"role": message.role, "content": replace_surrogates_in_text(message.text)} for message in talk],
            "stream": True,
            "store": False,
            "max_output_tokens": self.max_output_tokens(request),
            "temperature": request.temperature,
        }
        system = join_system_messages_for_provider(request.messages)
        if system:
            body["instructions"] = system
        schema = self.build_reply_schema(request)
        if schema is not None:
            form = {"type": "json_schema", "name": request.schema_name or "reply", "schema": schema}
            body["text"] = {"format": {**form, "strict": is_schema_strict_for_provider(schema)}}
        return self.apply_endpoint_settings(body)

    def answer(self) -> ReplyReader:
        """Create a reader for one reply."""
        return OpenAIResponsesReplyReader()


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    content: list[_Part] | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Response(msgspec.Struct, gc=False):
    status: str | None = None
    model: str | None = None
    output: list[_Item] | None = None
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None
    error: Any = None


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    delta: str | None = None
    response: _Response | None = None
    error: Any = None
    code: str | None = None
    message: str | None = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_whole = msgspec.json.Decoder(_Response).decode

_END_EVENTS = ("response.completed", "response.incomplete", "response.failed")


class OpenAIResponsesReplyReader(ReplyReader):
    """Reads the events of one reply. The last event repeats the whole response."""

    def __init__(self) -> None:
        super().__init__()
        self._has_deltas = False
        self._usage: _Usage | None = None

    def read(self, data: bytes) -> str:
        """Return the words of one event."""
        try:
            event = _decode(data)
        except msgspec.ValidationError:
            return self.odd(data)
        kind = event.type
        if kind == "response.output_text.delta":
            self._has_deltas = True
            return event.delta or ""
        if kind == "response.refusal.delta":
            self.refusal += event.delta or ""
        elif kind in _END_EVENTS and event.response is not None:
            return self._read_response(event.response)
        elif kind == "error" or event.error is not None:
            self.error = event.error or {"code": event.code, "message": event.message}
        return ""

    def whole(self, body: bytes) -> str:
        """Read a response that came in one piece."""
        try:
            return self._read_response(_decode_whole(body))
        except msgspec.ValidationError:
            return self.odd(body)

    def usage(self) -> Usage | None:
        """Return the reported usage; cached input is part of the input."""
        used = self._usage
        if used is None or not (used.input_tokens or used.output_tokens):
            return None
        input_details = used.input_tokens_details or _Details()
        return Usage(
            used.input_tokens or 0,
            used.output_tokens or 0,
            input_details.cached_tokens or 0,
            cache_write_tokens=input_details.cache_write_tokens or 0,
        )

    def _read_response(self, response: _Response) -> str:
        self._usage = response.usage
        self.model = response.model or ""
        if response.error is not None or response.status == "failed":
            self.error = response.error or {"message": "the response failed"}
            return ""
        reason = response.incomplete_details.reason if response.incomplete_details else ""
        self.truncated = reason == "max_output_tokens"
        self.filtered = reason == "content_filter"
        self.finished = self.done = response.status in ("completed", "incomplete")
        return "" if self._has_deltas else self._read_output(response.output or [])

    def _read_output(self, output: list[_Item]) -> str:
        """Return the words of a response that came without deltas, without its reasoning."""
        parts = [part for item in output if item.type == "message" for part in item.content or ()]
        self.refusal = self.refusal or "".join(part.refusal or "" for part in parts)
        return "".join(part.text or "" for part in parts if part.type == "output_text")
