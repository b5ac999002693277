"""How a judge speaks: CONSENSUS or DISCUSS, with what each kind of stage needs to go on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Codec, Schema
from roundtable.core.replies.relaxed_json import Fields
from roundtable.core.replies.schema import one_of, several, spoken, words
from roundtable.core.replies.structured import form
from roundtable.core.replies.tags import LINE_START, items, labelled, sections
from roundtable.core.values import Expect
from roundtable.core.verdict import Directives, Findings, Stance, Verdict

_RULINGS = ("CONSENSUS", "DISCUSS")
_BASE = re.compile(r"[\w@/-]+(?:\.[\w@/-]+)*")
_LETTER = re.compile(r"[*_`\[ ]*(?:candidate[ _-])?([A-Z]{1,2})[*_`\].:, ]*", re.I)

Parts = dict[str, object]
"""What a judge said under each label: a string, or a list of them."""

Fill = Callable[[Parts, Expect], Verdict | None]


def _discussion(parts: Parts, expect: Expect) -> Verdict | None:
    summary = fields.text(parts.get("summary"))
    return Verdict(summary=summary) if fields.said(summary) else None


def _merge(parts: Parts, expect: Expect) -> Verdict | None:
    named = fields.line(parts.get("base"))
    match = _BASE.match(named.lstrip("*_`[ "))
    base = _chosen(named, expect.choices) if expect.choices else (match[0] if match else "")
    if not base:
        return None
    return Verdict(directives=Directives(base, _list(parts, "incorporate"), _list(parts, "must_fix")))


def _chosen(named: str, choices: Sequence[str]) -> str:
    """Whose work is meant: by its name, or by the letter of `candidate-B` alone or with a space before it."""
    letter = _LETTER.fullmatch(named)
    of_letter = [it for it in choices if letter and it.casefold() == f"candidate-{letter[1].casefold()}"]
    return fields.leading_choice(named, choices, named=True) or next(iter(of_letter), "")


def _review(parts: Parts, expect: Expect) -> Verdict | None:
    labels = ("critical", "warnings", "confirmed_clean")
    if not any(label in parts for label in labels):
        return None
    return Verdict(findings=Findings(*(_list(parts, label) for label in labels)))


def _list(parts: Parts, label: str) -> tuple[str, ...]:
    value = parts.get(label)
    return tuple(filter(fields.said, items(value))) if isinstance(value, str) else fields.texts(value)


def _judge(name: str, labels: Sequence[str], fill: Fill, meanings: Callable[[Expect], dict[str, Schema]]) -> Codec:
    """A judge's codec: the same ruling everywhere, and a filling of its own."""

    def schema(expect: Expect) -> Schema:
        options = several(words("what is still to be discussed, if it is DISCUSS"))
        return spoken({"ruling": one_of("your ruling", _RULINGS), **meanings(expect), "options": options})

    def read_fields(block: Fields, expect: Expect) -> Verdict | None:
        return ruled(fields.choice(block["ruling"], _RULINGS), block, expect)

    def read_tags(reply: str, expect: Expect) -> Verdict | None:
        found = [section for section in sections(reply, _RULINGS) if fields.said(section.body)]
        if not found:
            return None
        body = found[-1].body
        return ruled(
            found[-1].tag, {"summary": body, "options": list(items(body)), **_under_labels(body, labels)}, expect
        )

    def ruled(ruling: str, parts: Parts, expect: Expect) -> Verdict | None:
        if ruling == "CONSENSUS":
            filled = fill(parts, expect)
            return msgspec.structs.replace(filled, stance=Stance.SUPPORT) if filled else None
        options = fields.texts(parts.get("options"))
        summary = fields.text(parts.get("summary"))
        return Verdict(Stance.AMEND, summary=summary, options=options) if ruling and (options or summary) else None

    def tag_format(expect: Expect) -> str:
        parts = meanings(expect)
        consensus = " ".join(_label_format(label, parts[label.lower()]) for label in labels) or "<what was agreed>"
        return (
            "Give your reasons in prose. Then end with exactly one of these two, at the start of a line:\n\n"
            f"CONSENSUS: {consensus}\nDISCUSS: <what is still to be discussed, one option per line>"
        )

    required = ("ruling", *(label.lower() for label in labels or ("summary",)))
    return form(name, schema, required, read_fields, tags=_RULINGS, read_tags=read_tags, tag_format=tag_format)


def _label_format(label: str, schema: Schema) -> str:
    meaning = schema.get("items", schema)["description"]
    return f"BASE=<{meaning}>." if label == "BASE" else f"{label}: <{meaning}, or none>"


def _under_labels(body: str, labels: Sequence[str]) -> Parts:
    """What stands under each label, on lines of their own or one after the other on a single line.

    In the middle of a sentence only capitals are a label: "this is critical: …" is not.
    """
    if not labels:
        return {}
    names = "|".join(label.replace("_", "[_ ]") for label in labels)
    pattern = re.compile(
        rf"(?:(?:{LINE_START}|[.;][ \t]*)(?i:({names}))|(?<=\s)[*_]*({names}))[ \t*_]*[:=：][ \t]*[*_]*", re.MULTILINE
    )
    return {
        (match[1] or match[2]).lower().replace(" ", "_"): said.strip("*_ ")
        for match, said in labelled(body, pattern)
        if not fields.unfilled(said)
    }


DISCUSSION = _judge(
    "judge-discussion",
    (),
    _discussion,
    lambda expect: {"summary": words("what was agreed, if it is CONSENSUS, in full", 3 * expect.tokens or 600)},
)
MERGE = _judge(
    "judge-merge",
    ("BASE", "INCORPORATE", "MUST_FIX"),
    _merge,
    lambda expect: {
        "base": one_of("whose work is the base", expect.choices),
        "incorporate": several(words("what to take over from whom")),
        "must_fix": several(words("what must be mended")),
    },
)
REVIEW = _judge(
    "judge-review",
    ("CRITICAL", "WARNINGS", "CONFIRMED_CLEAN"),
    _review,
    lambda expect: {
        "critical": several(words("a defect that must be mended")),
        "warnings": several(words("a weakness")),
        "confirmed_clean": several(words("what was looked at and is sound")),
    },
)
