"""Resource use found by polling the processes of a run, for machines on which no control group can be created."""

from __future__ import annotations

import os
from contextlib import suppress

from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.sandbox.init_script import SANDBOX_PROCESSES

_PAGE_BYTES, _TICKS_PER_SECOND = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class ProcessTreeMeter:
    """Sums up all processes below one; processes that come and go between two polls are not seen."""

    def __init__(self, root: int, bounds: Bounds) -> None:
        self._root = root
        self._bounds = bounds
        self._ticks = 0

    def exceeded_limit(self) -> Limit | None:
        """Return the limit that the processes exceed now, if any."""
        processes, pages, ticks = _usage_below(self._root)
        self._ticks = max(self._ticks, ticks)
        if processes > self._bounds.processes + SANDBOX_PROCESSES:
            return Limit.PROCESSES
        return Limit.MEMORY if pages * _PAGE_BYTES > self._bounds.memory else None

    def processor_seconds(self) -> float:
        """Return the highest processor time seen."""
        return self._ticks / _TICKS_PER_SECOND


def _usage_below(root: int) -> tuple[int, int, int]:
    """Return the number of processes below one, their memory in pages and their processor time in ticks."""
    parents: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry))
            pages[int(entry)] = int(fields[21])
            ticks[int(entry)] = sum(map(int, fields[11:15]))
    pids = list(parents.get(root, ()))
    for pid in pids:
        pids += parents.get(pid, ())
    return len(pids), sum(pages[pid] for pid in pids), sum(ticks[pid] for pid in pids)
