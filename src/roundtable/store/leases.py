"""Who holds a lease, and whether that process still lives: a killed one must not keep its session from anybody."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

from roundtable.core.faults import LeaseLost, SessionHeld

LEASE_SECONDS = 30.0
"""How long a lease lasts that is not renewed and whose holder cannot be looked at from here."""


def current_lease_holder() -> str:
    """The name of this process for good: `host:pid:start:boot`. A reused pid has another start time."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_started(pid)}:{_boot()}"


def is_lease_holder_dead(holder: str) -> bool:
    """True when the holder ran where we run and is gone; of a process elsewhere we know nothing."""
    parts = holder.split(":")
    if len(parts) != 4 or parts[0] != _host() or parts[3] != _boot() or not parts[1].isdigit():
        return False
    pid, started = int(parts[1]), parts[2]
    return not _exists(pid) or _started(pid) != started


def is_lease_free(holder: str, expires: float, now: float) -> bool:
    """Whether a lease may be taken over."""
    return not holder or expires <= now or is_lease_holder_dead(holder)


def lease_held_error(session: str, holder: str) -> SessionHeld:
    """The error that names who runs the session."""
    parts = holder.split(":")
    who = f"process {parts[1]} on {parts[0]}" if len(parts) == 4 else holder
    return SessionHeld(
        f"Session {session} is run by {who}.", "Watch it from here, or end it with `roundtable cancel` first."
    )


def lease_lost_error(session: str) -> LeaseLost:
    """The error of a holder that was too slow."""
    return LeaseLost(
        f"Another process has taken session {session} over.", "Watch it from here; nothing more is written by this one."
    )


@cache
def _host() -> str:
    return socket.gethostname().replace(":", "-")


@cache
def _boot() -> str:
    """The boot and the process namespace: pids of two containers must not be taken for each other."""
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
    """The start time from /proc; empty for one that is gone or a zombie, and where there is no /proc."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""
