"""Text that is to stand in the place of other text: found exactly, or nearly and only once, and put in its style."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from roundtable.core.changeset import EditBlock, RefusalKind

BOM = "\ufeff"


class UnmatchedBlock(Exception):
    """A block whose place cannot be found, and why."""

    def __init__(self, kind: RefusalKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class _Place(msgspec.Struct, frozen=True):
    """Where a block stands and what comes there."""

    start: int
    end: int
    text: str


def apply_edit_blocks(text: str, blocks: Sequence[EditBlock]) -> str:
    """All blocks put in place. Each is looked for in the text as it was, so their order does not matter."""
    bom = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(BOM)
    places = sorted((_place(text, block) for block in blocks), key=lambda place: place.start)
    for one, other in pairwise(places):
        if other.start < one.end or one.start == other.start:
            raise UnmatchedBlock(RefusalKind.CONTRADICTION, "Two of its edits change the same lines.")
    pieces = [bom]
    at = 0
    for place in places:
        pieces += (text[at : place.start], place.text)
        at = place.end
    return "".join((*pieces, text[at:]))


def match_file_style(text: str, model: str) -> str:
    """A whole new text in the style of the one it stands for: its line ends, its last newline, its byte order mark."""
    if uses_crlf(model) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    if model and not model.endswith("\n") and text.strip():
        text = text.removesuffix("\n").removesuffix("\r")
    if model.startswith(BOM) and not text.startswith(BOM):
        text = BOM + text
    return text


def uses_crlf(text: str) -> bool:
    """Whether every line of a text ends as on Windows."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _place(text: str, block: EditBlock) -> _Place:
    if not block.search:
        if text.strip():
            raise UnmatchedBlock(RefusalKind.AMBIGUOUS, "An edit does not say which lines it replaces.")
        return _Place(0, len(text), block.replace)
    exact = _exact(text, block)
    if exact:
        start = _only(exact, text, block)
        inline = "\n" not in block.search and uses_crlf(text) and "\r" not in block.replace
        replace = block.replace.replace("\n", "\r\n") if inline else block.replace
        return _Place(start, start + len(block.search), replace)
    for same in (_trailing, _indented):
        if place := _by_lines(text, block, same):
            return place
    head = next(iter(block.search.strip().split("\n")), "").strip()
    raise UnmatchedBlock(RefusalKind.NOT_FOUND, f"The lines that an edit looks for are not in it: {head[:80]!r}….")


def _exact(text: str, block: EditBlock) -> list[int]:
    """Every place where the very text stands; text that ends a line begins one, and so does text with a line number."""
    whole = block.search.endswith("\n") or block.line > 0
    found: list[int] = []
    start = text.find(block.search)
    while start >= 0:
        end = start + len(block.search)
        begins = start == 0 or text[start - 1] == "\n"
        ends = block.search.endswith("\n") or end == len(text)
        if not whole or (begins and ends):
            found.append(start)
        start = text.find(block.search, start + 1)
    return found


def _only(starts: Sequence[int], text: str, block: EditBlock) -> int:
    if len(starts) == 1:
        return starts[0]
    told = [start for start in starts if text.count("\n", 0, start) + 1 == block.line]
    if len(told) == 1:
        return told[0]
    head = block.search.strip().split("\n")[0].strip()
    sentence = f"The lines that an edit looks for stand in it {len(starts)} times: {head[:80]!r}…."
    raise UnmatchedBlock(RefusalKind.AMBIGUOUS, sentence)


_Same = Callable[[Sequence[str], Sequence[str]], str | None]
"""What is to be put before each new line if these lines are the same; None if they are not."""


def _trailing(old: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The same but for blanks and carriage returns at the ends of lines."""
    return "" if [line.rstrip() for line in old] == [line.rstrip() for line in wanted] else None


def _indented(old: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The same but for blanks at the ends and one indentation that all of the lines have more here."""
    pairs = [(one.rstrip(), other.rstrip()) for one, other in zip(old, wanted, strict=True)]
    filled = [(one, other) for one, other in pairs if one or other]
    more = {one.removesuffix(other) for one, other in filled if other and one.endswith(other)}
    if len(more) != 1 or any(not (one and other) for one, other in filled):
        return None
    indent = more.pop()
    fits = all(one == indent + other for one, other in filled)
    return indent if fits and not indent.strip() else None


def _by_lines(text: str, block: EditBlock, same: _Same) -> _Place | None:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    wanted = block.search.removesuffix("\n").split("\n")
    found: list[tuple[int, str]] = []
    for at in range(len(lines) - len(wanted) + 1):
        if wanted[0].strip() != lines[at].strip():
            continue
        indent = same([line.removesuffix("\n") for line in lines[at : at + len(wanted)]], wanted)
        if indent is not None:
            found.append((at, indent))
    if not found:
        return None
    starts = {sum(map(len, lines[:at])): (at, indent) for at, indent in found}
    start = _only(list(starts), text, block)
    at, indent = starts[start]
    old = lines[at : at + len(wanted)]
    return _Place(start, start + len("".join(old)), _in_style(block.replace, old, indent))


def _in_style(replace: str, old: Sequence[str], indent: str) -> str:
    """New lines as deep as the old ones, with their line ends and, at the end of the file, their last newline."""
    if not replace:
        return ""
    crlf = old[0].endswith("\r\n")
    lines = [line.removesuffix("\r") for line in replace.removesuffix("\n").split("\n")]
    text = "\n".join(indent + line if line.strip() else line for line in lines)
    text = text.replace("\n", "\r\n") if crlf else text
    return text + (("\r\n" if crlf else "\n") if old[-1].endswith("\n") else "")
