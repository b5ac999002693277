"""Find tags and machine-readable blocks in a reply, ignoring quoted text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.replies.relaxed_json import FoundObject, find_reply_json_objects

_FENCE = re.compile(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})")
_QUOTE = re.compile(r"\s*(?:[-*+]\s+)?>")
_OPENING_FENCE = re.compile(r"(?:^|(?<=\n))[ \t]*+(?:`{3,}+|~{3,}+)[^\n`]*+\n\s*+\Z")
_FENCE_LINE = re.compile(r"^[ \t]*+(?:`{3,}|~{3,})", re.MULTILINE)
_CLOSING_FENCE = re.compile(r"\s*+(?:`{3,}|~{3,})[ \t]*(?=\n|\Z)")

# Possessive throughout, so that a line of ten thousand spaces costs ten thousand steps and not their square.
_SPACE = r"[ \t]*+"
_BULLETS = r"(?:(?:[-*+•]|\d{1,2}[.)]|\#{1,6})[ \t]++)*+"
_BOLD = r"(?:\*{1,3}|_{1,3})?+"
LINE_START = rf"^{_SPACE}{_BULLETS}{_BOLD}{_SPACE}"
"""The characters that may precede a tag on its line: white space, bullets, a heading, emphasis; no quotation mark."""


class TaggedSection(msgspec.Struct, frozen=True):
    """A tag and the text up to the next one."""

    tag: str
    body: str


def mask_reply_quotations(text: str) -> str:
    """The text with fences and block quotes replaced by spaces, so that positions stay."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        is_quoted = bool(fence or mark or _QUOTE.match(line))
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line[mark.end() :].strip() else fence
        elif mark:
            fence = mark[1]
        lines.append(" " * len(line) if is_quoted else line)
    return "\n".join(lines)


def find_tagged_reply_sections(text: str, tags: Sequence[str], *, bare: bool = False) -> list[TaggedSection]:
    """The tagged parts of a reply; with `bare`, a tag without a colon counts if it is alone on its line."""
    names = "|".join(re.escape(tag).replace("_", "[_ ]") for tag in tags)
    colon = rf"{_SPACE}{_BOLD}{_SPACE}[:：]{_SPACE}{_BOLD}"
    alone = rf"|{_BOLD}[.!]?{_BOLD}{_SPACE}$" if bare else ""
    pattern = re.compile(rf"{LINE_START}({names})(?:{colon}{alone})", re.IGNORECASE | re.MULTILINE)
    return [
        TaggedSection(match[1].upper().replace(" ", "_"), _drop_unpaired_emphasis(body))
        for match, body in split_reply_by_label(text, pattern)
    ]


def split_reply_by_label(text: str, label: re.Pattern[str]) -> list[tuple[re.Match[str], str]]:
    """Each unquoted label with the text up to the next one."""
    labels = list(label.finditer(mask_reply_quotations(text)))
    ends = [*(match.start() for match in labels), len(text)][1:]
    return [(match, text[match.end() : end].strip()) for match, end in zip(labels, ends, strict=True)]


def split_reply_list_items(body: str) -> tuple[str, ...]:
    """The items of a list: one per line, or separated by semicolons or bars on one line."""
    lines = [line for line in body.split("\n") if line.strip()]
    parts = re.split(r";\s|\s\|\s", body) if len(lines) == 1 else lines
    return tuple(stripped for part in parts if (stripped := re.sub(rf"^{_SPACE}{_BULLETS}", "", part).strip()))


def find_last_reply_json_object(text: str, keys: Sequence[str]) -> FoundObject | None:
    """The last complete object with all keys, or else the last truncated one."""
    matches = [candidate for candidate in _unquoted_json_objects(text) if all(key in candidate.value for key in keys)]
    return next(
        (candidate for candidate in reversed(matches) if not candidate.truncated), matches[-1] if matches else None
    )


def _unquoted_json_objects(text: str) -> Iterator[FoundObject]:
    """The objects of a text that are not in a block quote."""
    seen = 0
    is_quoted = _QUOTE.match(text) is not None
    for candidate in find_reply_json_objects(text):
        line = text.rfind("\n", seen, candidate.start) + 1
        if line:
            is_quoted = _QUOTE.match(text, line) is not None
        seen = candidate.start
        if not is_quoted:
            yield candidate


def remove_reply_json_block(text: str, block: FoundObject) -> str:
    """The words around a block, without its fence."""
    before, after = text[: block.start], text[block.end :]
    opening = _OPENING_FENCE.search(before)
    if opening and len(_FENCE_LINE.findall(before, 0, opening.start())) % 2 == 0:  # else it closes an earlier fence
        before = before[: opening.start()]
        closing = _CLOSING_FENCE.match(after)
        after = after[closing.end() :] if closing else after
    return "\n\n".join(part for part in (before.strip(), after.strip()) if part)


def _drop_unpaired_emphasis(body: str) -> str:
    """The text without an emphasis mark whose partner preceded the tag."""
    return body.replace("**", "", 1).strip() if body.count("**") % 2 else body
