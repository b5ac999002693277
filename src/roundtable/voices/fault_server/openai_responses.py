"""The OpenAI responses dialect of the fault server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from roundtable.voices.fault_server.openai_chat import OPENAI_ERRORS, build_fault_server_openai_error
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

_INCOMPLETE_REASONS = {"length": "max_output_tokens", "filtered": "content_filter"}


class ResponsesWire(Wire):
    """Numbered, named events; items are added, filled and finished; the last event repeats everything."""

    errors = OPENAI_ERRORS | {
        "context_overflow": ProviderError(
            400, "Your input exceeds the context window of this model.", "context_length_exceeded"
        ),
        "overloaded": ProviderError(503, "Our servers are currently overloaded.", "server_is_overloaded"),
    }

    def __init__(self, model: str, tokens: int) -> None:
        super().__init__(model, tokens)
        self._number = -1
        self._output: list[dict[str, Any]] = []
        self._said = ""
        self._speaking = False

    def start_events(self) -> Iterator[WireEvent]:
        """Yield the created response and its progress."""
        yield self._event("response.created", response=self._build_response("in_progress"))
        yield self._event("response.in_progress", response=self._build_response("in_progress"))

    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a separate item with a summary."""
        item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}
        yield self._event("response.output_item.added", output_index=self._index, item=item)
        place = {"item_id": "rs_1", "output_index": self._index, "summary_index": 0}
        yield self._event("response.reasoning_summary_text.delta", **place, delta=text)
        yield self._event("response.reasoning_summary_text.done", **place, text=text)
        yield from self._finish_item({**item, "summary": [{"type": "summary_text", "text": text}]})

    def word_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a delta of the message's only part."""
        if not self._speaking:
            yield from self._begin_item({"type": "output_text", "text": "", "annotations": []})
        self._said += text
        yield self._event("response.output_text.delta", **self._item_position, delta=text, logprobs=[])

    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """Yield a part of another type in the message."""
        yield from self._begin_item({"type": "refusal", "refusal": ""})
        yield self._event("response.refusal.delta", **self._item_position, delta=text)
        yield self._event("response.refusal.done", **self._item_position, refusal=text)
        part = {"type": "refusal", "refusal": text}
        yield self._event("response.content_part.done", **self._item_position, part=part)
        self._speaking = False
        yield from self._finish_item(_build_message(part))

    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """Yield a separate item with the arguments as text."""
        arguments = json.dumps(call.arguments)
        begun = {**_build_function_call(call), "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=self._index, item=begun)
        place = {"item_id": begun["id"], "output_index": self._index}
        yield self._event("response.function_call_arguments.delta", **place, delta=arguments)
        yield self._event("response.function_call_arguments.done", **place, arguments=arguments)
        yield from self._finish_item(_build_function_call(call))

    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Finish every open item and repeat the whole response."""
        if self._speaking:
            part = _build_text(self._said)
            yield self._event("response.output_text.done", **self._item_position, text=self._said, logprobs=[])
            yield self._event("response.content_part.done", **self._item_position, part=part)
            self._speaking = False
            yield from self._finish_item(_build_message(part))
        status = "incomplete" if finish in _INCOMPLETE_REASONS else "completed"
        yield self._event(f"response.{status}", response=self._build_response(status, finish))

    def error_event(self, error: ProviderError) -> WireEvent:
        """Return the failed response with its reason."""
        body = {"code": error.code, "message": error.message}
        return self._event("response.failed", response={**self._build_response("failed"), "error": body})

    def error_body(self, error: ProviderError) -> Any:
        """Return OpenAI's error object."""
        return build_fault_server_openai_error(error)

    def whole_body(self, speech: AnswerContent) -> Any:
        """Return the response object with everything in it."""
        if speech.thought:
            summary = [{"type": "summary_text", "text": speech.thought}]
            self._output.append({"id": "rs_1", "type": "reasoning", "summary": summary})
        if speech.words:
            self._output.append(_build_message(_build_text(speech.text)))
        if speech.refusal:
            self._output.append(_build_message({"type": "refusal", "refusal": speech.refusal}))
        if speech.tool is not None:
            self._output.append(_build_function_call(speech.tool))
        return self._build_response(
            "incomplete" if speech.finish in _INCOMPLETE_REASONS else "completed", speech.finish
        )

    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """Return a call of Codex's shell under the name it offers; it has had three names."""
        command = f"touch '{target}'"
        shells = {
            "exec_command": {"cmd": command},
            "shell_command": {"command": command},
            "shell": {"command": ["bash", "-lc", command]},
        }
        offered = [tool.get("name") for tool in self.read_objects(body.get("tools"))]
        name = next((shell for shell in shells if shell in offered), "shell")
        return (ToolCall(name, shells[name]),)

    def count_tool_results(self, body: dict[str, Any]) -> int:
        """Count the items that are the output of a call."""
        return sum(item.get("type") == "function_call_output" for item in self.read_objects(body.get("input")))

    @property
    def _index(self) -> int:
        return len(self._output)

    @property
    def _item_position(self) -> dict[str, Any]:
        return {"item_id": "msg_1", "output_index": self._index, "content_index": 0}

    def _event(self, kind: str, **fields: Any) -> WireEvent:
        self._number += 1
        return kind, {"type": kind, "sequence_number": self._number, **fields}

    def _begin_item(self, part: dict[str, Any]) -> Iterator[WireEvent]:
        self._speaking = True
        item = {**_build_message(), "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=self._index, item=item)
        yield self._event("response.content_part.added", **self._item_position, part=part)

    def _finish_item(self, item: dict[str, Any]) -> Iterator[WireEvent]:
        yield self._event("response.output_item.done", output_index=self._index, item=item)
        self._output.append(item)

    def _build_response(self, status: str, finish: FinishReason = "stop") -> dict[str, Any]:
        reason = _INCOMPLETE_REASONS.get(finish)
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1789500000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": self.model,
            "output": list(self._output),
            "usage": None if status in ("in_progress", "failed") else self._build_usage(),
        }

    def _build_usage(self) -> dict[str, Any]:
        return {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": self.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + self.tokens,
        }


def _build_message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": list(parts)}


def _build_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _build_function_call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments)
    return {
        "id": f"fc_{call.number}",
        "type": "function_call",
        "call_id": f"call_{call.number}",
        "name": call.name,
        "arguments": arguments,
        "status": "completed",
    }
