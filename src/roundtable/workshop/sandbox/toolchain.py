"""What a program needs besides the system: the interpreter it names, and the folders beside either."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_BESIDE = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
_LONGEST_LINE = 256
_MOST_LINKS = 16
_USUAL = re.compile(
    r"(?:python|pypy|pip)[\d.]*|node|npm|npx|yarn|pnpm|deno|bun|go|cargo|rustc|ruby|gem|bundle|rake|php|composer"
    r"|java|javac|mvn|gradle|dotnet|make|cmake"
)


def is_usual(name: str) -> bool:
    """Whether it is the bare name of an interpreter or a tool for building: nothing private lies beside those."""
    return _USUAL.fullmatch(name) is not None


def toolchain(program: str, workspace: Path, place: str = "") -> list[str]:
    """Places outside the workspace that hold the program or its interpreter, with the libraries next to them.

    Only `bin` and its neighbours of the same installation: never a home as a whole, whatever lies in it, nor the
    `place` where a workspace is seen.
    """
    found: dict[str, None] = {}
    for path in (path for start in _named(program, workspace) for path in _links(start)):
        if not path.is_relative_to(workspace):
            root = path.parent.parent
            installed = path.parent.name == "bin" and str(root) not in (os.path.expanduser("~"), place)
            beside = [root / name for name in _BESIDE] if installed else [path]
            found |= {str(place): None for place in beside if place.exists() and _stays(place, root)}
    return list(found)


def _stays(place: Path, root: Path) -> bool:
    """Whether a place is of the installation it lies in, and no link to somewhere else."""
    return place.resolve().is_relative_to(root.resolve())


def behind_shim(program: Path) -> str:
    """The program itself, where a version manager (pyenv, rbenv, asdf, rustup…) has put one of its own in its place.

    Such a script needs the manager, and the manager a home: nothing that a sandbox shows.
    """
    for manager in _managers(program):
        if manager and os.access(manager, os.X_OK):
            told = _asked(manager, program.name)
            if told.startswith("/"):
                return told
    return str(program)


def _managers(program: Path) -> tuple[str | Path | None, ...]:
    """Where the manager may be that a program is a shim of; none where it is no shim."""
    rustup = program.with_name("rustup")
    if program != rustup and rustup.exists() and program.samefile(rustup):
        return (rustup,)
    if program.parent.name != "shims":
        return ()
    root = program.parent.parent
    name = root.name.removeprefix(".")
    return root / "bin" / name, root / "libexec" / name, shutil.which(name)


def _asked(manager: str | Path, name: str) -> str:
    """What a manager says of a program. It is asked far from the project, whose files it would read and obey."""
    told = {name: os.environ[name] for name in ("PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME") if name in os.environ}
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


def _named(program: str, workspace: Path) -> Iterator[str]:
    """The program, then the interpreter that its first line names, if it is a script; who wrote it in the workspace
    may not have this machine shown by naming a place there, but for a usual interpreter."""
    yield program
    try:
        with open(program, "rb") as file:
            first = file.readline(_LONGEST_LINE)
    except OSError:
        return
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and words[0].startswith("/"):
        interpreter = Path(words[0])
        foreign = Path(program).is_relative_to(workspace) and not interpreter.is_relative_to(workspace)
        if not foreign or (is_usual(interpreter.name) and interpreter.is_file()):
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
