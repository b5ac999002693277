"""What a model thinks aloud before it answers is not its answer: drafts and votes in it are nobody's."""

from __future__ import annotations

import re

from roundtable.core.replies.tags import masked

_NEXT = re.compile(r"(?:\A\s*|^)<(think(?:ing)?)>|^[ \t]*(?:`{3}|~{3})", re.IGNORECASE | re.MULTILINE)
"""Where thoughts open, or the first fence: what stands in a file is never taken for a thought."""
_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OPENED_BEFORE = re.compile(r"^</think(?:ing)?>[ \t]*$", re.IGNORECASE | re.MULTILINE)


def without_thoughts(reply: str) -> str:
    """The reply without what stands between `<think>` and `</think>`; what is never closed is all thought.

    Some models are already thinking when they begin to speak, so that only the end is marked.
    """
    said: list[str] = []
    at = _own_start(reply)
    while (mark := _NEXT.search(reply, at)) and mark[1]:
        said.append(reply[at : mark.start()])
        closing = _CLOSING.search(reply, mark.end())
        at = closing.end() if closing else len(reply)
    return "".join((*said, reply[at:]))


def _own_start(reply: str) -> int:
    """Where the answer begins, if thoughts end without ever having been opened."""
    shown = masked(reply)
    end = _OPENED_BEFORE.search(shown)
    return end.end() if end and not _OPENING.search(shown, 0, end.start()) else 0
