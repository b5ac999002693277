"""Hear a seat's prose while its JSON is still being written."""

from __future__ import annotations

from collections.abc import Generator

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LOST = "\ufffd"


class Speech:
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
