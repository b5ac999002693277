"""Names tied to this process, so that leftovers of a killed process can be removed; and the login name of the user."""

from __future__ import annotations

import getpass
import os
import re
from contextlib import suppress
from itertools import count
from tempfile import TemporaryDirectory


def os_user_name() -> str:
    """Return the login name of the current user, or the numeric user id where the machine has no name for it
    (containers)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


_NAME = re.compile(r"roundtable-(\d+)-(\d+)-\d+(?!\d)")
_numbers = count(1)


def make_temp_name_of_process() -> str:
    """Return a name that no other process uses: it holds this process's id and start time, and a counter."""
    pid = os.getpid()
    return f"roundtable-{pid}-{_start_time(pid)}-{next(_numbers)}"


def create_temp_folder_for_process() -> TemporaryDirectory[str]:
    """Create a temporary folder that is deleted on exit, or by a later process if this one is killed."""
    return TemporaryDirectory(prefix=f"{make_temp_name_of_process()}-")


def is_temp_name_of_dead_process(name: str) -> bool:
    """Whether a name was made by `make_temp_name_of_process` (or begins with such a name) and its process is gone."""
    owner = _NAME.match(name)
    return owner is not None and _start_time(int(owner[1])) != owner[2]


def _start_time(pid: int) -> str:
    """Return a process's start time in clock ticks since boot; empty if the process is gone."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()
    return ""
