"""What a run uses, seen by looking at its processes: for machines on which we may make no control group."""

from __future__ import annotations

import os
from contextlib import suppress

from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.sandbox.init_script import SANDBOX_PROCESSES

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class ProcessTreeMeter:
    """Adds up all processes under one; what comes and goes between two looks is not seen."""

    def __init__(self, root: int, bounds: Bounds) -> None:
        self._root = root
        self._bounds = bounds
        self._ticks = 0

    def met(self) -> Limit | None:
        """Whether they are too many or hold too much now."""
        processes, pages, ticks = _used(self._root)
        self._ticks = max(self._ticks, ticks)
        if processes > self._bounds.processes + SANDBOX_PROCESSES:
            return Limit.PROCESSES
        return Limit.MEMORY if pages * _PAGE > self._bounds.memory else None

    def processor_seconds(self) -> float:
        """The most that was seen."""
        return self._ticks / _TICKS


def _used(root: int) -> tuple[int, int, int]:
    """How many processes run under this one, the pages of memory they hold and the ticks they have used together."""
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
    found = list(parents.get(root, ()))
    for pid in found:
        found += parents.get(pid, ())
    return len(found), sum(pages[pid] for pid in found), sum(ticks[pid] for pid in found)
