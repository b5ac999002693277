"""Check files decide what a check does, such as the script it runs. A candidate must not change its own checks."""

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
_FILES_READ_BY_PROGRAM = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), (_PACKAGE,)),
    **dict.fromkeys(("make", "gmake"), _MAKEFILES),
}
"""The files that a program reads to know what to do; it takes the first that exists."""
_RUNS_NEXT_WORD = re.compile(r"(?:ba|da|k|z)?sh|python[\d.]*|node|deno|bun|ruby|perl|php|env|source|\.|&&|\|\||[;|!]")


def find_trial_check_files_in_change(
    files: Iterable[DraftFile], checks: Mapping[str, Sequence[str]], workspace: Path
) -> tuple[DraftFile, ...]:
    """Return those of the files that change a check, judged by its command and the files its program reads."""
    commands = [list(_split_command(argv)) for argv in checks.values()]
    scripts = {normpath(script) for argv in commands for script in _executed_words(argv)}
    files_read = [
        _FILES_READ_BY_PROGRAM[program]
        for argv in commands
        for word in argv
        if (program := PurePosixPath(word).name) in _FILES_READ_BY_PROGRAM
    ]
    return tuple(
        file for file in files if _is_changed(file) and _is_used_by_check(file, scripts, files_read, workspace)
    )


def restore_trial_check_file(file: DraftFile) -> DraftFile | None:
    """Return the file with its check part restored; None if nothing else in it is changed."""
    before, after = _read_both_packages(file)
    if before is None or after is None:
        return None
    scripts = {name: value for name, value in before.items() if name == _SCRIPTS}
    restored = {**after, **scripts} if scripts else {name: value for name, value in after.items() if name != _SCRIPTS}
    if restored == before:
        return None
    return msgspec.structs.replace(file, after=(json.dumps(restored, indent=2, ensure_ascii=False) + "\n").encode())


def trial_check_file_label(file: DraftFile) -> str:
    """Return which part of a file belongs to checks, for people."""
    path = file.was or file.path
    return f"the scripts of {path}" if PurePosixPath(path).name == _PACKAGE else path


def _split_command(argv: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, including those of a shell script in it."""
    for word in argv:
        try:
            yield from shlex.split(word.replace(";", " ; ")) if " " in word else (word,)
        except ValueError:
            yield word


def _executed_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that are executed themselves, skipping options."""
    before = ";"
    for word in words:
        if word.startswith("-"):
            continue
        if _RUNS_NEXT_WORD.fullmatch(PurePosixPath(before).name or before):
            yield word
        before = word


def _is_changed(file: DraftFile) -> bool:
    """Tell whether the check part of a file is changed."""
    old_package, new_package = _read_both_packages(file)
    if old_package is not None and new_package is not None:
        return old_package.get(_SCRIPTS) != new_package.get(_SCRIPTS)
    return (file.before, file.was_executable) != (file.after, file.executable) or bool(file.was)


def _is_used_by_check(file: DraftFile, scripts: set[str], files_read: Iterable[Sequence[str]], workspace: Path) -> bool:
    """Tell whether a check runs or reads the file and did so before: this file, or one that it replaces."""
    for path in (file.was, file.path):
        folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
        families = [names for names in files_read if name in names] + ([(name,)] if path in scripts else [])
        if any((workspace / folder / file_name).is_file() for family in families for file_name in family):
            return True
    return False


def _read_both_packages(file: DraftFile) -> list[dict[str, Any] | None]:
    """Return the package.json before and after the change; None where it cannot be read."""
    return [_read_package(file.was or file.path, file.before), _read_package(file.path, file.after)]


def _read_package(path: str, data: bytes | None) -> dict[str, Any] | None:
    if data is None or PurePosixPath(path).name != _PACKAGE:
        return None
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
