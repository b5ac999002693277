"""Files below one folder, written in one step each and never through a link that stands on the way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Generator
from pathlib import Path

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK

NO_FILE = b"\0"
"""What a link, a pipe or a folder in place of a file is read as: like nothing that we would write."""


class Tree:
    """An open folder. Paths are relative to it and use `/`; what goes wrong is an OSError."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextlib.contextmanager
    def below(cls, root: Path) -> Generator[Tree]:
        """The folder, which must be there and be no link itself."""
        with _opened(root) as handle:
            yield cls(handle)

    def read(self, path: str, most: int) -> bytes | None:
        """The beginning of what stands there; None if nothing does."""
        try:
            with self._folder_of(path, make=False) as (name, at):
                return _content(name, at, most)
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Put a file in place, and the folders on the way; a crash leaves what was there."""
        with self._folder_of(path, make=True) as (name, at):
            draft = f".{name}.new"
            with os.fdopen(_locked(draft, at), "wb") as file:
                try:
                    file.truncate()
                    file.write(data)
                    file.flush()
                    os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
                except OSError:
                    os.unlink(draft, dir_fd=at)
                    raise

    @contextlib.contextmanager
    def _folder_of(self, path: str, *, make: bool) -> Generator[tuple[str, int]]:
        *folders, name = path.split("/")
        with contextlib.ExitStack() as stack:
            at = self._root
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=at)
                at = stack.enter_context(_opened(folder, at))
            yield name, at


@contextlib.contextmanager
def _opened(path: str | Path, at: int | None = None) -> Generator[int]:
    handle = os.open(path, _WALK, dir_fd=at)
    try:
        yield handle
    finally:
        os.close(handle)


def _locked(draft: str, at: int) -> int:
    """The draft as ours alone. It is always called the same, so that what a killed process left is taken up again."""
    while True:
        with contextlib.ExitStack() as stack:
            handle = os.open(draft, _DRAFT, 0o644, dir_fd=at)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            ours = os.fstat(handle)
            try:
                there = os.stat(draft, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:  # who had it before us has just put it in place
                continue
            if not os.path.samestat(ours, there):
                continue
            if stat.S_ISREG(ours.st_mode) and ours.st_nlink == 1:
                stack.pop_all()
                return handle
            os.unlink(draft, dir_fd=at)  # a pipe, or a file that has another name elsewhere


def _content(name: str, at: int, most: int) -> bytes:
    if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
        return NO_FILE
    with os.fdopen(os.open(name, _LOOK, dir_fd=at), "rb") as file:
        return file.read(most)
