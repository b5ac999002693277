"""How the council speaks: a position, a second thought about it, and a ballot over everybody's."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.claims import claims, claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import one_of, out_of_ten, record, several, spoken, words
from roundtable.core.replies.structured import form
from roundtable.core.replies.tags import LINE_START, masked
from roundtable.core.values import Expect
from roundtable.core.verdict import Stance, Verdict

NEW = "new"
"""The `stand` of a seat that now holds something nobody had proposed."""

RATING_WORDS = ("same", "acceptable", "opposed")

_SURE = "how sure you are"
_RATING_LINE = re.compile(rf"{LINE_START}([^\n:]{{1,80}}?)[ \t]*:[ \t*_]*({'|'.join(RATING_WORDS)})\b", re.M | re.I)


def _position_schema(expect: Expect) -> Schema:
    return spoken(
        {"position": one_of("your answer in one line", expect.choices), "confidence": out_of_ten(_SURE)},
    )


def _read_position(block: Fields, expect: Expect) -> Verdict | None:
    position = fields.choice(block["position"], expect.choices)
    if not position:
        return None
    return Verdict(Stance.SUPPORT, position=position, confidence=fields.tenths(block.get("confidence")))


def _reconsider_schema(expect: Expect) -> Schema:
    cited = record({"text": words("a fact that decided it"), "source": words("where it can be looked up", 160)})
    return spoken(
        {
            "stand": one_of("the proposal you now hold", expect.choices),
            "position": words(f"your answer in one line, needed if you stand for {NEW}, else empty", 160),
            "error": words("the error in your earlier answer, empty if there was none"),
            "evidence": several(cited, most=4),
            "prediction": words("what will be seen, and by when, if you are right; empty if nothing will", 200),
            "confidence": out_of_ten(_SURE),
            "claims": claims_schema(),
        }
    )


def _read_reconsider(block: Fields, expect: Expect) -> Verdict | None:
    stand = fields.choice(block["stand"], expect.choices)
    position = fields.line(block.get("position"))
    if not stand or (stand == NEW and not position):
        return None
    error = fields.line(block.get("error"))
    return Verdict(
        Stance.SUPPORT,
        target=stand,
        position=position,
        error=error if fields.said(error) else "",
        prediction=fields.foretold(block),
        evidence=fields.evidence(block.get("evidence")),
        confidence=fields.tenths(block.get("confidence")),
        claims=claims(block.get("claims")),
    )


def _ratings_schema(expect: Expect) -> Schema:
    return record(
        {
            "ratings": record(
                {
                    choice: one_of("the same as your own, acceptable to you, or opposed", RATING_WORDS)
                    for choice in expect.choices
                }
            )
        }
    )


def _read_ratings(block: Fields, expect: Expect) -> Verdict | None:
    return _rated(list(fields.mapping(block["ratings"]).items()), expect)


def _read_rating_lines(reply: str, expect: Expect) -> Verdict | None:
    return _rated([(match[1], match[2]) for match in _RATING_LINE.finditer(masked(reply))], expect)


def _rated(pairs: list[tuple[str, object]], expect: Expect) -> Verdict | None:
    read = [(fields.choice(id, expect.choices), fields.choice(rating, RATING_WORDS)) for id, rating in pairs]
    ratings = {id: rating for id, rating in read if id and rating}
    return Verdict(ratings=ratings) if ratings else None


POSITION = form("position", _position_schema, ("position",), _read_position)
RECONSIDER = form("reconsider", _reconsider_schema, ("stand",), _read_reconsider)
RATINGS = form("ratings", _ratings_schema, ("ratings",), _read_ratings, read_tags=_read_rating_lines)
