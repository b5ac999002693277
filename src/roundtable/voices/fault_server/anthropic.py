"""The Anthropic messages dialect of the fault server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from roundtable.voices.fault_server.wire import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    AnswerContent,
    FinishReason,
    ProviderError,
    ToolCall,
    Wire,
    WireEvent,
)

CACHE_WRITE_TOKENS = 10
"""Tokens written to the cache; in this dialect the input count holds neither these nor the cached tokens."""

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "filtered": "refusal",
    "refused": "refusal",
    "tool": "tool_use",
}

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicWire(Wire):
    """Named events around numbered content blocks."""

    errors = {
        "bad_key": ProviderError(401, "invalid x-api-key"),
        "context_overflow": ProviderError(400, "prompt is too long: 208310 tokens > 200000 maximum"),
        "insufficient_quota": ProviderError(400, "Your credit balance is too low to access the Anthropic API."),
        "model_not_found": ProviderError(404, "model: no-such-model"),
        "overloaded": ProviderError(529, "Overloaded"),
        "rate_limited": ProviderError(429, "This request would exceed your organization's rate limit."),
    }

    def __init__(self, model: str, tokens: int) -> None:
        super().__init__(model, tokens)
        self._index = 0
        self._text_block_open = False

    def start_events(self) -> Iterator[WireEvent]:
        """Yield an empty message with the input count, and a ping."""
        message = {**self._build_message([], None), "usage": self._build_usage(1)}
        yield _build_event("message_start", message=message)
        yield _build_event("ping")

    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a thinking block with a signature."""
        block = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = ({"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": "c2lnbmVk"})
        yield from self._block_events(block, *deltas)

    def word_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a delta of the text block."""
        if not self._text_block_open:
            self._text_block_open = True
            block = {"type": "text", "text": ""}
            yield _build_event("content_block_start", index=self._index, content_block=block)
        yield self._delta_event({"type": "text_delta", "text": text})

    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """Yield nothing: in this dialect a refusal is only a stop reason."""
        yield from ()

    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """Yield a tool block whose input comes as pieces of JSON."""
        yield from self._close_text_block()
        block: dict[str, Any] = {**_build_tool_use(call), "input": {}}
        yield from self._block_events(block, {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)})

    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Yield the stop reason with the last count."""
        yield from self._close_text_block()
        delta = {"stop_reason": _STOP_REASONS[finish], "stop_sequence": None}
        yield _build_event("message_delta", delta=delta, usage={"output_tokens": self.tokens})

    def end_mark_events(self) -> Iterator[WireEvent]:
        """Yield the end of the message."""
        yield _build_event("message_stop")

    def error_event(self, error: ProviderError) -> WireEvent:
        """Return the error object as an event."""
        return "error", self.error_body(error)

    def error_body(self, error: ProviderError) -> Any:
        """Return the error object; its type names the kind, and there is no code."""
        kind = _ERROR_TYPES.get(error.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": error.message}, "request_id": "req_1"}

    def whole_body(self, speech: AnswerContent) -> Any:
        """Return a message with all its blocks."""
        content: list[dict[str, Any]] = []
        if speech.thought:
            content.append({"type": "thinking", "thinking": speech.thought, "signature": "c2lnbmVk"})
        if speech.words:
            content.append({"type": "text", "text": speech.text})
        if speech.tool is not None:
            content.append(_build_tool_use(speech.tool))
        return {**self._build_message(content, _STOP_REASONS[speech.finish]), "usage": self._build_usage(self.tokens)}

    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """Return calls of Claude Code's tools that would write a file."""
        return (
            ToolCall("Write", {"file_path": target, "content": "x"}),
            ToolCall("Bash", {"command": f"touch '{target}'", "description": "Write a file"}),
        )

    def count_tool_results(self, body: dict[str, Any]) -> int:
        """Count the blocks of type `tool_result`."""
        contents = (self.read_objects(message.get("content")) for message in self.read_objects(body.get("messages")))
        return sum(block.get("type") == "tool_result" for blocks in contents for block in blocks)

    def _build_message(self, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        frame = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model}
        return {**frame, "content": content, "stop_reason": stop, "stop_sequence": None}

    def _build_usage(self, output: int) -> dict[str, int]:
        return {
            "input_tokens": INPUT_TOKENS - CACHED_TOKENS - CACHE_WRITE_TOKENS,
            "cache_creation_input_tokens": CACHE_WRITE_TOKENS,
            "cache_read_input_tokens": CACHED_TOKENS,
            "output_tokens": output,
        }

    def _block_events(self, block: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[WireEvent]:
        yield _build_event("content_block_start", index=self._index, content_block=block)
        for delta in deltas:
            yield self._delta_event(delta)
        yield self._stop_event()

    def _close_text_block(self) -> Iterator[WireEvent]:
        if self._text_block_open:
            self._text_block_open = False
            yield self._stop_event()

    def _delta_event(self, delta: dict[str, Any]) -> WireEvent:
        return _build_event("content_block_delta", index=self._index, delta=delta)

    def _stop_event(self) -> WireEvent:
        self._index += 1
        return _build_event("content_block_stop", index=self._index - 1)


def _build_event(kind: str, **fields: Any) -> WireEvent:
    return kind, {"type": kind, **fields}


def _build_tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{call.number}", "name": call.name, "input": call.arguments}
