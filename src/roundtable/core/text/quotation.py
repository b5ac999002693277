"""Quote other people's words in Markdown so that they cannot pass for our own structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from roundtable.core.text.sanitize import sanitize_line, sanitize_text

_ACTIVE = re.compile(r"(?<!\\)(?P<pairs>(?:\\\\)*)(?P<mark><(?=[A-Za-z/!?])|(?<=!)\[)")
_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])")
_NO_MARKUP = str.maketrans({'"': "'", "<": "(", ">": ")"})
"""A file can have any name, which must not close the tag it is written into."""
_TAGS = ("answer", "check", "context", "memory", "note", "question", "turn", "instructions")
"""The tags around other people's words in a prompt."""
_FILE_TAG = "context"
"""The tag of quoted files, which must stay as they are as far as possible: seats repeat their lines in edits."""
_GAP = r"[\s\u200b-\u200f\u2060\ufeff]"
_ANY_TAG = f"(?:{'|'.join(_TAGS)})"
_SENDER = rf"{_GAP}[^<>]{{0,200}}?\b(?:from|by){_GAP}{{0,80}}+[=＝]"


def _tags_to_escape(tag: str) -> re.Pattern[str]:
    """Match tags that close a fence of this tag or open any fence; outside files also all other tags of a prompt."""
    in_file = tag == _FILE_TAG
    closing = rf"[/／]{_GAP}{{0,80}}+{tag if in_file else _ANY_TAG}(?![\w.:-])"
    opening = _SENDER if in_file else rf"(?:{_SENDER}|{_GAP}{{0,80}}+[>＞﹥])"
    return re.compile(rf"(?P<mark>[<＜﹤]{_GAP}{{0,80}}+)(?={closing}|{_ANY_TAG}{opening})", re.IGNORECASE)


_FENCE_TAGS = {tag: _tags_to_escape(tag) for tag in _TAGS}
_FENCE = re.compile(r"^(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")


def quote_markdown(text: str) -> str:
    """The text as a block quote: headings stay inside it, HTML tags are shown, and images are not loaded."""
    text = sanitize_text(text).strip("\n")
    if not text.strip():
        return "> *(nothing)*"
    return "\n".join(f"> {line}".rstrip() for line in _escape_outside_code(text).split("\n"))


def escape_markdown_line(text: str, most: int = 0) -> str:
    """The text on one line, with every Markdown character escaped."""
    return _INLINE.sub(r"\\\g<0>", sanitize_line(text, most))


def markdown_table_text(head: Sequence[str], rows: Iterable[Sequence[str]], figures: int = 0) -> str:
    """A table of escaped cells; the last `figures` columns hold numbers."""
    marks = ("---",) * (len(head) - figures) + ("--:",) * figures
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def _escape_outside_code(text: str) -> str:
    """Escape tags and images, except in code blocks where the escape would be visible."""
    if not _has_plain_fences(text):
        return _escape_active_marks(text)
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        lines.append(line if fence or mark else _escape_active_marks(line))
        if mark and not fence:
            fence = mark["marks"]
        elif mark and mark["marks"].startswith(fence) and not mark["info"].strip():
            fence = ""
    return "\n".join(lines)


def _escape_active_marks(text: str) -> str:
    """Escape a mark unless it is escaped already: after an odd number of backslashes one more would undo the escape."""
    return _ACTIVE.sub(r"\g<pairs>\\\g<mark>", text)


def _has_plain_fences(text: str) -> bool:
    """Whether every fence starts its line: inside lists and quotes the end of a fence is ambiguous."""
    return all(_FENCE.match(line) for line in text.split("\n") if "```" in line or "~~~" in line)


def escape_prompt_tags(text: str, tag: str = "turn") -> str:
    """The text with a backslash in everything that looks like a tag of a prompt, to be quoted inside `tag`."""
    return _FENCE_TAGS[tag].sub(r"\g<mark>\\", text)


def fence_untrusted_text(tag: str, name: str, text: str) -> str:
    """Fence text of others, so that it cannot pass for instructions, close its fence or open another.

    In a file, only what looks like a fence of a prompt is escaped.
    """
    source = sanitize_line(name, 200).translate(_NO_MARKUP)
    return f'<{tag} from="{source}">\n{escape_prompt_tags(text, tag)}\n</{tag}>'
