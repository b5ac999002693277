"""Workspaces for write tests, snapshots of them, and processes that are killed at a given step."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roundtable.core.changeset import DraftFile
from roundtable.core.effects import ChangeApplied
from roundtable.core.refusals import Refusal
from roundtable.workshop.edit.apply_draft import write_draft_to_workspace
from roundtable.workshop.repo.commits import CommitMessage
from tests.repository import git, repository, write

INITIAL_FILES = {
    "README.md": "# Shop\n",
    "src/cart.py": "def total(items):\n    return 0\n",
    "src/old.py": "print('old')\n",
    "src/moved.py": "HERE = 1\n",
    "run.sh": "echo run\n",
    ".gitignore": "local.cfg\n",
}
UNTRACKED_FILES = {"notes.txt": "my own notes\n", "local.cfg": "mine\n"}
"""Files that git does not have: one unknown to it, one ignored."""


def draft_every_change(folder: Path) -> tuple[DraftFile, ...]:
    """Return a draft with every kind of change, two of them to files that git does not track."""
    notes, cart = (folder / "notes.txt").read_bytes(), (folder / "src/cart.py").read_bytes()
    return (
        DraftFile("src/cart.py", cart, b"def total(items):\n    return sum(items)\n"),
        DraftFile("tests/unit/test_cart.py", None, b"def test_total():\n    assert True\n"),
        DraftFile("src/old.py", b"print('old')\n", None),
        DraftFile("lib/here.py", b"HERE = 1\n", b"HERE = 2\n", was="src/moved.py"),
        DraftFile("run.sh", b"echo run\n", b"echo run\n", executable=True),
        DraftFile("notes.txt", notes, b"their notes\n"),
        DraftFile("local.cfg", b"mine\n", b"theirs\n"),
    )


def plain_folder(folder: Path) -> Path:
    """Create a workspace without a repository, with a file that only its owner may read."""
    folder.mkdir()
    write(folder, {**INITIAL_FILES, **UNTRACKED_FILES})
    (folder / "notes.txt").chmod(0o600)
    return folder


def shop(folder: Path) -> Path:
    """Create a repository with unrelated work in it, staged and unstaged, that must not be touched."""
    repository(folder, {**INITIAL_FILES, "mine.py": "a = 1\n", "staged.py": "b = 1\n"})
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@localhost")
    write(folder, {**UNTRACKED_FILES, "mine.py": "a = 2\n", "staged.py": "b = 2\n"})
    git(folder, "add", "staged.py")
    (folder / "notes.txt").chmod(0o600)
    return folder


def commit_message(*producers: str) -> CommitMessage:
    """Return the commit message of a meeting."""
    return CommitMessage("Sum the cart", "0199-session", "Add it up", producers, "ada", {"tests": "passed"})


def require_applied(outcome: ChangeApplied | tuple[Refusal, ...]) -> ChangeApplied:
    """Return the applied change; a refusal fails the test."""
    assert isinstance(outcome, ChangeApplied), outcome
    return outcome


def apply_every_change(folder: Path, journals: Path) -> ChangeApplied:
    """Write and commit the draft of `everything`."""
    return require_applied(
        write_draft_to_workspace(
            folder, journals, draft_every_change(folder), key="0199/apply", commit=commit_message("claude", "gpt")
        )
    )


class Stage:
    """A workspace and its journals that can be reset to their initial state."""

    def __init__(self, folder: Path, begin: Callable[[Path], Path]) -> None:
        self._origin = begin(folder / "origin")
        shutil.rmtree(self._origin / ".git/hooks", ignore_errors=True)
        self._kept: Path | None = None
        self.workspace, self.journals = folder / "work", folder / "journals"

    def keep_journals(self) -> None:
        """Make the current state the initial one."""
        for source, name in ((self.workspace, "origin-2"), (self.journals, "journals-2")):
            shutil.copytree(source, self.workspace.parent / name, symlinks=True)
        self._origin, self._kept = self.workspace.parent / "origin-2", self.workspace.parent / "journals-2"

    def reset(self) -> None:
        """Reset to the initial state."""
        for folder in (self.workspace, self.journals):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._origin, self.workspace, symlinks=True)
        if self._kept:
            shutil.copytree(self._kept, self.journals, symlinks=True)


def take_snapshot(folder: Path) -> dict[str, Any]:
    """Return every file and folder with mode and bytes, and the refs, index and status of git."""
    snapshot: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if ".git" not in path.relative_to(folder).parts:
            mode = stat.S_IMODE(path.lstat().st_mode)
            snapshot[str(path.relative_to(folder))] = (mode, path.read_bytes() if path.is_file() else None)
    if (folder / ".git").exists():
        commands: Sequence[Sequence[str]] = (
            ("for-each-ref",), ("symbolic-ref", "HEAD"), ("ls-files", "-s"), ("status", "--porcelain=v1", "-uall"),
        )  # fmt: skip
        snapshot["git"] = [git(folder, *args) for args in commands]
    return snapshot


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.link", "os.symlink"}
_GIT_WRITES = {
    "update-ref", "update-index", "hash-object", "commit-tree", "write-tree", "read-tree", "init", "checkout", "add"
}  # fmt: skip


def _is_step(event: str, args: tuple[Any, ...]) -> bool:
    """Whether Python is about to change something on the disk."""
    if event == "open":
        return bool(args[2] & _WRITES) and args[2] & os.O_TMPFILE != os.O_TMPFILE  # a file without a name
    if event == "subprocess.Popen":
        return not _GIT_WRITES.isdisjoint(args[1])
    return event in _CHANGES


@contextmanager
def act_before_git(command: str, act: Callable[[], object]) -> Generator[None]:
    """Run `act` just before git is first called with this command."""
    armed = True

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal armed
        if armed and event == "subprocess.Popen" and command in args[1]:
            armed = False
            act()

    sys.addaudithook(hook)
    try:
        yield
    finally:
        assert not armed, f"git {command} was never called"


def run_with_failing_disk(step: int, work: Callable[[], object], *, stays_full: bool = False) -> tuple[bool, str]:
    """Run `work` in a process whose n-th write fails; return whether one failed, and the name of the raised exception.

    With `stays_full`, every later write fails too.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def hook(event: str, args: tuple[Any, ...]) -> None:
            nonlocal count
            if _is_step(event, args):
                count += 1
                if count == step or (stays_full and count > step):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        raised = ""
        try:
            sys.addaudithook(hook)
            work()
        except BaseException as error:
            raised = type(error).__name__
        os.write(write, f"{count >= step:d}{raised}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        report = file.read()
    os.waitpid(child, 0)
    return report[0] == "1", report[1:]


def run_until_killed(step: int, work: Callable[[], object]) -> bool:
    """Run `work` in a process that is killed (SIGKILL) just before its n-th write; return whether it was killed."""
    child = os.fork()
    if child == 0:
        count = 0

        def hook(event: str, args: tuple[Any, ...]) -> None:
            nonlocal count
            if _is_step(event, args):
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return os.WIFSIGNALED(status)
