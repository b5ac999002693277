"""The codecs of votes: a ranking of proposals, and the approval of a change."""

from __future__ import annotations

import re
from collections.abc import Sequence

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_prose_first_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.replies.tags import find_tagged_reply_sections, mask_reply_quotations, split_reply_list_items
from roundtable.core.values import Expect
from roundtable.core.verdict import Issue, ParseStatus, Stance, Verdict

_NUMBERED = re.compile(r"^[ \t]*[*_]{0,3}(\d{1,2})[.)][ \t]+(.+)$", re.MULTILINE)
_RANKING = ("RANKING",)
_APPROVALS = {"APPROVE": Stance.SUPPORT, "REQUEST_CHANGES": Stance.OPPOSE, "ABSTAIN": Stance.ABSTAIN}


def _ranking_schema(expect: Expect) -> Schema:
    count = len(expect.choices)
    ranked = reply_list_schema(
        reply_choice_schema("a proposal, best first", expect.choices), most=count or 12, least=count or 1
    )
    return reply_prose_first_schema({"ranked_choices": ranked}, limit=600)


def _read_ranking(block: JsonFields, expect: Expect) -> Verdict | None:
    names = [
        fields.read_reply_one_line_field(member) for member in fields.read_reply_list_field(block["ranked_choices"])
    ]
    return _ranking_verdict(names, [fields.match_reply_choice(name, expect.choices) for name in names])


def _read_ranking_lines(reply: str, expect: Expect) -> Verdict | None:
    sections = find_tagged_reply_sections(reply, _RANKING)
    if sections:
        lines = [line for line in sections[-1].body.split("\n") if line.strip()]
        names = [part.strip() for part in re.split(r"[>,]", lines[0])] if lines else []
        if len(names) == 1:
            names = _last_numbered_list(sections[-1].body) or names
    else:
        names = _last_numbered_list(mask_reply_quotations(reply))
    return _ranking_verdict(names, [_ranked_id(name, expect) for name in names])


def _ranked_id(name: str, expect: Expect) -> str:
    if expect.choices:
        return fields.match_leading_reply_choice(name, expect.choices)
    # An unfilled `<best> > <second>` is no vote.
    return "" if "<" in name else name.strip(" *_`")


def _last_numbered_list(text: str) -> list[str]:
    """The last list that counts from one: arguments may be numbered too, but the vote comes last."""
    names: list[str] = []
    for match in _NUMBERED.finditer(text):
        if match[1] == "1":
            names = []
        names.append(match[2])
    return names


def _ranking_verdict(names: Sequence[str], matched: Sequence[str]) -> Verdict | None:
    ranking = tuple(dict.fromkeys(id for id in matched if id))
    if not ranking:
        return None
    return Verdict(ranking=ranking, parse=ParseStatus.EXACT if len(ranking) == len(names) else ParseStatus.REPAIRED)


def _ranking_format(expect: Expect) -> str:
    names = ", ".join(expect.choices)
    return (
        "Give your reasons in prose. Then rank all the proposals, best first, on one line of its own"
        f"{f' ({names})' if names else ''}:\n\nRANKING: <best> > <second> > <third>"
    )


def _approval_schema(expect: Expect) -> Schema:
    return reply_prose_first_schema(
        {
            "approval": reply_choice_schema("your verdict on the change", [name.lower() for name in _APPROVALS]),
            "reasons": reply_list_schema(reply_text_schema("a reason; for request_changes, what must change")),
        }
    )


def _read_approval(block: JsonFields, expect: Expect) -> Verdict | None:
    name = re.sub(r"[\s-]+", "_", fields.read_reply_one_line_field(block["approval"])).upper()
    return _approval_verdict(name, fields.read_reply_text_list_field(block.get("reasons")))


def _read_approval_tag(reply: str, expect: Expect) -> Verdict | None:
    sections = [
        section
        for section in find_tagged_reply_sections(reply, list(_APPROVALS), bare=True)
        if not section.body or fields.has_reply_content(section.body)
    ]
    return (
        _approval_verdict(
            sections[-1].tag, tuple(filter(fields.has_reply_content, split_reply_list_items(sections[-1].body)))
        )
        if sections
        else None
    )


def _approval_verdict(name: str, reasons: tuple[str, ...]) -> Verdict | None:
    stance = _APPROVALS.get(name)
    if stance is Stance.OPPOSE:
        return Verdict(stance, issues=tuple(Issue(reason, blocking=True) for reason in reasons))
    return Verdict(stance, points=reasons) if stance else None


def _approval_format(expect: Expect) -> str:
    return (
        "Write your review in prose. Then end with exactly one of these, at the start of a line:\n\n"
        "APPROVE\nREQUEST_CHANGES: <what must change, one point per line>\nABSTAIN"
    )


RANKING_CODEC = build_structured_reply_codec(
    "ranked-ballot",
    _ranking_schema,
    ("ranked_choices",),
    _read_ranking,
    tags=_RANKING,
    read_tags=_read_ranking_lines,
    tag_format=_ranking_format,
)
APPROVAL_CODEC = build_structured_reply_codec(
    "approval",
    _approval_schema,
    ("approval",),
    _read_approval,
    tags=tuple(_APPROVALS),
    read_tags=_read_approval_tag,
    tag_format=_approval_format,
)
