"""The content of an answer, and the interface of a dialect that puts it on the wire."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

INPUT_TOKENS = 100
CACHED_TOKENS = 60

REFUSAL_TEXT = "I cannot help with that."

FinishReason = Literal["stop", "length", "filtered", "refused", "tool"]
WireEvent = tuple[str, Any]
"""The event's name (empty in dialects without names) and its data; a text is sent unchanged."""


@dataclass(frozen=True)
class ToolCall:
    """One tool call of the model."""

    name: str
    arguments: dict[str, Any]
    number: int = 1


@dataclass(frozen=True)
class AnswerContent:
    """The content of one answer of the model."""

    words: tuple[str, ...] = ()
    thought: str = ""
    refusal: str = ""
    tool: ToolCall | None = None
    finish: FinishReason = "stop"

    @property
    def text(self) -> str:
        """The words as one text."""
        return "".join(self.words)


@dataclass(frozen=True)
class ProviderError:
    """An error in the words of its provider."""

    status: int
    message: str
    code: str = ""


class Wire(ABC):
    """One answer in one dialect: the events of a stream in order, or one object."""

    errors: ClassVar[dict[str, ProviderError]]
    """The provider's words for errors that every provider has."""

    def __init__(self, model: str, tokens: int) -> None:
        self.model = model
        self.tokens = tokens

    @abstractmethod
    def start_events(self) -> Iterator[WireEvent]:
        """Yield the events before the first word."""

    @abstractmethod
    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """Yield the events of a thought."""

    @abstractmethod
    def word_events(self, text: str) -> Iterator[WireEvent]:
        """Yield the events of one piece of the answer."""

    @abstractmethod
    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """Yield the events of a refusal."""

    @abstractmethod
    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """Yield the events of a tool call."""

    @abstractmethod
    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Yield the finish reason and the usage."""

    def end_mark_events(self) -> Iterator[WireEvent]:
        """Yield the end mark, in dialects that have one."""
        yield from ()

    @abstractmethod
    def error_event(self, error: ProviderError) -> WireEvent:
        """Return an error in the middle of a stream."""

    @abstractmethod
    def error_body(self, error: ProviderError) -> Any:
        """Return an error object as it is sent with a status."""

    @abstractmethod
    def whole_body(self, speech: AnswerContent) -> Any:
        """Return the answer for a client that does not stream."""

    @abstractmethod
    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """Return tool calls by which a model would try to write a file in this dialect's agents."""

    @abstractmethod
    def count_tool_results(self, body: dict[str, Any]) -> int:
        """Count the tool results that were sent back so far."""

    def answer_events(self, speech: AnswerContent) -> Iterator[WireEvent]:
        """Yield all events of one answer."""
        yield from self.start_events()
        if speech.thought:
            yield from self.thought_events(speech.thought)
        for word in speech.words:
            yield from self.word_events(word)
        if speech.refusal:
            yield from self.refusal_events(speech.refusal)
        if speech.tool is not None:
            yield from self.tool_events(speech.tool)
        yield from self.end_events(speech.finish)
        yield from self.end_mark_events()

    @staticmethod
    def read_objects(value: Any) -> list[dict[str, Any]]:
        """Return the objects in a client's list; empty if it is not a list."""
        items = cast("list[Any]", value) if isinstance(value, list) else []
        return [item for item in items if isinstance(item, dict)]
