"""The codecs of a review: findings with a program that shows each, and proofs for the findings of others."""

from __future__ import annotations

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.claims import read_reply_claim, read_reply_claims, reply_proof_schema_fields
from roundtable.core.replies.codec import Schema, UnreadableReply
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_object_schema,
    reply_prose_first_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.values import Expect
from roundtable.core.verdict import SEVERITIES, Issue, Verdict

_MOST_ENTRIES = 8
_PROBLEM_KEYS = ("wrong", "finding", "issue", "description", "message", "problem")
"""Keys under which models write the problem, the requested one first."""
_LOCATION_KEYS = ("place", "location", "file", "path")


def _findings_schema(expect: Expect) -> Schema:
    finding = reply_object_schema(
        {
            "place": reply_text_schema("the location, such as src/a.py:10 or src/a.py:10-14", 200),
            "severity": reply_choice_schema("the severity", SEVERITIES),
            "wrong": reply_text_schema("what is wrong, in one sentence"),
            **reply_proof_schema_fields(),
        }
    )
    return reply_prose_first_schema({"findings": reply_list_schema(finding, most=_MOST_ENTRIES)}, limit=1000)


def _read_findings(block: JsonFields, expect: Expect) -> Verdict:
    entries = [_read_entry(member) for member in fields.read_reply_list_field(block["findings"])]
    findings = [(issue, entry) for entry in entries if (issue := _read_finding(entry)) is not None]
    proofs = [read_reply_claim(issue.text, entry.get("proof"), entry.get("language")) for issue, entry in findings]
    return Verdict(
        issues=tuple(issue for issue, _ in findings),
        claims=tuple(proof for proof in proofs if proof is not None),
    )


def _read_entry(member: object) -> JsonFields:
    """The fields of an entry; a plain string is the problem."""
    return {"wrong": member} if isinstance(member, str) else fields.read_reply_mapping_field(member)


def _read_finding(entry: JsonFields) -> Issue | None:
    """A finding; unknown severities become medium. None for an entry that says there is nothing.

    An entry without text is an error: a lost finding would be a false approval.
    """
    values = [entry[name] for name in _PROBLEM_KEYS if name in entry]
    text = next((line for value in values if (line := fields.read_reply_one_line_field(value))), "")
    if not text:
        raise UnreadableReply(
            "A finding has no description. Describe the problem in its field `wrong`, or send an empty list."
        )
    if not fields.has_reply_content(text):
        return None
    severity = fields.match_reply_choice(entry.get("severity"), SEVERITIES) or "medium"
    return Issue(text, severity=severity, location=_read_location(entry))


def _read_location(entry: JsonFields) -> str:
    """The location as `path:line`; some models write the line in its own field."""
    place = next((text for name in _LOCATION_KEYS if (text := fields.read_reply_one_line_field(entry.get(name)))), "")
    line = entry.get("line")
    number = line if isinstance(line, int) else fields.read_reply_one_line_field(line)
    return f"{place}:{number}" if place and number and ":" not in place else place


def _proofs_schema(expect: Expect) -> Schema:
    proof = reply_object_schema(
        {
            "finding": reply_choice_schema("the finding that the program proves or refutes", expect.choices),
            **reply_proof_schema_fields(),
        }
    )
    return reply_prose_first_schema({"proofs": reply_list_schema(proof, most=_MOST_ENTRIES)}, limit=1000)


def _read_proofs(block: JsonFields, expect: Expect) -> Verdict:
    """The programs for listed findings; an error if programs were sent only for other findings."""
    claims = read_reply_claims(block["proofs"], named="finding")
    matched = [
        msgspec.structs.replace(claim, text=fields.match_reply_choice(claim.text, expect.choices)) for claim in claims
    ]
    listed = tuple(claim for claim in matched if claim.text)
    if not listed and any(map(_offers_proof, fields.read_reply_list_field(block["proofs"]))):
        raise UnreadableReply(
            "None of your proofs both names a listed finding in `finding` and gives a complete program in `proof`. "
            f"Listed findings: {', '.join(expect.choices)}."
        )
    return Verdict(claims=listed)


def _offers_proof(member: object) -> bool:
    """Whether an entry means to prove something; an empty, null or `none` program does not."""
    proof = member if isinstance(member, str) else fields.read_reply_mapping_field(member).get("proof", member)
    return (
        fields.has_reply_content(proof) or fields.is_unfilled_reply_placeholder(proof)
        if isinstance(proof, str)
        else proof is not None
    )


FINDINGS_CODEC = build_structured_reply_codec("findings", _findings_schema, ("findings",), _read_findings)
PROOFS_CODEC = build_structured_reply_codec("proofs", _proofs_schema, ("proofs",), _read_proofs)
