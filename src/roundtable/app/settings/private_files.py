"""Files that only the user may read: written atomically, and rejected if others can read them."""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from roundtable.core.faults import ConfigError


class PrivateFile:
    """A file that only the user may read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, data: bytes) -> None:
        """Write the file atomically; a crash keeps the old content."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)

    def read(self) -> bytes | None:
        """Read the file; None if it does not exist. Raise ConfigError if other users can read it."""
        try:
            if self.path.stat().st_mode & 0o077:
                raise ConfigError(
                    f"{self.path} can be read by other users.", f"Run: chmod 600 {shlex.quote(str(self.path))}"
                )
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be read: {error.strerror}.", "Check the owner and permissions of the file."
            ) from None

    @contextmanager
    def lock(self) -> Generator[None]:
        """Lock the file against changes by other processes; waits for the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
