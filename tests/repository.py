"""Real repositories and real sandboxes, or a reason why there is none."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox


def git(folder: Path, *args: str) -> str:
    """Run git as somebody whose own settings do not matter."""
    who = ("-c", "user.name=tester", "-c", "user.email=tester@localhost", "-c", "init.defaultBranch=main")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    completed = subprocess.run(["git", *who, *args], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return completed.stdout


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, with the folders they lie in."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def repository(folder: Path, files: dict[str, str], message: str = "The beginning") -> Path:
    """A repository with one commit; an empty `.git` folder that stands for one is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files)
    git(folder, "init", "-q")
    commit(folder, message)
    return folder


def own_python(folder: Path) -> None:
    """An environment of the project's own, as bare as `venv` makes one: its tests are run by unittest, not by pytest.

    A pytest with all its plugins takes ten times as long to start, which only stories about pytest are worth.
    """
    environment = folder / ".venv"
    python = Path(sys.executable).resolve()
    settings = f"home = {python.parent}\ninclude-system-site-packages = false\n"
    write(environment, {"pyvenv.cfg": settings, ".gitignore": "*\n"})
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(python)


def commit(folder: Path, message: str) -> None:
    """Commit everything that is not ignored."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


async def sandbox() -> BubblewrapSandbox:
    """The sandbox of this machine. In CI there must be one; elsewhere the test is skipped with the reason."""
    bubblewrap = await BubblewrapSandbox.find()
    if isinstance(bubblewrap, str):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(bubblewrap)
    return bubblewrap


IN_OPEN = 0x20


@contextmanager
def opened(folder: Path, names: Sequence[str]) -> Generator[set[str]]:
    """Which of these files were opened meanwhile, by whatever process: the kernel is asked."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    watched = {libc.inotify_add_watch(watch, os.fsencode(folder / name), IN_OPEN): name for name in names}
    assert -1 not in watched
    seen: set[str] = set()
    try:
        yield seen
        while True:
            try:
                events = os.read(watch, 1 << 16)
            except BlockingIOError:
                break
            while events:
                number, _, _, length = struct.unpack_from("iIII", events)
                seen.add(watched[number])
                events = events[16 + length :]
    finally:
        os.close(watch)
