"""How the knights speak: a score out of ten, and what still stands in the way."""

from __future__ import annotations

from roundtable.core.replies import fields
from roundtable.core.replies.claims import claims, claims_schema
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import flag, one_of, out_of_ten, record, several, spoken, words
from roundtable.core.replies.structured import form
from roundtable.core.values import Expect
from roundtable.core.verdict import SeatRequests, Stance, Verdict


def _schema(expect: Expect) -> Schema:
    issue = record(
        {"text": words("an open point"), "blocking": flag("whether it must be settled before a decision")},
    )
    return spoken(
        {
            "proposal": one_of("what should be done, in one line that could stand alone", expect.choices, 200),
            "consensus_score": out_of_ten(
                "how far you agree as things stand: 0-5 fundamental objections, 6-8 open points, 9-10 full agreement"
            ),
            "agrees_with": several(words("a point you agree with; of those listed above, only its id, such as P2")),
            "pending_issues": several(issue),
            "prediction": words("what will be seen, and by when, if you are right; empty if nothing will", 200),
            "scope": several(words("a path this would change", 200), most=20),
            "file_requests": several(words("a file you need to see, such as src/a.py:10-50", 200)),
            "checks": several(words("a check you want run", 200)),
            "claims": claims_schema(),
        }
    )


def _read(block: Fields, expect: Expect) -> Verdict | None:
    score = fields.tenths(block["consensus_score"])
    if score is None:
        return None
    return Verdict(
        _stance(score),
        score=score,
        position=fields.choice(block.get("proposal"), expect.choices),
        points=fields.texts(block.get("agrees_with")),
        issues=fields.issues(block["pending_issues"]),
        prediction=fields.foretold(block),
        scope=fields.texts(block.get("scope")),
        wants=SeatRequests(fields.texts(block.get("file_requests")), fields.texts(block.get("checks"))),
        claims=claims(block.get("claims")),
    )


def _stance(score: float) -> Stance:
    """The wire's own scale: 0-5 objects, 6-8 has open points, 9-10 agrees."""
    if score >= 0.9:
        return Stance.SUPPORT
    return Stance.OPPOSE if score <= 0.5 else Stance.AMEND


SCORE = form("score-json", _schema, ("consensus_score", "pending_issues"), _read)
