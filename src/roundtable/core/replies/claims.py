"""Claims that a program can verify, read from a block of fields or from a `PROVE:` tag."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import TruncatedString
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_object_schema,
    reply_text_schema,
)
from roundtable.core.replies.tags import LINE_START
from roundtable.core.verdict import Claim

PROOF_LANGUAGES = ("python", "javascript")
"""The languages of a proof; the first is the default."""

LONGEST_PROOF = 6_000
_LONGEST_REQUESTED_PROOF = 1_500
"""Characters of a program that is accepted, and of one that is requested: a grammar cannot count much further."""
MOST_CLAIMS = 3
_SPELLINGS = {"py": "python", "python3": "python", "js": "javascript", "node": "javascript"}
CLAIM_MEANING = "a disputed statement: the wording or the id of the point, issue or cause that it is about"
PROOF_MEANING = "a program that exits with 0 if the claim is true and with 1 if it is false"

_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TAGGED = re.compile(
    rf"{LINE_START}PROVE[ \t*_]*[:：][ \t]*([^\n]{{1,300}})\n\s*?(`{{3,}}|~{{3,}})[ \t]*(\w*)[^\n]*\n(.*?)\n[ \t]*\2",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def reply_proof_schema_fields() -> dict[str, Schema]:
    """The schema fields of a proof, for any record it belongs to."""
    return {
        "proof": reply_text_schema(
            f"{PROOF_MEANING}, run at the root of a copy of the project; empty if there is none",
            _LONGEST_REQUESTED_PROOF,
        ),
        "language": reply_choice_schema("the programming language of the proof", PROOF_LANGUAGES),
    }


def reply_claims_schema() -> Schema:
    """The schema of the claims field."""
    return reply_list_schema(
        reply_object_schema({"claim": reply_text_schema(CLAIM_MEANING), **reply_proof_schema_fields()}),
        most=MOST_CLAIMS,
    )


def read_reply_claims(value: object, named: str = "claim") -> tuple[Claim, ...]:
    """The claims that have a program; without one a claim is only an opinion."""
    entries = [fields.read_reply_mapping_field(member) for member in fields.read_reply_list_field(value)]
    claims = [
        read_reply_claim(fields.read_reply_one_line_field(entry.get(named)), entry.get("proof"), entry.get("language"))
        for entry in entries
    ]
    return tuple(claim for claim in claims if claim is not None)


def read_reply_claim(text: str, program: object, language: object) -> Claim | None:
    """One claim; None without a complete program."""
    code = _unfenced(fields.read_reply_text_field(program))
    if (
        isinstance(program, TruncatedString)
        or len(code) > LONGEST_PROOF
        or not (fields.has_reply_content(text) and fields.has_reply_content(code))
    ):
        return None
    return Claim(text, code, _language(language))


def read_tagged_reply_claims(reply: str) -> tuple[Claim, ...]:
    """The claims written as `PROVE:` with a fenced program below."""
    claims = [
        read_reply_claim(fields.read_reply_one_line_field(text), program, language)
        for text, _, language, program in _TAGGED.findall(reply)
    ]
    return tuple(claim for claim in claims if claim is not None)


def _unfenced(program: str) -> str:
    """The program without a fence, which some models write even inside a field."""
    inside = _FENCED.fullmatch(program)
    return inside[1] if inside else program


def _language(value: object) -> str:
    word = fields.read_reply_one_line_field(value).casefold()
    return _SPELLINGS.get(word, word or PROOF_LANGUAGES[0])
