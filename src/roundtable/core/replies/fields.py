"""Read single fields of a block that a model wrote, without trusting their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import cast

from roundtable.core.replies.relaxed_json import JsonFields, TruncatedString
from roundtable.core.verdict import Evidence, Issue

# Possessive, because models may send long runs of dashes and spaces. The list of endings is short on purpose:
# "no backups" and "no tests" carry meaning.
_NOTHING = re.compile(
    r"\W*+(?:(?:I\W++(?:have|see)\W++)?+(?:no one|none|nothing|nobody|null|nil|n/?a|no)\b"
    r"(?:\W++(?:(?:further|more|other)\W++)?+(?:objections?|concerns?|issues?|additions?|else|to (?:add|object))\b)?+"
    r"(?:\W++(?:at (?:all|this (?:time|point|stage))|for now|so far|from me)\b)?+"
    r"|我?(?:目前|暂时|暂)?(?:没有|没|无)(?:其他|任何)?(?:反对意见|异议|意见|反对|补充|要补充的)?"
    r")?+\W*+",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"<[^<>]*>|\[(?:model|seat|reason|point|agent)\]", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,4}(?:\.\d{1,9})?)(?:\s*/\s*10)?", re.ASCII)
_LABEL = re.compile(r"(?:proposal|option|candidate|answer|position|seat)\s+", re.IGNORECASE)
_AFTER_ID = re.compile(r"[\]*_`)]+(?!\w)|\s+[-–—=(]|\s*[:,.;|>](?!\w)|\s*$", re.MULTILINE)
_AFTER_NAME = re.compile(r"(?![\w-]|\.\w)")
_AROUND_CHOICE = " \t\r\n\"'“”‘’*_`[](){}@.,;:"

_TEXT_KEYS = ("text", "issue", "reason", "point", "fact", "path", "seat")
"""Keys under which models write the text of an entry when they send an object instead of a string."""

_LONGEST_LINE = 300
_MOST_ENTRIES = 1_000
"""Most entries of a list that are read; no form asks for more than twenty."""
_LONGEST_ENTRY = 4_000
"""Longest entry that is kept; the reply itself keeps every word."""


def read_reply_tenths_field(value: object) -> float | None:
    """A number out of ten as a share from 0 to 1; None if it is no number."""
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(value / 10, 0.0), 1.0)


def read_reply_text_field(value: object) -> str:
    """Text of several lines; empty for a placeholder that was not filled in."""
    return value.strip() if isinstance(value, str) and not is_unfilled_reply_placeholder(value) else ""


def read_reply_one_line_field(value: object) -> str:
    """Text on one line; empty if it was cut off."""
    return _one_line(value)[:_LONGEST_LINE].rstrip()


def has_reply_content(words: str) -> bool:
    """Whether words say anything; models write many forms of `nothing`."""
    return not _NOTHING.fullmatch(words) and not is_unfilled_reply_placeholder(words)


def is_unfilled_reply_placeholder(words: str) -> bool:
    """Whether a model copied a placeholder of the form."""
    return bool(_PLACEHOLDER.fullmatch(words.strip()))


def read_reply_list_field(value: object) -> list[object]:
    """The entries of a list; a single value is a list of one."""
    if value is None:
        return []
    return cast("list[object]", value)[:_MOST_ENTRIES] if isinstance(value, list) else [value]


def read_reply_mapping_field(value: object) -> JsonFields:
    """The members of an object; empty for anything else."""
    return cast("JsonFields", value) if isinstance(value, dict) else {}


def read_reply_text_list_field(value: object) -> tuple[str, ...]:
    """The entries of a list that say anything."""
    return tuple(words for member in read_reply_list_field(value) if has_reply_content(words := _entry_text(member)))


def read_reply_issues_field(value: object) -> tuple[Issue, ...]:
    """Issues; a plain string is an issue that does not block."""
    return tuple(
        Issue(
            words,
            id=read_reply_one_line_field(fields.get("id")),
            blocking=str(fields.get("blocking")).lower() in ("true", "yes"),
            severity=read_reply_one_line_field(fields.get("severity")),
            location=read_reply_one_line_field(fields.get("location")),
        )
        for member in read_reply_list_field(value)
        if has_reply_content(words := _entry_text(member))
        for fields in (read_reply_mapping_field(member),)
    )


def read_reply_evidence_field(value: object) -> tuple[Evidence, ...]:
    """Facts with their sources, if given."""
    return tuple(
        Evidence(words, read_reply_one_line_field(read_reply_mapping_field(member).get("source")))
        for member in read_reply_list_field(value)
        if has_reply_content(words := _entry_text(member))
    )


def read_reply_prediction_field(block: JsonFields) -> str:
    """The prediction of a seat; empty if it made none."""
    words = read_reply_one_line_field(block.get("prediction"))
    return words if has_reply_content(words) else ""


def match_reply_choice(value: object, choices: Sequence[str]) -> str:
    """The offered choice that was meant; without choices, the line itself."""
    if not choices:
        return read_reply_one_line_field(value)
    words = _one_line(value)
    if words in choices:
        return words
    folded = {_normalize_choice(offered): offered for offered in reversed(choices)}
    bare = _normalize_choice(words)
    return folded.get(bare) or folded.get(_without_label(bare), "")


def match_leading_reply_choice(words: str, choices: Iterable[str], *, named: bool = False) -> str:
    """The choice at the beginning of a line, such as `[claude]: because …`.

    If choices are `named`, any word may follow; an id such as `A` must stand apart because it is also a word.
    """
    after = _AFTER_NAME if named else _AFTER_ID
    start = _without_label(words.lstrip(_AROUND_CHOICE))
    for offered in sorted(choices, key=len, reverse=True):
        if start[: len(offered)].casefold() == offered.casefold() and after.match(start, len(offered)):
            return offered
    return ""


def _entry_text(member: object) -> str:
    """The text of an entry. Objects with unknown keys are read too: a lost issue would be a false agreement."""
    if not isinstance(member, dict):
        return read_reply_text_field(member)
    fields = read_reply_mapping_field(cast("object", member))
    values = [*(fields.get(key) for key in _TEXT_KEYS), *fields.values()]
    return next((words for value in values if (words := read_reply_text_field(value))), "")


def _one_line(value: object) -> str:
    return "" if isinstance(value, TruncatedString) else " ".join(read_reply_text_field(value).split())


def _normalize_choice(words: str) -> str:
    return " ".join(words.split()).casefold().strip(_AROUND_CHOICE)


def _without_label(words: str) -> str:
    label = _LABEL.match(words)
    return words[label.end() :] if label else words
