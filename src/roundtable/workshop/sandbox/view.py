"""What a run sees of this machine: the system's programs, its own toolchain and its folder without sensitive files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.core.sandbox import Job
from roundtable.core.sensitive import is_sensitive
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
    """The program as it is found, the places that are shown as they are, what is emptied in the folder, and PATH."""

    program: str
    places: tuple[str, ...]
    emptied_files: tuple[str, ...]
    emptied_folders: tuple[str, ...]
    path: str


def view_of(job: Job) -> View | None:
    """What a job would see with the programs of this machine; None where there is no such program."""
    folder = Path(job.folder)
    program = _located(job.argv[0], folder, lent(job))
    if program is None:
        return None
    programs = [*filter(None, (_lendable(it, folder) for it in job.programs)), program]
    places = [*_SYSTEM, *_SETTINGS, *(_NETWORK if job.network else ())]
    places += [place for it in programs for place in toolchain(it, folder)]
    files, folders = emptied(folder)
    found_in = [str(Path(it).parent) for it in programs]
    path = os.pathsep.join(dict.fromkeys((*found_in, "/usr/local/bin", "/usr/bin", "/bin")))
    return View(program, tuple(it for it in dict.fromkeys(places) if os.path.exists(it)), files, folders, path)


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
    places = {os.path.join(job.folder, path): source for path, source in job.lent.items()}
    return {
        place: source
        for place, source in places.items()
        if os.path.isdir(os.path.dirname(place)) and not os.path.lexists(place)
    }


def _lendable(name: str, folder: Path) -> str | None:
    """A program that a project names, if it is one of the system, a usual one or our own interpreter.

    To find a program is to show the folders beside it, and a project could name anything.
    """
    found = _located(name, folder)
    if found is None or is_usual(name) or name == sys.executable:
        return found
    return found if os.path.realpath(found).startswith(tuple(f"{it}/" for it in _SYSTEM)) else None


def _located(name: str, folder: Path, lent: Mapping[str, str] = {}) -> str | None:
    """The program of that name: on the person's path, or within the folder if it is given as a path."""
    if "/" in name:
        path = os.path.normpath(folder / name)
        above = next((it for it in lent if path.startswith(f"{it}/")), "")
        really = lent[above] + path.removeprefix(above) if above else path
        return path if os.path.isfile(really) and os.access(really, os.X_OK) else None
    found = shutil.which(name)
    return behind_shim(Path(found)) if found else None
