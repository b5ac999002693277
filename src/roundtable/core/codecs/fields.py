"""Read single values of a block that a model wrote, believing nothing about their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import cast

from roundtable.core.codecs.relaxed import Cut, Fields
from roundtable.core.verdict import Evidence, Issue

_NOTHING = re.compile(r"\W*(?:no|none|n/?a|nothing|nobody|no one|null|nil)?\W*", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<[^<>]*>|\[(?:model|seat|reason|point|agent)\]", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,4}(?:\.\d{1,9})?)(?:\s*/\s*10)?", re.ASCII)
_LABEL = re.compile(r"(?:proposal|option|candidate|answer|position|seat)\s+", re.IGNORECASE)
_AFTER_CHOICE = re.compile(r"[\]*_`)]+(?!\w)|\s+[-–—=(]|\s*[:,.;|>](?!\w)|\s*$", re.MULTILINE)
_AFTER_NAME = re.compile(r"(?![\w-]|\.\w)")
_AROUND_CHOICE = " \t\r\n\"'“”‘’*_`[](){}@.,;:"

POSITION_LIMIT = 300


def tenths(value: object) -> float | None:
    """A number out of ten as a share of one, clamped; anything that is not a number is None."""
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(value / 10, 0.0), 1.0)


def text(value: object) -> str:
    """Words that may span lines; a placeholder that was never filled in is no words."""
    return "" if not isinstance(value, str) or _PLACEHOLDER.fullmatch(value.strip()) else value.strip()


def line(value: object, limit: int = POSITION_LIMIT) -> str:
    """Words on one line. A line that was cut off in the middle does not count."""
    return "" if isinstance(value, Cut) else " ".join(text(value).split())[:limit].rstrip()


def said(words: str) -> bool:
    """False for the ways in which models write that there is nothing to say."""
    return not _NOTHING.fullmatch(words) and not _PLACEHOLDER.fullmatch(words.strip())


def members(value: object) -> list[object]:
    """The entries of a list; a single value is a list of one."""
    if value is None:
        return []
    return cast("list[object]", value) if isinstance(value, list) else [value]


def mapping(value: object) -> Fields:
    """An object's members, or none."""
    return cast("Fields", value) if isinstance(value, dict) else {}


def texts(value: object, *keys: str) -> tuple[str, ...]:
    """The entries that say something; an object speaks through the first of the keys that it has."""
    return tuple(words for member in members(value) if said(words := _words(member, keys)))


def issues(value: object) -> tuple[Issue, ...]:
    """Open points. A plain string is an issue that nobody marked as blocking."""
    return tuple(
        Issue(
            words,
            id=line(fields.get("id")),
            blocking=str(fields.get("blocking")).lower() == "true",
            severity=line(fields.get("severity")),
            location=line(fields.get("location")),
        )
        for member in members(value)
        if said(words := _words(member, ("text", "issue")))
        for fields in (mapping(member),)
    )


def evidence(value: object) -> tuple[Evidence, ...]:
    """Facts with their sources, or bare ones."""
    return tuple(
        Evidence(words, line(mapping(member).get("source")))
        for member in members(value)
        if said(words := _words(member, ("text", "fact")))
    )


def choice(value: object, choices: Sequence[str]) -> str:
    """The choice that was meant, spelled as it was offered; with no choices, the line itself."""
    words = line(value)
    if not choices:
        return words
    for spelling in (words, bare := words.strip(_AROUND_CHOICE), _LABEL.sub("", bare, count=1)):
        if spelling in choices:
            return spelling
        folded = [offered for offered in choices if offered.casefold() == spelling.casefold()]
        if folded:
            return folded[0]
    return ""


def leading_choice(words: str, choices: Iterable[str], *, named: bool = False) -> str:
    """The choice that a line of prose begins with, such as `[claude]: because …`.

    Where the choices are names, any word may follow; an id such as `A` must stand apart, for it is a word too.
    """
    after = _AFTER_NAME if named else _AFTER_CHOICE
    start = words.lstrip(_AROUND_CHOICE)
    start = _LABEL.sub("", start, count=1) if _LABEL.match(start) else start
    for offered in sorted(choices, key=len, reverse=True):
        if start[: len(offered)].casefold() == offered.casefold() and after.match(start, len(offered)):
            return offered
    return ""


def _words(member: object, keys: Sequence[str]) -> str:
    if isinstance(member, dict):
        fields = mapping(cast("object", member))
        return next((words for key in keys if (words := text(fields.get(key)))), "")
    return text(member)
