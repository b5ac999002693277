"""Quote other people's words in Markdown so that they cannot pass for our own structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from roundtable.core.text.sanitize import sanitize_line, sanitize_text

_ACTIVE = re.compile(r"(?<!\\)(?P<pairs>(?:\\\\)*)(?P<mark><(?=[A-Za-z/!?])|(?<=!)\[)")
_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])")
_NO_MARKUP = str.maketrans({'"': "'", "<": "(", ">": ")"})
"""A file can have any name, which must not close the tag it is written into."""
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


def fence_untrusted_text(tag: str, name: str, text: str) -> str:
    """Fence text of others, so that it cannot pass for instructions, close its fence or open another."""
    inside = re.sub(rf"<(\s*)(?=/\s*{tag}|{tag}\s+from\s*=)", r"<\1\\", text, flags=re.IGNORECASE)
    source = sanitize_line(name, 200).translate(_NO_MARKUP)
    return f'<{tag} from="{source}">\n{inside}\n</{tag}>'
