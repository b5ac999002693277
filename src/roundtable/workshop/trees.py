"""Scratch copies of a workspace, for trying things: what is neither ignored nor secret, with a draft on top."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.core.sensitive import is_sensitive
from roundtable.workshop.beneath import Astray, Beneath, Content
from roundtable.workshop.git import git_of

if TYPE_CHECKING:
    from roundtable.workshop.drafting import Written

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_AT_ONCE = 1 << 24
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_DRAFT = ".roundtable-draft"


def made_tree(workspace: Path, into: Path, files: Sequence[Written] = ()) -> None:
    """Copy a workspace into a folder that is new or empty, and lay a draft over it. Nothing outside is linked to."""
    with git_of(workspace) as git:
        names = [name for name in git.files() if not is_sensitive(name)]
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    copied(workspace, into, names)
    laid_over(into, files)


def copied(workspace: Path, into: Path, names: Iterable[str]) -> None:
    """Copy these files; links only where they cannot lead out, and nothing that is there already is touched."""
    for folder, members in groupby(sorted(names, key=_folder_first), key=lambda name: name.rpartition("/")[0]):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), _opened(workspace, folder) as source:
            (into / folder).mkdir(parents=True, exist_ok=True)
            with _opened(into, folder) as target:
                for name in members:
                    _copied(name, source, target)


def laid_over(tree: Path, files: Sequence[Written]) -> None:
    """Put a draft in place in a tree of our own."""
    with Beneath.of(tree) as below:
        for name in dict.fromkeys(it.was or it.path for it in files):
            with contextlib.suppress(Astray):
                below.remove(name)
        for it in files:
            if it.after is not None:
                for folder in below.missing_folders(it.path):
                    below.make_folder(folder)
                below.write(it.path, Content(it.after, 0o755 if it.executable else 0o644), _DRAFT)


def _folder_first(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    return folder, last


def _copied(path: str, source: int, target: int) -> None:
    folder, _, name = path.rpartition("/")
    with contextlib.suppress(FileNotFoundError, FileExistsError, PermissionError):
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            to = os.readlink(name, dir_fd=source)
            if stays_inside(to, folder) and not is_sensitive(os.path.normpath(os.path.join(folder, to))):
                os.symlink(to, name, dir_fd=target)
        elif stat.S_ISREG(found.st_mode):
            _file_copied(name, source, target, stat.S_IMODE(found.st_mode) & 0o777)


def stays_inside(to: str, folder: str) -> bool:
    """Whether a link in this folder cannot lead above the tree: it climbs at its beginning only, and not too far.

    A climb further on could start behind another link, and nobody knows where that is.
    """
    parts = to.split("/")
    climbs = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(folder.split("/")) if folder else 0
    return not to.startswith("/") and climbs <= depth and ".." not in parts[climbs:]


def _file_copied(name: str, source: int, target: int, mode: int) -> None:
    reading = os.open(name, _LOOK, dir_fd=source)
    try:
        writing = os.open(name, _NEW, mode | 0o600, dir_fd=target)
        try:
            _bytes_copied(reading, writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _bytes_copied(reading: int, writing: int) -> None:
    """By the kernel, which may share the blocks until one of them is written to; else by hand."""
    try:
        while os.copy_file_range(reading, writing, _AT_ONCE):
            pass
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        while chunk := os.read(reading, _AT_ONCE):
            os.write(writing, chunk)


@contextlib.contextmanager
def _opened(root: Path, folder: str) -> Generator[int]:
    """A folder beneath another, reached without following a link."""
    with contextlib.ExitStack() as stack:
        at = os.open(root.resolve(), _WALK)
        stack.callback(os.close, at)
        for part in folder.split("/") if folder else ():
            at = os.open(part, _WALK, dir_fd=at)
            stack.callback(os.close, at)
        yield at
