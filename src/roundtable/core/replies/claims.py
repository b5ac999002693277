"""Claims that a program settles, as seats attach them to what they say: in a block of fields, or under a tag."""

from __future__ import annotations

import re

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Schema
from roundtable.core.replies.relaxed_json import Cut
from roundtable.core.replies.schema import one_of, record, several, words
from roundtable.core.replies.tags import LINE_START
from roundtable.core.verdict import Claim

LANGUAGES = ("python", "javascript")
"""What a proof may be written in; the first one is meant where none is named."""

LONGEST = 6_000
_ASKED_FOR = 1_500
"""Characters of a program that is read, and of one that is asked for: a grammar cannot count much further."""
MOST = 3
_SPELLINGS = {"py": "python", "python3": "python", "js": "javascript", "node": "javascript"}
DISPUTED = "a disputed statement, in the words or by the id of the point, issue or cause it is about"
PROGRAM = "a program that exits with 0 if it is so and with 1 if it is not"

_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TAGGED = re.compile(
    rf"{LINE_START}PROVE[ \t*_]*[:：][ \t]*([^\n]{{1,300}})\n\s*?(`{{3,}}|~{{3,}})[ \t]*(\w*)[^\n]*\n(.*?)\n[ \t]*\2",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def proof_fields() -> dict[str, Schema]:
    """The fields of a program that decides something, for whatever record it belongs to."""
    return {
        "proof": words(f"{PROGRAM}, run at the root of a copy of the project; empty if there is none", _ASKED_FOR),
        "language": one_of("what it is written in", LANGUAGES),
    }


def claims_schema() -> Schema:
    """The field in which a seat puts what can be settled by running something."""
    return several(record({"claim": words(DISPUTED), **proof_fields()}), most=MOST)


def claims(value: object, named: str = "claim") -> tuple[Claim, ...]:
    """The claims that come with a program; one without is only an opinion, and has its place elsewhere."""
    entries = [fields.mapping(member) for member in fields.members(value)]
    found = [claim(fields.line(it.get(named)), it.get("proof"), it.get("language")) for it in entries]
    return tuple(it for it in found if it is not None)


def claim(text: str, program: object, language: object) -> Claim | None:
    """One claim, or None where there is nothing to run: a program that was cut off decides nothing."""
    code = _unfenced(fields.text(program))
    if isinstance(program, Cut) or len(code) > LONGEST or not (fields.said(text) and fields.said(code)):
        return None
    return Claim(text, code, _language(language))


def tagged_claims(reply: str) -> tuple[Claim, ...]:
    """What stands under `PROVE:` with a fenced program below it, in a reply that is written freely."""
    found = [claim(fields.line(text), program, language) for text, _, language, program in _TAGGED.findall(reply)]
    return tuple(it for it in found if it is not None)


def _unfenced(program: str) -> str:
    """Without the fence that some models put around a program even inside a field."""
    inside = _FENCED.fullmatch(program)
    return inside[1] if inside else program


def _language(value: object) -> str:
    word = fields.line(value).casefold()
    return _SPELLINGS.get(word, word or LANGUAGES[0])
