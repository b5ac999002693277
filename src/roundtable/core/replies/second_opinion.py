"""How a second opinion speaks: a recommendation, a plain yes or no where the question has one, and the risks."""

from __future__ import annotations

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import flag, one_of, record, several, spoken, words
from roundtable.core.replies.structured import form
from roundtable.core.values import Expect
from roundtable.core.verdict import Stance, Verdict

_STANCES = {"yes": Stance.SUPPORT, "no": Stance.OPPOSE, "depends": Stance.AMEND, "open": Stance.UNKNOWN}


def _schema(expect: Expect) -> Schema:
    risk = record({"text": words("what may go wrong"), "blocking": flag("whether it must be settled first")})
    outright = one_of("your answer to the question itself, open if it cannot be answered with yes or no", (*_STANCES,))
    return spoken(
        {
            "recommendation": one_of("what you recommend, in one line", expect.choices),
            **({} if expect.choices else {"stance": outright}),
            "risks": several(risk, most=4),
        }
    )


def _read(block: Fields, expect: Expect) -> Verdict | None:
    recommended = fields.choice(block["recommendation"], expect.choices)
    if not recommended:
        return None
    said = fields.choice(block.get("stance"), (*_STANCES,))
    return Verdict(_STANCES.get(said, Stance.UNKNOWN), position=recommended, issues=fields.issues(block["risks"]))


OPINION = form("opinion", _schema, ("recommendation", "risks"), _read)
