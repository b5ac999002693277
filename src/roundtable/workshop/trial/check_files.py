"""Files that say what a check does, such as the script it runs: who is measured does not choose the measure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import msgspec

from roundtable.core.changeset import DraftFile

_PACKAGE, _SCRIPTS = "package.json", "scripts"
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_READ_BY = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), (_PACKAGE,)),
    **dict.fromkeys(("make", "gmake"), _MAKEFILES),
}
"""What a program reads to know what it is to do; it takes the first that is there."""
_RUNS_THE_NEXT = re.compile(r"(?:ba|da|k|z)?sh|python[\d.]*|node|deno|bun|ruby|perl|php|env|source|\.|&&|\|\||[;|!]")


def find_changed_check_files(
    files: Iterable[DraftFile], checks: Mapping[str, Sequence[str]], workspace: Path
) -> tuple[DraftFile, ...]:
    """Those of the files that make a check another than it was, by what it names and what its program reads."""
    words = [list(_words(argv)) for argv in checks.values()]
    scripts = {normpath(script) for argv in words for script in _scripts(argv)}
    read = [_READ_BY[program] for argv in words for word in argv if (program := PurePosixPath(word).name) in _READ_BY]
    return tuple(file for file in files if _is_other(file) and _measures(file, scripts, read, workspace))


def restore_check_file(file: DraftFile) -> DraftFile | None:
    """A file with the measure in it put back; None where nothing else of it would be changed."""
    before, after = _packages(file)
    if before is None or after is None:
        return None
    scripts = {name: value for name, value in before.items() if name == _SCRIPTS}
    kept = {**after, **scripts} if scripts else {name: value for name, value in after.items() if name != _SCRIPTS}
    if kept == before:
        return None
    return msgspec.structs.replace(file, after=(json.dumps(kept, indent=2, ensure_ascii=False) + "\n").encode())


def describe_check_file(file: DraftFile) -> str:
    """What of a file is the measure, for people."""
    path = file.was or file.path
    return f"the scripts of {path}" if PurePosixPath(path).name == _PACKAGE else path


def _words(argv: Sequence[str]) -> Iterator[str]:
    """The words of a command; those of a shell's own text among them."""
    for word in argv:
        try:
            yield from shlex.split(word.replace(";", " ; ")) if " " in word else (word,)
        except ValueError:
            yield word


def _scripts(words: Sequence[str]) -> Iterator[str]:
    """The words that are run themselves; an option in between is none."""
    before = ";"
    for word in words:
        if word.startswith("-"):
            continue
        if _RUNS_THE_NEXT.fullmatch(PurePosixPath(before).name or before):
            yield word
        before = word


def _is_other(file: DraftFile) -> bool:
    """Whether the measure in it is not what it was."""
    before, after = _packages(file)
    if before is not None and after is not None:
        return before.get(_SCRIPTS) != after.get(_SCRIPTS)
    return (file.before, file.was_executable) != (file.after, file.executable) or bool(file.was)


def _measures(file: DraftFile, scripts: set[str], read: Iterable[Sequence[str]], workspace: Path) -> bool:
    """Whether a check runs or reads it, and did so before: with it, or with one whose place it takes."""
    for path in (file.was, file.path):
        folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
        families = [names for names in read if name in names] + ([(name,)] if path in scripts else [])
        if any((workspace / folder / file_name).is_file() for family in families for file_name in family):
            return True
    return False


def _packages(file: DraftFile) -> list[dict[str, Any] | None]:
    """What a package.json said and says; None where it is none that can be read."""
    return [_package(file.was or file.path, file.before), _package(file.path, file.after)]


def _package(path: str, data: bytes | None) -> dict[str, Any] | None:
    if data is None or PurePosixPath(path).name != _PACKAGE:
        return None
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
