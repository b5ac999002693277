"""What an answer consists of, and what a dialect must be able to put on the wire."""

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
"""The event's name, where the dialect names them, and its data; text is sent as it is."""


@dataclass(frozen=True)
class ToolCall:
    """One tool the model wants to use."""

    name: str
    arguments: dict[str, Any]
    number: int = 1


@dataclass(frozen=True)
class AnswerContent:
    """What the model says in one answer."""

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
    """An error as its vendor words it."""

    status: int
    message: str
    code: str = ""


class Wire(ABC):
    """One answer in one dialect: the events of a stream in their order, or the whole as one object."""

    errors: ClassVar[dict[str, ProviderError]]
    """How this vendor words what every vendor has a word for."""

    def __init__(self, model: str, tokens: int) -> None:
        self.model = model
        self.tokens = tokens

    @abstractmethod
    def start_events(self) -> Iterator[WireEvent]:
        """What comes before the first word."""

    @abstractmethod
    def thought_events(self, text: str) -> Iterator[WireEvent]:
        """What the model thinks to itself."""

    @abstractmethod
    def word_events(self, text: str) -> Iterator[WireEvent]:
        """One piece of the answer."""

    @abstractmethod
    def refusal_events(self, text: str) -> Iterator[WireEvent]:
        """The model declines."""

    @abstractmethod
    def tool_events(self, call: ToolCall) -> Iterator[WireEvent]:
        """The model calls a tool."""

    @abstractmethod
    def end_events(self, finish: FinishReason) -> Iterator[WireEvent]:
        """Why the answer ends, and what it used."""

    def end_mark_events(self) -> Iterator[WireEvent]:
        """The end mark, in dialects that have one."""
        yield from ()

    @abstractmethod
    def error_event(self, error: ProviderError) -> WireEvent:
        """An error in the middle of a stream."""

    @abstractmethod
    def error_body(self, error: ProviderError) -> Any:
        """An error object, as it comes with a status."""

    @abstractmethod
    def whole_body(self, speech: AnswerContent) -> Any:
        """The answer to a client that does not stream."""

    @abstractmethod
    def list_write_attempts(self, body: dict[str, Any], target: str) -> tuple[ToolCall, ...]:
        """The ways in which a model would try to write a file through the tools of this dialect's agents."""

    @abstractmethod
    def count_tool_results(self, body: dict[str, Any]) -> int:
        """How many tools have reported back so far."""

    def answer_events(self, speech: AnswerContent) -> Iterator[WireEvent]:
        """All events of one answer."""
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


def filter_objects(value: Any) -> list[dict[str, Any]]:
    """The objects in what should be a list of them; clients may send anything."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
