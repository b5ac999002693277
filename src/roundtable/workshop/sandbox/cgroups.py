"""Control groups: limits on a run that the kernel enforces, where this process may create groups."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.identity import is_temp_name_of_dead_process, make_temp_name_of_process
from roundtable.workshop.sandbox.init_script import SANDBOX_PROCESSES

_CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
_PERIOD = 100_000
_EMPTY_TIMEOUT = 5.0
"""Seconds to wait for a group to become empty after its processes were killed."""


class ControlGroup:
    """The control group of one run: a folder per controller; in version 2 all controllers share one folder."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    @classmethod
    def create(cls, bounds: Bounds) -> ControlGroup | None:
        """Create a group with these limits; None where this process may not create one."""
        parents = _parent_groups()
        if parents is None:
            return None
        name = make_temp_name_of_process()
        group = cls({controller: folder / name for controller, folder in parents.items()})
        try:
            for folder in group._unique_folders():
                folder.mkdir()
            group._write_limits(bounds)
        except OSError:
            group.remove()
            return None
        return group

    @classmethod
    def of_container(cls, pid: int, container: str) -> ControlGroup | None:
        """Return a container's group for reading, or None while its process has not been moved to all controllers
        yet."""
        folders = _group_folders(pid)
        complete = set(folders) == set(_CONTROLLERS) and all(container in str(folder) for folder in folders.values())
        return cls(folders) if complete else None

    def join_paths(self) -> tuple[str, ...]:
        """Return the files to which a process writes its id to join the group, with all its children."""
        return tuple(str(folder / "cgroup.procs") for folder in self._unique_folders())

    def exceeded_limit(self) -> Limit | None:
        """Return the limit that the kernel enforced, if any."""
        if _read_counter(self._folders["memory"], ("memory.oom_control", "memory.events"), "oom_kill"):
            return Limit.MEMORY
        if _read_counter(self._folders["pids"], ("pids.events",), "max"):
            return Limit.PROCESSES
        return None

    def processor_seconds(self) -> float:
        """Return the processor time used by all processes of the group."""
        with suppress(OSError, ValueError):
            return int((self._folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
        return _read_counter(self._folders["cpu"], ("cpu.stat",), "usage_usec") / 1e6

    def remove(self) -> None:
        """Kill the remaining processes, wait until the group is empty, and delete it."""
        deadline = time.monotonic() + _EMPTY_TIMEOUT
        while not self._try_remove() and time.monotonic() < deadline:
            for folder in self._unique_folders():
                _kill_all(folder)
            time.sleep(0.005)

    def _try_remove(self) -> bool:
        for folder in self._unique_folders():
            with suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self._unique_folders())

    def _unique_folders(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))

    def _write_limits(self, bounds: Bounds) -> None:
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
    """Delete the groups that killed Roundtable processes left behind, with the processes still in them."""
    for folder in dict.fromkeys((_parent_groups() or {}).values()):
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False) and is_temp_name_of_dead_process(entry.name):
                    ControlGroup({"memory": folder / entry.name}).remove()


def _parent_groups() -> dict[str, Path] | None:
    """Return, for each controller, the group in which this process may create its own.

    In version 1 that is the process's own group. In version 2 a group with processes cannot have child groups with
    limits, so it is the nearest ancestor that delegates its controllers.
    """
    version1, version2 = _group_folders(os.getpid(), "cgroup"), _group_folders(os.getpid(), "cgroup2")
    if set(version1) == set(_CONTROLLERS):
        return version1 if all(os.access(folder, os.W_OK | os.X_OK) for folder in version1.values()) else None
    for folder in _ancestors(version2):
        with suppress(OSError):
            handed_down = (folder / "cgroup.subtree_control").read_text().split()
            if {"memory", "pids", "cpu"} <= set(handed_down):
                writable = os.access(folder, os.W_OK | os.X_OK) and os.access(folder / "cgroup.procs", os.W_OK)
                return dict.fromkeys(_CONTROLLERS, folder) if writable else None
    return None


def _ancestors(groups: Mapping[str, Path]) -> Iterator[Path]:
    folder = groups.get("memory")
    while folder is not None and (folder / "cgroup.procs").exists():
        yield folder
        folder = folder.parent


def _group_folders(pid: int, kind: str = "") -> dict[str, Path]:
    """Return the folders of a process's groups by controller; in version 2 all controllers share one folder."""
    mounts = {mounted: (root, point) for mounted, root, point in _cgroup_mounts(kind)}
    folders: dict[str, Path] = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(",") if controllers else _CONTROLLERS:
                root, point = mounts.get(controller if controllers else "", ("", ""))
                if controller in _CONTROLLERS and point and (controllers or controller not in folders):
                    folders[controller] = Path(point) / os.path.relpath(path, root)
    return folders


def _cgroup_mounts(kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield each mounted hierarchy: controller (empty in version 2), root and mount point."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, point = before.split()[3:5]
            kind_of_mount, _, options = after.split(maxsplit=2)
            if kind_of_mount == "cgroup2" and kind != "cgroup":
                yield "", root, point
            if kind_of_mount == "cgroup" and kind != "cgroup2":
                yield from ((option, root, point) for option in options.split(",") if option in _CONTROLLERS)


def _read_counter(folder: Path, names: tuple[str, ...], key: str) -> int:
    for name in names:
        with suppress(OSError, ValueError):
            for line in (folder / name).read_text().splitlines():
                word, _, value = line.partition(" ")
                if word == key:
                    return int(value)
    return 0


def _kill_all(folder: Path) -> None:
    with suppress(OSError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
