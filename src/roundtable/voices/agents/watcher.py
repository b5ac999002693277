"""Runs between Roundtable and an agent: starts the agent, and ends all its processes when Roundtable stops or dies.

Run by its path as `watcher.py LIFELINE PROGRAM ARG…`; it imports nothing of Roundtable. LIFELINE is a pipe whose other
end only Roundtable holds: it reaches its end when Roundtable closes it or is killed. The agent has its own process
group. On Linux, processes that leave this group become children of the watcher.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GRACE_SECONDS = 0.5
"""Seconds between SIGTERM and SIGKILL."""
_LINUX = sys.platform == "linux"


def _watch_agent_process() -> None:
    """Start the agent, wait until it or Roundtable ends, end all its processes, and exit like the agent."""
    lifeline = int(sys.argv[1])
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _ignore_signal)
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    agent = _start_agent(sys.argv[2:], lifeline)
    for number in (0, 1, 2):
        os.close(number)
    status = _wait_for_end(agent, lifeline, wake)
    _end_processes(agent)
    _exit_like_agent(status)


def _ignore_signal(_number: int, _frame: object) -> None:
    """Do nothing: the wake-up pipe wakes the loop, but a handler must exist."""


def _start_agent(argv: list[str], lifeline: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        os.close(lifeline)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if _LINUX:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _wait_for_end(agent: int, lifeline: int, wake: int) -> int | None:
    """Return the status of the agent, or None if it must be ended because Roundtable is gone."""
    while True:
        ready, _, _ = select.select([lifeline, wake], [], [])
        if wake in ready and any(number != signal.SIGCHLD for number in os.read(wake, 64)):
            return None
        status = _reap_children(agent)
        if status is not None:
            return status
        if lifeline in ready:
            return None


def _reap_children(agent: int) -> int | None:
    """Reap all ended children; return the status of the agent if it was one of them."""
    child_status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == agent:
                child_status = status
    return child_status


def _end_processes(agent: int) -> None:
    """Send SIGTERM to all processes of the agent, and after a grace period SIGKILL."""
    deadline = time.monotonic() + _GRACE_SECONDS
    _signal_processes(agent, signal.SIGTERM)
    while _has_processes_left(agent) and time.monotonic() < deadline:
        time.sleep(0.01)
    while _has_processes_left(agent):
        _signal_processes(agent, signal.SIGKILL)
        time.sleep(0.01)


def _signal_processes(agent: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(agent, number)
    for pid in _list_descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _has_processes_left(agent: int) -> bool:
    _reap_children(agent)
    if _LINUX:
        return bool(_list_descendants())
    try:
        os.killpg(agent, 0)
    except OSError:
        return False
    return True


def _list_descendants() -> list[int]:
    """Return every process below the watcher, found in /proc."""
    if not _LINUX:
        return []
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry))
    descendants = list(children.get(os.getpid(), ()))
    for pid in descendants:
        descendants += children.get(pid, ())
    return descendants


def _exit_like_agent(status: int | None) -> None:
    """Exit with the agent's exit code or by the same signal."""
    if status is None:
        os._exit(0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    _watch_agent_process()
