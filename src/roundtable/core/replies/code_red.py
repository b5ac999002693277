"""How a code-red speaks: first what to look at, then a root cause under a name that others can arrive at too."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.claims import claims, claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import out_of_ten, record, several, spoken, words
from roundtable.core.replies.structured import form
from roundtable.core.values import Expect
from roundtable.core.verdict import SeatRequests, Verdict

_WORDS = re.compile(r"[^\W_]+")
_FORM = "lower-case-with-dashes"
_NO_CAUSE = frozenset(
    f"{_FORM}-unknown-none-unclear-undetermined-unsure-tbd-n-a-na-no-not-known-yet-still-the-root-cause-is".split("-")
)
"""Words that name no cause by themselves."""
_LONGEST_KEY = 80

_FILE = words("a file you need to see, such as src/a.py:10-50", 200)
_CHECK = words("a check you want run", 200)


def _schema(expect: Expect) -> Schema:
    fact = record({"text": words("what you saw"), "source": words("where, such as src/a.py:10", 160)})
    return spoken(
        {
            "confidence_score": out_of_ten("how sure you are of the cause"),
            "root_cause_key": words(f"the cause in two to five plain words, {_FORM}", _LONGEST_KEY),
            "evidence": several(fact, most=4),
            "rules_out": several(words("a cause that this excludes, and why"), most=4),
            "confirms": several(words("an earlier finding that this confirms"), most=4),
            "file_requests": several(_FILE),
            "checks": several(_CHECK, most=3),
            "next_test": words("the one test that would tell most"),
            "claims": claims_schema(),
        }
    )


def _read(block: Fields, expect: Expect) -> Verdict | None:
    confidence = fields.tenths(block["confidence_score"])
    if confidence is None:
        return None
    next_test = fields.line(block.get("next_test"))
    return Verdict(
        confidence=confidence,
        key=key(block["root_cause_key"]),
        evidence=fields.evidence(block.get("evidence")),
        rules_out=fields.texts(block.get("rules_out")),
        confirms=fields.texts(block.get("confirms")),
        wants=_wants(block),
        next_test=next_test if fields.said(next_test) else "",
        claims=claims(block.get("claims")),
    )


def _triage_schema(expect: Expect) -> Schema:
    return spoken(
        {
            "suspects": several(words("a part or change that may be at fault", 160), most=4, least=1),
            "file_requests": several(_FILE, most=4),
            "checks": several(_CHECK, most=2),
        },
        limit=800,
    )


def _read_triage(block: Fields, expect: Expect) -> Verdict | None:
    suspects = fields.texts(block["suspects"])
    return Verdict(points=suspects, wants=_wants(block)) if suspects else None


def _wants(block: Fields) -> SeatRequests:
    return SeatRequests(fields.texts(block.get("file_requests")), fields.texts(block.get("checks")))


def key(value: object) -> str:
    """The words of a cause in kebab-case, or nothing: not knowing is not a cause two seats can share."""
    words = _WORDS.findall(fields.line(value).casefold())
    slug = "-".join(words)
    return slug if len(slug) <= _LONGEST_KEY and not _NO_CAUSE.issuperset(words) else ""


DIAGNOSIS = form("diagnosis-json", _schema, ("confidence_score", "root_cause_key"), _read)
TRIAGE = form("triage", _triage_schema, ("suspects", "file_requests"), _read_triage)
