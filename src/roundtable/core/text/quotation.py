"""Somebody else's words inside our Markdown, so that they cannot pass for our own structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from roundtable.core.text.sanitize import sanitize_line, sanitize_text

_ACTIVE = re.compile(r"(?<!\\)(?P<pairs>(?:\\\\)*)(?P<mark><(?=[A-Za-z/!?])|(?<=!)\[)")
_INLINE = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])")
_FENCE = re.compile(r"^(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")


def quote_markdown(text: str) -> str:
    """A block quote: headings and rules stay inside it, tags are shown and pictures are not fetched."""
    text = sanitize_text(text).strip("\n")
    if not text.strip():
        return "> *(nothing)*"
    return "\n".join(f"> {line}".rstrip() for line in _inert(text).split("\n"))


def escape_markdown_line(text: str, most: int = 0) -> str:
    """One line in the middle of ours, with every mark of Markdown taken literally."""
    return _INLINE.sub(r"\\\g<0>", sanitize_line(text, most))


def render_markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], figures: int = 0) -> str:
    """A table of cells that are inline already; its last so many columns are `figures`."""
    marks = ("---",) * (len(head) - figures) + ("--:",) * figures
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def _inert(text: str) -> str:
    """Escape tags and pictures, except in code blocks where an escape would be seen."""
    if not _plainly_fenced(text):
        return _escaped(text)
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        lines.append(line if fence or found else _escaped(line))
        if found and not fence:
            fence = found["marks"]
        elif found and found["marks"].startswith(fence) and not found["info"].strip():
            fence = ""
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """A mark after an odd number of backslashes is escaped already; one more would set it free."""
    return _ACTIVE.sub(r"\g<pairs>\\\g<mark>", text)


def _plainly_fenced(text: str) -> bool:
    """Whether every fence stands at the start of its line: in lists and quotes where one ends is anybody's guess."""
    return all(_FENCE.match(line) for line in text.split("\n") if "```" in line or "~~~" in line)
