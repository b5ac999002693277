"""Rules for paths that may be written: each must name exactly one regular file of the workspace on every system."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.sanitize import reveal_hidden_characters

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]+:/")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\..*)?", re.I | re.S)
_RESERVED_LETTERS = frozenset('<>:"|?*')
_LIKE_SLASHES = frozenset("\N{FRACTION SLASH}\N{DIVISION SLASH}\N{BIG SOLIDUS}\N{SET MINUS}\N{BIG REVERSE SOLIDUS}")
_GIT_FILES = re.compile(
    r"\.git|\.gitmodules|\.gitattributes|\.gitconfig|\.lfsconfig|\.githooks|\.husky"
    r"|(?:git(?:mod|att|con|hoo)?|gi[0-9a-f]{4}|lfscon|husky)~[0-9]+"
)
"""Git's own files, and files that make git fetch or run something; also by their Windows short names."""
_OWN_FOLDER = re.compile(r"\.roundtable|roundt~[0-9]+")
_WORDS = re.compile(r"[\W\d_]+")
_SCRIPTLESS = frozenset({"MODIFIER"})
_COMPATIBLE_SCRIPTS = frozenset(
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"}
)
"""Scripts (by the first word of the letters' Unicode names) that are commonly mixed and do not look alike."""
_REPOSITORIES = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""Sets of names that make git treat any folder as a repository."""


def check_write_path(path: str) -> Refusal | None:
    """Return the refusal of a path judged by its text alone, or None."""
    return next((refusal for check in _CHECKS if (refusal := check(path))), None)


def is_path_in_edit_scope(path: str, scope: Iterable[str]) -> bool:
    """Whether a scope pattern covers a path: it is equal, a folder above it, or a matching glob."""
    return any(
        path == pattern or path.startswith(f"{pattern.rstrip('/')}/") or fnmatchcase(path, pattern) for pattern in scope
    )


def find_edit_path_name_collision(name: str, others: Iterable[str]) -> str:
    """Return another name that some system treats as equal; empty if there is none."""
    folded_name = _folded(name)
    return next((other for other in others if other != name and _folded(other) == folded_name), "")


def check_write_path_on_disk(root: Path, path: str, max_bytes: int) -> Refusal | None:
    """Return the refusal of a path judged by the disk: a symlink, folder, inner repository, name collision or large
    file.

    Reading and writing check again for symlinks; this check only gives the reason early.
    """
    try:
        return _check_on_disk(root, path, max_bytes)
    except OSError as error:
        return Refusal.of(path, RefusalCode.UNREADABLE, problem=str(error.strerror))


def _check_on_disk(root: Path, path: str, max_bytes: int) -> Refusal | None:
    place = root
    parts = path.split("/")
    for number, name in enumerate(parts, 1):
        names = sorted(os.listdir(place))
        if place != root and ".git" in names:
            where = "/".join(parts[: number - 1])
            return Refusal.of(path, RefusalCode.INNER_REPOSITORY, folder=where)
        if name not in names:
            other = find_edit_path_name_collision(name, names)
            if other:
                return Refusal.of(path, RefusalCode.NAME_COLLISION, other=other)
            return _mixed_scripts_refusal(path, parts[number - 1 :])
        place = place / name
        if refusal := _check_file_status(path, place.lstat(), max_bytes, last=number == len(parts)):
            return refusal
    return None


def _mixed_scripts_refusal(path: str, new: Sequence[str]) -> Refusal | None:
    """Refuse a new name with letters of several scripts, some of which may only look like others."""
    if any(_is_mixed(part) for name in new for part in _WORDS.split(name)):
        return Refusal.of(path, RefusalCode.PATH_SCRIPTS)
    return None


def _is_mixed(name: str) -> bool:
    scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in name if letter.isalpha()} - _SCRIPTLESS
    return len(scripts) > 1 and not scripts <= _COMPATIBLE_SCRIPTS


def _check_file_status(path: str, status: os.stat_result, max_bytes: int, *, last: bool) -> Refusal | None:
    if stat.S_ISLNK(status.st_mode):
        return Refusal.of(path, RefusalCode.SYMLINK_ON_PATH)
    if not last:
        return None if stat.S_ISDIR(status.st_mode) else Refusal.of(path, RefusalCode.NO_FOLDER_ON_PATH)
    if not stat.S_ISREG(status.st_mode):
        is_folder = stat.S_ISDIR(status.st_mode)
        return Refusal.of(path, RefusalCode.IS_FOLDER if is_folder else RefusalCode.NOT_REGULAR)
    if status.st_size > max_bytes:
        return Refusal.of(path, RefusalCode.FILE_TOO_LARGE, bytes=status.st_size, limit=max_bytes)
    return None


def find_write_path_collisions(paths: Sequence[str]) -> list[Refusal]:
    """Return refusals for paths that some system treats as equal, and for files where another path needs a folder."""
    refusals: list[Refusal] = []
    places: dict[str, str] = {}
    for path in paths:
        names = path.split("/")
        for place in ("/".join(names[:count]) for count in range(1, len(names) + 1)):
            if (other := places.setdefault(_folded(place), place)) != place:
                refusals.append(Refusal.of(path, RefusalCode.NAME_COLLISION, other=other))
                break
    for path in paths:
        parents = path.split("/")[:-1]
        for count in range(1, len(parents) + 1):
            folder = "/".join(parents[:count])
            if folder in paths:
                refusals.append(Refusal.of(path, RefusalCode.FILE_AS_FOLDER, folder=folder))
    return refusals


def find_write_paths_in_repositories(root: Path, paths: Sequence[str]) -> list[Refusal]:
    """Return refusals for paths in folders that git would treat as a repository, whose config it would obey."""
    names_by_folder: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for depth, name in enumerate(parts):
            names_by_folder.setdefault("/".join(parts[:depth]), set()).add(_folded(name))
    repositories = {
        folder
        for folder, names in names_by_folder.items()
        if any(
            names_needed <= names | {_folded(name) for name in _names_in(root / folder)}
            for names_needed in _REPOSITORIES
        )
    }
    return [
        Refusal.of(path, RefusalCode.GIT_LIKE_FOLDER)
        for path in paths
        if any(not folder or path.startswith(f"{folder}/") for folder in repositories)
    ]


def check_write_path_for_git_hooks(path: str, hooks: Iterable[str]) -> Refusal | None:
    """Return the refusal of a path in a folder where git looks for hooks, or None."""
    folded_path = _folded(path)
    if any(folder == "." or folded_path.startswith(f"{_folded(folder)}/") for folder in hooks):
        return Refusal.of(path, RefusalCode.GIT_HOOKS_FOLDER)
    return None


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _check_length(path: str) -> Refusal | None:
    if not path or path.endswith("/"):
        return Refusal.of(path, RefusalCode.PATH_WITHOUT_NAME if path else RefusalCode.PATH_EMPTY)
    if len(path.encode(errors="replace")) > MAX_PATH_BYTES or any(
        len(name.encode(errors="replace")) > MAX_NAME_BYTES for name in path.split("/")
    ):
        return Refusal.of(path[:80], RefusalCode.PATH_TOO_LONG)
    return None


def _check_encoding(path: str) -> Refusal | None:
    """Refuse invisible letters, encoded letters, and letters that Unicode normalization changes."""
    if "\t" in path or reveal_hidden_characters(path) != path:
        return Refusal.of(path, RefusalCode.PATH_INVISIBLE)
    if _PERCENT.search(path):
        return Refusal.of(path, RefusalCode.PATH_PERCENT)
    if unicodedata.normalize("NFKC", path) != path or _LIKE_SLASHES.intersection(path):
        return Refusal.of(path, RefusalCode.PATH_LOOKALIKE)
    return None


def _check_relative(path: str) -> Refusal | None:
    if _ABSOLUTE.match(path):
        return Refusal.of(path, RefusalCode.PATH_ABSOLUTE)
    names = path.replace("\\", "/").split("/")
    if any(name.strip(" ") in ("", ".", "..") for name in names):
        return Refusal.of(path, RefusalCode.PATH_COMPONENT)
    if "\\" in path:
        return Refusal.of(path, RefusalCode.PATH_BACKSLASH)
    return None


def _check_protected(path: str) -> Refusal | None:
    """Refuse paths of git, of Roundtable's own folder, and of secrets."""
    for name in path.split("/"):
        plain = name.rstrip(". ").partition(":")[0].casefold()
        if _GIT_FILES.fullmatch(plain):
            return Refusal.of(path, RefusalCode.GIT_FILE)
        if _OWN_FOLDER.fullmatch(plain):
            return Refusal.of(path, RefusalCode.OWN_FOLDER)
    if is_sensitive_file_name(path) or is_sensitive_file_name("/".join(name.rstrip(". ") for name in path.split("/"))):
        return Refusal.of(path, RefusalCode.NAME_SENSITIVE)
    return None


def _check_portable(path: str) -> Refusal | None:
    """Refuse names that are invalid or have a special meaning on another system."""
    for name in path.split("/"):
        if _RESERVED.fullmatch(name.strip(" ")) or _RESERVED_LETTERS.intersection(name):
            return Refusal.of(path, RefusalCode.NAME_RESERVED)
        if name != name.strip(" ") or name.endswith("."):
            return Refusal.of(path, RefusalCode.NAME_EDGES)
    return None


_CHECKS = (_check_length, _check_encoding, _check_relative, _check_protected, _check_portable)
