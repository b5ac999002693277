"""The OpenAI chat dialect: any server with `/chat/completions`."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.values import Request, Usage
from roundtable.voices.dialects.dialect import (
    Dialect,
    ReplyReader,
    RequestBody,
    decode_json_object,
    is_schema_strict_for_provider,
)


class OpenAIChatDialect(Dialect):
    """Sends messages and reads choices. Most servers speak this dialect."""

    means = ("schema", "tool")

    @property
    def url(self) -> str:
        """The address of a request."""
        return f"{self.endpoint.base_url}/chat/completions"

    def body(self, request: Request) -> RequestBody:
        """Return the request as data."""
        body: RequestBody = {
            "model": self.model,
            "messages": [
                {"role": message.role, "content": replace_surrogates_in_text(message.text)}
                for message in request.messages
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": self.max_output_tokens(request),
            "temperature": request.temperature,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        schema = self.build_reply_schema(request)
        if schema is not None:
            body.update(self._constrain_reply(schema, request.schema_name or "reply"))
        return self.apply_endpoint_settings(body)

    def answer(self) -> ReplyReader:
        """Create a reader for one reply."""
        return OpenAIChatReplyReader()

    def _constrain_reply(self, schema: dict[str, Any], name: str) -> RequestBody:
        if self.held_by == "tool":
            function = {"name": name, "description": "Submit the reply.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": name}},
            }
        form: RequestBody = {"name": name, "schema": schema}
        if is_schema_strict_for_provider(schema):
            form["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": form}}


class _Function(msgspec.Struct, gc=False):
    arguments: str | None = None


class _Call(msgspec.Struct, gc=False):
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    model: str | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


class OpenAIChatReplyReader(ReplyReader):
    """Reads the chunks of one reply. A whole reply has the same shape, with `message` in place of `delta`."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: _Usage | None = None

    def read(self, data: bytes) -> str:
        """Return the words of one chunk."""
        try:
            chunk = _decode(data)
        except msgspec.ValidationError:
            return self.odd(data)
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.error is not None:
            self.error = chunk.error
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if choice.finish_reason is not None:
            self._read_stop_reason(choice.finish_reason)
            self.model = chunk.model or ""
        delta = choice.delta or choice.message
        if delta is None:
            return ""
        if delta.refusal:
            self.refusal += delta.refusal
        return delta.content or (_join_tool_arguments(delta.tool_calls) if delta.tool_calls else "")

    def odd(self, data: bytes) -> str:
        """Read a chunk of an unusual shape, such as content in parts."""
        chunk = decode_json_object(data)
        self.error = chunk.get("error")
        choices: Any = chunk.get("choices")
        choice: Any = cast(list[Any], choices)[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, dict):
            return ""
        choice = cast(dict[str, Any], choice)
        if isinstance(choice.get("finish_reason"), str):
            self._read_stop_reason(choice["finish_reason"])
        return _read_content_parts(choice.get("delta") or choice.get("message"))

    def usage(self) -> Usage | None:
        """Return the reported usage, with the cost if the server reports one."""
        used = self._usage
        if used is None or not (used.prompt_tokens or used.completion_tokens):
            return None
        prompt_details = used.prompt_tokens_details or _Details()
        return Usage(
            used.prompt_tokens or 0,
            _count_output_tokens(used),
            prompt_details.cached_tokens or used.prompt_cache_hit_tokens or 0,
            used.cost,
            cache_write_tokens=prompt_details.cache_write_tokens or 0,
        )

    def _read_stop_reason(self, reason: str) -> None:
        self.finished = bool(reason)
        self.truncated = reason == "length"
        self.filtered = reason == "content_filter"


def _count_output_tokens(used: _Usage) -> int:
    """Return words plus thoughts. The total tells whether a server counts thoughts among the words."""
    tokens = used.completion_tokens or 0
    thought = (used.completion_tokens_details or _Details()).reasoning_tokens or 0
    if thought < 0:
        return thought
    is_thought_extra = (used.total_tokens or 0) >= (used.prompt_tokens or 0) + tokens + thought
    return tokens + thought if is_thought_extra else tokens


def _join_tool_arguments(calls: list[_Call]) -> str:
    """Return the arguments of the tool calls as one text."""
    return "".join(call.function.arguments or "" for call in calls if call.function)


def _read_content_parts(message: Any) -> str:
    """Return the words of a message whose content is a list of parts, without thoughts."""
    content: Any = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [cast(dict[str, Any], part) for part in cast(list[Any], content) if isinstance(part, dict)]
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
