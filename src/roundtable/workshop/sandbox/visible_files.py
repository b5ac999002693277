"""What a run sees of this machine: the system's programs, its own toolchain and its folder without sensitive files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.core.file_kinds import is_sensitive
from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox.caches import caches
from roundtable.workshop.sandbox.toolchain import behind_shim, is_usual, toolchain

NOTHING = Path(__file__).parent / "nothing.txt"
"""An empty file, shown in the place of those that nobody may see."""
OWN_NAMES = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("hosts", "nsswitch.conf")}
"""What a run without a network needs to know itself as localhost."""
OWN_USER = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("passwd", "group")}
VARIABLES = {
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


class View(msgspec.Struct, frozen=True):
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


def view_of(job: Job) -> View | None:
    """What a job would see with the programs of this machine; None where there is no such program."""
    program = _located(job.argv[0], job)
    if program is None:
        return None
    programs = [*filter(None, (_lendable(it, job) for it in job.programs)), program]
    places = [*_SYSTEM, *_SETTINGS, *(_NETWORK if job.network else ())]
    places += [place for it in programs for place in toolchain(it.real, it.home, job.seen_at)]
    files, folders = emptied(Path(job.folder))
    found_in = [os.path.dirname(it.seen) for it in programs]
    path = os.pathsep.join(dict.fromkeys((*found_in, "/usr/local/bin", "/usr/bin", "/bin")))
    there = tuple(it for it in dict.fromkeys(places) if os.path.exists(it) and not _has_its_own(job, it))
    fetched = caches(os.path.basename(program.real), VARIABLES["HOME"])
    return View(program.seen, there, files, folders, path, {**fetched, **lent(job)})


def emptied(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sensitive files and folders, within the folder, and what its repository knows of other machines."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        inside = os.path.relpath(place, folder)
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if name != ".git" and is_sensitive(os.path.join(inside, name)) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
        if ".git" in folders and os.path.isfile(config := os.path.join(place, ".git", "config")):
            found.append(os.path.relpath(config, folder))
        folders[:] = [it for it in folders if it not in _PASSED_OVER and it != ".git" and not is_sensitive(it)]
    whole = tuple(it for it in found if (folder / it).is_dir())
    return tuple(it for it in found if it not in whole), whole


def lent(job: Job) -> dict[str, str]:
    """Where a job is shown the folders that are lent to it; where something of its own is, that is shown instead."""
    if not job.works_on_copy:
        return {}
    return {
        os.path.join(job.seen_at, path): source
        for path, source in job.lent.items()
        if not (_is_taken(job.folder, path) or any(within(it, path) for it in job.files))
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
    inside = job.works_on_copy and within(place, job.seen_at)
    return inside and _is_taken(job.folder, os.path.relpath(place, job.seen_at))


def _lendable(name: str, job: Job) -> _Program | None:
    """A program that a project names, if it is one of the system, a usual one or our own interpreter.

    To find a program is to show the folders beside it, and a project could name anything.
    """
    found = _located(name, job)
    if found is None or is_usual(name) or name == sys.executable:
        return found
    return found if os.path.realpath(found.real).startswith(tuple(f"{it}/" for it in _SYSTEM)) else None


def _located(name: str, job: Job) -> _Program | None:
    """The program of that name: on the person's path, or where a path leads to from the folder as the job sees it."""
    folder = Path(job.folder)
    if "/" not in name:
        found = shutil.which(name)
        real = behind_shim(Path(found)) if found else ""
        return _Program(real, real, folder) if real else None
    seen = os.path.normpath(os.path.join(job.seen_at, name))
    inside = {**lent(job), job.seen_at: job.folder}
    really = [(f"{source}{seen.removeprefix(at)}", source) for at, source in inside.items() if within(seen, at)]
    for real, home in (*really, *([(seen, job.folder)] if os.path.isabs(name) else [])):
        if os.path.isfile(real) and os.access(real, os.X_OK):
            return _Program(real, seen, Path(home))
    return None


def within(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, by its name."""
    return path.startswith(f"{folder.rstrip('/')}/")
