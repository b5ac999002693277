"""Files beneath one folder, reached step by step: a link on the way leads nowhere, whenever it was put there."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from roundtable.core.changeset import Refusal, RefusalKind

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Opens a file, and neither a link nor what one would wait for."""
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
"""Opens a file that was not there."""


class FileContent(msgspec.Struct, frozen=True):
    """A file: its bytes, its permissions, and the user and group it belongs to if that matters."""

    data: bytes
    mode: int
    owner: tuple[int, int] | None = None

    @property
    def executable(self) -> bool:
        """Whether its owner may run it."""
        return bool(self.mode & stat.S_IXUSR)

    def same(self, other: FileContent | None) -> bool:
        """Whether the other one is the same to git: its bytes, and whether it can be run."""
        return other is not None and (self.data, self.executable) == (other.data, other.executable)


class UnsafePath(Exception):
    """Something on the way to a file, or in its place, that is not ours to follow or to write over."""

    def __init__(self, path: str, kind: RefusalKind, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(path, kind, sentence)


class ConfinedFolder:
    """An open folder. Paths are relative to it and use `/`."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextlib.contextmanager
    def of(cls, root: Path) -> Generator[ConfinedFolder]:
        """The folder, which must be there."""
        handle = os.open(root.resolve(), _WALK)
        try:
            yield cls(handle)
        finally:
            os.close(handle)

    def read(self, path: str) -> FileContent | None:
        """What stands there; None if nothing does."""
        try:
            with self.folder_of(path) as (name, at):
                found = os.stat(name, dir_fd=at, follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    raise UnsafePath(path, RefusalKind.LINK, f"{path} is a link.")
                if not stat.S_ISREG(found.st_mode):
                    raise UnsafePath(path, RefusalKind.NOT_A_FILE, f"{path} is not a file.")
                with os.fdopen(os.open(name, READ_FLAGS, dir_fd=at), "rb") as file:
                    found = os.fstat(file.fileno())
                    return FileContent(file.read(), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))
        except FileNotFoundError:
            return None

    def write(self, path: str, content: FileContent, draft: str) -> None:
        """Put a file in place in one step, over a draft beside it; its folder must be there."""
        with self.folder_of(path) as (name, at):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=at)
            try:
                with os.fdopen(os.open(draft, CREATE_FLAGS, 0o600, dir_fd=at), "wb") as file:
                    _fill(file, content)
                os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=at)
                raise
            os.fsync(at)

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        with contextlib.suppress(FileNotFoundError), self.folder_of(path) as (name, at):
            os.unlink(name, dir_fd=at)
            os.fsync(at)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """The folders on the way to a file that are not there yet, from the outermost in."""
        parts = path.split("/")[:-1]
        ways = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
        return tuple(way for way in ways if not self._is_there(way))

    def folders_for(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The same for several files, each folder once."""
        return tuple(dict.fromkeys(folder for path in paths for folder in self.missing_folders(path)))

    def make_folder(self, path: str) -> None:
        """Make a folder in one that is there."""
        with contextlib.suppress(FileExistsError), self.folder_of(path) as (name, at):
            os.mkdir(name, dir_fd=at)
            os.fsync(at)

    def remove_folder(self, path: str) -> None:
        """Take a folder away, if it is empty."""
        with contextlib.suppress(OSError), self.folder_of(path) as (name, at):
            os.rmdir(name, dir_fd=at)

    def has(self, path: str) -> bool:
        """Whether anything at all stands there."""
        return self._is_there(path)

    def _is_there(self, path: str) -> bool:
        try:
            with self.folder_of(path) as (name, at):
                os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @contextlib.contextmanager
    def folder_of(self, path: str) -> Generator[tuple[str, int]]:
        """The last name of a path, and the folder it lies in, opened one step after the other."""
        *folders, name = path.split("/")
        with contextlib.ExitStack() as stack:
            at = self._root
            for folder in folders:
                at = _step(path, folder, at)
                stack.callback(os.close, at)
            yield name, at


def _fill(file: BinaryIO, content: FileContent) -> None:
    file.write(content.data)
    file.flush()
    if content.owner is not None:
        with contextlib.suppress(PermissionError):
            os.fchown(file.fileno(), *content.owner)
    os.fchmod(file.fileno(), content.mode)
    os.fsync(file.fileno())


def _step(path: str, folder: str, at: int) -> int:
    if folder in ("", ".", ".."):
        raise UnsafePath(path, RefusalKind.TRAVERSAL, f"{path} is not a plain path.")
    try:
        inner = os.open(folder, _WALK, dir_fd=at)
    except FileNotFoundError:
        raise
    except OSError:
        if stat.S_ISLNK(os.stat(folder, dir_fd=at, follow_symlinks=False).st_mode):
            raise UnsafePath(path, RefusalKind.LINK, f"{folder}, on the way to {path}, is a link.") from None
        raise UnsafePath(path, RefusalKind.NOT_A_FILE, f"{folder}, on the way to {path}, is not a folder.") from None
    return inner
