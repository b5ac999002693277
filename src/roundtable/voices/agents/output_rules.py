"""Reads the output of an agent by the rules of its data file, from the first line of a run to the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from roundtable.core.usage import is_plausible_usage
from roundtable.core.values import Usage
from roundtable.voices.agents.catalog import Agent, EventPattern, OutputRule

_decode = msgspec.json.Decoder().decode


class ReportedFailure(msgspec.Struct, frozen=True):
    """A failure that the agent reported itself."""

    rule: OutputRule
    message: str
    status: int = 0


class OutputReader:
    """Reads one run of an agent. `read_line` takes a line and returns its words."""

    def __init__(self, agent: Agent, *, held: bool) -> None:
        self._rules = agent.reads
        # An answer held to a schema comes whole at the end; earlier words are not part of it.
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
        self.misreports = False

    @property
    def text(self) -> str:
        """The whole answer so far."""
        return "".join(self._parts)

    def read_line(self, line: bytes) -> str:
        """Read one line and return its words; empty if the line is not JSON or matches no rule."""
        try:
            event: Any = _decode(line)
        except msgspec.DecodeError:
            self.note = line.decode(errors="replace").strip() or self.note
            return ""
        return self.read_event(event)

    def read_event(self, event: Any) -> str:
        """Read the content of one line and return its words."""
        rule = next((rule for rule in self._rules if _matches_agent_event(rule.when, event)), None)
        if rule is None:
            return ""
        self.understood = True
        self._read_state(rule, event)
        words = self._read_words(rule, event)
        if rule.is_failure:
            words_of_it = read_agent_cli_event_text(event, rule.fails) or self.note or rule.reason
            self.failure = ReportedFailure(rule, words_of_it, int(read_agent_cli_event_number(event, rule.status)))
        if rule.ends:
            self.over = True
            words += self._read_final_answer()
        return words

    def take_replies(self) -> bytes:
        """Return what to write to the agent now; nothing for an agent that only talks."""
        return b""

    def build_cancel_message(self) -> bytes:
        """Return the message for an agent that is stopped early."""
        return b""

    def _read_state(self, rule: OutputRule, event: Any) -> None:
        self.session = read_agent_cli_event_text(event, rule.session) or self.session
        self.model = read_agent_cli_event_text(event, rule.model) or self.model
        self.finish = read_agent_cli_event_text(event, rule.finish) or self.finish
        self.note = read_agent_cli_event_text(event, rule.note) or self.note
        self.denied = read_agent_cli_event_text(event, rule.denied) or self.denied
        self._answer = read_agent_cli_event_text(event, rule.answer) or self._answer
        if rule.plan:
            self.plan = _matches_agent_event(rule.plan, event)
        self._read_usage(rule, event)

    def _read_usage(self, rule: OutputRule, event: Any) -> None:
        """Add the usage of one event; a report with an implausible figure is ignored as a whole."""
        used = _read_usage(rule, event)
        if is_plausible_usage(used):
            self.usage = self.usage.plus(used)
        else:
            self.misreports = True

    def _read_words(self, rule: OutputRule, event: Any) -> str:
        whole = read_agent_cli_event_text(event, rule.message)
        words = whole or read_agent_cli_event_text(event, rule.says)
        self._gap = self._gap or rule.begins or bool(whole)
        if not words or self._silent:
            return ""
        if self._gap and self._parts:
            words = "\n\n" + words
        self._gap = False
        return self._add_words(words)

    def _read_final_answer(self) -> str:
        """Return the answer of an agent that reports it only at the end."""
        if self.failure is not None or not self._answer or self.text.strip():
            return ""
        return self._add_words(self._answer)

    def _add_words(self, words: str) -> str:
        self._parts.append(words)
        self.size += len(words)
        return words


def _read_usage(rule: OutputRule, event: Any) -> Usage:
    return Usage(
        _add_counts(event, rule.input),
        _add_counts(event, rule.output),
        int(read_agent_cli_event_number(event, rule.cached)),
        _find_number(event, rule.cost),
        int(read_agent_cli_event_number(event, rule.written)),
    )


def _add_counts(event: Any, paths: Iterable[str]) -> int:
    """Return the sum of the counts at these paths, or one that is negative, which no other count may hide."""
    counts = [int(read_agent_cli_event_number(event, path)) for path in paths]
    return min(counts) if min(counts, default=0) < 0 else sum(counts)


def _matches_agent_event(match: EventPattern, event: Any) -> bool:
    """Return whether the event has the expected value at each path."""
    return all(_find_value(event, path) == value for path, value in match.items())


def read_agent_cli_event_text(event: Any, path: str) -> str:
    """Return the text at a path such as `error.data.message`; empty if there is none."""
    value = _find_value(event, path) if path else None
    return value if isinstance(value, str) else ""


def read_agent_cli_event_number(event: Any, path: str) -> float:
    """Return the number at a path; 0 if there is none."""
    return _find_number(event, path) or 0


def _find_number(event: Any, path: str) -> float | None:
    value = _find_value(event, path) if path else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _find_value(event: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(event, Mapping):
            event = cast("Mapping[str, Any]", event).get(step)
        elif isinstance(event, list) and step.isdigit() and int(step) < len(cast("list[Any]", event)):
            event = cast("list[Any]", event)[int(step)]
        else:
            return None
    return event
