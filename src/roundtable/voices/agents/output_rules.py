"""What an agent's lines mean: the rules of its data file, applied to one run from the first line to the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from roundtable.core.values import Usage
from roundtable.voices.agents.catalog import Agent, EventPattern, OutputRule

_decode = msgspec.json.Decoder().decode


class ReportedFailure(msgspec.Struct, frozen=True):
    """A failure as the agent told it."""

    rule: OutputRule
    message: str
    status: int = 0


class OutputReader:
    """One run being read. `line` takes a line and returns the words in it."""

    def __init__(self, agent: Agent, *, held: bool) -> None:
        self._rules = agent.reads
        # An answer held to a schema is told whole at the end; what is said on the way there is no part of it.
        self._silent = held and any(rule.answer for rule in agent.reads)
        self._gap = False
        self._parts: list[str] = []
        self._answer = ""
        self.size = 0
        self.understood = False
        self.over = False
        self.failure: ReportedFailure | None = None
        self.note = ""
        self.denied = ""
        self.session = ""
        self.model = ""
        self.finish = ""
        self.plan: bool | None = None
        self.usage = Usage()

    @property
    def text(self) -> str:
        """Everything it said as its answer."""
        return "".join(self._parts)

    def read_line(self, line: bytes) -> str:
        """Read one line; what is no JSON or fits no rule says nothing."""
        try:
            event: Any = _decode(line)
        except msgspec.DecodeError:
            self.note = line.decode(errors="replace").strip() or self.note
            return ""
        return self.read_event(event)

    def read_event(self, event: Any) -> str:
        """Take what one line holds, and return the words in it."""
        rule = next((rule for rule in self._rules if matches_agent_event(rule.when, event)), None)
        if rule is None:
            return ""
        self.understood = True
        self._read_state(rule, event)
        words = self._read_words(rule, event)
        if rule.is_failure:
            words_of_it = read_event_text(event, rule.fails) or self.note or rule.reason
            self.failure = ReportedFailure(rule, words_of_it, int(read_event_number(event, rule.status)))
        if rule.ends:
            self.over = True
            words += self._read_final_answer()
        return words

    def take_replies(self) -> bytes:
        """What the agent is to be told now: nothing, where it only talks."""
        return b""

    def build_cancel_message(self) -> bytes:
        """What it is told when we leave before it is done."""
        return b""

    def _read_state(self, rule: OutputRule, event: Any) -> None:
        self.session = read_event_text(event, rule.session) or self.session
        self.model = read_event_text(event, rule.model) or self.model
        self.finish = read_event_text(event, rule.finish) or self.finish
        self.note = read_event_text(event, rule.note) or self.note
        self.denied = read_event_text(event, rule.denied) or self.denied
        self._answer = read_event_text(event, rule.answer) or self._answer
        if rule.plan:
            self.plan = matches_agent_event(rule.plan, event)
        self.usage = self.usage.plus(_read_usage(rule, event))

    def _read_words(self, rule: OutputRule, event: Any) -> str:
        whole = read_event_text(event, rule.message)
        words = whole or read_event_text(event, rule.says)
        self._gap = self._gap or rule.begins or bool(whole)
        if not words or self._silent:
            return ""
        if self._gap and self._parts:
            words = "\n\n" + words
        self._gap = False
        return self._add_words(words)

    def _read_final_answer(self) -> str:
        """The answer that was only told at the end."""
        if self.failure is not None or not self._answer or self.text.strip():
            return ""
        return self._add_words(self._answer)

    def _add_words(self, words: str) -> str:
        self._parts.append(words)
        self.size += len(words)
        return words


def _read_usage(rule: OutputRule, event: Any) -> Usage:
    return Usage(
        int(sum(read_event_number(event, path) for path in rule.input)),
        int(sum(read_event_number(event, path) for path in rule.output)),
        int(read_event_number(event, rule.cached)),
        _find_number(event, rule.cost),
        int(read_event_number(event, rule.written)),
    )


def matches_agent_event(match: EventPattern, event: Any) -> bool:
    """Whether every value stands where it must."""
    return all(_find_value(event, path) == value for path, value in match.items())


def read_event_text(event: Any, path: str) -> str:
    """The text at a path such as `error.data.message`; empty where there is none."""
    found = _find_value(event, path) if path else None
    return found if isinstance(found, str) else ""


def read_event_number(event: Any, path: str) -> float:
    """The number at a path; 0 where there is none."""
    return _find_number(event, path) or 0


def _find_number(event: Any, path: str) -> float | None:
    found = _find_value(event, path) if path else None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _find_value(event: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(event, Mapping):
            event = cast("Mapping[str, Any]", event).get(step)
        elif isinstance(event, list) and step.isdigit() and int(step) < len(cast("list[Any]", event)):
            event = cast("list[Any]", event)[int(step)]
        else:
            return None
    return event
