"""Hear a seat's prose while its JSON is still being written.

What a model thinks aloud before it answers is not its answer: drafts and votes in it are nobody's.

Plain speech: nothing is read into it.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from roundtable.core.replies.codec import Codec, ReadReply
from roundtable.core.replies.tags import mask_quoted_text
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LOST = "\ufffd"


class ProseStream:
    """Decodes one string field of a streamed object piece by piece; with no field, pieces pass through."""

    def __init__(self, field: str) -> None:
        self._listener = _listen(field) if field else None
        if self._listener:
            next(self._listener)

    def feed(self, piece: str) -> str:
        """The prose that this piece adds."""
        return "".join(map(self._listener.send, piece)) if self._listener else piece


# Each of these generators is sent one character at a time and yields the prose that it completed.


def _listen(field: str) -> Generator[str, str, None]:
    depth, key, after_colon, said = 0, "", False, ""
    while True:
        char = yield said
        said = ""
        if char == '"' and depth:
            is_value = depth > 1 or after_colon
            text, said = yield from _string(aloud=depth == 1 and is_value and key == field)
            key = key if is_value else text
        elif char == "{" or (char == "[" and depth):
            depth += 1
        elif char in "}]" and depth:
            depth -= 1
        elif char in ":," and depth == 1:
            after_colon = char == ":"


def _string(*, aloud: bool) -> Generator[str, str, tuple[str, str]]:
    """Returns the whole string, and what of it could not be said before its closing quote."""
    text, said, high = "", "", 0
    while (char := (yield said if aloud else "")) != '"':
        decoded = (yield from _escape()) if char == "\\" else char
        point = ord(decoded)
        if high and 0xDC00 <= point < 0xE000:
            said, high = chr(0x10000 + ((high & 0x3FF) << 10) + (point & 0x3FF)), 0
        else:
            # Half of a pair without the other half cannot be written down anywhere.
            said, high = _LOST if high else "", 0
            if 0xD800 <= point < 0xDC00:
                high = point
            else:
                said += _LOST if 0xDC00 <= point < 0xE000 else decoded
        text += said
    rest = _LOST if high else ""
    return text + rest, rest if aloud else ""


def _escape() -> Generator[str, str, str]:
    char = yield ""
    if char != "u":
        return _ESCAPED.get(char, char)
    digits = ""
    while len(digits) < 4:
        digits += yield ""
    try:
        return chr(int(digits, 16))
    except ValueError:
        return _LOST


_NEXT = re.compile(r"(?:\A\s*|^)<(think(?:ing)?)>|^[ \t]*(?:`{3}|~{3})", re.IGNORECASE | re.MULTILINE)
"""Where thoughts open, or the first fence: what stands in a file is never taken for a thought."""
_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OPENED_BEFORE = re.compile(r"^</think(?:ing)?>[ \t]*$", re.IGNORECASE | re.MULTILINE)


def strip_thoughts(reply: str) -> str:
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
    shown = mask_quoted_text(reply)
    end = _OPENED_BEFORE.search(shown)
    return end.end() if end and not _OPENING.search(shown, 0, end.start()) else 0


def _read(reply: str, expect: Expect) -> ReadReply:
    return ReadReply(reply.strip(), Verdict())


FREE_CODEC = Codec("free", read_text=_read, text_format=lambda expect: "")
