"""Reads files that are shown to seats: only inside the workspace, and never sensitive files or secrets."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from roundtable.core.faults import UsageError
from roundtable.core.ports import Store
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import ContextItem

MAX_CONTEXT_FILE_BYTES = 400_000
MAX_RANGE_BYTES = 16_000_000
"""A range of lines must end within this many bytes of a larger file."""

_RANGE = re.compile(r"^(?P<path>.+?):(?P<first>\d{1,9})-(?P<last>\d{1,9})$", re.S)


class ContextFileRefused(UsageError):
    """A file that may not be shown to seats."""


class ContextFileHoldsSecret(ContextFileRefused):
    """A file that may not be shown to seats because it contains a secret."""


async def add_opening_context_file(store: Store, redactor: Redactor, workspace: Path, name: str) -> ContextItem:
    """Store the current content of a file, given as `path` or `path:10-50`."""
    return await add_opening_context_data(
        store, name, await asyncio.to_thread(read_context_file, redactor, workspace, name)
    )


async def add_opening_context_data(store: Store, name: str, data: bytes) -> ContextItem:
    """Store data under a name, as context of a meeting."""
    return ContextItem(name, await store.keep(data), len(data))


def read_context_file(redactor: Redactor, workspace: Path, name: str) -> bytes:
    """Read a file of the workspace; raise ContextFileHoldsSecret if it contains a secret."""
    return reject_secrets_in_context_file(redactor, name, read_context_file_range(workspace, name)).encode()


def reject_secrets_in_context_file(redactor: Redactor, name: str, text: str) -> str:
    """Return the text; raise ContextFileHoldsSecret if it contains a secret."""
    if kinds := redactor.finds(text):
        raise ContextFileHoldsSecret(
            f"{name} contains what looks like a secret ({', '.join(kinds)}).",
            "Remove the secret from the file, or do not show the file.",
        )
    return text


def read_context_file_range(workspace: Path, name: str) -> str:
    """Read a text file, or a range of its lines; refuse sensitive files and files outside the workspace."""
    path, lines = split_context_file_range(name)
    root = workspace.resolve()
    data = _read_bytes(root, path, name, lines)
    if lines is not None:
        first, last = lines
        data = b"\n".join(data.splitlines()[max(0, first - 1) : last])
    return decode_context_file_text(name, path, data)


def decode_context_file_text(name: str, path: str, data: bytes) -> str:
    """Return the text in the bytes of a file; refuse binary, empty and too large files."""
    if len(data) > MAX_CONTEXT_FILE_BYTES:
        raise ContextFileRefused(
            f"{name} is larger than {MAX_CONTEXT_FILE_BYTES:,} bytes.",
            f"Show a part of the file, such as {path}:1-400.",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _not_text_error(name) from None
    if "\0" in text:
        raise _not_text_error(name)
    if not text.strip():
        raise ContextFileRefused(f"{name} contains no text.", "Check the file name and the range of lines.")
    return text


def split_context_file_range(name: str) -> tuple[str, tuple[int, int] | None]:
    """Return a name such as `path:10-50` as the path and the range of lines."""
    match = _RANGE.match(name)
    return (match["path"], (int(match["first"]), int(match["last"]))) if match else (name, None)


def resolve_context_file_path(root: Path, path: str, name: str) -> Path:
    """Return a path relative to the workspace with all links resolved; refuse a path that leads outside."""
    try:
        real = (root / path).resolve()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a circle of links, or a zero byte
        raise _not_text_error(name) from None
    if not real.is_relative_to(root):
        raise ContextFileRefused(
            f"{name} is outside the workspace {root}.", "Only files in the workspace can be shown."
        )
    return real.relative_to(root)


def _read_bytes(root: Path, path: str, name: str, lines: tuple[int, int] | None) -> bytes:
    within = resolve_context_file_path(root, path, name)
    if is_sensitive_file_name(within.as_posix()) or is_sensitive_file_name(path):
        raise ContextFileRefused(f"{name} is a sensitive file and is never shown to a model.", "Do not show this file.")
    try:
        with os.fdopen(_open_without_links(root, within.parts), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ContextFileRefused(f"{name} is not a regular file.", "Do not show this file.")
            if lines is None and status.st_size > MAX_CONTEXT_FILE_BYTES:
                raise ContextFileRefused(
                    f"{name} is larger than {MAX_CONTEXT_FILE_BYTES:,} bytes.",
                    f"Show a part of the file, such as {path}:1-400.",
                )
            return file.read(MAX_CONTEXT_FILE_BYTES + 1 if lines is None else MAX_RANGE_BYTES)
    except FileNotFoundError:
        raise ContextFileRefused(
            f"There is no file {name} in {root}.", "Paths are relative to the workspace."
        ) from None
    except IsADirectoryError:
        raise ContextFileRefused(
            f"{name} is a folder.", "Name files in the folder, or show the relevant ones with `--context`."
        ) from None
    except OSError:
        raise _not_text_error(name) from None


def _open_without_links(root: Path, parts: Sequence[str]) -> int:
    """Open a file by its resolved path without following links that appeared since, and without blocking on a pipe."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not parts:
            raise IsADirectoryError
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    if stat.S_ISDIR(os.fstat(handle).st_mode):
        os.close(handle)
        raise IsADirectoryError
    return handle


def _not_text_error(name: str) -> ContextFileRefused:
    return ContextFileRefused(f"{name} cannot be read as text.", "Do not show this file.")
