"""Selects the files of a workspace that are shown although nobody named them: safe, and relevant to the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import ContextFileHoldsSecret, ContextFileRefused, read_context_file
from roundtable.app.opening.relevance import RankedFile, rank_context_files
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.repo.git import LoggedCommit

MAX_FILES_READ = 200
"""The number of files that are read to determine how relevant they are."""

_OWN_FOLDER = ".roundtable"
_BINARY_SUFFIX = re.compile(
    r"\.(?:7z|avi|bin|bmp|bz2|class|db|dll|dylib|eot|exe|gguf|gif|gz|ico|jar|jpe?g|mov|mp[34]|o|otf|pdf|png|pyc|so|sqlite3?"
    r"|tar|tgz|ttf|wasm|wav|webp|whl|woff2?|xz|zip|zst)$",
    re.I,
)


class FileSelection(NamedTuple):
    """The files to show, the number of candidates, and the files that were skipped because they contain secrets."""

    files: dict[str, bytes]
    candidates: int
    secret: tuple[str, ...] = ()


def list_context_file_candidates(paths: Iterable[str], ignore: Sequence[str], folder: str = "") -> list[str]:
    """Return the paths in a folder that may be shown: not sensitive, ignored or binary, with a printable name."""
    inside = "" if folder in ("", ".") else f"{folder.rstrip('/')}/"
    is_ignored = build_context_file_ignore_filter(ignore)
    return [
        path
        for path in paths
        if path.startswith(inside)
        and path.isprintable()
        and not (is_sensitive_file_name(path) or _BINARY_SUFFIX.search(path) or is_ignored(path))
    ]


def build_context_file_ignore_filter(ignore: Sequence[str]) -> Callable[[str], bool]:
    """Return a filter for the paths and patterns of `[context] ignore`; `.roundtable` is always ignored."""
    names = {_OWN_FOLDER, *(name.rstrip("/") for name in ignore)}
    globs = [name for name in ignore if any(mark in name for mark in "*?[/")]

    def is_ignored(path: str) -> bool:
        parts = path.split("/")
        return not names.isdisjoint(parts) or any(fnmatchcase(part, glob) for glob in globs for part in (path, *parts))

    return is_ignored


def select_context_files(
    redactor: Redactor,
    workspace: Path,
    words: Sequence[str],
    paths: Sequence[str],
    commits: Sequence[LoggedCommit],
    room: int,
) -> FileSelection:
    """Return the most relevant files that fit, ranked by name and recent changes, then by content."""
    ages = _list_change_ages(commits)
    order = rank_context_files(words, (RankedFile(path, ages.get(path, 0)) for path in paths))
    read: list[RankedFile] = []
    refused = 0
    secret: list[str] = []
    bytes_read = 0
    for candidate in order[:MAX_FILES_READ]:
        if bytes_read > 3 * room:
            break
        try:
            text = read_context_file(redactor, workspace, candidate.path).decode()
        except ContextFileRefused as error:
            refused += 1
            secret += [candidate.path] if isinstance(error, ContextFileHoldsSecret) else []
            continue
        bytes_read += len(text)
        read.append(candidate._replace(text=text))
    files: dict[str, bytes] = {}
    for candidate in rank_context_files(words, read):
        data = candidate.text.encode()
        if len(data) <= room:
            files[candidate.path] = data
            room -= len(data)
    return FileSelection(files, len(paths) - refused, tuple(secret))


def _list_change_ages(commits: Sequence[LoggedCommit]) -> dict[str, int]:
    """Return how many commits ago each file was changed; 1 is the last commit."""
    ages: dict[str, int] = {}
    for age, commit in enumerate(commits, 1):
        for path in commit.files:
            ages.setdefault(path, age)
    return ages
