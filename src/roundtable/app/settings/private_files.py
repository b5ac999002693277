"""Files for one person only: written atomically, and rejected if others can read them."""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from roundtable.core.faults import ConfigError


def write_private_file(path: Path, data: bytes) -> None:
    """Write a file atomically; a crash keeps the old content."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def read_private_file(path: Path) -> bytes | None:
    """Read a private file; None if it does not exist."""
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"{path} can be read by other users.", f"Run: chmod 600 {shlex.quote(str(path))}")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", "Check the owner and permissions of the file."
        ) from None


@contextmanager
def lock_private_file(path: Path) -> Generator[None]:
    """Lock a file against changes by other processes; waits for the lock."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
