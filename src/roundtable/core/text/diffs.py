"""Split a diff into its files, and choose the parts of it that fit into a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from roundtable.core.text.relevance import RankedFile, rank_files_by_relevance

DIFF_CONTEXT_NAME = "the changes"
"""The name under which a diff is shown to the seats."""

_GIT_HEADER_LINE = re.compile(r"^(?=diff --git )", re.M)
_PLAIN_HEADER_LINE = re.compile(r"^(?=--- [^\n]+\n\+\+\+ [^\n]+\n@@ -)", re.M)
_NAMES = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |copy from |copy to )(\"?)([^\t\n]+?)\1(?:\t.*)?$", re.M)
_GIT_HEADER = re.compile(r"^diff --git (?:\"?a/(?P<old>.+?)\"?) (?:\"?b/(?P<new>.+?)\"?)$", re.M)
_NO_FILE = "/dev/null"
_SMALLEST_PART = 400
"""Fewer bytes than this of a file's changes are not useful."""


class DiffSection(NamedTuple):
    """The part of a diff about one file. `paths` are its old and new name."""

    paths: tuple[str, ...]
    text: str

    @property
    def path(self) -> str:
        """The new name of the file."""
        return self.paths[-1] if self.paths else ""


class DiffExcerpt(NamedTuple):
    """A diff cut to size: its text, the files shown in part, and the files left out."""

    text: str
    parted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def contains_diff(text: str) -> bool:
    """Whether a text contains a diff."""
    return bool(_GIT_HEADER_LINE.search(text) or _PLAIN_HEADER_LINE.search(text))


def render_added_file_diff(path: str, text: str) -> str:
    """A new file as a diff."""
    lines = text.removesuffix("\n").split("\n")
    head = f"diff --git a/{path} b/{path}\nnew file\n--- {_NO_FILE}\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines)


def split_diff_by_file(diff: str) -> list[DiffSection]:
    """The sections of a diff by file; text before the first file is a section without a path."""
    parts = (_GIT_HEADER_LINE if _GIT_HEADER_LINE.search(diff) else _PLAIN_HEADER_LINE).split(diff)
    return [DiffSection(_section_paths(part), part) for part in parts if part.strip()]


def fit_diff_sections(words: Sequence[str], sections: Sequence[DiffSection], room: int) -> DiffExcerpt:
    """As many sections as fit into `room` bytes, most relevant first, generated files last, shown in diff order."""
    order = rank_files_by_relevance(words, (RankedFile(section.path, text=section.text) for section in sections))
    place = {candidate.path: index for index, candidate in enumerate(order)}
    kept: dict[int, str] = {}
    shown_in_part: list[str] = []
    for index in sorted(range(len(sections)), key=lambda position: (place[sections[position].path], position)):
        section = sections[index]
        size = len(section.text.encode())
        if size <= room:
            kept[index], room = section.text, room - size
        elif room >= _SMALLEST_PART:
            kept[index], room = _first_lines(section.text, room), 0
            shown_in_part.append(section.path or "the beginning")
    left_out = tuple(section.path for index, section in enumerate(sections) if index not in kept)
    return DiffExcerpt("".join(kept[index] for index in sorted(kept)), tuple(shown_in_part), left_out)


def _section_paths(part: str) -> tuple[str, ...]:
    head = part.partition("\n@@ ")[0]
    names = [strip_git_prefix(name) for _, name in _NAMES.findall(head) if name != _NO_FILE]
    header = _GIT_HEADER.search(head)
    if not names and header is not None:
        names = [header["old"], header["new"]]
    return tuple(dict.fromkeys(names))


def strip_git_prefix(name: str) -> str:
    """A file name without git's `a/` or `b/`."""
    return name[2:] if name[:2] in ("a/", "b/") else name


def _first_lines(text: str, room: int) -> str:
    """Whole lines from the beginning, and a line saying how many are missing."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    room -= 80
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    return f"{''.join(kept)}[{len(lines) - len(kept)} more lines of this file are left out because they do not fit]\n"
