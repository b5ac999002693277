"""What an agent's failure means to a meeting: its own signs first, then the status, then the words providers use."""

from __future__ import annotations

import re

from roundtable.core.faults import Fault, FaultKind
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.agents.output_rules import OutputReader
from roundtable.voices.provider_text import MAX_EXCERPT, classify_http_status, excerpt_provider_text

_STATUS = re.compile(r"(?:status|code|error|HTTP)\W{1,4}([45]\d\d)\b|\(([45]\d\d)\)", re.IGNORECASE)

_BY_WORD = (
    (FaultKind.QUOTA, ("insufficient_quota", "usage limit", "credit balance", "out of credits", "billing")),
    (FaultKind.RATE_LIMITED, ("rate limit", "rate_limit", "rate-limit", "too many requests")),
    (
        FaultKind.CONTEXT_OVERFLOW,
        ("context_length", "context window", "prompt is too long", "maximum context", "maximum number of tokens"),
    ),
    (FaultKind.REFUSED, ("usage policy", "content_filter", "content policy")),
    (FaultKind.OVERLOADED, ("overloaded", "high demand")),
    (FaultKind.UNAUTHORIZED, ("unauthorized", "authentication", "not logged in", "api key", "log in")),
    (FaultKind.TRUNCATED, ("stream ended", "disconnected before completion", "without a finish reason")),
    (FaultKind.SERVER, ("econnreset", "connection reset")),
    (FaultKind.UNREACHABLE, ("econnrefused", "enotfound", "connection refused", "unable to connect", "fetch failed")),
    (FaultKind.MALFORMED, ("invalid_request", "bad request", "incomplete json", "unexpected token")),
)


class AgentFaultClassifier:
    """Names the fault of one run. Secrets the agent was given never come back in its words."""

    def __init__(self, agent: Agent, secrets: list[str], troubles: list[str]) -> None:
        self._agent = agent
        self._who = agent.title or agent.name
        self._secrets = secrets
        self._troubles = troubles

    def told(self, reading: OutputReader, code: int | None) -> Fault:
        """The agent said itself that it failed."""
        failure = reading.failure
        assert failure is not None
        words = failure.message or self.last_trouble
        if failure.rule.kind is not None:
            return self._fault(failure.rule.kind, words)
        fault = self.named(words, failure.status, code)
        if fault.kind is FaultKind.MALFORMED and reading.text:
            return self._fault(FaultKind.TRUNCATED, words)
        return fault

    def named(self, words: str, status: int = 0, code: int | None = None) -> Fault:
        """The fault behind some words, a status, an exit code."""
        text = f"{words} {self.last_trouble}".lower()
        for sign in self._agent.signs:
            if sign.fits(text, code):
                return self._fault(sign.kind, words, sign.help)
        kind = _kind(words.lower(), status or _status_in(words) or _status_in(self.last_trouble))
        return self._fault(kind, words)

    def silent(self, reading: OutputReader, seconds: float) -> Fault:
        """It said nothing for too long."""
        last = excerpt_provider_text(reading.note or self.last_trouble or reading.text[-MAX_EXCERPT:], *self._secrets)
        said = f" It said last: {last}" if last else " It had said nothing at all."
        return Fault.of(FaultKind.TIMEOUT, f"{self._who} was silent for {seconds:.0f} s.{said}")

    def late(self, reading: OutputReader, seconds: float) -> Fault:
        """It was not done in time."""
        last = excerpt_provider_text(reading.note or self.last_trouble, *self._secrets)
        said = f" It said last: {last}" if last else ""
        return Fault.of(FaultKind.TIMEOUT, f"{self._who} was not done within {seconds:.0f} s.{said}")

    def flooded(self) -> Fault:
        """It said more than anybody would read."""
        return Fault.of(FaultKind.MALFORMED, f"{self._who} wrote without end.", retryable=False)

    def broke_off(self, reading: OutputReader, code: int | None) -> Fault:
        """It ended without having said that it was done."""
        words = self.last_trouble or reading.note
        for sign in self._agent.signs:
            if sign.fits(words.lower(), code):
                return self._fault(sign.kind, words or f"exit code {code}", sign.help)
        if code is not None and code < 0:
            return self._fault(FaultKind.CRASHED, f"ended by signal {-code}. {words}")
        if code == 127 and "cannot be started" in words:
            return self._fault(FaultKind.MISSING, words)
        if code:
            kind = _kind(words.lower(), _status_in(words), FaultKind.CRASHED)
            return self._fault(kind, f"ended with exit code {code}. {words}")
        if reading.denied and not reading.text:
            return self.wordless(reading)
        if reading.understood:
            return self._fault(FaultKind.TRUNCATED, "stopped in the middle of its answer.")
        kind = FaultKind.MALFORMED if words else FaultKind.EMPTY
        return self._fault(kind, f"said nothing that could be read. {words}")

    def wordless(self, reading: OutputReader) -> Fault:
        """It said that it was done, and nothing else."""
        if reading.denied:
            return self._fault(FaultKind.PERMISSION, f"wanted to do what it may not do here: {reading.denied}")
        return self._fault(FaultKind.EMPTY, "answered with nothing.")

    def refused(self) -> Fault:
        """The model declined."""
        return self._fault(FaultKind.REFUSED, "declined to answer.")

    @property
    def last_trouble(self) -> str:
        """The last lines on its standard error."""
        return " ".join(self._troubles[-4:])

    def _fault(self, kind: FaultKind, words: str, help: str = "") -> Fault:
        if kind is FaultKind.UNAUTHORIZED:
            help = help or self._agent.help
        # The same request would be refused the same way again.
        retryable = False if kind is FaultKind.MALFORMED else None
        return Fault.of(
            kind, f"{self._who}: {excerpt_provider_text(words, *self._secrets)}", retryable=retryable, help=help
        )


def _kind(words: str, status: int, otherwise: FaultKind = FaultKind.SERVER) -> FaultKind:
    by_word = next((kind for kind, signs in _BY_WORD if any(sign in words for sign in signs)), None)
    # A limit on requests may well mention the context or a minute's quota: the status is the surer sign.
    if status and (by_word not in (FaultKind.QUOTA, FaultKind.CONTEXT_OVERFLOW, FaultKind.REFUSED) or status == 429):
        return classify_http_status(status)
    return by_word or otherwise


def _status_in(words: str) -> int:
    found = _STATUS.search(words)
    return int(found[1] or found[2]) if found else 0
