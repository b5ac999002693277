"""Resource use found by polling the processes of a run, for machines on which no control group can be created."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.sandbox.init_script import SANDBOX_PROCESSES, sandbox_file_count_limit

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_STAT_BLOCK = 512


class ProcessTreeMeter:
    """Sums up all processes below one, with the memory of files that exist only in memory.

    A program can allocate much between two polls, and can hide shared memory that it has unmapped or sent away. So
    this notices ordinary programs that need too much; it does not hold back hostile ones.
    """

    def __init__(self, root: int, bounds: Bounds, writable: Sequence[str] = ("/tmp",)) -> None:
        self._root = root
        self._bounds = bounds
        self._writable = writable
        self._ticks = 0

    def exceeded_limit(self) -> Limit | None:
        """Return the limit that the processes exceed now, if any."""
        processes = _processes_below(self._root)
        self._ticks = max(self._ticks, sum(process.ticks for process in processes))
        if sum(process.threads for process in processes) > self._bounds.processes + SANDBOX_PROCESSES:
            return Limit.PROCESSES
        pids = [process.pid for process in processes]
        in_files, files = _usage_of_writable_places(pids, self._writable)
        if files > sandbox_file_count_limit(self._bounds):
            return Limit.DISK
        return Limit.MEMORY if _memory_of(pids, in_files) > self._bounds.memory else None

    def processor_seconds(self) -> float:
        """Return the highest processor time seen."""
        return self._ticks / _TICKS_PER_SECOND


class _Process(NamedTuple):
    pid: int
    threads: int
    ticks: int


def _processes_below(root: int) -> list[_Process]:
    parents: dict[int, list[_Process]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            process = _Process(int(entry), int(fields[17]), sum(map(int, fields[11:15])))
            parents.setdefault(int(fields[1]), []).append(process)
    below = list(parents.get(root, ()))
    for process in below:
        below += parents.get(process.pid, ())
    return below


def _memory_of(pids: Sequence[int], in_files: int) -> int:
    """Return the private memory of processes plus the shared memory that they map or hold open, whichever is more."""
    private = mapped = 0
    held: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError, ValueError):
            usage = _read_memory_lines(pid)
            private += usage.get(b"RssAnon", 0) + usage.get(b"VmSwap", 0)
            mapped += usage.get(b"RssShmem", 0)
        held.update(_memory_files_of(pid))
    return private + max(mapped, sum(held.values()) + in_files)


def _read_memory_lines(pid: int) -> dict[bytes, int]:
    """Return the fields of a process's status that are given in kilobytes, in bytes."""
    with open(f"/proc/{pid}/status", "rb") as file:
        lines = [line.split() for line in file if line.endswith(b" kB\n")]
    return {words[0].rstrip(b":"): int(words[1]) << 10 for words in lines}


def _memory_files_of(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the files without a path that a process holds open in memory, and how many bytes they take."""
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(entry.path).startswith(("/memfd:", "/SYSV")):
                    status = os.stat(entry.path)
                    yield (status.st_dev, status.st_ino), status.st_blocks * _STAT_BLOCK


def _usage_of_writable_places(pids: Sequence[int], places: Sequence[str]) -> tuple[int, int]:
    """Return the bytes in the writable places of a sandbox, and the largest number of files in one of them."""
    for pid in pids:
        usages = [usage for place in places if (usage := _usage_inside(pid, place))]
        if usages:
            return sum(size for size, _ in usages), max(count for _, count in usages)
    return 0, 0


def _usage_inside(pid: int, place: str) -> tuple[int, int] | None:
    """Return the bytes and files of a place as a process sees it; None if it still sees this machine's."""
    inside = f"/proc/{pid}/root{place}"
    with suppress(OSError):
        if not os.path.exists(place) or os.stat(inside).st_dev != os.stat(place).st_dev:
            status = os.statvfs(inside)
            return (status.f_blocks - status.f_bfree) * status.f_frsize, status.f_files - status.f_ffree
    return None
