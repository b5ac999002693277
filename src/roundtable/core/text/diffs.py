"""A diff as the files it changes, and the parts of it to show where not all of it has room."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from roundtable.core.text.relevance import RankedFile, rank_files_by_relevance

DIFF_CONTEXT_NAME = "the changes"
"""The name under which a diff lies before the table."""

_GIT = re.compile(r"^(?=diff --git )", re.M)
_PLAIN = re.compile(r"^(?=--- [^\n]+\n\+\+\+ [^\n]+\n@@ -)", re.M)
_NAMES = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |copy from |copy to )(\"?)([^\t\n]+?)\1(?:\t.*)?$", re.M)
_HEADER = re.compile(r"^diff --git (?:\"?a/(?P<old>.+?)\"?) (?:\"?b/(?P<new>.+?)\"?)$", re.M)
_NOTHING = "/dev/null"
_SMALLEST_PART = 400
"""Fewer bytes than this of a file's changes say nothing."""


class DiffSection(NamedTuple):
    """What a diff says of one file. `paths` are the names it has before and after."""

    paths: tuple[str, ...]
    text: str

    @property
    def path(self) -> str:
        """What the file is called now."""
        return self.paths[-1] if self.paths else ""


class DiffExcerpt(NamedTuple):
    """A diff that fits: its text, which files are shown only in part, and which not at all."""

    text: str
    parted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def contains_diff(text: str) -> bool:
    """Whether a text says of any file how it changes."""
    return bool(_GIT.search(text) or _PLAIN.search(text))


def render_added_file_diff(path: str, text: str) -> str:
    """A new file as a diff shows it."""
    lines = text.removesuffix("\n").split("\n")
    head = f"diff --git a/{path} b/{path}\nnew file\n--- {_NOTHING}\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines)


def split_diff_by_file(diff: str) -> list[DiffSection]:
    """The diff file by file; what stands before the first file is a section without a path."""
    parts = (_GIT if _GIT.search(diff) else _PLAIN).split(diff)
    return [DiffSection(_paths(part), part) for part in parts if part.strip()]


def fit_diff_sections(words: Sequence[str], found: Sequence[DiffSection], room: int) -> DiffExcerpt:
    """As much as has room, the most relevant first and what programs wrote last, in the diff's own order."""
    order = rank_files_by_relevance(words, (RankedFile(section.path, text=section.text) for section in found))
    place = {candidate.path: index for index, candidate in enumerate(order)}
    kept: dict[int, str] = {}
    parted: list[str] = []
    for index in sorted(range(len(found)), key=lambda it: (place[found[it].path], it)):
        section = found[index]
        size = len(section.text.encode())
        if size <= room:
            kept[index], room = section.text, room - size
        elif room >= _SMALLEST_PART:
            kept[index], room = _head(section.text, room), 0
            parted.append(section.path or "the beginning")
    left_out = tuple(section.path for index, section in enumerate(found) if index not in kept)
    return DiffExcerpt("".join(kept[index] for index in sorted(kept)), tuple(parted), left_out)


def _paths(part: str) -> tuple[str, ...]:
    head = part.partition("\n@@ ")[0]
    names = [strip_git_prefix(name) for _, name in _NAMES.findall(head) if name != _NOTHING]
    header = _HEADER.search(head)
    if not names and header is not None:
        names = [header["old"], header["new"]]
    return tuple(dict.fromkeys(names))


def strip_git_prefix(name: str) -> str:
    """A file's name as it is, without the letter that git puts before it."""
    return name[2:] if name[:2] in ("a/", "b/") else name


def _head(text: str, room: int) -> str:
    """Whole lines from the beginning, and a line that says how many are missing."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    room -= 80
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    return f"{''.join(kept)}[{len(lines) - len(kept)} more lines of this file are left out for room]\n"
