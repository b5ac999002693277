"""Text from outside, made safe to show: no terminal can be driven by it and nothing in it stays hidden."""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]                        # CSI: colours, cursor, erasing
    |(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)  # OSC, DCS and the like
    |\x1b[ -/]{0,4}[0-~]                                             # the short ones
    """,
    re.VERBOSE,
)
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls of terminals
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # order of reading, spaces without width
    "\U000e0000-\U000e007f]"  # letters that nobody sees
)
_HALVES = re.compile("[\ud800-\udfff]")
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_FILLERS = re.compile(  # letters by their kind, of which nothing is seen all the same
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def sanitize_text(text: str) -> str:
    """The text without control characters, escape sequences and marks that turn its order round; tabs and lines stay.

    The joiners of emoji and of some scripts (U+200C, U+200D) are letters there and stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return _HALVES.sub("\ufffd", _UNSEEN.sub("", text))


def sanitize_line(text: str, most: int = 0) -> str:
    """The same on one line, for headings and table cells; longer than `most` characters, it is cut."""
    text = " ".join(sanitize_text(text).split())
    return text if not most or len(text) <= most else text[: most - 1].rstrip() + "…"


def reveal_hidden_characters(line: str) -> str:
    """One line of code with whatever a terminal would obey or hide written out, so that one sees what one approves."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(it.encode("unicode_escape").decode() if _is_hidden(it) else it for it in line)


def _is_hidden(letter: str) -> bool:
    """Whether a letter shows as nothing, or as a blank that it is not; a tab is seen for what it is."""
    if letter in " \t":
        return False
    return unicodedata.category(letter) in _HIDDEN_KINDS or _FILLERS.match(letter) is not None
