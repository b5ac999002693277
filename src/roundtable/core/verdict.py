"""The verdict of a seat on a proposal, in one normal form for every reply format."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Stance(StrEnum):
    """A seat's stance. It is never inferred from silence: a missing stance is `unknown`."""

    SUPPORT = "support"
    OPPOSE = "oppose"
    AMEND = "amend"
    ABSTAIN = "abstain"
    UNKNOWN = "unknown"


class ParseStatus(StrEnum):
    """How well a reply could be read. Only `exact` and `repaired` replies count."""

    EXACT = "exact"
    REPAIRED = "repaired"
    INFERRED = "inferred"
    FAILED = "failed"


SEVERITIES = ("critical", "high", "medium", "low")
"""The severities of an issue, worst first."""


class Issue(msgspec.Struct, frozen=True, omit_defaults=True):
    """An objection or open point; only a blocking one prevents a decision."""

    text: str
    id: str = ""
    blocking: bool = False
    severity: str = ""
    location: str = ""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact that supports an answer, and where it can be looked up."""

    text: str
    source: str = ""


class Directives(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge's merge instructions: the base, the parts to take from other seats, and the fixes needed."""

    base: str
    incorporate: tuple[str, ...] = ()
    must_fix: tuple[str, ...] = ()


class Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a reviewer."""

    critical: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()


class SeatRequests(msgspec.Struct, frozen=True, omit_defaults=True):
    """The files and checks that a seat asks for before the next round."""

    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """A statement that a program can prove: the program exits with 0 if the statement is true and with 1 if not.

    `text` repeats the point, issue or finding it is about, or names its id. `held` is the result of running the
    program; a seat cannot set it for its own claim.
    """

    text: str
    program: str
    language: str = "python"
    held: bool | None = None


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seat's stance on one proposal. Scores and confidences run from 0 to 1."""

    stance: Stance = Stance.UNKNOWN
    target: str = ""
    score: float | None = None
    confidence: float | None = None
    position: str = ""
    points: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    ranking: tuple[str, ...] = ()
    key: str = ""
    rules_out: tuple[str, ...] = ()
    confirms: tuple[str, ...] = ()
    next_test: str = ""
    prediction: str = ""
    addresses: tuple[str, ...] = ()
    error: str = ""
    summary: str = ""
    options: tuple[str, ...] = ()
    ratings: dict[str, str] = {}
    directives: Directives | None = None
    findings: Findings | None = None
    wants: SeatRequests = SeatRequests()
    claims: tuple[Claim, ...] = ()
    scope: tuple[str, ...] = ()
    parse: ParseStatus = ParseStatus.EXACT

    @property
    def counts(self) -> bool:
        """Whether this verdict is a vote: an unreadable or guessed one is not."""
        return self.parse in (ParseStatus.EXACT, ParseStatus.REPAIRED)
