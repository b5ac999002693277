"""Control groups: the bounds that the kernel itself holds a run to, where we may make groups."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.identity import is_orphaned_name, process_owned_name
from roundtable.workshop.sandbox.init_script import SANDBOX_PROCESSES

_NEEDED = ("memory", "pids", "cpu", "cpuacct")
_PERIOD = 100_000
_PATIENCE = 5.0
"""Seconds a group has to become empty once its processes were ended."""


class ControlGroup:
    """A control group for one run: a folder for each controller, which are all the same one in the second version."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    @classmethod
    def make(cls, bounds: Bounds) -> ControlGroup | None:
        """A new group with these bounds; None where nobody lets us make one."""
        above = _above()
        if above is None:
            return None
        name = process_owned_name()
        group = cls({controller: folder / name for controller, folder in above.items()})
        try:
            for folder in group._each():
                folder.mkdir()
            group._bind(bounds)
        except OSError:
            group.remove()
            return None
        return group

    @classmethod
    def of(cls, pid: int, container: str) -> ControlGroup | None:
        """The group that a process is in, to be read, once it is all that container's: it is moved there in steps."""
        folders = _groups(pid)
        there = set(folders) == set(_NEEDED) and all(container in str(folder) for folder in folders.values())
        return cls(folders) if there else None

    def entrances(self) -> tuple[str, ...]:
        """The files that a process writes its id into to come under the bounds, with all it starts."""
        return tuple(str(folder / "cgroup.procs") for folder in self._each())

    def met(self) -> Limit | None:
        """Which bound the kernel has had to hold the run to."""
        if _count(self._folders["memory"], ("memory.oom_control", "memory.events"), "oom_kill"):
            return Limit.MEMORY
        if _count(self._folders["pids"], ("pids.events",), "max"):
            return Limit.PROCESSES
        return None

    def processor_seconds(self) -> float:
        """What all of it together has used."""
        with suppress(OSError, ValueError):
            return int((self._folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
        return _count(self._folders["cpu"], ("cpu.stat",), "usage_usec") / 1e6

    def remove(self) -> None:
        """End whatever is still in it, wait until it is empty, and take it away."""
        deadline = time.monotonic() + _PATIENCE
        while not self._removed() and time.monotonic() < deadline:
            for folder in self._each():
                _end_all(folder)
            time.sleep(0.005)

    def _removed(self) -> bool:
        for folder in self._each():
            with suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self._each())

    def _each(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))

    def _bind(self, bounds: Bounds) -> None:
        memory, pids, cpu = self._folders["memory"], self._folders["pids"], self._folders["cpu"]
        quota = max(1000, int(bounds.processors * _PERIOD))
        (pids / "pids.max").write_text(str(bounds.processes + SANDBOX_PROCESSES))
        if (memory / "memory.limit_in_bytes").exists():
            (memory / "memory.limit_in_bytes").write_text(str(bounds.memory))
            with suppress(FileNotFoundError):
                (memory / "memory.memsw.limit_in_bytes").write_text(str(bounds.memory))
            (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (cpu / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (memory / "memory.max").write_text(str(bounds.memory))
            with suppress(FileNotFoundError):
                (memory / "memory.swap.max").write_text("0")
            (memory / "memory.oom.group").write_text("1")
            (cpu / "cpu.max").write_text(f"{quota} {_PERIOD}")


def remove_orphaned_cgroups() -> None:
    """Take away the groups that killed processes of ours have left behind, with whatever still runs in them."""
    for folder in dict.fromkeys((_above() or {}).values()):
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False) and is_orphaned_name(entry.name):
                    ControlGroup({"memory": folder / entry.name}).remove()


def _above() -> dict[str, Path] | None:
    """For each controller, the group in which we may make one of our own.

    In the first version that is our own group. In the second, a group with processes can have no groups with bounds
    below it, so it is the nearest one above that hands its controllers down.
    """
    first, second = _groups(os.getpid(), "cgroup"), _groups(os.getpid(), "cgroup2")
    if set(first) == set(_NEEDED):
        return first if all(os.access(it, os.W_OK | os.X_OK) for it in first.values()) else None
    for folder in _upwards(second):
        with suppress(OSError):
            handed_down = (folder / "cgroup.subtree_control").read_text().split()
            if {"memory", "pids", "cpu"} <= set(handed_down):
                writable = os.access(folder, os.W_OK | os.X_OK) and os.access(folder / "cgroup.procs", os.W_OK)
                return dict.fromkeys(_NEEDED, folder) if writable else None
    return None


def _upwards(groups: Mapping[str, Path]) -> Iterator[Path]:
    folder = groups.get("memory")
    while folder is not None and (folder / "cgroup.procs").exists():
        yield folder
        folder = folder.parent


def _groups(pid: int, kind: str = "") -> dict[str, Path]:
    """Where the groups of a process are, by controller; those of the second version have all of them in one place."""
    mounts = {mounted: (root, point) for mounted, root, point in _mounts(kind)}
    found: dict[str, Path] = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(",") if controllers else _NEEDED:
                root, point = mounts.get(controller if controllers else "", ("", ""))
                if controller in _NEEDED and point and (controllers or controller not in found):
                    found[controller] = Path(point) / os.path.relpath(path, root)
    return found


def _mounts(kind: str) -> Iterator[tuple[str, str, str]]:
    """What controls what, and where it is mounted: the controller (none for the second version), root and place."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, point = before.split()[3:5]
            what, _, options = after.split(maxsplit=2)
            if what == "cgroup2" and kind != "cgroup":
                yield "", root, point
            if what == "cgroup" and kind != "cgroup2":
                yield from ((it, root, point) for it in options.split(",") if it in _NEEDED)


def _count(folder: Path, names: tuple[str, ...], key: str) -> int:
    for name in names:
        with suppress(OSError, ValueError):
            for line in (folder / name).read_text().splitlines():
                word, _, value = line.partition(" ")
                if word == key:
                    return int(value)
    return 0


def _end_all(folder: Path) -> None:
    with suppress(OSError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
