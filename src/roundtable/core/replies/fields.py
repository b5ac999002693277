"""Read single values of a block that a model wrote, believing nothing about their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import cast

from roundtable.core.replies.relaxed_json import Fields, TruncatedString
from roundtable.core.verdict import Evidence, Issue

# Possessive, because models may send long runs of dashes and spaces. What may follow is a short list on purpose:
# "no backups" and "no tests" say a lot.
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
_AFTER_CHOICE = re.compile(r"[\]*_`)]+(?!\w)|\s+[-–—=(]|\s*[:,.;|>](?!\w)|\s*$", re.MULTILINE)
_AFTER_NAME = re.compile(r"(?![\w-]|\.\w)")
_AROUND_CHOICE = " \t\r\n\"'“”‘’*_`[](){}@.,;:"

_SPEAKING = ("text", "issue", "reason", "point", "fact", "path", "seat")
"""Where models put the words when a string was asked for and they wrote an object."""

_LONGEST_LINE = 300


def read_tenths_field(value: object) -> float | None:
    """A number out of ten as a share of one, clamped; anything that is not a number is None."""
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(value / 10, 0.0), 1.0)


def read_text_field(value: object) -> str:
    """Words that may span lines; a placeholder that was never filled in is no words."""
    return value.strip() if isinstance(value, str) and not is_unfilled_placeholder(value) else ""


def read_line_field(value: object) -> str:
    """Words on one line. A line that was cut off in the middle does not count."""
    return _one_line(value)[:_LONGEST_LINE].rstrip()


def has_reply_content(words: str) -> bool:
    """False for the ways in which models write that there is nothing to say."""
    return not _NOTHING.fullmatch(words) and not is_unfilled_placeholder(words)


def is_unfilled_placeholder(words: str) -> bool:
    """True where a model copied the form instead of filling it in."""
    return bool(_PLACEHOLDER.fullmatch(words.strip()))


def read_list_field(value: object) -> list[object]:
    """The entries of a list; a single value is a list of one."""
    if value is None:
        return []
    return cast("list[object]", value) if isinstance(value, list) else [value]


def read_mapping_field(value: object) -> Fields:
    """An object's members, or none."""
    return cast("Fields", value) if isinstance(value, dict) else {}


def read_text_list_field(value: object) -> tuple[str, ...]:
    """The entries that say something."""
    return tuple(words for member in read_list_field(value) if has_reply_content(words := _words(member)))


def read_issues_field(value: object) -> tuple[Issue, ...]:
    """Open points. A plain string is an issue that nobody marked as blocking."""
    return tuple(
        Issue(
            words,
            id=read_line_field(fields.get("id")),
            blocking=str(fields.get("blocking")).lower() in ("true", "yes"),
            severity=read_line_field(fields.get("severity")),
            location=read_line_field(fields.get("location")),
        )
        for member in read_list_field(value)
        if has_reply_content(words := _words(member))
        for fields in (read_mapping_field(member),)
    )


def read_evidence_field(value: object) -> tuple[Evidence, ...]:
    """Facts with their sources, or bare ones."""
    return tuple(
        Evidence(words, read_line_field(read_mapping_field(member).get("source")))
        for member in read_list_field(value)
        if has_reply_content(words := _words(member))
    )


def read_prediction_field(block: Fields) -> str:
    """What a seat says will be seen if it is right, where it says so."""
    words = read_line_field(block.get("prediction"))
    return words if has_reply_content(words) else ""


def match_choice(value: object, choices: Sequence[str]) -> str:
    """The choice that was meant, spelled as it was offered; with no choices, the line itself."""
    if not choices:
        return read_line_field(value)
    words = _one_line(value)
    if words in choices:
        return words
    folded = {_folded(offered): offered for offered in reversed(choices)}
    bare = _folded(words)
    return folded.get(bare) or folded.get(_unlabelled(bare), "")


def match_leading_choice(words: str, choices: Iterable[str], *, named: bool = False) -> str:
    """The choice that a line of prose begins with, such as `[claude]: because …`.

    Where the choices are names, any word may follow; an id such as `A` must stand apart, for it is a word too.
    """
    after = _AFTER_NAME if named else _AFTER_CHOICE
    start = _unlabelled(words.lstrip(_AROUND_CHOICE))
    for offered in sorted(choices, key=len, reverse=True):
        if start[: len(offered)].casefold() == offered.casefold() and after.match(start, len(offered)):
            return offered
    return ""


def _words(member: object) -> str:
    """What an entry says. An object under unknown keys still says something: a lost issue is a false agreement."""
    if not isinstance(member, dict):
        return read_text_field(member)
    fields = read_mapping_field(cast("object", member))
    values = [*(fields.get(key) for key in _SPEAKING), *fields.values()]
    return next((words for value in values if (words := read_text_field(value))), "")


def _one_line(value: object) -> str:
    return "" if isinstance(value, TruncatedString) else " ".join(read_text_field(value).split())


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold().strip(_AROUND_CHOICE)


def _unlabelled(words: str) -> str:
    label = _LABEL.match(words)
    return words[label.end() :] if label else words
