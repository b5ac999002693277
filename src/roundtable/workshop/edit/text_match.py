"""Finds the text that an edit replaces (exactly, or uniquely up to whitespace) and keeps the file's style."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice, pairwise

import msgspec

from roundtable.core.changeset import EditBlock
from roundtable.core.refusals import RefusalCode

BOM = "\ufeff"

_MOST_MATCHES = 100
"""How many places are compared with an edit; in more, it is ambiguous unless it names its line."""


class UnmatchedBlock(Exception):
    """An edit whose place in the file cannot be found, and why."""

    def __init__(self, code: RefusalCode, /, **facts: str | int) -> None:
        super().__init__(code)
        self.code = code
        self.facts = facts


class _Place(msgspec.Struct, frozen=True):
    """The place of an edit and its new text."""

    start: int
    end: int
    text: str


def apply_edit_blocks(text: str, blocks: Sequence[EditBlock]) -> str:
    """Apply all edits. Each is searched in the original text, so their order does not matter."""
    bom = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(BOM)
    places = sorted((_place(text, block) for block in blocks), key=lambda place: place.start)
    for one, other in pairwise(places):
        if other.start < one.end or one.start == other.start:
            raise UnmatchedBlock(RefusalCode.EDITS_OVERLAP)
    pieces = [bom]
    position = 0
    for place in places:
        pieces += (text[position : place.start], place.text)
        position = place.end
    return "".join((*pieces, text[position:]))


def match_file_style(text: str, model: str) -> str:
    """Give a new text the style of the old one: line endings, final newline and byte order mark."""
    if _uses_crlf(model) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    if model and not model.endswith("\n") and text.strip():
        text = text.removesuffix("\n").removesuffix("\r")
    if model.startswith(BOM) and not text.startswith(BOM):
        text = BOM + text
    return text


def _uses_crlf(text: str) -> bool:
    """Whether every line of a text ends with CRLF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _place(text: str, block: EditBlock) -> _Place:
    if not block.search:
        if text.strip():
            raise UnmatchedBlock(RefusalCode.SEARCH_EMPTY)
        return _Place(0, len(text), block.replace)
    exact = _exact_matches(text, block)
    if exact:
        start = _single_match(exact, text, block)
        inline = "\n" not in block.search and _uses_crlf(text) and "\r" not in block.replace
        replace = block.replace.replace("\n", "\r\n") if inline else block.replace
        return _Place(start, start + len(block.search), replace)
    for matcher in (_match_trailing, _match_indented):
        if place := _match_lines(text, block, matcher):
            return place
    raise UnmatchedBlock(RefusalCode.LINES_NOT_FOUND, line=_first_line(block))


def _exact_matches(text: str, block: EditBlock) -> list[int]:
    """Return every exact match; a search text with a final newline or a line number must start at a line's
    beginning."""
    whole = block.search.endswith("\n") or block.line > 0

    def fits(start: int) -> bool:
        end = start + len(block.search)
        begins = start == 0 or text[start - 1] == "\n"
        ends = block.search.endswith("\n") or end == len(text)
        return not whole or (begins and ends)

    matches = list(islice(filter(fits, _find_all(text, block.search)), _MOST_MATCHES + 1))
    if len(matches) > _MOST_MATCHES:
        start = _line_offset(text, block.line)
        if start < 0 or not text.startswith(block.search, start) or not fits(start):
            raise UnmatchedBlock(RefusalCode.LINES_REPEATED_OFTEN, count=_MOST_MATCHES, line=_first_line(block))
        return [start]
    return matches


def _find_all(text: str, pattern: str) -> Iterator[int]:
    start = text.find(pattern)
    while start >= 0:
        yield start
        start = text.find(pattern, start + 1)


def _line_offset(text: str, line: int) -> int:
    """Return where a line begins; lines are numbered from 1. -1 if there is no such line."""
    above = text.split("\n", line - 1)[: line - 1] if line > 0 else []
    return sum(map(len, above)) + len(above) if line > 0 and text.count("\n") >= line - 1 else -1


def _single_match(starts: Sequence[int], text: str, block: EditBlock) -> int:
    if len(starts) == 1:
        return starts[0]
    begin = _line_offset(text, block.line)
    end = text.find("\n", begin) if begin >= 0 else -1
    at_line = [start for start in starts if begin >= 0 and begin <= start <= (end if end >= 0 else len(text))]
    if len(at_line) == 1:
        return at_line[0]
    raise UnmatchedBlock(RefusalCode.LINES_REPEATED, count=len(starts), line=_first_line(block))


def _first_line(block: EditBlock) -> str:
    return block.search.strip().split("\n")[0].strip()[:80]


_LineMatcher = Callable[[Sequence[str], Sequence[str]], str | None]
"""Returns the indentation to add to each new line if these lines match; None if they do not."""


def _match_trailing(old: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Match lines up to trailing whitespace."""
    return "" if [line.rstrip() for line in old] == [line.rstrip() for line in wanted] else None


def _match_indented(old: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Match lines up to trailing whitespace and one additional indentation of all lines."""
    pairs = [(one.rstrip(), other.rstrip()) for one, other in zip(old, wanted, strict=True)]
    filled = [(one, other) for one, other in pairs if one or other]
    indents = {one.removesuffix(other) for one, other in filled if other and one.endswith(other)}
    if len(indents) != 1 or any(not (one and other) for one, other in filled):
        return None
    indent = indents.pop()
    fits = all(one == indent + other for one, other in filled)
    return indent if fits and not indent.strip() else None


def _match_lines(text: str, block: EditBlock, matcher: _LineMatcher) -> _Place | None:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    wanted = block.search.removesuffix("\n").split("\n")
    offsets = list(accumulate(map(len, lines), initial=0))
    starts: dict[int, tuple[int, str]] = {}
    for index in _find_similar_lines(lines, wanted, block):
        indent = matcher([line.removesuffix("\n") for line in lines[index : index + len(wanted)]], wanted)
        if indent is not None:
            starts[offsets[index]] = (index, indent)
    if not starts:
        return None
    start = _single_match(list(starts), text, block)
    index, indent = starts[start]
    old = lines[index : index + len(wanted)]
    return _Place(start, start + len("".join(old)), _style_lines(block.replace, old, indent))


def _find_similar_lines(lines: Sequence[str], wanted: Sequence[str], block: EditBlock) -> list[int]:
    """Return where these lines occur up to white space at their ends; raise UnmatchedBlock if too often to compare."""
    text = "\n".join(("", *(line.strip() for line in lines), ""))
    pattern = "\n".join(("", *(line.strip() for line in wanted), ""))
    starts = list(islice(_find_all(text, pattern), _MOST_MATCHES + 1))
    if len(starts) <= _MOST_MATCHES:
        return [text.count("\n", 0, start) for start in starts]
    start = _line_offset(text, block.line + 1) - 1
    if block.line > 0 and start >= 0 and text.startswith(pattern, start):
        return [block.line - 1]
    raise UnmatchedBlock(RefusalCode.LINES_REPEATED_OFTEN, count=_MOST_MATCHES, line=_first_line(block))


def _style_lines(replace: str, old: Sequence[str], indent: str) -> str:
    """Give new lines the indentation, line endings and final newline of the old ones."""
    if not replace:
        return ""
    crlf = old[0].endswith("\r\n")
    lines = [line.removesuffix("\r") for line in replace.removesuffix("\n").split("\n")]
    text = "\n".join(indent + line if line.strip() else line for line in lines)
    text = text.replace("\n", "\r\n") if crlf else text
    return text + (("\r\n" if crlf else "\n") if old[-1].endswith("\n") else "")
