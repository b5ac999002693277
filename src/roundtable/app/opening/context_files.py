"""Files before the table: confined to the workspace, refused when they are sensitive or hold a secret."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from roundtable.core.faults import UsageError
from roundtable.core.ports import Store
from roundtable.core.text.file_names import is_sensitive_path
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import ContextItem

MAX_CONTEXT_FILE_BYTES = 400_000
FARTHEST = 16_000_000
"""How far into a larger file its lines are counted."""

_RANGE = re.compile(r"^(?P<path>.+?):(?P<first>\d{1,9})-(?P<last>\d{1,9})$", re.S)


class ContextFileRefused(UsageError):
    """A file that may not come before the table."""


class ContextFileHoldsSecret(ContextFileRefused):
    """A file that may not, for what is in it."""


async def store_context_file(store: Store, redactor: Redactor, workspace: Path, name: str) -> ContextItem:
    """Keep one file, given as `path` or `path:10-50`, as it is now."""
    return await store_context_data(store, name, await asyncio.to_thread(read_context_file, redactor, workspace, name))


async def store_context_data(store: Store, name: str, data: bytes) -> ContextItem:
    """Keep what is put before the table under a name."""
    return ContextItem(name, await store.keep(data), len(data))


def read_context_file(redactor: Redactor, workspace: Path, name: str) -> bytes:
    """Read a file of the workspace that holds no secret."""
    return check_context_text(redactor, name, read_context_text(workspace, name)).encode()


def check_context_text(redactor: Redactor, name: str, text: str) -> str:
    """A text that holds no secret."""
    if found := redactor.finds(text):
        raise ContextFileHoldsSecret(
            f"{name} holds what looks like a secret ({', '.join(found)}).", "Take it out of the file, or leave it out."
        )
    return text


def read_context_text(workspace: Path, name: str) -> str:
    """Read a text file of the workspace; links, `..` and sensitive names do not lead out of it."""
    path, lines = split_context_line_range(name)
    root = workspace.resolve()
    data = _read(root, path, name, lines)
    if lines is not None:
        first, last = lines
        data = b"\n".join(data.splitlines()[max(0, first - 1) : last])
    return decode_context_text(name, path, data)


def decode_context_text(name: str, path: str, data: bytes) -> str:
    """The text of a file, which must be one and not be too long."""
    if len(data) > MAX_CONTEXT_FILE_BYTES:
        raise ContextFileRefused(
            f"{name} is larger than {MAX_CONTEXT_FILE_BYTES:,} bytes.", f"Show a part of it: {path}:1-400."
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _not_text(name) from None
    if "\0" in text:
        raise _not_text(name)
    if not text.strip():
        raise ContextFileRefused(f"{name} holds nothing to show.", "Check the file and the lines you named.")
    return text


def split_context_line_range(name: str) -> tuple[str, tuple[int, int] | None]:
    """A name without its range of lines, and the range."""
    found = _RANGE.match(name)
    return (found["path"], (int(found["first"]), int(found["last"]))) if found else (name, None)


def resolve_context_path(root: Path, path: str, name: str) -> Path:
    """Where in the workspace a path really leads, once every link on the way is followed."""
    try:
        real = (root / path).resolve()
    except (OSError, RuntimeError, ValueError):  # a name too long, links in a circle, a zero byte
        raise _not_text(name) from None
    if not real.is_relative_to(root):
        raise ContextFileRefused(
            f"{name} lies outside the workspace {root}.", "Only files of the workspace can be shown."
        )
    return real.relative_to(root)


def _read(root: Path, path: str, name: str, lines: tuple[int, int] | None) -> bytes:
    within = resolve_context_path(root, path, name)
    if is_sensitive_path(within.as_posix()) or is_sensitive_path(path):
        raise ContextFileRefused(f"{name} is a sensitive file and is never shown to a model.", "Leave it out.")
    try:
        with os.fdopen(_opened(root, within.parts), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ContextFileRefused(f"{name} is not a plain file.", "Leave it out.")
            if lines is None and status.st_size > MAX_CONTEXT_FILE_BYTES:
                raise ContextFileRefused(
                    f"{name} is larger than {MAX_CONTEXT_FILE_BYTES:,} bytes.", f"Show a part of it: {path}:1-400."
                )
            return file.read(MAX_CONTEXT_FILE_BYTES + 1 if lines is None else FARTHEST)
    except FileNotFoundError:
        raise ContextFileRefused(
            f"There is no file {name} in {root}.", "Paths are relative to the workspace."
        ) from None
    except IsADirectoryError:
        raise ContextFileRefused(f"{name} is a folder.", "Name the files in it, or show it with --context.") from None
    except OSError:
        raise _not_text(name) from None


def _opened(root: Path, parts: Sequence[str]) -> int:
    """Open a file by a path without links: one that was put there since is not followed, and nothing is waited for."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not parts:
            raise IsADirectoryError
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        found = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    if stat.S_ISDIR(os.fstat(found).st_mode):
        os.close(found)
        raise IsADirectoryError
    return found


def _not_text(name: str) -> ContextFileRefused:
    return ContextFileRefused(f"{name} cannot be read as text.", "Leave it out.")
