"""A folder of our own next to a place, in which is made what then goes there in one step.

Its lock is held as long as its process lives: that tells what a killed one left from what another is still making.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from roundtable.workshop.identity import is_orphan, own_name

_MARK = ".roundtable-making-"
_LOCK = "lock"
_OURS = b"Roundtable is making something here, and removes this folder when it is done.\n"


@contextmanager
def beside(place: Path) -> Generator[Path]:
    """A new folder that nobody else has; what killed processes left next to the place is taken away first."""
    for left in place.parent.glob(f"{_MARK}*"):
        with suppress(OSError):
            _take_away(left)
    folder = Path(mkdtemp(prefix=f"{_MARK}{own_name()}-", dir=place.parent))
    # Locked before it has its name, so that nobody can take it for a dead one's in between.
    lock = os.open(folder / f"{_LOCK}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, _OURS)
        os.rename(folder / f"{_LOCK}.new", folder / _LOCK)
        yield folder
    finally:
        _clear(folder)
        os.close(lock)


def _clear(folder: Path) -> None:
    """Remove all of it, the lock last: who is killed in between leaves what can be told for ours."""
    for path in folder.iterdir():
        if path.name != _LOCK:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _take_away(folder: Path) -> None:
    """Remove a folder that has our lock in it, unless somebody holds it; any other is somebody's own.

    One that was not locked yet, or no longer, is empty but for that; then its name tells that its process is gone.
    """
    if folder.is_symlink():
        return
    if {it.name for it in folder.iterdir()} <= {f"{_LOCK}.new"}:
        if is_orphan(folder.name.removeprefix(_MARK)):
            shutil.rmtree(folder, ignore_errors=True)
        return
    lock = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(lock, len(_OURS) + 1) == _OURS:
            _clear(folder)
    finally:
        os.close(lock)
