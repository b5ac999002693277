"""Files below one folder, written in one step each and never through a link that stands on the way."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Generator
from pathlib import Path

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

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
            draft = f".{name}.{os.getpid()}.{threading.get_ident()}.new"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=at)
            try:
                with os.fdopen(os.open(draft, _MAKE, 0o644, dir_fd=at), "wb") as file:
                    file.write(data)
                os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
            except OSError:
                with contextlib.suppress(OSError):
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


def _content(name: str, at: int, most: int) -> bytes:
    if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
        return NO_FILE
    with os.fdopen(os.open(name, _LOOK, dir_fd=at), "rb") as file:
        return file.read(most)
