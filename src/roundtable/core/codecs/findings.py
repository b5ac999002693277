"""How a review speaks: what is wrong and where, each with a program that shows it; and proofs for others' findings."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.codecs import fields
from roundtable.core.codecs.base import Schema
from roundtable.core.codecs.claims import claim, claims, proof_fields
from roundtable.core.codecs.form import form
from roundtable.core.codecs.relaxed import Fields
from roundtable.core.codecs.shape import one_of, record, several, spoken, words
from roundtable.core.values import Expect
from roundtable.core.verdict import SEVERITIES, Issue, Verdict

_MOST = 8


def _schema(expect: Expect) -> Schema:
    finding = record(
        {
            "place": words("where, such as src/a.py:10 or src/a.py:10-14", 200),
            "severity": one_of("how bad it is", SEVERITIES),
            "wrong": words("what is wrong, in one sentence"),
            **proof_fields(),
        }
    )
    return spoken({"findings": several(finding, most=_MOST)}, limit=1000)


def _read(block: Fields, expect: Expect) -> Verdict | None:
    entries = [fields.mapping(member) for member in fields.members(block["findings"])]
    found = [(issue, it) for it in entries if (issue := _issue(it)) is not None]
    if not found and _echoed(entries):
        return None
    proofs = [claim(issue.text, it.get("proof"), it.get("language")) for issue, it in found]
    return Verdict(
        issues=tuple(issue for issue, _ in found),
        claims=tuple(proof for proof in proofs if proof is not None),
    )


def _echoed(entries: Sequence[Fields]) -> bool:
    """Whether the form was sent back instead of filled in; a list without entries is an answer."""
    return any(isinstance(value, str) and fields.unfilled(value) for it in entries for value in it.values())


def _issue(entry: Fields) -> Issue | None:
    """A finding; of a severity nobody knows it is taken for a medium one, and it is never lost."""
    text = fields.line(entry.get("wrong"))
    if not fields.said(text):
        return None
    severity = fields.choice(entry.get("severity"), SEVERITIES) or "medium"
    return Issue(text, severity=severity, location=_place(entry))


def _place(entry: Fields) -> str:
    """Where, as `path:line`; some models write the line into a field of its own."""
    place, line = (fields.line(entry.get(name)) for name in ("place", "line"))
    place = place or fields.line(entry.get("file"))
    number = entry.get("line") if isinstance(entry.get("line"), int) else line
    return f"{place}:{number}" if place and number and ":" not in place else place


def _proofs_schema(expect: Expect) -> Schema:
    proof = record({"finding": one_of("the finding it decides", expect.choices), **proof_fields()})
    return spoken({"proofs": several(proof, most=_MOST)}, limit=1000)


def _read_proofs(block: Fields, expect: Expect) -> Verdict | None:
    given = claims(block["proofs"], named="finding")
    if not given and _echoed([fields.mapping(member) for member in fields.members(block["proofs"])]):
        return None
    known = [msgspec.structs.replace(it, text=fields.choice(it.text, expect.choices)) for it in given]
    return Verdict(claims=tuple(it for it in known if it.text))


FINDINGS = form("findings", _schema, ("findings",), _read)
PROOFS = form("proofs", _proofs_schema, ("proofs",), _read_proofs)
