"""Lease holders: the process that runs a session, and whether it is still alive. A killed process must not block its
session."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from roundtable.core.faults import LeaseLost, SessionHeld

LEASE_SECONDS = 30.0
"""Seconds until a lease expires that is not renewed and whose holder cannot be checked from this machine."""


def lease_holder_of_this_process() -> str:
    """Return the unique name of this process: `host:pid:start:boot`. A reused pid has another start time."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_started(pid)}:{_boot()}"


def _is_lease_holder_dead(holder: str) -> bool:
    """Whether the holder ran on this machine and is gone; False for a holder on another machine, which cannot be
    checked."""
    parts = holder.split(":")
    if len(parts) != 4 or parts[0] != _host() or parts[3] != _boot() or not parts[1].isdigit():
        return False
    pid, started = int(parts[1]), parts[2]
    return not _exists(pid) or _started(pid) != started


class LeaseEnd(NamedTuple):
    """When a lease expires: by the clock, and in seconds since this machine was started, which nobody can set."""

    clock: float = 0.0
    uptime: float = 0.0

    @classmethod
    def after(cls, seconds: float) -> LeaseEnd:
        """The end of a lease that begins now."""
        return cls(time.time() + seconds, time.monotonic() + seconds)


def is_lease_free(holder: str, end: LeaseEnd) -> bool:
    """Whether a lease may be taken over: it has no holder, it has expired, or its holder is dead.

    The clock counts only for a holder whose uptime is not ours: on another machine, or before the last start of this
    one. A clock that is set forward takes no session from a live process.
    """
    if not holder or _is_lease_holder_dead(holder):
        return True
    shares_uptime = end.uptime and holder.rpartition(":")[2] == _boot() != ""
    return end.uptime <= time.monotonic() if shares_uptime else end.clock <= time.time()


def lease_held_error(session: str, holder: str) -> SessionHeld:
    """Return the error that names the process that runs the session."""
    parts = holder.split(":")
    holder_name = f"process {parts[1]} on {parts[0]}" if len(parts) == 4 else holder
    return SessionHeld(
        f"Session {session} is already being run by {holder_name}.",
        "Watch the session, or end it with `roundtable cancel` first.",
    )


def lease_lost_error(session: str) -> LeaseLost:
    """Return the error for a holder whose lease was taken over."""
    return LeaseLost(
        f"Another process has taken over session {session}.",
        "This process no longer writes to the session; watch the session instead.",
    )


@cache
def _host() -> str:
    return socket.gethostname().replace(":", "-")


@cache
def _boot() -> str:
    """Return the boot id and the process namespace: two containers may use the same pid."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{os.stat('/proc/self/ns/pid').st_ino}"
    return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _started(pid: int) -> str:
    """Return a process's start time from /proc; empty if the process is gone or a zombie, or if there is no /proc."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""
