"""The correct result of each fault: one table for `doctor --faults` and for the tests of every voice."""

from __future__ import annotations

from dataclasses import dataclass

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply
from roundtable.voices.fault_server.behaviours import RETRY_AFTER_SECONDS


@dataclass(frozen=True)
class FaultExpectation:
    """One fault by the server's name for it, and every correct ending of a call.

    `answer` says whether an answer is correct. `by_agents` are endings that are also correct for an agent's
    command line, which receives the fault itself and passes on only its own words about it.
    """

    behaviour: str
    title: str
    kinds: frozenset[FaultKind] = frozenset()
    retryable: bool | None = None
    retry_after: float = 0.0
    by_agents: frozenset[FaultKind] = frozenset()
    answer: bool = False

    @property
    def is_endless(self) -> bool:
        """Whether only a timeout can end the call."""
        return FaultKind.TIMEOUT in self.kinds

    def find_objection(self, end: Reply | Fault, secret: str = "", agent: bool = False) -> str:
        """Return what is wrong with the ending of a call; empty if nothing is."""
        if isinstance(end, Reply):
            return "" if self.answer else "counted as an answer"
        if end.kind not in (self.kinds | self.by_agents if agent else self.kinds):
            return f"reported as {end.kind}: {end.message}"
        if secret and (secret in end.message or secret in end.help):
            return "the message contains the key"
        if not end.message or not end.help:
            return "the message does not say what happened or what to do"
        return "" if agent else self._about_retries(end)

    def _about_retries(self, fault: Fault) -> str:
        if self.retryable is not None and fault.retryable is not self.retryable:
            return "marked as retryable" if fault.retryable else "marked as not retryable"
        if self.retry_after and fault.retry_after != self.retry_after:
            return f"retried after {fault.retry_after:g} s instead of the requested {self.retry_after:g} s"
        return ""


def _expect(
    behaviour: str,
    title: str,
    *kinds: FaultKind,
    retryable: bool | None = None,
    retry_after: float = 0.0,
    by_agents: tuple[FaultKind, ...] = (),
) -> FaultExpectation:
    return FaultExpectation(behaviour, title, frozenset(kinds), retryable, retry_after, frozenset(by_agents))


_SILENT = (FaultKind.TIMEOUT,)
"""Some agents retry without end and without output."""

_UNREADABLE = (FaultKind.EMPTY, FaultKind.SERVER, FaultKind.TRUNCATED)
"""After an unreadable answer, an agent has no answer, its own error, or half an answer."""

GOOD_ANSWER = FaultExpectation("normal", "a good answer", answer=True)

EXPECTATIONS: tuple[FaultExpectation, ...] = (
    GOOD_ANSWER,
    _expect(
        "rate_limited",
        "429, Retry-After",
        FaultKind.RATE_LIMITED,
        retryable=True,
        retry_after=RETRY_AFTER_SECONDS,
        by_agents=_SILENT,
    ),
    _expect("429", "429", FaultKind.RATE_LIMITED, retryable=True, by_agents=_SILENT),
    _expect("500", "500", FaultKind.SERVER, retryable=True, by_agents=_SILENT),
    _expect("529", "529", FaultKind.OVERLOADED, retryable=True, by_agents=(FaultKind.SERVER, *_SILENT)),
    _expect("hang", "hang", FaultKind.TIMEOUT),
    _expect("drip", "slow drip", FaultKind.TIMEOUT),
    _expect("cut", "cut stream", FaultKind.TRUNCATED, retryable=True, by_agents=_UNREADABLE),
    _expect("empty", "empty", FaultKind.EMPTY, retryable=True),
    _expect("html", "HTML with 200", FaultKind.MALFORMED, retryable=False, by_agents=_UNREADABLE),
    _expect("garbage", "invalid JSON", FaultKind.MALFORMED, retryable=True, by_agents=_UNREADABLE),
    _expect("wrong_type", "wrong content type", FaultKind.MALFORMED, retryable=True, by_agents=_UNREADABLE),
    _expect("huge", "huge answer", FaultKind.MALFORMED, retryable=False, by_agents=(FaultKind.TRUNCATED,)),
    _expect("refusal", "refusal", FaultKind.REFUSED, retryable=False, by_agents=_UNREADABLE),
    _expect(
        "context_overflow",
        "context overflow",
        FaultKind.CONTEXT_OVERFLOW,
        retryable=False,
    ),
)

AGENT_EXPECTATIONS: tuple[FaultExpectation, ...] = (
    *EXPECTATIONS,
    FaultExpectation("write", "permission prompt", frozenset({FaultKind.PERMISSION}), answer=True),
    FaultExpectation("normal", "stdin trap", answer=True),
)
"""Agents are also checked for permission prompts that nobody answers, and for waiting on standard input."""
