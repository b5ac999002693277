"""Files below one folder, opened one path component at a time, so that a symlink on the way is never followed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from roundtable.core.refusals import Refusal, RefusalCode

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags to open a regular file: symlinks are not followed, and pipes do not block."""
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
"""Flags to create a file that must not exist yet."""


class FileContent(msgspec.Struct, frozen=True):
    """A file's bytes and permissions, and its owner and group where they matter."""

    data: bytes
    mode: int
    owner: tuple[int, int] | None = None

    @property
    def executable(self) -> bool:
        """Whether the owner may execute the file."""
        return bool(self.mode & stat.S_IXUSR)

    @staticmethod
    def are_same_for_git(one: FileContent | None, other: FileContent | None) -> bool:
        """Whether git would see two files as equal: same bytes and same executable bit, or both missing."""
        if one is None or other is None:
            return one is other
        return (one.data, one.executable) == (other.data, other.executable)


class UnsafePath(Exception):
    """A path that must not be followed or overwritten: a symlink, or something that is not a regular file."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.path, refusal.code)
        self.refusal = refusal


class ConfinedFolder:
    """An open folder whose files are read and written without following symlinks. Paths are relative and use `/`."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextlib.contextmanager
    def open(cls, root: Path) -> Generator[ConfinedFolder]:
        """Open a folder, which must exist."""
        handle = os.open(root.resolve(), _FOLDER_FLAGS)
        try:
            yield cls(handle)
        finally:
            os.close(handle)

    def read(self, path: str) -> FileContent | None:
        """Return the file at a path, or None if nothing is there."""
        try:
            with self.open_parent(path) as (name, parent):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    raise UnsafePath(Refusal.of(path, RefusalCode.SYMLINK))
                if not stat.S_ISREG(status.st_mode):
                    raise UnsafePath(Refusal.of(path, RefusalCode.NOT_REGULAR))
                with os.fdopen(os.open(name, READ_FLAGS, dir_fd=parent), "rb") as file:
                    status = os.fstat(file.fileno())
                    return FileContent(file.read(), stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))
        except FileNotFoundError:
            return None

    def write(self, path: str, content: FileContent, temporary_name: str) -> None:
        """Replace a file atomically: write a temporary file next to it, then rename. The folder must exist."""
        with self.open_parent(path) as (name, parent):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary_name, dir_fd=parent)
            try:
                with os.fdopen(os.open(temporary_name, CREATE_FLAGS, 0o600, dir_fd=parent), "wb") as file:
                    _write_content(file, content)
                os.replace(temporary_name, name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary_name, dir_fd=parent)
                raise
            os.fsync(parent)

    def remove(self, path: str) -> None:
        """Delete a file if it exists."""
        with contextlib.suppress(FileNotFoundError), self.open_parent(path) as (name, parent):
            os.unlink(name, dir_fd=parent)
            os.fsync(parent)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """Return the folders above a file that do not exist yet, outermost first."""
        parts = path.split("/")[:-1]
        folders_above = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
        return tuple(folder for folder in folders_above if not self.exists(folder))

    def missing_folders_for(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the missing folders above several files, each folder once."""
        return tuple(dict.fromkeys(folder for path in paths for folder in self.missing_folders(path)))

    def make_folder(self, path: str) -> None:
        """Create a folder inside one that exists."""
        with contextlib.suppress(FileExistsError), self.open_parent(path) as (name, parent):
            os.mkdir(name, dir_fd=parent)
            os.fsync(parent)

    def remove_folder(self, path: str) -> None:
        """Delete a folder if it is empty."""
        with contextlib.suppress(OSError), self.open_parent(path) as (name, parent):
            os.rmdir(name, dir_fd=parent)

    def exists(self, path: str) -> bool:
        """Whether anything exists at a path."""
        try:
            with self.open_parent(path) as (name, parent):
                os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @contextlib.contextmanager
    def open_parent(self, path: str) -> Generator[tuple[str, int]]:
        """Open the folder that holds a path, component by component; return the last name and the folder's
        descriptor."""
        *folders, name = path.split("/")
        with contextlib.ExitStack() as stack:
            parent = self._root
            for folder in folders:
                parent = _open_component(path, folder, parent)
                stack.callback(os.close, parent)
            yield name, parent


def _write_content(file: BinaryIO, content: FileContent) -> None:
    file.write(content.data)
    file.flush()
    if content.owner is not None:
        with contextlib.suppress(PermissionError):
            os.fchown(file.fileno(), *content.owner)
    os.fchmod(file.fileno(), content.mode)
    os.fsync(file.fileno())


def _open_component(path: str, folder: str, parent: int) -> int:
    if folder in ("", ".", ".."):
        raise UnsafePath(Refusal.of(path, RefusalCode.PATH_COMPONENT))
    try:
        inner = os.open(folder, _FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError:
        if stat.S_ISLNK(os.stat(folder, dir_fd=parent, follow_symlinks=False).st_mode):
            raise UnsafePath(Refusal.of(path, RefusalCode.FOLDER_SYMLINK, folder=folder)) from None
        raise UnsafePath(Refusal.of(path, RefusalCode.PARENT_NOT_FOLDER, folder=folder)) from None
    return inner
