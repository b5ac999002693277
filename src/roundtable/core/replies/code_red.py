"""The codecs of a code-red: triage of suspects, and a diagnosis with a root cause key that seats can share."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.claims import read_reply_claims, reply_claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_list_schema,
    reply_object_schema,
    reply_prose_first_schema,
    reply_score_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.values import Expect
from roundtable.core.verdict import SeatRequests, Verdict

_WORDS = re.compile(r"[^\W_]+")
_KEY_FORM = "lower-case-with-dashes"
_NO_CAUSE = frozenset(
    f"{_KEY_FORM}-unknown-none-unclear-undetermined-unsure-tbd-n-a-na-no-not-known-yet-still-the-root-cause-is".split(
        "-"
    )
)
"""Words that name no cause by themselves."""
_LONGEST_KEY = 80

_FILE_SCHEMA = reply_text_schema("a file you need to see, such as src/a.py:10-50", 200)
_CHECK_SCHEMA = reply_text_schema("a check to run", 200)


def _diagnosis_schema(expect: Expect) -> Schema:
    fact = reply_object_schema(
        {
            "text": reply_text_schema("what you observed"),
            "source": reply_text_schema("where you observed it, such as src/a.py:10", 160),
        }
    )
    return reply_prose_first_schema(
        {
            "confidence_score": reply_score_schema("how sure you are of the cause"),
            "root_cause_key": reply_text_schema(f"the cause in two to five plain words, {_KEY_FORM}", _LONGEST_KEY),
            "evidence": reply_list_schema(fact, most=4),
            "rules_out": reply_list_schema(reply_text_schema("a cause that the evidence rules out, and why"), most=4),
            "confirms": reply_list_schema(reply_text_schema("an earlier finding that the evidence confirms"), most=4),
            "file_requests": reply_list_schema(_FILE_SCHEMA),
            "checks": reply_list_schema(_CHECK_SCHEMA, most=3),
            "next_test": reply_text_schema("the next test that would be most informative"),
            "claims": reply_claims_schema(),
        }
    )


def _read_diagnosis(block: JsonFields, expect: Expect) -> Verdict | None:
    confidence = fields.read_reply_tenths_field(block["confidence_score"])
    if confidence is None:
        return None
    next_test = fields.read_reply_one_line_field(block.get("next_test"))
    return Verdict(
        confidence=confidence,
        key=_normalize_cause_key(block["root_cause_key"]),
        evidence=fields.read_reply_evidence_field(block.get("evidence")),
        rules_out=fields.read_reply_text_list_field(block.get("rules_out")),
        confirms=fields.read_reply_text_list_field(block.get("confirms")),
        wants=_read_requests(block),
        next_test=next_test if fields.has_reply_content(next_test) else "",
        claims=read_reply_claims(block.get("claims")),
    )


def _triage_schema(expect: Expect) -> Schema:
    return reply_prose_first_schema(
        {
            "suspects": reply_list_schema(
                reply_text_schema("a component or change that may be the cause", 160), most=4, least=1
            ),
            "file_requests": reply_list_schema(_FILE_SCHEMA, most=4),
            "checks": reply_list_schema(_CHECK_SCHEMA, most=2),
        },
        limit=800,
    )


def _read_triage(block: JsonFields, expect: Expect) -> Verdict | None:
    suspects = fields.read_reply_text_list_field(block["suspects"])
    return Verdict(points=suspects, wants=_read_requests(block)) if suspects else None


def _read_requests(block: JsonFields) -> SeatRequests:
    return SeatRequests(
        fields.read_reply_text_list_field(block.get("file_requests")),
        fields.read_reply_text_list_field(block.get("checks")),
    )


def _normalize_cause_key(value: object) -> str:
    """The root cause in kebab-case; empty if it only says that the cause is unknown."""
    words = _WORDS.findall(fields.read_reply_one_line_field(value).casefold())
    slug = "-".join(words)
    return slug if len(slug) <= _LONGEST_KEY and not _NO_CAUSE.issuperset(words) else ""


DIAGNOSIS_CODEC = build_structured_reply_codec(
    "diagnosis-json", _diagnosis_schema, ("confidence_score", "root_cause_key"), _read_diagnosis
)
TRIAGE_CODEC = build_structured_reply_codec("triage", _triage_schema, ("suspects", "file_requests"), _read_triage)
