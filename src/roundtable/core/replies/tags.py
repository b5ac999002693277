"""Where a reply speaks for itself: tags at the start of a line, machine blocks, and what is only quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.replies.relaxed_json import FoundObject, find_json_objects

_FENCE = re.compile(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")
_QUOTE = re.compile(r"\s*(?:[-*+]\s+)?>")
_OPENING_FENCE = re.compile(r"(?:^|(?<=\n))[ \t]*(?:`{3,}|~{3,})[^\n`]*\n\s*\Z")
_CLOSING_FENCE = re.compile(r"\s*+(?:`{3,}|~{3,})[ \t]*(?=\n|\Z)")

# Possessive throughout, so that a line of ten thousand spaces costs ten thousand steps and not their square.
_SPACE = r"[ \t]*+"
_BULLETS = r"(?:(?:[-*+•]|\d{1,2}[.)]|\#{1,6})[ \t]++)*+"
_BOLD = r"(?:\*{1,3}|_{1,3})?+"
LINE_START = rf"^{_SPACE}{_BULLETS}{_BOLD}{_SPACE}"
"""What may stand before a tag on its line: white space, bullets, a heading, emphasis. No quotation mark."""


class TaggedSection(msgspec.Struct, frozen=True):
    """A tag and the words up to the next one."""

    tag: str
    body: str


def mask_quoted_text(text: str) -> str:
    """The text with code fences and block quotes blanked out, every character still at its place."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        hidden = bool(fence or mark or _QUOTE.match(line))
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line[mark.end() :].strip() else fence
        elif mark:
            fence = mark[1]
        lines.append(" " * len(line) if hidden else line)
    return "\n".join(lines)


def find_tagged_sections(text: str, tags: Sequence[str], *, bare: bool = False) -> list[TaggedSection]:
    """The tagged parts of a reply; with `bare`, a tag may also stand alone on its line."""
    names = "|".join(re.escape(tag).replace("_", "[_ ]") for tag in tags)
    colon = rf"{_SPACE}{_BOLD}{_SPACE}[:：]{_SPACE}{_BOLD}"
    alone = rf"|{_BOLD}[.!]?{_BOLD}{_SPACE}$" if bare else ""
    pattern = re.compile(rf"{LINE_START}({names})(?:{colon}{alone})", re.IGNORECASE | re.MULTILINE)
    return [
        TaggedSection(match[1].upper().replace(" ", "_"), _balanced(body))
        for match, body in split_by_label(text, pattern)
    ]


def split_by_label(text: str, label: re.Pattern[str]) -> list[tuple[re.Match[str], str]]:
    """Each label that is not merely quoted, and what stands between it and the next one."""
    found = list(label.finditer(mask_quoted_text(text)))
    ends = [*(match.start() for match in found), len(text)][1:]
    return [(match, text[match.end() : end].strip()) for match, end in zip(found, ends, strict=True)]


def split_list_items(body: str) -> tuple[str, ...]:
    """The entries of a list: one per line, or separated by semicolons or bars on a single line."""
    lines = [line for line in body.split("\n") if line.strip()]
    parts = re.split(r";\s|\s\|\s", body) if len(lines) == 1 else lines
    return tuple(stripped for part in parts if (stripped := re.sub(rf"^{_SPACE}{_BULLETS}", "", part).strip()))


def find_last_json_object(text: str, keys: Sequence[str]) -> FoundObject | None:
    """The last complete object that has all the keys, or else the last one that the end cut off."""
    fitting = [
        found for found in find_json_objects(text) if found.value.keys() >= set(keys) and not _quoted(text, found.start)
    ]
    return next((found for found in reversed(fitting) if not found.truncated), fitting[-1] if fitting else None)


def remove_json_block(text: str, block: FoundObject) -> str:
    """The words around a machine block, without its fence."""
    before, after = text[: block.start], text[block.end :]
    if opening := _OPENING_FENCE.search(before):
        before = before[: opening.start()]
        closing = _CLOSING_FENCE.match(after)
        after = after[closing.end() :] if closing else after
    return "\n\n".join(part for part in (before.strip(), after.strip()) if part)


def _quoted(text: str, at: int) -> bool:
    return bool(_QUOTE.match(text, text.rfind("\n", 0, at) + 1, at))


def _balanced(body: str) -> str:
    """Drop the emphasis mark whose partner stood before the tag."""
    return body.replace("**", "", 1).strip() if body.count("**") % 2 else body
