"""The codec of a debate: AGREE, OBJECT and ADD, with PREDICT, PROVE and requests for a FILE or CHECK."""

from __future__ import annotations

import re

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.claims import (
    CLAIM_MEANING,
    PROOF_MEANING,
    read_reply_claims,
    read_tagged_reply_claims,
    reply_claims_schema,
)
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_prose_first_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.replies.tags import find_tagged_reply_sections, mask_reply_quotations
from roundtable.core.values import Expect
from roundtable.core.verdict import Claim, Issue, ParseStatus, SeatRequests, Stance, Verdict

_DEBATE_TAGS = ("AGREE", "DISAGREE", "OBJECT", "ADD", "PREDICT", "FILE", "CHECK", "PROVE")
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_BRACKETED = re.compile(r"\[([^\]\n]{1,60})\]|([\w.-]{1,60})$")
_PLAIN_STANCE = re.compile(r"\bI\s+(?:\w+\s+){0,2}?(agree|disagree|object)\b", re.IGNORECASE)
_REFUSED_AGREEMENT = re.compile(
    r"\W*+(?:no|not|none|nobody|neither|never|nothing|cannot|can[’']t|don[’']t)\b", re.IGNORECASE
)
_NEGATION = re.compile(r"n[o']t\b|n’t\b|\bnever\b|\bcannot\b", re.IGNORECASE)


_PREDICTION_MEANING = "if you object: what can be observed, and by when, if you are right"


class _Statements(msgspec.Struct, frozen=True):
    agree: tuple[str, ...]
    objections: tuple[str, ...]
    additions: tuple[str, ...]
    prediction: str
    wants: SeatRequests
    claims: tuple[Claim, ...]


def _debate_schema(expect: Expect) -> Schema:
    return reply_prose_first_schema(
        {
            "agree": reply_list_schema(
                reply_choice_schema("the seat whose proposal you endorse", expect.choices), most=1
            ),
            "object": reply_list_schema(reply_text_schema("an objection to the current proposals"), most=3),
            "add": reply_list_schema(
                reply_text_schema("a new point, or the id of a listed point that you share, such as P1"), most=3
            ),
            "prediction": reply_text_schema(_PREDICTION_MEANING, 200),
            "file_requests": reply_list_schema(
                reply_text_schema("a file you need to see, such as src/a.py:10-50", 200), most=4
            ),
            "checks": reply_list_schema(reply_text_schema("a check to run", 200), most=2),
            "claims": reply_claims_schema(),
        }
    )


def _debate_tag_format(expect: Expect) -> str:
    seats = f", one of: {' | '.join(expect.choices)}" if expect.choices else ""
    return (
        "Write your answer in prose. Then state your position, each statement on its own line. "
        "Use only the lines that apply:\n\n"
        f"AGREE: <the seat whose proposal you endorse{seats}>\n"
        "OBJECT: <your reason against it>\n"
        "ADD: <a new point, or the id of a listed point that you share, such as P1>\n"
        f"PREDICT: <{_PREDICTION_MEANING}>\n"
        "FILE: <a file you need to see, such as src/a.py:10-50>\n"
        "CHECK: <a check to run>\n"
        f"PROVE: <{CLAIM_MEANING}; below it, in a fence of its own, {PROOF_MEANING}>"
    )


def _read_debate_fields(block: JsonFields, expect: Expect) -> Verdict | None:
    wants = SeatRequests(
        fields.read_reply_text_list_field(block.get("file_requests")),
        fields.read_reply_text_list_field(block.get("checks")),
    )
    agree, objections, additions = (
        fields.read_reply_text_list_field(block[name]) for name in ("agree", "object", "add")
    )
    statements = _Statements(
        agree,
        objections,
        additions,
        fields.read_reply_prediction_field(block),
        wants,
        read_reply_claims(block.get("claims")),
    )
    return _debate_verdict(statements, expect)


def _read_debate_tags(reply: str, expect: Expect) -> Verdict | None:
    statements = [
        (section.tag, _BLANK_LINE.split(section.body, maxsplit=1)[0].strip())
        for section in find_tagged_reply_sections(reply, _DEBATE_TAGS)
    ]
    statements = [(tag, body) for tag, body in statements if fields.has_reply_content(body)]
    return _debate_verdict(
        _Statements(
            tuple(body for tag, body in statements if tag == "AGREE" and not _REFUSED_AGREEMENT.match(body)),
            tuple(body for tag, body in statements if tag in ("OBJECT", "DISAGREE")),
            tuple(body for tag, body in statements if tag == "ADD"),
            next((fields.read_reply_one_line_field(body) for tag, body in statements if tag == "PREDICT"), ""),
            SeatRequests(
                *(tuple(body for tag, body in statements if tag == wanted_tag) for wanted_tag in ("FILE", "CHECK"))
            ),
            read_tagged_reply_claims(reply),
        ),
        expect,
    ) or _infer_stance(reply)


def _debate_verdict(statements: _Statements, expect: Expect) -> Verdict | None:
    if statements.objections:
        stance = Stance.OPPOSE
    elif statements.additions:
        stance = Stance.AMEND
    elif statements.agree:
        stance = Stance.SUPPORT
    else:
        return None
    return Verdict(
        stance,
        target=next((name for line in statements.agree if (name := _named_seat(line, expect))), ""),
        issues=tuple(Issue(reason, blocking=True) for reason in statements.objections),
        points=statements.additions,
        prediction=statements.prediction,
        wants=statements.wants,
        claims=statements.claims,
    )


def _named_seat(line: str, expect: Expect) -> str:
    if expect.choices:
        return fields.match_leading_reply_choice(line, expect.choices, named=True)
    match = _BRACKETED.match(line)
    return (match[1] or match[2]).strip() if match else ""


def _infer_stance(reply: str) -> Verdict | None:
    """A stance stated in plain words is shown to people; only a tag counts as a vote."""
    stances = {
        Stance.SUPPORT if match[1].lower() == "agree" and not _NEGATION.search(match[0]) else Stance.OPPOSE
        for match in _PLAIN_STANCE.finditer(mask_reply_quotations(reply))
    }
    return Verdict(stances.pop(), parse=ParseStatus.INFERRED) if len(stances) == 1 else None


DEBATE_CODEC = build_structured_reply_codec(
    "agree-object-add",
    _debate_schema,
    ("agree", "object", "add"),
    _read_debate_fields,
    agrees_whole=True,
    tags=_DEBATE_TAGS,
    read_tags=_read_debate_tags,
    tag_format=_debate_tag_format,
)
