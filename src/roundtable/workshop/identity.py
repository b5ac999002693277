"""Names that say which process something belongs to, so that what a killed one left behind can be told and cleared.

Who sits at this machine.
"""

from __future__ import annotations

import getpass
import os
import re
from contextlib import suppress
from itertools import count
from tempfile import TemporaryDirectory


def current_user_name() -> str:
    """The name of whoever runs this; their number where the machine knows no name for it, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


_NAME = re.compile(r"roundtable-(\d+)-(\d+)-\d+(?!\d)")
_numbers = count(1)


def process_owned_name() -> str:
    """A name that nobody else has: of this process, by its id and when it began."""
    pid = os.getpid()
    return f"roundtable-{pid}-{_begun(pid)}-{next(_numbers)}"


def process_owned_folder() -> TemporaryDirectory[str]:
    """A folder for a while; who comes after us clears it away if we cannot."""
    return TemporaryDirectory(prefix=f"{process_owned_name()}-")


def is_orphaned_name(name: str) -> bool:
    """Whether this is a name of ours, or begins with one, whose process is gone."""
    owner = _NAME.match(name)
    return owner is not None and _begun(int(owner[1])) != owner[2]


def _begun(pid: int) -> str:
    """When a process began, in ticks since the machine did; nothing if it is gone."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()
    return ""
