"""The codecs of a judge: CONSENSUS or DISCUSS, with further fields for each kind of stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Codec, Schema
from roundtable.core.replies.relaxed_json import JsonFields
from roundtable.core.replies.schema import (
    reply_choice_schema,
    reply_list_schema,
    reply_prose_first_schema,
    reply_text_schema,
)
from roundtable.core.replies.structured import build_structured_reply_codec
from roundtable.core.replies.tags import (
    LINE_START,
    find_tagged_reply_sections,
    split_reply_by_label,
    split_reply_list_items,
)
from roundtable.core.values import Expect
from roundtable.core.verdict import Directives, Findings, Stance, Verdict

_RULINGS = ("CONSENSUS", "DISCUSS")
_BASE = re.compile(r"[\w@/-]+(?:\.[\w@/-]+)*")
_LETTER = re.compile(r"[*_`\[ ]*(?:candidate[ _-])?([A-Z]{1,2})[*_`\].:, ]*", re.I)

RulingParts = dict[str, object]
"""The parts of a ruling by label: a string or a list of strings."""

FillVerdict = Callable[[RulingParts, Expect], Verdict | None]


def _fill_discussion(parts: RulingParts, expect: Expect) -> Verdict | None:
    summary = fields.read_reply_text_field(parts.get("summary"))
    return Verdict(summary=summary) if fields.has_reply_content(summary) else None


def _fill_merge(parts: RulingParts, expect: Expect) -> Verdict | None:
    named = fields.read_reply_one_line_field(parts.get("base"))
    match = _BASE.match(named.lstrip("*_`[ "))
    base = _match_candidate(named, expect.choices) if expect.choices else (match[0] if match else "")
    if not base:
        return None
    return Verdict(directives=Directives(base, _list_part(parts, "incorporate"), _list_part(parts, "must_fix")))


def _match_candidate(named: str, choices: Sequence[str]) -> str:
    """The candidate that is meant: by its name, or by the letter of `candidate-B`."""
    letter = _LETTER.fullmatch(named)
    of_letter = [choice for choice in choices if letter and choice.casefold() == f"candidate-{letter[1].casefold()}"]
    return fields.match_leading_reply_choice(named, choices, named=True) or next(iter(of_letter), "")


def _fill_review(parts: RulingParts, expect: Expect) -> Verdict | None:
    labels = ("critical", "warnings", "confirmed_clean")
    if not any(label in parts for label in labels):
        return None
    return Verdict(findings=Findings(*(_list_part(parts, label) for label in labels)))


def _list_part(parts: RulingParts, label: str) -> tuple[str, ...]:
    value = parts.get(label)
    return (
        tuple(filter(fields.has_reply_content, split_reply_list_items(value)))
        if isinstance(value, str)
        else fields.read_reply_text_list_field(value)
    )


def _build_judge_codec(
    name: str, labels: Sequence[str], fill: FillVerdict, meanings: Callable[[Expect], dict[str, Schema]]
) -> Codec:
    """A judge codec with the fields `labels`."""

    def schema(expect: Expect) -> Schema:
        options = reply_list_schema(reply_text_schema("if the ruling is DISCUSS, a point that is still open"))
        return reply_prose_first_schema(
            {"ruling": reply_choice_schema("your ruling", _RULINGS), **meanings(expect), "options": options}
        )

    def read_fields(block: JsonFields, expect: Expect) -> Verdict | None:
        return ruled(fields.match_reply_choice(block["ruling"], _RULINGS), block, expect)

    def read_tags(reply: str, expect: Expect) -> Verdict | None:
        sections = [
            section for section in find_tagged_reply_sections(reply, _RULINGS) if fields.has_reply_content(section.body)
        ]
        if not sections:
            return None
        body = sections[-1].body
        return ruled(
            sections[-1].tag,
            {"summary": body, "options": list(split_reply_list_items(body)), **_split_by_labels(body, labels)},
            expect,
        )

    def ruled(ruling: str, parts: RulingParts, expect: Expect) -> Verdict | None:
        if ruling == "CONSENSUS":
            verdict = fill(parts, expect)
            return msgspec.structs.replace(verdict, stance=Stance.SUPPORT) if verdict else None
        options = fields.read_reply_text_list_field(parts.get("options"))
        summary = fields.read_reply_text_field(parts.get("summary"))
        return Verdict(Stance.AMEND, summary=summary, options=options) if ruling and (options or summary) else None

    def tag_format(expect: Expect) -> str:
        parts = meanings(expect)
        consensus = " ".join(_label_format(label, parts[label.lower()]) for label in labels) or "<what was agreed>"
        return (
            "Give your reasons in prose. Then end with exactly one of these two, at the start of a line:\n\n"
            f"CONSENSUS: {consensus}\nDISCUSS: <what is still open, one option per line>"
        )

    required = ("ruling", *(label.lower() for label in labels or ("summary",)))
    return build_structured_reply_codec(
        name,
        schema,
        required,
        read_fields,
        tags=_RULINGS,
        read_tags=read_tags,
        tag_format=tag_format,
        agrees_whole=True,
    )


def _label_format(label: str, schema: Schema) -> str:
    meaning = schema.get("items", schema)["description"]
    return f"BASE=<{meaning}>." if label == "BASE" else f"{label}: <{meaning}, or none>"


def _split_by_labels(body: str, labels: Sequence[str]) -> RulingParts:
    """The text under each label, on separate lines or one after the other.

    Within a sentence only capitals are a label: "this is critical: …" is none.
    """
    if not labels:
        return {}
    names = "|".join(label.replace("_", "[_ ]") for label in labels)
    pattern = re.compile(
        rf"(?:(?:{LINE_START}|[.;][ \t]*)(?i:({names}))|(?<=\s)[*_]*({names}))[ \t*_]*[:=：][ \t]*[*_]*", re.MULTILINE
    )
    return {
        (match[1] or match[2]).lower().replace(" ", "_"): text.strip("*_ ")
        for match, text in split_reply_by_label(body, pattern)
        if not fields.is_unfilled_reply_placeholder(text)
    }


JUDGE_DISCUSSION_CODEC = _build_judge_codec(
    "judge-discussion",
    (),
    _fill_discussion,
    lambda expect: {
        "summary": reply_text_schema(
            "if the ruling is CONSENSUS, the complete text of what was agreed", 3 * expect.tokens or 600
        )
    },
)
JUDGE_MERGE_CODEC = _build_judge_codec(
    "judge-merge",
    ("BASE", "INCORPORATE", "MUST_FIX"),
    _fill_merge,
    lambda expect: {
        "base": reply_choice_schema("the candidate whose work is the base", expect.choices),
        "incorporate": reply_list_schema(reply_text_schema("what to take from which candidate")),
        "must_fix": reply_list_schema(reply_text_schema("what must be fixed")),
    },
)
JUDGE_REVIEW_CODEC = _build_judge_codec(
    "judge-review",
    ("CRITICAL", "WARNINGS", "CONFIRMED_CLEAN"),
    _fill_review,
    lambda expect: {
        "critical": reply_list_schema(reply_text_schema("a defect that must be fixed")),
        "warnings": reply_list_schema(reply_text_schema("a weakness")),
        "confirmed_clean": reply_list_schema(reply_text_schema("what you checked and found correct")),
    },
)


def restore_seat_names_in_reply_directive(directive: str, names: Mapping[str, str]) -> str:
    """Replace the blind labels in a judge's directive, such as `candidate-B` or `B's`, by the names of the seats."""
    for name, seat in names.items():
        letter = re.escape(name.rpartition("-")[2])
        pattern = rf"\b[Cc]andidate[- ]?{letter}\b|\b{letter}(?=['’]s\b)|(?<=\bfrom ){letter}\b"
        directive = re.sub(pattern, lambda _, seat=seat: seat, directive)
    return directive


def restore_seat_names_in_judge_reply(ruling: Directives, names: Mapping[str, str]) -> Directives:
    """Replace the blind labels in a judge's ruling by the names of the seats."""
    incorporate, must_fix = (
        tuple(restore_seat_names_in_reply_directive(directive, names) for directive in directives)
        for directives in (ruling.incorporate, ruling.must_fix)
    )
    return Directives(names.get(ruling.base, ""), incorporate, must_fix)
