"""Split a diff into its files."""

from __future__ import annotations

import re
from typing import NamedTuple

DIFF_CONTEXT_NAME = "the changes"
"""The name under which a diff is shown to the seats."""

_GIT_HEADER_LINE = re.compile(r"^(?=diff --git )", re.M)
_PLAIN_HEADER_LINE = re.compile(r"^(?=--- [^\n]+\n\+\+\+ [^\n]+\n@@ -)", re.M)
_NAMES = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |copy from |copy to )(\"?)([^\t\n]+?)\1(?:\t.*)?$", re.M)
_GIT_HEADER = re.compile(r"^diff --git (?:\"?a/(?P<old>.+?)\"?) (?:\"?b/(?P<new>.+?)\"?)$", re.M)
_NO_FILE = "/dev/null"


class DiffSection(NamedTuple):
    """The part of a diff about one file. `paths` are its old and new name."""

    paths: tuple[str, ...]
    text: str

    @property
    def path(self) -> str:
        """The new name of the file."""
        return self.paths[-1] if self.paths else ""


def text_contains_diff(text: str) -> bool:
    """Whether a text contains a diff."""
    return bool(_GIT_HEADER_LINE.search(text) or _PLAIN_HEADER_LINE.search(text))


def render_added_file_as_diff(path: str, text: str) -> str:
    """A new file as a diff."""
    lines = text.removesuffix("\n").split("\n")
    head = f"diff --git a/{path} b/{path}\nnew file\n--- {_NO_FILE}\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines)


def split_diff_text_by_file(diff: str) -> list[DiffSection]:
    """The sections of a diff by file; text before the first file is a section without a path."""
    parts = (_GIT_HEADER_LINE if _GIT_HEADER_LINE.search(diff) else _PLAIN_HEADER_LINE).split(diff)
    return [DiffSection(_section_paths(part), part) for part in parts if part.strip()]


def _section_paths(part: str) -> tuple[str, ...]:
    head = part.partition("\n@@ ")[0]
    names = [strip_diff_prefix_from_file_name(name) for _, name in _NAMES.findall(head) if name != _NO_FILE]
    header = _GIT_HEADER.search(head)
    if not names and header is not None:
        names = [header["old"], header["new"]]
    return tuple(dict.fromkeys(names))


def strip_diff_prefix_from_file_name(name: str) -> str:
    """A file name without git's `a/` or `b/`."""
    return name[2:] if name[:2] in ("a/", "b/") else name
