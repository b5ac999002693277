"""The Gemini dialect of the fault server."""

from __future__ import annotations

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

_FINISH_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY", "refused": "STOP", "tool": "STOP"}

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiWire(Wire):
    """Every event is a whole response with one more part; only the finish reason marks the end."""

    errors = {
        "bad_key": ProviderError(400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"),
        "context_overflow": ProviderError(
            400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        ),
        "insufficient_quota": ProviderError(
            429, "You exceeded your current quota, please check your plan and billing details."
        ),
        "model_not_found": ProviderError(404, "models/no-such-model is not found for API version v1beta"),
        "overloaded": ProviderError(503, "The model is overloaded. Please try again later."),
        "rate_limited": ProviderError(429, "Resource has been exhausted (e.g. check quota)."),
    }

    def start_events(self) -> Iterator[WireEvent]:
        """Yield nothing: the first words come at once."""
        yield from ()

    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a part that is marked as a thought."""
        yield "", self._build_response([{"text": text, "thought": True}])

    def word_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a text part."""
        yield "", self._build_response([{"text": text}])

    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a blocked prompt, which has no candidates."""
        yield "", self._build_blocked()

    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """Yield a part that calls a function."""
        yield "", self._build_response([_build_function_call(call)])

    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Yield the last response with the finish reason and the whole usage."""
        if finish != "refused":
            yield "", self._build_response([], _FINISH_REASONS[finish])

    def error_event(self, error: ProviderError) -> WireEvent:
        """Return the error object as an event."""
        return "", self.error_body(error)

    def error_body(self, error: ProviderError) -> Any:
        """Return code, status name and details; the details of a rate limit say how long to wait."""
        status = _STATUSES.get(error.status, "INTERNAL")
        details: list[dict[str, Any]] = []
        if error.code:
            details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.code})
        if error is self.errors["rate_limited"]:
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"})
        body = {"code": error.status, "message": error.message, "status": status}
        return {"error": body | ({"details": details} if details else {})}

    def whole_body(self, speech: AnswerContent) -> Any:
        """Return one response with all parts."""
        if speech.refusal:
            return self._build_blocked()
        parts: list[dict[str, Any]] = []
        if speech.thought:
            parts.append({"text": speech.thought, "thought": True})
        if speech.words:
            parts.append({"text": speech.text})
        if speech.tool is not None:
            parts.append(_build_function_call(speech.tool))
        return self._build_response(parts, _FINISH_REASONS[speech.finish])

    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """Return calls of Gemini CLI's tools that would write a file."""
        return (
            ToolCall("write_file", {"file_path": target, "content": "x"}),
            ToolCall("run_shell_command", {"command": f"touch '{target}'", "description": "Write a file"}),
        )

    def count_tool_results(self, body: dict[str, Any]) -> int:
        """Count the parts that answer a function call."""
        turns = (self.read_objects(turn.get("parts")) for turn in self.read_objects(body.get("contents")))
        return sum("functionResponse" in part for parts in turns for part in parts)

    def _build_response(self, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0}
        if parts:
            candidate["content"] = {"parts": parts, "role": "model"}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], **self._build_frame()}

    def _build_blocked(self) -> dict[str, Any]:
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **self._build_frame()}

    def _build_frame(self) -> dict[str, Any]:
        usage = {
            "promptTokenCount": INPUT_TOKENS,
            "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": self.tokens,
            "totalTokenCount": INPUT_TOKENS + self.tokens,
        }
        return {"usageMetadata": usage, "modelVersion": self.model, "responseId": "resp-1"}


def _build_function_call(call: ToolCall) -> dict[str, Any]:
    return {"functionCall": {"name": call.name, "args": call.arguments}}
