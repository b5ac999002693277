"""Lines that stand for others which somebody did not want to write out."""

from __future__ import annotations

import re

_OPENING = re.compile(r"[ \t]*(?:(?:#|//|--|;|%|/\*|<!--|\{/\*|\(|\[)[ \t]*)*")
_OPENING_IN_PROSE = re.compile(r"[ \t]*(?:(?:<!--|\{/\*|\(|\[)[ \t]*)*")
_PROSE = (".md", ".mdx", ".markdown", ".rst")
"""Files in which `#` opens a heading and no remark."""
_CLOSING = re.compile(r"[ \t]*(?:(?:\*/\}?|-->|\)|\])[ \t]*)*$")
_DOTS = re.compile(r"(?:\.{3,}|…)[ \t]*")
_AFTER_DOTS = re.compile(
    r"\(?(?:the[ \t]+|your[ \t]+)?"
    r"(?:rest|remaining|existing|other|previous|same|unchanged|omitted|more|as[ \t]before)\b.*",
    re.I,
)
_AFTER_CODE = re.compile(r"(?:the[ \t]+|your[ \t]+)?(?:(?:existing|unchanged|omitted|as[ \t]before)\b.*|rest)", re.I)
_CODE = r"code|functions?|methods?|tests?|imports?|lines|content|class(?:es)?|file|module|implementations?|definitions?"
_THING = rf"(?:{_CODE}|logic|helpers|routes|handlers|styles|rules|fields)\b"
_STAYS = (
    r"(?:[ \t]+(?:remains?|stays?|is|are|goes|go|kept|left|exactly))*[ \t]*"
    r"(?:unchanged|here|omitted|(?:the[ \t]+)?same|as[ \t]+(?:before|is|they[ \t]+(?:are|were)|it[ \t]+(?:is|was))"
    r"|\.{3}|…)(?!\w)(?:[ \t]+(?:as[ \t]before|for[ \t]brevity|below|above))?"
)
_WORDS = re.compile(
    r"(?:(?:the|your|all|keep)[ \t]+)*(?:"
    r"(?:rest|remainder)[ \t]+of[ \t]+(?:(?:the|your|this)[ \t]+)?(?:[\w-]+[ \t]+){0,2}"
    rf"(?:(?:{_CODE})\b.*|{_THING}(?:{_STAYS})?)"
    rf"|(?:(?:rest|everything[ \t]else|others)|(?:existing|previous|remaining|unchanged|other)[ \t]+{_THING}){_STAYS}"
    rf"|(?:existing|unchanged)[ \t]+{_THING}"
    r"|[\w.()]+(?:(?:,|,?[ \t]and)[ \t]+[\w.()]+)+(?:[ \t]+(?:are|remain|stay))?[ \t]+unchanged"
    r"|unchanged|no[ \t]changes|same[ \t]as[ \t](?:before|above)"
    r")[ \t]*(?:\.{3,}|…|\.)?",
    re.I,
)
_LONGEST = 200
_SPREADING = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".dart")
_SPREAD = re.compile(r"\.{3}\(?[A-Za-z_$][\w$]*(?![\w$]|[ \t]+(?!as\b|satisfies\b)[A-Za-z])")
"""Dots that are joined to a name, as `...rest` in code; more words behind it are prose."""
_WITHOUT_DOTS = (".json", ".html", ".htm", ".xml", ".css", ".scss", ".toml")
"""Files in which three dots alone on a line are no code."""


def is_elision(line: str, path: str = "") -> bool:
    """Whether a line is a remark such as `# ... rest unchanged`; a bare `...` is Python, a remark of dots is not."""
    opening = (_OPENING_IN_PROSE if path.lower().endswith(_PROSE) else _OPENING).match(line)
    if opening is None or len(line) > _LONGEST:
        return False
    inner = _CLOSING.sub("", line[opening.end() :], count=1)
    remark = bool(opening[0].strip())
    if path.lower().endswith(_SPREADING) and not opening[0].strip(" \t([") and _SPREAD.match(inner):
        return False
    if dots := _DOTS.match(inner):
        rest = inner[dots.end() :]
        if rest.startswith(("#", "//")):
            return _AFTER_CODE.fullmatch(rest.lstrip("#/ \t")) is not None
        bare = rest.strip(", \t") == ""
        return remark or path.lower().endswith(_WITHOUT_DOTS) if bare else _AFTER_DOTS.fullmatch(rest) is not None
    return remark and _WORDS.fullmatch(inner) is not None
