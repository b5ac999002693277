"""Which paths may be written at all: those that name, on every system, exactly one plain file of the workspace."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from roundtable.core.changeset import Refusal, RefusalKind
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.text.sanitize import reveal_hidden_characters

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]+:/")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\..*)?", re.I | re.S)
_RESERVED_LETTERS = frozenset('<>:"|?*')
_LIKE_SLASHES = frozenset("\N{FRACTION SLASH}\N{DIVISION SLASH}\N{BIG SOLIDUS}\N{SET MINUS}\N{BIG REVERSE SOLIDUS}")
_OF_GIT = re.compile(
    r"\.git|\.gitmodules|\.gitattributes|\.gitconfig|\.lfsconfig|\.githooks|\.husky"
    r"|(?:git(?:mod|att|con|hoo)?|gi[0-9a-f]{4}|lfscon|husky)~[0-9]+"
)
"""Git itself, and what makes it fetch or run something; also by the short names that Windows gives them."""
_OURS = re.compile(r"\.roundtable|roundt~[0-9]+")
_WORDS = re.compile(r"[\W\d_]+")
_OF_NO_SCRIPT = frozenset({"MODIFIER"})
_WRITTEN_TOGETHER = frozenset(
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"}
)
"""Scripts as the names of their letters begin; these share names every day, and do not look alike."""
_REPOSITORIES = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""Names that make a folder a repository to git, wherever it lies."""


def check_write_path(path: str) -> Refusal | None:
    """What is wrong with a path by itself, if anything is."""
    return next((found for check in _CHECKS if (found := check(path))), None)


def is_in_scope(path: str, scope: Iterable[str]) -> bool:
    """Whether one of the patterns covers a path: it is the same, a folder above it, or matches with its stars."""
    return any(
        path == pattern or path.startswith(f"{pattern.rstrip('/')}/") or fnmatchcase(path, pattern) for pattern in scope
    )


def find_name_collision(name: str, others: Iterable[str]) -> str:
    """Another name that some system takes for the same one; empty where there is none."""
    alike = _folded(name)
    return next((other for other in others if other != name and _folded(other) == alike), "")


def check_path_on_disk(root: Path, path: str, most: int) -> Refusal | None:
    """What stands in the way of a path in a folder: a link, a folder, another's repository, a twin, too large a file.

    Whoever reads or writes it walks there again without following links: this only says why, and says it early.
    """
    try:
        return _in_the_way(root, path, most)
    except OSError as error:
        return _not_a_file(path, f"cannot be looked at: {error.strerror}")


def _in_the_way(root: Path, path: str, most: int) -> Refusal | None:
    at = root
    parts = path.split("/")
    for number, name in enumerate(parts, 1):
        there = sorted(os.listdir(at))
        if at != root and ".git" in there:
            where = "/".join(parts[: number - 1])
            return Refusal(path, RefusalKind.REPOSITORY, f"{path} lies in {where}, which is a repository of its own.")
        if name not in there:
            other = find_name_collision(name, there)
            return _twin_refusal(path, other) if other else _look_alike(path, parts[number - 1 :])
        at = at / name
        if found := _stands(path, at.lstat(), most, last=number == len(parts)):
            return found
    return None


def _look_alike(path: str, new: Sequence[str]) -> Refusal | None:
    """Letters of several scripts in one new name, of which some may only look like others."""
    if any(_is_mixed(part) for name in new for part in _WORDS.split(name)):
        sentence = f"{path} has letters of several scripts in one name, and some may only look like others."
        return Refusal(path, RefusalKind.ENCODED, sentence)
    return None


def _is_mixed(name: str) -> bool:
    scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in name if letter.isalpha()} - _OF_NO_SCRIPT
    return len(scripts) > 1 and not scripts <= _WRITTEN_TOGETHER


def _stands(path: str, found: os.stat_result, most: int, *, last: bool) -> Refusal | None:
    if stat.S_ISLNK(found.st_mode):
        return Refusal(path, RefusalKind.LINK, f"{path} is a link or leads over one.")
    if not last:
        return None if stat.S_ISDIR(found.st_mode) else _not_a_file(path, "leads over something that is no folder")
    if not stat.S_ISREG(found.st_mode):
        return _not_a_file(path, "is a folder" if stat.S_ISDIR(found.st_mode) else "is not a plain file")
    if found.st_size > most:
        return Refusal(path, RefusalKind.TOO_LARGE, f"{path} has {found.st_size:,} bytes; at most {most:,} are taken.")
    return None


def find_path_collisions(paths: Sequence[str]) -> list[Refusal]:
    """Paths that some system takes for the same one, or of which one is a file where another needs a folder."""
    found: list[Refusal] = []
    seen: dict[str, str] = {}
    for path in paths:
        names = path.split("/")
        for place in ("/".join(names[:count]) for count in range(1, len(names) + 1)):
            if (other := seen.setdefault(_folded(place), place)) != place:
                found.append(_twin_refusal(path, other))
                break
    for path in paths:
        above = path.split("/")[:-1]
        for count in range(1, len(above) + 1):
            folder = "/".join(above[:count])
            if folder in paths:
                sentence = f"{folder} would be both a file and the folder of {path}."
                found.append(Refusal(path, RefusalKind.CONTRADICTION, sentence))
    return found


def find_paths_in_repositories(root: Path, paths: Sequence[str]) -> list[Refusal]:
    """Paths in folders that git would take for a repository, and so obey the config in them."""
    inside: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for depth, name in enumerate(parts):
            inside.setdefault("/".join(parts[:depth]), set()).add(_folded(name))
    barred = {
        folder
        for folder, names in inside.items()
        if any(it <= names | {_folded(name) for name in _names_in(root / folder)} for it in _REPOSITORIES)
    }
    return [
        Refusal(path, RefusalKind.REPOSITORY, f"{path} lies in what git would take for a repository.")
        for path in paths
        if any(not folder or path.startswith(f"{folder}/") for folder in barred)
    ]


def check_hook_path(path: str, hooks: Iterable[str]) -> Refusal | None:
    """Why nothing is written where git looks for the programs it runs."""
    alike = _folded(path)
    if any(folder == "." or alike.startswith(f"{_folded(folder)}/") for folder in hooks):
        return Refusal(path, RefusalKind.REPOSITORY, f"{path} lies where git looks for the programs that it runs.")
    return None


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _twin_refusal(path: str, other: str) -> Refusal:
    return Refusal(path, RefusalKind.CASE, f"{path} differs from {other} only in case or in how its letters are coded.")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _not_a_file(path: str, what: str) -> Refusal:
    return Refusal(path, RefusalKind.NOT_A_FILE, f"{path or 'An empty path'} {what}.")


def _whole(path: str) -> Refusal | None:
    if not path or path.endswith("/"):
        return _not_a_file(path, "names no file")
    if len(path.encode(errors="replace")) > MAX_PATH_BYTES or any(
        len(name.encode(errors="replace")) > MAX_NAME_BYTES for name in path.split("/")
    ):
        return Refusal(path[:80], RefusalKind.TOO_LARGE, "A path is longer than files may be called.")
    return None


def _coded(path: str) -> Refusal | None:
    """Letters that nobody sees, or that become others on the way."""
    what = ""
    if "\t" in path or reveal_hidden_characters(path) != path:
        what = "has letters in it that nobody can see"
    elif _PERCENT.search(path):
        what = "has letters in it that are percent-encoded"
    elif unicodedata.normalize("NFKC", path) != path or _LIKE_SLASHES.intersection(path):
        what = "has letters in it that only look like others"
    return Refusal(path, RefusalKind.ENCODED, f"{_shown(path)} {what}.") if what else None


def _outside(path: str) -> Refusal | None:
    if _ABSOLUTE.match(path):
        return Refusal(path, RefusalKind.ABSOLUTE, f"{path} is not relative to the workspace.")
    names = path.replace("\\", "/").split("/")
    if any(name.strip(" ") in ("", ".", "..") for name in names):
        return Refusal(path, RefusalKind.TRAVERSAL, f"{path} does not say plainly where it leads.")
    if "\\" in path:
        return Refusal(path, RefusalKind.ENCODED, f"{path} has backslashes in it; folders are separated by `/`.")
    return None


def _kept(path: str) -> Refusal | None:
    """What is git's, ours, or a secret."""
    for name in path.split("/"):
        plain = name.rstrip(". ").partition(":")[0].casefold()
        if _OF_GIT.fullmatch(plain):
            return Refusal(path, RefusalKind.REPOSITORY, f"{path} belongs to git, or makes it fetch or run something.")
        if _OURS.fullmatch(plain):
            return Refusal(path, RefusalKind.OURS, f"{path} is part of the record of these meetings.")
    if is_sensitive_path(path) or is_sensitive_path("/".join(name.rstrip(". ") for name in path.split("/"))):
        return Refusal(path, RefusalKind.SENSITIVE, f"{path} is a file of secrets by its name.")
    return None


def _elsewhere(path: str) -> Refusal | None:
    """Names that mean something else, or nothing, on another system."""
    for name in path.split("/"):
        if _RESERVED.fullmatch(name.strip(" ")) or _RESERVED_LETTERS.intersection(name):
            return Refusal(path, RefusalKind.RESERVED, f"{path} cannot be called that on every system.")
        if name != name.strip(" ") or name.endswith("."):
            return Refusal(path, RefusalKind.RESERVED, f"{path} has a blank or a dot at the edge of a name.")
    return None


def _shown(path: str) -> str:
    return path.encode("ascii", "backslashreplace").decode() if not path.isprintable() else path


_CHECKS = (_whole, _coded, _outside, _kept, _elsewhere)
