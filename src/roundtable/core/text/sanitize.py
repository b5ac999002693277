"""Make text from outside safe to show: it cannot control a terminal and nothing in it is invisible."""

from __future__ import annotations

import json
import re
import unicodedata

_SEQUENCES = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]              # CSI: colours, cursor, erasing
    |(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,4096}(?:\x07|\x1b\\|\x9c)  # OSC, DCS
    |\x1b[ -/]{0,4}[0-~]                                             # the short ones
    """,
    re.VERBOSE,
)
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # terminal controls
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction marks, zero-width spaces
    "\U000e0000-\U000e007f]"  # tag characters
)
_INVISIBLE_IN_JSON = re.compile(f"{_INVISIBLE.pattern}|[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_INVISIBLE_LETTERS = re.compile(  # characters classed as letters that are invisible
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def sanitize_text(text: str) -> str:
    """The text without control characters, escape sequences and direction overrides; tabs and line breaks stay.

    The joiners of emoji and of some scripts (U+200C, U+200D) are part of words and stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text))


def sanitize_line(text: str, most: int = 0) -> str:
    """The sanitized text on one line, cut to `most` characters if that is not 0."""
    text = " ".join(sanitize_text(text).split())
    return text if not most or len(text) <= most else text[: most - 1].rstrip() + "…"


def reveal_hidden_characters(line: str) -> str:
    """A line of code with every control or invisible character spelled out, so that a reviewer sees it."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(letter.encode("unicode_escape").decode() if _is_hidden(letter) else letter for letter in line)


def _is_hidden(letter: str) -> bool:
    """Whether a character is invisible or looks like a space that it is not."""
    if letter in " \t":
        return False
    return unicodedata.category(letter) in _HIDDEN_KINDS or _INVISIBLE_LETTERS.match(letter) is not None


def is_file_name_letter(letter: str) -> bool:
    """Whether a character is a letter, mark or digit of any script, which every file system accepts."""
    return unicodedata.category(letter)[0] in "LMN"


def escape_hidden_characters_in_json(data: bytes) -> bytes:
    """A JSON document whose control and direction characters are escaped, so that it is safe at a terminal."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _INVISIBLE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], data.decode()).encode()


def replace_surrogates_in_text(text: str) -> str:
    """Replace lone surrogates, which come from unusual file names and cannot be sent."""
    return text if text.isascii() else text.encode(errors="replace").decode()
