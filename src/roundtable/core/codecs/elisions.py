"""Lines that stand for others which somebody did not want to write out."""

from __future__ import annotations

import re

_OPENING = re.compile(r"[ \t]*(?:#|//|--|;|%|/\*|<!--|\{/\*|\(|\[)*[ \t]*")
_CLOSING = re.compile(r"[ \t]*(?:\*/\}?|-->|\)|\])*[ \t]*$")
_DOTS = re.compile(r"(?:\.{3,}|…)[ \t]*")
_AFTER_DOTS = re.compile(
    r"\(?(?:the[ \t]+|your[ \t]+)?"
    r"(?:rest|remaining|existing|other|previous|same|unchanged|omitted|more|as[ \t]before)\b.*",
    re.I,
)
_WORDS = re.compile(
    r"(?:the[ \t]+)?(?:"
    r"(?:rest|remainder)[ \t]+of[ \t]+(?:(?:the|your|this)[ \t]+)?(?:[\w-]+[ \t]+){0,2}"
    r"(?:file|code|class|function|method|module|implementation|tests?)\b.*"
    r"|(?:existing|previous|remaining|unchanged|other)[ \t]+"
    r"(?:code|functions?|methods?|tests?|imports?|lines|content)\b[^=(]*"
    r"(?:\.{3}|…|unchanged|here|same|omitted|remains?\b).*"
    r"|unchanged|no[ \t]changes|same[ \t]as[ \t](?:before|above)"
    r")[ \t]*(?:\.{3,}|…)?",
    re.I,
)


def is_elision(line: str) -> bool:
    """Whether a line is a remark such as `# ... rest unchanged`; a bare `...` is Python, a remark of dots is not."""
    opening = _OPENING.match(line)
    assert opening is not None
    inner = _CLOSING.sub("", line[opening.end() :], count=1)
    remark = bool(opening[0].strip())
    if dots := _DOTS.match(inner):
        rest = inner[dots.end() :]
        return _AFTER_DOTS.fullmatch(rest) is not None if rest else remark
    return remark and _WORDS.fullmatch(inner) is not None
