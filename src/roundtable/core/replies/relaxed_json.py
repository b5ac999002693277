"""A small parser for JSON with common mistakes. It repairs the grammar but never changes text inside strings."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import msgspec

JsonFields = dict[str, object]

_MAX_DEPTH = 16
_STEPS_PER_CHARACTER = 8
_MOST_OBJECTS = 10_000
"""Most opening braces that are tried; no answer has as many."""
_MOST_VALUES = 50_000
"""Most values that are read, in lists and objects together."""

_CLOSERS = {'"': '"', "'": "'", "“": "“”", "”": "“”", "„": "“”", "‘": "‘’", "’": "‘’"}
_CLOSER_OR_ESCAPE = {opener: re.compile(rf"\\.|[{closers}]", re.DOTALL) for opener, closers in _CLOSERS.items()}
_MAY_FOLLOW_STRING = re.compile(r"\s*(?:[,:}\]]|//|/\*|```|\Z)")
_QUOTED_KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[“”„][^“”\n]*[“”]|[‘’][^‘’\n]*[‘’]')
_BARE_KEY = re.compile(r"[^\W\d][\w-]*")
_GAP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_STRICT_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w.])", re.ASCII)
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_REPAIRED_WORDS: dict[str, object] = {"True": True, "False": False, "None": None, "NaN": math.nan}
_ESCAPE = re.compile(
    r"\\u[dD][89abAB]([0-9a-fA-F]{2})\\u[dD][c-fC-F]([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}
_CONTROL = re.compile(r"[\x00-\x1f]")


class TruncatedString(str):
    """A string that was cut off: it may be shown but not counted."""

    __slots__ = ()


class FoundObject(msgspec.Struct, frozen=True):
    """An object found in a text, with whether it was repaired or truncated."""

    value: JsonFields
    start: int
    end: int
    repaired: bool
    truncated: bool


def find_reply_json_objects(text: str) -> list[FoundObject]:
    """Every outermost object of a text in order, truncated ones included.

    None at all for a text that takes too many steps: an answer must not be read without what follows it.
    """
    found: list[FoundObject] = []
    read = _ReadObjects()
    effort = _STEPS_PER_CHARACTER * len(text)
    tried = 0
    start = text.find("{")
    while start >= 0:
        reader = _Reader(text, start, read)
        resume = start + 1
        try:
            value = reader.object(0)
        except _TooManyError:
            return []
        except _TooDeepError:
            resume = reader.at
        except _UnreadableError:
            pass
        else:
            found.append(FoundObject(value, start, reader.at, reader.repaired, reader.truncated))
            if not reader.truncated:
                resume = reader.at
        effort -= reader.at - start
        tried += 1
        if effort < 0 or tried > _MOST_OBJECTS:
            return []
        start = text.find("{", resume)
    return found


class _UnreadableError(Exception):
    """The text is not JSON, even with repairs."""


class _TooDeepError(_UnreadableError):
    """Objects and lists are nested too deeply to be an answer."""


class _TooManyError(_UnreadableError):
    """The text has more values than an answer."""


class _ReadObject(NamedTuple):
    """An object that was read to its end; `height` is how deeply it nests others."""

    value: JsonFields
    end: int
    repaired: bool
    height: int


class _ReadObjects:
    """The objects of a text that were already read, by their start, so that none is read twice."""

    def __init__(self) -> None:
        self.whole: dict[int, _ReadObject] = {}
        self.unreadable: set[int] = set()
        self.values = 0


class _Missing:
    """A value of which too little remains at the end of the text."""


_MISSING = _Missing()


class _Reader:
    """A recursive descent parser in which every rule may meet the end of the text."""

    def __init__(self, text: str, at: int, read: _ReadObjects) -> None:
        self.text = text
        self.at = at
        self.repaired = False
        self.truncated = False
        self._read = read
        self._deepest = 0

    def object(self, depth: int) -> JsonFields:
        """An object, without a last member that was cut off."""
        begin = self.at
        known = self._read.whole.get(begin)
        if known is not None and depth + known.height <= _MAX_DEPTH:
            self.at = known.end
            self.repaired |= known.repaired
            self._deepest = max(self._deepest, depth + known.height)
            return known.value
        if begin in self._read.unreadable:
            raise _UnreadableError
        outside, self.repaired = (self.repaired, self._deepest), False
        self._deepest = depth
        try:
            fields = self._members(depth)
        except (_TooDeepError, _TooManyError):
            raise
        except _UnreadableError:
            self._read.unreadable.add(begin)
            raise
        if not self.truncated:
            self._read.whole[begin] = _ReadObject(fields, self.at, self.repaired, self._deepest - depth)
        self.repaired |= outside[0]
        self._deepest = max(self._deepest, outside[1])
        return fields

    def _members(self, depth: int) -> JsonFields:
        fields: JsonFields = {}
        self.at += 1
        while not self._closes("}"):
            key = self._key()
            if self._ended():
                break
            self._take(":")
            value = self._value(depth + 1)
            if not isinstance(value, _Missing):
                fields[key] = value
            self._separate("}")
        return fields

    def _array(self, depth: int) -> list[object]:
        items: list[object] = []
        self.at += 1
        while not self._closes("]"):
            value = self._value(depth + 1)
            if not isinstance(value, _Missing):
                items.append(value)
            self._separate("]")
        return items

    def _value(self, depth: int) -> object:
        if depth > _MAX_DEPTH:
            raise _TooDeepError
        self._read.values += 1
        if self._read.values > _MOST_VALUES:
            raise _TooManyError
        self._deepest = max(self._deepest, depth)
        if self._ended():
            return _MISSING
        opener = self.text[self.at]
        if opener in _CLOSERS:
            return self._string(opener)
        if opener in "{[":
            value = self.object(depth) if opener == "{" else self._array(depth)
            return _MISSING if self.truncated and not value else value
        return self._scalar()

    def _scalar(self) -> object:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            # A number that touches the end may have lost digits: 1 of 10 is not 1.
            if self._ended():
                return _MISSING
            self.repaired |= not _STRICT_NUMBER.fullmatch(number[0])
            return int(number[0]) if number[0].isdigit() and len(number[0]) < 16 else float(number[0])
        word = _WORD.match(self.text, self.at)
        if not word:
            raise _UnreadableError
        self.at = word.end()
        if word[0] in _WORDS:
            return _WORDS[word[0]]
        self.repaired = True
        if word[0] in _REPAIRED_WORDS:
            return _REPAIRED_WORDS[word[0]]
        if self._ended():
            return _MISSING
        raise _UnreadableError

    def _string(self, opener: str) -> str:
        """A string; a quote ends it only where a string may end, so `it's` needs no escaping."""
        begin = self.at + 1
        self.repaired |= opener != '"'
        for match in _CLOSER_OR_ESCAPE[opener].finditer(self.text, begin):
            if match[0][0] == "\\":
                continue
            if _MAY_FOLLOW_STRING.match(self.text, match.end()):
                self.at = match.end()
                return self._decode(self.text[begin : match.start()])
            self.repaired = True
        self.at = len(self.text)
        self.truncated = self.repaired = True
        return TruncatedString(self._decode(self.text[begin:].rstrip().removesuffix("```").rstrip()))

    def _key(self) -> str:
        if quoted := _QUOTED_KEY.match(self.text, self.at):
            self.at = quoted.end()
            self.repaired |= quoted[0][0] != '"'
            return self._decode(quoted[0][1:-1])
        if bare := _BARE_KEY.match(self.text, self.at):
            self.at = bare.end()
            self.repaired = True
            return bare[0]
        if self.text[self.at] in _CLOSERS and self.text.find("\n", self.at) < 0:
            self.at = len(self.text)  # The text ends in the middle of a key.
            return ""
        raise _UnreadableError

    def _decode(self, raw: str) -> str:
        if _CONTROL.search(raw):
            self.repaired = True
        return _ESCAPE.sub(self._unescape, raw) if "\\" in raw else raw

    def _unescape(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            code = (int(match[0][3:6], 16) & 0x3FF, int(match[0][9:12], 16) & 0x3FF)
            return chr(0x10000 + (code[0] << 10) + code[1])
        if match[3] is not None:
            point = int(match[3], 16)
            return "\ufffd" if 0xD800 <= point < 0xE000 else chr(point)
        if match[4] in _ESCAPED:
            return _ESCAPED[match[4]]
        self.repaired = True
        return match[4] if match[4] in _CLOSERS else match[0]

    def _closes(self, closer: str) -> bool:
        if self._ended():
            return True
        if self.text[self.at] == closer:
            self.at += 1
            return True
        return False

    def _separate(self, closer: str) -> None:
        if self._ended() or self.text[self.at] == closer:
            return
        self._take(",")
        if not self._ended() and self.text[self.at] == closer:
            self.repaired = True

    def _take(self, mark: str) -> None:
        if self.text[self.at] != mark:
            raise _UnreadableError
        self.at += 1

    def _ended(self) -> bool:
        """Skip white space and comments; the end of the text or of a code fence ends every rule."""
        gap = _GAP.match(self.text, self.at)
        if gap and gap.end() > self.at:
            self.repaired |= "/" in gap[0]
            self.at = gap.end()
        if self.at >= len(self.text) or self.text.startswith("```", self.at):
            self.truncated = self.repaired = True
            return True
        return False
