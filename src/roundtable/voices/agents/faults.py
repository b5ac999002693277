"""Classifies the failures of an agent: first by its own signs, then by status, then by the words providers use."""

from __future__ import annotations

import re

from roundtable.core.faults import Fault, FaultKind
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.agents.output_rules import OutputReader
from roundtable.voices.provider_text import MAX_EXCERPT, classify_provider_http_status, excerpt_provider_text

_STATUS = re.compile(r"(?:status|code|error|HTTP)\W{1,4}([45]\d\d)\b|\(([45]\d\d)\)", re.IGNORECASE)

_KINDS_BY_WORDS = (
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
    """Builds the fault of one run. Secrets that the agent was given are redacted from its words."""

    def __init__(self, agent: Agent, secrets: list[str], stderr_lines: list[str]) -> None:
        self._agent = agent
        self._agent_name = agent.title or agent.name
        self._secrets = secrets
        self._stderr_lines = stderr_lines

    def classify_reported_failure(self, reading: OutputReader, code: int | None) -> Fault:
        """Return the fault for a failure that the agent reported itself."""
        failure = reading.failure
        assert failure is not None
        words = failure.message or self.last_stderr_lines
        if failure.rule.kind is not None:
            return self._fault(failure.rule.kind, words)
        fault = self.classify_words(words, failure.status, code)
        if fault.kind is FaultKind.MALFORMED and reading.text:
            return self._fault(FaultKind.TRUNCATED, words)
        return fault

    def classify_words(self, words: str, status: int = 0, code: int | None = None) -> Fault:
        """Return the fault for an error text, a status and an exit code."""
        text = f"{words} {self.last_stderr_lines}".lower()
        for sign in self._agent.signs:
            if sign.matches(text, code):
                return self._fault(sign.kind, words, sign.help)
        kind = _classify_words(words.lower(), status or _find_status(words) or _find_status(self.last_stderr_lines))
        return self._fault(kind, words)

    def create_silence_fault(self, reading: OutputReader, seconds: float) -> Fault:
        """Return the fault of an agent that was silent for too long."""
        last = excerpt_provider_text(
            reading.note or self.last_stderr_lines or reading.text[-MAX_EXCERPT:], *self._secrets
        )
        last_output = f" Last output: {last}" if last else " There was no output at all."
        return Fault.of(FaultKind.TIMEOUT, f"{self._agent_name} was silent for {seconds:.0f} s.{last_output}")

    def create_timeout_fault(self, reading: OutputReader, seconds: float) -> Fault:
        """Return the fault of an agent that did not finish in time."""
        last = excerpt_provider_text(reading.note or self.last_stderr_lines, *self._secrets)
        last_output = f" Last output: {last}" if last else ""
        return Fault.of(FaultKind.TIMEOUT, f"{self._agent_name} did not finish within {seconds:.0f} s.{last_output}")

    def create_overflow_fault(self) -> Fault:
        """Return the fault of an agent that wrote more than the limit."""
        return Fault.of(FaultKind.MALFORMED, f"{self._agent_name} exceeded the output limit.", retryable=False)

    def classify_early_exit(self, reading: OutputReader, code: int | None) -> Fault:
        """Return the fault of an agent that ended without finishing its answer."""
        words = self.last_stderr_lines or reading.note
        for sign in self._agent.signs:
            if sign.matches(words.lower(), code):
                return self._fault(sign.kind, words or f"exit code {code}", sign.help)
        if code is not None and code < 0:
            return self._fault(FaultKind.CRASHED, f"ended by signal {-code}. {words}")
        if code == 127 and "cannot be started" in words:
            return self._fault(FaultKind.MISSING, words)
        if code:
            kind = _classify_words(words.lower(), _find_status(words), FaultKind.CRASHED)
            return self._fault(kind, f"ended with exit code {code}. {words}")
        if reading.denied and not reading.text:
            return self.create_empty_answer_fault(reading)
        if reading.understood:
            return self._fault(FaultKind.TRUNCATED, "stopped in the middle of its answer.")
        kind = FaultKind.MALFORMED if words else FaultKind.EMPTY
        return self._fault(kind, f"gave no readable output. {words}")

    def create_empty_answer_fault(self, reading: OutputReader) -> Fault:
        """Return the fault of an agent that finished without an answer."""
        if reading.denied:
            return self._fault(FaultKind.PERMISSION, f"asked for something that is not allowed here: {reading.denied}")
        return self._fault(FaultKind.EMPTY, "gave an empty answer.")

    def create_refusal_fault(self) -> Fault:
        """Return the fault of a model that declined to answer."""
        return self._fault(FaultKind.REFUSED, "declined to answer.")

    @property
    def last_stderr_lines(self) -> str:
        """The last lines of standard error."""
        return " ".join(self._stderr_lines[-4:])

    def _fault(self, kind: FaultKind, words: str, help: str = "") -> Fault:
        if kind is FaultKind.UNAUTHORIZED:
            help = help or self._agent.help
        # A repeated request would be rejected again.
        retryable = False if kind is FaultKind.MALFORMED else None
        return Fault.of(
            kind, f"{self._agent_name}: {excerpt_provider_text(words, *self._secrets)}", retryable=retryable, help=help
        )


def _classify_words(words: str, status: int, otherwise: FaultKind = FaultKind.SERVER) -> FaultKind:
    by_word = next((kind for kind, signs in _KINDS_BY_WORDS if any(sign in words for sign in signs)), None)
    # A rate-limit message may mention the context or a quota: the status is more reliable.
    if status and (by_word not in (FaultKind.QUOTA, FaultKind.CONTEXT_OVERFLOW, FaultKind.REFUSED) or status == 429):
        return classify_provider_http_status(status)
    return by_word or otherwise


def _find_status(words: str) -> int:
    match = _STATUS.search(words)
    return int(match[1] or match[2]) if match else 0
