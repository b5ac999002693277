"""Finds the text that an edit replaces (exactly, or uniquely up to whitespace) and keeps the file's style."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from roundtable.core.changeset import EditBlock
from roundtable.core.refusals import RefusalCode

BOM = "\ufeff"


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
    first_line = next(iter(block.search.strip().split("\n")), "").strip()
    raise UnmatchedBlock(RefusalCode.LINES_NOT_FOUND, line=first_line[:80])


def _exact_matches(text: str, block: EditBlock) -> list[int]:
    """Return every exact match; a search text with a final newline or a line number must start at a line's
    beginning."""
    whole = block.search.endswith("\n") or block.line > 0
    matches: list[int] = []
    start = text.find(block.search)
    while start >= 0:
        end = start + len(block.search)
        begins = start == 0 or text[start - 1] == "\n"
        ends = block.search.endswith("\n") or end == len(text)
        if not whole or (begins and ends):
            matches.append(start)
        start = text.find(block.search, start + 1)
    return matches


def _single_match(starts: Sequence[int], text: str, block: EditBlock) -> int:
    if len(starts) == 1:
        return starts[0]
    at_line = [start for start in starts if text.count("\n", 0, start) + 1 == block.line]
    if len(at_line) == 1:
        return at_line[0]
    head = block.search.strip().split("\n")[0].strip()
    raise UnmatchedBlock(RefusalCode.LINES_REPEATED, count=len(starts), line=head[:80])


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
    matches: list[tuple[int, str]] = []
    for index in range(len(lines) - len(wanted) + 1):
        if wanted[0].strip() != lines[index].strip():
            continue
        indent = matcher([line.removesuffix("\n") for line in lines[index : index + len(wanted)]], wanted)
        if indent is not None:
            matches.append((index, indent))
    if not matches:
        return None
    starts = {sum(map(len, lines[:index])): (index, indent) for index, indent in matches}
    start = _single_match(list(starts), text, block)
    index, indent = starts[start]
    old = lines[index : index + len(wanted)]
    return _Place(start, start + len("".join(old)), _style_lines(block.replace, old, indent))


def _style_lines(replace: str, old: Sequence[str], indent: str) -> str:
    """Give new lines the indentation, line endings and final newline of the old ones."""
    if not replace:
        return ""
    crlf = old[0].endswith("\r\n")
    lines = [line.removesuffix("\r") for line in replace.removesuffix("\n").split("\n")]
    text = "\n".join(indent + line if line.strip() else line for line in lines)
    text = text.replace("\n", "\r\n") if crlf else text
    return text + (("\r\n" if crlf else "\n") if old[-1].endswith("\n") else "")
