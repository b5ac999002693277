"""The codec of a second opinion: a recommendation, a yes or no if the question has one, and risks."""

from __future__ import annotations

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_boolean_schema,
    reply_choice_schema,
    reply_list_schema,
    reply_object_schema,
    reply_prose_first_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.values import Expect
from roundtable.core.verdict import Stance, Verdict

_STANCES = {"yes": Stance.SUPPORT, "no": Stance.OPPOSE, "depends": Stance.AMEND, "open": Stance.UNKNOWN}


def _schema(expect: Expect) -> Schema:
    risk = reply_object_schema(
        {
            "text": reply_text_schema("what may go wrong"),
            "blocking": reply_boolean_schema("whether it must be resolved before going ahead"),
        }
    )
    outright = reply_choice_schema(
        "your direct answer to the question; open if it is not a yes-or-no question", (*_STANCES,)
    )
    return reply_prose_first_schema(
        {
            "recommendation": reply_choice_schema("what you recommend, in one line", expect.choices),
            **({} if expect.choices else {"stance": outright}),
            "risks": reply_list_schema(risk, most=4),
        }
    )


def _read(block: JsonFields, expect: Expect) -> Verdict | None:
    recommendation = fields.match_reply_choice(block["recommendation"], expect.choices)
    if not recommendation:
        return None
    stance = fields.match_reply_choice(block.get("stance"), (*_STANCES,))
    return Verdict(
        _STANCES.get(stance, Stance.UNKNOWN),
        position=recommendation,
        issues=fields.read_reply_issues_field(block["risks"]),
    )


OPINION_CODEC = build_structured_reply_codec("opinion", _schema, ("recommendation", "risks"), _read)
