"""The codec of knights: a score out of ten and the open issues."""

from __future__ import annotations

from roundtable.core.replies import fields
from roundtable.core.replies.claims import read_reply_claims, reply_claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_boolean_schema,
    reply_choice_schema,
    reply_list_schema,
    reply_object_schema,
    reply_prose_first_schema,
    reply_score_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.values import Expect
from roundtable.core.verdict import SeatRequests, Stance, Verdict


def _schema(expect: Expect) -> Schema:
    issue = reply_object_schema(
        {
            "text": reply_text_schema("an open point"),
            "blocking": reply_boolean_schema("whether it must be resolved before a decision"),
        },
    )
    return reply_prose_first_schema(
        {
            "proposal": reply_choice_schema("what should be done, in one self-contained line", expect.choices, 200),
            "consensus_score": reply_score_schema(
                "how far you agree now: 0-5 fundamental objections, 6-8 open points, 9-10 full agreement"
            ),
            "agrees_with": reply_list_schema(
                reply_text_schema("a point you agree with; for a listed point, only its id, such as P2")
            ),
            "pending_issues": reply_list_schema(issue),
            "prediction": reply_text_schema(
                "what can be observed, and by when, if you are right; empty if nothing can", 200
            ),
            "scope": reply_list_schema(reply_text_schema("a path that the proposal would change", 200), most=20),
            "file_requests": reply_list_schema(
                reply_text_schema("a file you need to see, such as src/a.py:10-50", 200)
            ),
            "checks": reply_list_schema(reply_text_schema("a check to run", 200)),
            "claims": reply_claims_schema(),
        }
    )


def _read(block: JsonFields, expect: Expect) -> Verdict | None:
    score = fields.read_reply_tenths_field(block["consensus_score"])
    if score is None:
        return None
    return Verdict(
        _stance(score),
        score=score,
        position=fields.match_reply_choice(block.get("proposal"), expect.choices),
        points=fields.read_reply_text_list_field(block.get("agrees_with")),
        issues=fields.read_reply_issues_field(block["pending_issues"]),
        prediction=fields.read_reply_prediction_field(block),
        scope=fields.read_reply_text_list_field(block.get("scope")),
        wants=SeatRequests(
            fields.read_reply_text_list_field(block.get("file_requests")),
            fields.read_reply_text_list_field(block.get("checks")),
        ),
        claims=read_reply_claims(block.get("claims")),
    )


def _stance(score: float) -> Stance:
    """The stance of a score: 0-5 objects, 6-8 has open points, 9-10 agrees."""
    if score >= 0.9:
        return Stance.SUPPORT
    return Stance.OPPOSE if score <= 0.5 else Stance.AMEND


SCORE_CODEC = build_structured_reply_codec("score-json", _schema, ("consensus_score", "pending_issues"), _read)
