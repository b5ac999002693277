"""What a run sees of this machine: the system's programs, its own toolchain and its folder without sensitive files.

What build tools have fetched before: without a network, a project with dependencies needs it to be built.

What a program needs besides the system: the interpreter it names, and the folders beside either.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.sandbox import Job


def package_cache_mounts(tool: str, home: str) -> dict[str, str]:
    """Folders of published packages, by where a tool looks for them in this home; no clones, settings or keys."""
    if tool != "cargo":
        return {}
    fetched = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry"
    return {os.path.join(home, ".cargo/registry"): str(fetched)} if fetched.is_dir() else {}


_BESIDE = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
_LONGEST_LINE = 256
_MOST_LINKS = 16
_USUAL = re.compile(
    r"(?:python|pypy|pip)[\d.]*|node|npm|npx|yarn|pnpm|deno|bun|go|cargo|rustc|ruby|gem|bundle|rake|php|composer"
    r"|java|javac|mvn|gradle|dotnet|make|cmake"
)


def is_common_tool(name: str) -> bool:
    """Whether it is the bare name of an interpreter or a tool for building: nothing private lies beside those."""
    return _USUAL.fullmatch(name) is not None


def find_toolchain_paths(program: str, workspace: Path, place: str = "") -> list[str]:
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


def resolve_version_manager_shim(program: Path) -> str:
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
        if not foreign or (is_common_tool(interpreter.name) and interpreter.is_file()):
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


EMPTY_FILE = Path(__file__).parent / "nothing.txt"
"""An empty file, shown in the place of those that nobody may see."""
LOCALHOST_MOUNTS = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("hosts", "nsswitch.conf")}
"""What a run without a network needs to know itself as localhost."""
USER_MOUNTS = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("passwd", "group")}
SANDBOX_VARIABLES = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "LOGNAME": "nobody",
    "USER": "nobody",
    "NO_COLOR": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
_NETWORK = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
)  # fmt: skip
"""What finding another machine, and knowing it for what it says it is, needs besides."""
_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__"})
"""Folders of other people's published code: what looks like a key there is none."""


class SandboxView(msgspec.Struct, frozen=True):
    """The program as it is found, the places that are shown as they are, what is emptied in the folder, PATH, and the
    places where something that lies elsewhere is shown."""

    program: str
    places: tuple[str, ...]
    emptied_files: tuple[str, ...]
    emptied_folders: tuple[str, ...]
    path: str
    lent: dict[str, str]


class _Program(NamedTuple):
    """Where a program is, where a run finds it, and the folder that is shown with all that is in it."""

    real: str
    seen: str
    home: Path


def plan_sandbox_view(job: Job) -> SandboxView | None:
    """What a job would see with the programs of this machine; None where there is no such program."""
    program = _located(job.argv[0], job)
    if program is None:
        return None
    programs = [*filter(None, (_lendable(it, job) for it in job.programs)), program]
    places = [*_SYSTEM, *_SETTINGS, *(_NETWORK if job.network else ())]
    places += [place for it in programs for place in find_toolchain_paths(it.real, it.home, job.visible_at)]
    files, folders = find_hidden_paths(Path(job.folder))
    found_in = [os.path.dirname(it.seen) for it in programs]
    path = os.pathsep.join(dict.fromkeys((*found_in, "/usr/local/bin", "/usr/bin", "/bin")))
    there = tuple(it for it in dict.fromkeys(places) if os.path.exists(it) and not _has_its_own(job, it))
    fetched = package_cache_mounts(os.path.basename(program.real), SANDBOX_VARIABLES["HOME"])
    return SandboxView(program.seen, there, files, folders, path, {**fetched, **plan_lent_mounts(job)})


def find_hidden_paths(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sensitive files and folders, within the folder, and what its repository knows of other machines."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        inside = os.path.relpath(place, folder)
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if name != ".git" and is_sensitive_path(os.path.join(inside, name)) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
        if ".git" in folders and os.path.isfile(config := os.path.join(place, ".git", "config")):
            found.append(os.path.relpath(config, folder))
        folders[:] = [it for it in folders if it not in _PASSED_OVER and it != ".git" and not is_sensitive_path(it)]
    whole = tuple(it for it in found if (folder / it).is_dir())
    return tuple(it for it in found if it not in whole), whole


def plan_lent_mounts(job: Job) -> dict[str, str]:
    """Where a job is shown the folders that are lent to it; where something of its own is, that is shown instead."""
    if not job.works_on_copy:
        return {}
    return {
        os.path.join(job.visible_at, path): source
        for path, source in job.lent.items()
        if not (_is_taken(job.folder, path) or any(is_path_within(it, path) for it in job.files))
    }


def _is_taken(folder: str, path: str) -> bool:
    """Whether something stands there in a folder, or something that is no folder on the way to it."""
    above = os.path.join(folder, os.path.dirname(path))
    while above != folder and not os.path.lexists(above):
        above = os.path.dirname(above)
    in_the_way = above != folder and (os.path.islink(above) or not os.path.isdir(above))
    return in_the_way or os.path.lexists(os.path.join(folder, path))


def _has_its_own(job: Job, place: str) -> bool:
    """Whether a place lies where a copy is seen, and something of the copy is there."""
    inside = job.works_on_copy and is_path_within(place, job.visible_at)
    return inside and _is_taken(job.folder, os.path.relpath(place, job.visible_at))


def _lendable(name: str, job: Job) -> _Program | None:
    """A program that a project names, if it is one of the system, a usual one or our own interpreter.

    To find a program is to show the folders beside it, and a project could name anything.
    """
    found = _located(name, job)
    if found is None or is_common_tool(name) or name == sys.executable:
        return found
    return found if os.path.realpath(found.real).startswith(tuple(f"{it}/" for it in _SYSTEM)) else None


def _located(name: str, job: Job) -> _Program | None:
    """The program of that name: on the person's path, or where a path leads to from the folder as the job sees it."""
    folder = Path(job.folder)
    if "/" not in name:
        found = shutil.which(name)
        real = resolve_version_manager_shim(Path(found)) if found else ""
        return _Program(real, real, folder) if real else None
    seen = os.path.normpath(os.path.join(job.visible_at, name))
    inside = {**plan_lent_mounts(job), job.visible_at: job.folder}
    really = [(f"{source}{seen.removeprefix(at)}", source) for at, source in inside.items() if is_path_within(seen, at)]
    for real, home in (*really, *([(seen, job.folder)] if os.path.isabs(name) else [])):
        if os.path.isfile(real) and os.access(real, os.X_OK):
            return _Program(real, seen, Path(home))
    return None


def is_path_within(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, by its name."""
    return path.startswith(f"{folder.rstrip('/')}/")
