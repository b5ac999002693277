"""What a seat thinks of a proposal, in one normal form, whatever words it used."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Stance(StrEnum):
    """Never inferred from silence: what was not said is `unknown`."""

    SUPPORT = "support"
    OPPOSE = "oppose"
    AMEND = "amend"
    ABSTAIN = "abstain"
    UNKNOWN = "unknown"


class ParseStatus(StrEnum):
    """How well a reply could be read. Only `exact` and `repaired` count."""

    EXACT = "exact"
    REPAIRED = "repaired"
    INFERRED = "inferred"
    FAILED = "failed"


SEVERITIES = ("critical", "high", "medium", "low")
"""How bad an issue can be, the worst first, where a seat is asked to say."""


class Issue(msgspec.Struct, frozen=True, omit_defaults=True):
    """An objection or open point; only a blocking one holds a decision up."""

    text: str
    id: str = ""
    blocking: bool = False
    severity: str = ""
    location: str = ""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact someone leans on, with where it can be looked up."""

    text: str
    source: str = ""


class Directives(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge's merge order: whose work is the base, what to take from whom, what must be mended."""

    base: str
    incorporate: tuple[str, ...] = ()
    must_fix: tuple[str, ...] = ()


class Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reviewer's result."""

    critical: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()


class SeatRequests(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a seat asks the table to fetch or check before it goes on."""

    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a program can settle: it exits with 0 if the text is so, and with 1 if it is not.

    `text` is in the words of the point, issue or finding it is about, or is its id. `held` is what running it came
    to; no seat can say that of its own claim.
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
        """A verdict that could not be read, or was only guessed, is never a vote."""
        return self.parse in (ParseStatus.EXACT, ParseStatus.REPAIRED)
