"""Prose in a reply: extract it from JSON while it is being streamed, remove thoughts, and read it as it is."""

from __future__ import annotations

import re
from collections.abc import Generator

from roundtable.core.replies.codec import Codec, ReadReply
from roundtable.core.replies.tags import mask_reply_quotations
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_REPLACEMENT = "\ufffd"


class ProseStream:
    """Decodes one string field of a streamed JSON object; without a field, text passes through."""

    def __init__(self, field: str) -> None:
        self._listener = _listen_to_field(field) if field else None
        if self._listener:
            next(self._listener)

    def feed(self, piece: str) -> str:
        """The prose that this piece adds."""
        return "".join(map(self._listener.send, piece)) if self._listener else piece


# Each of these generators is sent one character at a time and yields the prose that it completed.


def _listen_to_field(field: str) -> Generator[str, str, None]:
    depth, key, after_colon, prose = 0, "", False, ""
    while True:
        char = yield prose
        prose = ""
        if char == '"' and depth:
            is_value = depth > 1 or after_colon
            text, prose = yield from _string(aloud=depth == 1 and is_value and key == field)
            key = key if is_value else text
        elif char == "{" or (char == "[" and depth):
            depth += 1
        elif char in "}]" and depth:
            depth -= 1
        elif char in ":," and depth == 1:
            after_colon = char == ":"


def _string(*, aloud: bool) -> Generator[str, str, tuple[str, str]]:
    """Read a string; return it and the part that could not be shown before its closing quote."""
    text, prose, high = "", "", 0
    while (char := (yield prose if aloud else "")) != '"':
        decoded = (yield from _escape()) if char == "\\" else char
        point = ord(decoded)
        if high and 0xDC00 <= point < 0xE000:
            prose, high = chr(0x10000 + ((high & 0x3FF) << 10) + (point & 0x3FF)), 0
        else:
            # A lone surrogate cannot be encoded.
            prose, high = _REPLACEMENT if high else "", 0
            if 0xD800 <= point < 0xDC00:
                high = point
            else:
                prose += _REPLACEMENT if 0xDC00 <= point < 0xE000 else decoded
        text += prose
    remainder = _REPLACEMENT if high else ""
    return text + remainder, remainder if aloud else ""


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
        return _REPLACEMENT


_THOUGHT_OR_FENCE = re.compile(r"(?:\A\s*|^)<(think(?:ing)?)>|^[ \t]*(?:`{3}|~{3})", re.IGNORECASE | re.MULTILINE)
"""The start of thoughts or of a fence: the content of files is never taken for a thought."""
_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OPENED_BEFORE = re.compile(r"^</think(?:ing)?>[ \t]*$", re.IGNORECASE | re.MULTILINE)


def strip_reply_thoughts(reply: str) -> str:
    """The reply without text between `<think>` and `</think>`; unclosed thoughts reach to the end.

    Some models only write the closing tag.
    """
    parts: list[str] = []
    position = _answer_start(reply)
    while (mark := _THOUGHT_OR_FENCE.search(reply, position)) and mark[1]:
        parts.append(reply[position : mark.start()])
        closing = _CLOSING.search(reply, mark.end())
        position = closing.end() if closing else len(reply)
    return "".join((*parts, reply[position:]))


def _answer_start(reply: str) -> int:
    """The start of the answer if thoughts end without having been opened."""
    unquoted = mask_reply_quotations(reply)
    end = _OPENED_BEFORE.search(unquoted)
    return end.end() if end and not _OPENING.search(unquoted, 0, end.start()) else 0


def _read(reply: str, expect: Expect) -> ReadReply:
    return ReadReply(reply.strip(), Verdict())


FREE_CODEC = Codec("free", read_text=_read, text_format=lambda expect: "")
