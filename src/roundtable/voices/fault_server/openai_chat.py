"""The OpenAI chat completions dialect of the fault server."""

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

_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "filtered": "content_filter",
    "refused": "stop",
    "tool": "tool_calls",
}

OPENAI_ERRORS = {
    "bad_key": ProviderError(401, "Incorrect API key provided", "invalid_api_key"),
    "context_overflow": ProviderError(
        400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"
    ),
    "insufficient_quota": ProviderError(429, "You exceeded your current quota", "insufficient_quota"),
    "model_not_found": ProviderError(404, "The model does not exist", "model_not_found"),
    "overloaded": ProviderError(529, "Overloaded, sorry", "overloaded"),
    "rate_limited": ProviderError(429, "Rate limit reached for this context window", "rate_limit_exceeded"),
}


def build_fault_server_openai_error(error: ProviderError) -> dict[str, Any]:
    """Return the body of an error response of the fault server, in the form of both OpenAI dialects."""
    return {"error": {"message": error.message, "type": error.code, "param": None, "code": error.code}}


class ChatWire(Wire):
    """Chunks with a delta, a finish reason, usage in a chunk without choices, then `[DONE]`."""

    errors = OPENAI_ERRORS
    _in_parts = False

    def start_events(self) -> Iterator[WireEvent]:
        """Yield the role without words."""
        yield self._chunk_event({"role": "assistant", "content": ""})

    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a thought under both of its names and as a part; such servers send words as parts too."""
        self._in_parts = True
        yield self._chunk_event({"reasoning_content": text, "reasoning": text})
        yield self._chunk_event({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]})

    def word_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a delta with content."""
        yield self._chunk_event({"content": [{"type": "text", "text": text}] if self._in_parts else text})

    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a refusal, which has its own field and comes in pieces."""
        half = len(text) // 2
        yield self._chunk_event({"refusal": text[:half]})
        yield self._chunk_event({"refusal": text[half:]})

    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """Yield the name of the tool, then its arguments as text."""
        function = {"name": call.name, "arguments": ""}
        begun = {"index": 0, "id": f"call_{call.number}", "type": "function", "function": function}
        yield self._chunk_event({"tool_calls": [begun]})
        yield self._chunk_event({"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(call.arguments)}}]})

    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Yield the finish reason, then a chunk with the usage."""
        yield self._chunk_event({}, _FINISH_REASONS[finish])
        yield "", {**self._build_frame("chat.completion.chunk"), "choices": [], "usage": self._build_usage()}

    def end_mark_events(self) -> Iterator[WireEvent]:
        """Yield the one event that is not JSON."""
        yield "", "[DONE]"

    def error_event(self, error: ProviderError) -> WireEvent:
        """Return an error in place of a chunk, with its status as the code."""
        return "", {"error": {"message": error.message, "code": error.status}}

    def error_body(self, error: ProviderError) -> Any:
        """Return OpenAI's error object."""
        return build_fault_server_openai_error(error)

    def whole_body(self, speech: AnswerContent) -> Any:
        """Return one message in one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": speech.text, "refusal": speech.refusal or None}
        if speech.tool is not None:
            function = {"name": speech.tool.name, "arguments": json.dumps(speech.tool.arguments)}
            message["tool_calls"] = [{"id": f"call_{speech.tool.number}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH_REASONS[speech.finish]}
        return {**self._build_frame("chat.completion"), "choices": [choice], "usage": self._build_usage()}

    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """Return calls of OpenCode's tools that would write a file."""
        return (
            ToolCall("write", {"filePath": target, "content": "x"}),
            ToolCall("bash", {"command": f"touch '{target}'", "description": "Write a file"}),
        )

    def count_tool_results(self, body: dict[str, Any]) -> int:
        """Count the messages of role `tool`."""
        return sum(message.get("role") == "tool" for message in self.read_objects(body.get("messages")))

    def _build_frame(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1789500000, "model": self.model}

    def _chunk_event(self, delta: dict[str, Any], finish: str | None = None) -> WireEvent:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return "", {**self._build_frame("chat.completion.chunk"), "choices": [choice]}

    def _build_usage(self) -> dict[str, Any]:
        return {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": self.tokens,
            "total_tokens": INPUT_TOKENS + self.tokens,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "cost": 0.0025,
        }
