"""The codecs of a council: a position, a reconsidered position, and ratings of all positions."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.claims import read_reply_claims, reply_claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_object_schema,
    reply_prose_first_schema,
    reply_score_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.replies.tags import LINE_START, mask_reply_quotations
from roundtable.core.values import Expect
from roundtable.core.verdict import Stance, Verdict

NEW_PROPOSAL = "new"
"""The value of `stand` for a seat with a new position."""

RATING_WORDS = ("same", "acceptable", "opposed")

_CONFIDENCE_MEANING = "how sure you are"
_RATING_LINE = re.compile(rf"{LINE_START}([^\n:]{{1,80}}?)[ \t]*:[ \t*_]*({'|'.join(RATING_WORDS)})\b", re.M | re.I)


def _position_schema(expect: Expect) -> Schema:
    return reply_prose_first_schema(
        {
            "position": reply_choice_schema("your answer in one line", expect.choices),
            "confidence": reply_score_schema(_CONFIDENCE_MEANING),
        },
    )


def _read_position(block: JsonFields, expect: Expect) -> Verdict | None:
    position = fields.match_reply_choice(block["position"], expect.choices)
    if not position:
        return None
    return Verdict(
        Stance.SUPPORT, position=position, confidence=fields.read_reply_tenths_field(block.get("confidence"))
    )


def _reconsider_schema(expect: Expect) -> Schema:
    fact = reply_object_schema(
        {
            "text": reply_text_schema("a fact that decided your position"),
            "source": reply_text_schema("the source of the fact", 160),
        }
    )
    return reply_prose_first_schema(
        {
            "stand": reply_choice_schema("the proposal you now support", expect.choices),
            "position": reply_text_schema(
                f"your answer in one line if `stand` is {NEW_PROPOSAL}, otherwise empty", 160
            ),
            "error": reply_text_schema("the error in your earlier answer, empty if there was none"),
            "evidence": reply_list_schema(fact, most=4),
            "prediction": reply_text_schema(
                "what can be observed, and by when, if you are right; empty if nothing can", 200
            ),
            "confidence": reply_score_schema(_CONFIDENCE_MEANING),
            "claims": reply_claims_schema(),
        }
    )


def _read_reconsider(block: JsonFields, expect: Expect) -> Verdict | None:
    stand = fields.match_reply_choice(block["stand"], expect.choices)
    position = fields.read_reply_one_line_field(block.get("position"))
    if not stand or (stand == NEW_PROPOSAL and not position):
        return None
    error = fields.read_reply_one_line_field(block.get("error"))
    return Verdict(
        Stance.SUPPORT,
        target=stand,
        position=position,
        error=error if fields.has_reply_content(error) else "",
        prediction=fields.read_reply_prediction_field(block),
        evidence=fields.read_reply_evidence_field(block.get("evidence")),
        confidence=fields.read_reply_tenths_field(block.get("confidence")),
        claims=read_reply_claims(block.get("claims")),
    )


def _ratings_schema(expect: Expect) -> Schema:
    return reply_object_schema(
        {
            "ratings": reply_object_schema(
                {
                    choice: reply_choice_schema(
                        "same as your own proposal, acceptable to you, or opposed by you", RATING_WORDS
                    )
                    for choice in expect.choices
                }
            )
        }
    )


def _read_ratings(block: JsonFields, expect: Expect) -> Verdict | None:
    return _ratings_verdict(list(fields.read_reply_mapping_field(block["ratings"]).items()), expect)


def _read_rating_lines(reply: str, expect: Expect) -> Verdict | None:
    return _ratings_verdict(
        [(match[1], match[2]) for match in _RATING_LINE.finditer(mask_reply_quotations(reply))], expect
    )


def _ratings_verdict(pairs: list[tuple[str, object]], expect: Expect) -> Verdict | None:
    matches = [
        (fields.match_reply_choice(id, expect.choices), fields.match_reply_choice(rating, RATING_WORDS))
        for id, rating in pairs
    ]
    ratings = {id: rating for id, rating in matches if id and rating}
    return Verdict(ratings=ratings) if ratings else None


POSITION_CODEC = build_structured_reply_codec("position", _position_schema, ("position",), _read_position)
RECONSIDER_CODEC = build_structured_reply_codec("reconsider", _reconsider_schema, ("stand",), _read_reconsider)
RATINGS_CODEC = build_structured_reply_codec(
    "ratings", _ratings_schema, ("ratings",), _read_ratings, read_tags=_read_rating_lines
)
