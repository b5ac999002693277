"""How a review speaks: what is wrong and where, each with a program that shows it; and proofs for others' findings."""

from __future__ import annotations

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.claims import proof_schema_fields, read_claim, read_claims
from roundtable.core.replies.codec import Schema, UnreadableReply
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import choice_schema, list_schema, object_schema, prose_first_schema, text_schema
from roundtable.core.replies.structured import build_structured_codec
from roundtable.core.values import Expect
from roundtable.core.verdict import SEVERITIES, Issue, Verdict

_MOST = 8
_WRONG = ("wrong", "finding", "issue", "description", "message", "problem")
"""Where models put what is wrong, the name that was asked for first."""
_PLACES = ("place", "location", "file", "path")


def _schema(expect: Expect) -> Schema:
    finding = object_schema(
        {
            "place": text_schema("where, such as src/a.py:10 or src/a.py:10-14", 200),
            "severity": choice_schema("how bad it is", SEVERITIES),
            "wrong": text_schema("what is wrong, in one sentence"),
            **proof_schema_fields(),
        }
    )
    return prose_first_schema({"findings": list_schema(finding, most=_MOST)}, limit=1000)


def _read(block: Fields, expect: Expect) -> Verdict:
    entries = [_entry(member) for member in fields.read_list_field(block["findings"])]
    found = [(issue, it) for it in entries if (issue := _issue(it)) is not None]
    proofs = [read_claim(issue.text, it.get("proof"), it.get("language")) for issue, it in found]
    return Verdict(
        issues=tuple(issue for issue, _ in found),
        claims=tuple(proof for proof in proofs if proof is not None),
    )


def _entry(member: object) -> Fields:
    """The fields of an entry; bare words say what is wrong."""
    return {"wrong": member} if isinstance(member, str) else fields.read_mapping_field(member)


def _issue(entry: Fields) -> Issue | None:
    """A finding, of a severity nobody knows a medium one; None for an entry that says there is nothing.

    One without words is not nothing: a lost finding is a false clean bill.
    """
    given = [entry[name] for name in _WRONG if name in entry]
    text = next((words for it in given if (words := fields.read_line_field(it))), "")
    if not text:
        raise UnreadableReply(
            "A finding does not say what is wrong. Say it in its field `wrong`, or leave the list empty if nothing is."
        )
    if not fields.has_reply_content(text):
        return None
    severity = fields.match_choice(entry.get("severity"), SEVERITIES) or "medium"
    return Issue(text, severity=severity, location=_place(entry))


def _place(entry: Fields) -> str:
    """Where, as `path:line`; some models write the line into a field of its own."""
    place = next((words for name in _PLACES if (words := fields.read_line_field(entry.get(name)))), "")
    line = entry.get("line")
    number = line if isinstance(line, int) else fields.read_line_field(line)
    return f"{place}:{number}" if place and number and ":" not in place else place


def _proofs_schema(expect: Expect) -> Schema:
    proof = object_schema({"finding": choice_schema("the finding it decides", expect.choices), **proof_schema_fields()})
    return prose_first_schema({"proofs": list_schema(proof, most=_MOST)}, limit=1000)


def _read_proofs(block: Fields, expect: Expect) -> Verdict:
    """The programs for findings of the list; where there are only others, they were meant for something."""
    given = read_claims(block["proofs"], named="finding")
    known = [msgspec.structs.replace(it, text=fields.match_choice(it.text, expect.choices)) for it in given]
    found = tuple(it for it in known if it.text)
    if not found and any(map(_offers, fields.read_list_field(block["proofs"]))):
        raise UnreadableReply(
            "No proof of yours is a whole program under `proof` for a finding of the list under `finding`. "
            f"The list: {', '.join(expect.choices)}."
        )
    return Verdict(claims=found)


def _offers(member: object) -> bool:
    """Whether an entry means to prove something; one whose program is empty, null or `none` does not."""
    proof = member if isinstance(member, str) else fields.read_mapping_field(member).get("proof", member)
    return (
        fields.has_reply_content(proof) or fields.is_unfilled_placeholder(proof)
        if isinstance(proof, str)
        else proof is not None
    )


FINDINGS_CODEC = build_structured_codec("findings", _schema, ("findings",), _read)
PROOFS_CODEC = build_structured_codec("proofs", _proofs_schema, ("proofs",), _read_proofs)
