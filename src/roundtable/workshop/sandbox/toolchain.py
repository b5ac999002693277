"""What a program needs besides the system: the interpreter it names, and the folders beside either."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_BESIDE = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
_LONGEST_LINE = 256
_MOST_LINKS = 16


def toolchain(program: str, workspace: Path) -> list[str]:
    """Places outside the workspace that hold the program or its interpreter, with the libraries next to them.

    Only `bin` and its neighbours of the same installation: never a home as a whole, whatever lies in it.
    """
    found: dict[str, None] = {}
    for path in (path for start in _named(program) for path in _links(start)):
        if not path.is_relative_to(workspace):
            root = path.parent.parent
            beside = [root / name for name in _BESIDE] if path.parent.name == "bin" else [path]
            found |= {str(place): None for place in beside if place.exists() and _stays(place, root)}
    return list(found)


def _stays(place: Path, root: Path) -> bool:
    """Whether a place is of the installation it lies in, and no link to somewhere else."""
    return place.resolve().is_relative_to(root.resolve())


def behind_shim(program: Path) -> str:
    """The program itself, where a version manager (pyenv, rbenv, asdf…) has put a script of its own in its place.

    Such a script needs the manager, and the manager a home: nothing that a sandbox shows.
    """
    if program.parent.name != "shims":
        return str(program)
    root = program.parent.parent
    name = root.name.removeprefix(".")
    for manager in (root / "bin" / name, root / "libexec" / name, shutil.which(name)):
        if manager and os.access(manager, os.X_OK):
            told = _asked(manager, program.name)
            if told.startswith("/"):
                return told
    return str(program)


def _asked(manager: str | Path, name: str) -> str:
    """What a manager says of a program. It is asked far from the project, whose files it would read and obey."""
    told = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        done = subprocess.run(
            [manager, "which", name],
            cwd="/",
            env=told,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _named(program: str) -> Iterator[str]:
    """The program, then the interpreter that its first line names, if it is a script."""
    yield program
    try:
        with open(program, "rb") as file:
            first = file.readline(_LONGEST_LINE)
    except OSError:
        return
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and words[0].startswith("/"):
        yield words[0]


def _links(start: str) -> Iterator[Path]:
    """A path and every path that its links lead over, to the file itself."""
    path = Path(start)
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
    yield Path(os.path.realpath(start))
