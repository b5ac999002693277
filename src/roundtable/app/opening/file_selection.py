"""Which files of a workspace may be shown without being named one by one, and which of them are worth the room."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import ContextFileHoldsSecret, ContextFileRefused, read_context_file
from roundtable.app.opening.relevance import RankedFile, rank_files_by_relevance
from roundtable.core.text.file_names import is_sensitive_path
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.repo.git import LoggedCommit

MOST_LOOKED_INTO = 200
"""Files that are read to see how much they bear on the question."""

_OUR_OWN = ".roundtable"
_NOT_TEXT = re.compile(
    r"\.(?:7z|avi|bin|bmp|bz2|class|db|dll|dylib|eot|exe|gguf|gif|gz|ico|jar|jpe?g|mov|mp[34]|o|otf|pdf|png|pyc|so|sqlite3?"
    r"|tar|tgz|ttf|wasm|wav|webp|whl|woff2?|xz|zip|zst)$",
    re.I,
)


class FileSelection(NamedTuple):
    """The files to show, of how many that could be; and which were passed over because they hold secrets."""

    files: dict[str, bytes]
    among: int
    secret: tuple[str, ...] = ()


def list_context_file_candidates(paths: Iterable[str], ignore: Sequence[str], folder: str = "") -> list[str]:
    """Those that are neither sensitive, nor ignored by the config, nor ours, and are text with a name to write."""
    inside = "" if folder in ("", ".") else f"{folder.rstrip('/')}/"
    set_aside = build_context_ignore_filter(ignore)
    return [
        path
        for path in paths
        if path.startswith(inside)
        and path.isprintable()
        and not (is_sensitive_path(path) or _NOT_TEXT.search(path) or set_aside(path))
    ]


def build_context_ignore_filter(ignore: Sequence[str]) -> Callable[[str], bool]:
    """Whether `[context] ignore` names a path, a folder it lies in, or a pattern for either; ours always is."""
    names = {_OUR_OWN, *(name.rstrip("/") for name in ignore)}
    globs = [name for name in ignore if any(mark in name for mark in "*?[/")]

    def set_aside(path: str) -> bool:
        parts = path.split("/")
        return not names.isdisjoint(parts) or any(fnmatchcase(part, glob) for glob in globs for part in (path, *parts))

    return set_aside


def select_context_files(
    redactor: Redactor,
    workspace: Path,
    words: Sequence[str],
    paths: Sequence[str],
    commits: Sequence[LoggedCommit],
    room: int,
) -> FileSelection:
    """The most relevant files that fit: by their names and what changed lately, then by what is in them."""
    recent = _recent(commits)
    order = rank_files_by_relevance(words, (RankedFile(path, recent.get(path, 0)) for path in paths))
    read: list[RankedFile] = []
    refused = 0
    secret: list[str] = []
    seen = 0
    for candidate in order[:MOST_LOOKED_INTO]:
        if seen > 3 * room:
            break
        try:
            text = read_context_file(redactor, workspace, candidate.path).decode()
        except ContextFileRefused as error:
            refused += 1
            secret += [candidate.path] if isinstance(error, ContextFileHoldsSecret) else []
            continue
        seen += len(text)
        read.append(candidate._replace(text=text))
    files: dict[str, bytes] = {}
    for candidate in rank_files_by_relevance(words, read):
        data = candidate.text.encode()
        if len(data) <= room:
            files[candidate.path] = data
            room -= len(data)
    return FileSelection(files, len(paths) - refused, tuple(secret))


def _recent(commits: Sequence[LoggedCommit]) -> dict[str, int]:
    """How long ago each file was changed, counted in commits; the last one is 1."""
    recent: dict[str, int] = {}
    for age, commit in enumerate(commits, 1):
        for path in commit.files:
            recent.setdefault(path, age)
    return recent
