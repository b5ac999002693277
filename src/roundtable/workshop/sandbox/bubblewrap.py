"""The bubblewrap sandbox: a program runs in its own namespaces, and killing its first process ends all of them."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from roundtable.core.sandbox import Bounds, Exit, Job, Output, Resource
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.sandbox.cgroups import ControlGroup, remove_orphaned_cgroups
from roundtable.workshop.sandbox.init_script import (
    SANDBOX_PROCESSES,
    SOURCE_MOUNT,
    SPARE_PROCESSES,
    InitReport,
    pack_sandbox_job_files,
    sandbox_file_count_limit,
    sandbox_init_script_arguments,
)
from roundtable.workshop.sandbox.process_usage import ProcessTreeMeter
from roundtable.workshop.sandbox.run_result import run_sandbox_job
from roundtable.workshop.sandbox.seccomp import build_seccomp_filter
from roundtable.workshop.sandbox.supervisor import RunSupervisor, kill_process_group
from roundtable.workshop.sandbox.visible_files import (
    EMPTY_FILE,
    LOCALHOST_MOUNTS,
    SANDBOX_VARIABLES,
    USER_MOUNTS,
    Mount,
    SandboxView,
    is_inside_sandbox_mount,
    plan_sandbox_view,
)

BUBBLEWRAP_PROGRAM = "bwrap"

_NAMESPACE_OPTIONS = (
    "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session",
    "--cap-drop", "ALL", "--hostname", "sandbox",
)  # fmt: skip
_HIDDEN_PROC_FILES = ("/proc/keys", "/proc/key-users")
_PROC_OPTIONS = (
    "--proc", "/proc",
    *(word for path in _HIDDEN_PROC_FILES if os.path.exists(path) for word in ("--ro-bind", str(EMPTY_FILE), path)),
    "--remount-ro", "/proc",
)  # fmt: skip
"""Read-only as a whole: the kernel treats root as root in every namespace, which could set
/proc/sys/kernel/core_pattern."""
_OPTION_VARIANTS = (("--disable-userns", *_PROC_OPTIONS), _PROC_OPTIONS, ("--dir", "/proc"))
"""Older versions cannot forbid nested namespaces, and some containers forbid mounting a new /proc."""
_SHM_BYTES = 64 << 20
_STOP_TIMEOUT = 60.0
"""Seconds in which a killed sandbox must be gone; longer is a fault, so the caller stops waiting."""
_JOIN_GROUP_SCRIPT = 'n=$1; shift; while [ $n -gt 0 ]; do echo $$ >"$1" || exit 126; shift; n=$((n-1)); done; exec "$@"'
"""Joins the control group before the sandbox starts."""
_MOUNT_SCRIPT = (
    "mount=$1 options=$2 n=$3; shift 3; "
    "for place in fs bus dev; do [ $n = 0 ] && break; "
    '"$mount" -t tmpfs -o "$options" tmpfs /sys/$place || exit 126; n=$((n-1)); done; exec "$@"'
)
"""Mounts the writable places of a sandbox over /sys, which no sandbox shows, in namespaces of this run.

Bubblewrap itself cannot limit the number of files."""
_WRITABLE_SOURCES = ("/sys/fs", "/sys/bus", "/sys/dev")


class LimitTools(NamedTuple):
    """The means of this machine to limit a run: control groups, or else the limits that the kernel offers every user.

    `taskset`, `unshare` and `mount` are programs, empty if they are missing or do not work; `tasks` says whether the
    kernel counts the processes of a namespace on their own.
    """

    groups: bool
    tasks: bool = False
    taskset: str = ""
    unshare: str = ""
    mount: str = ""

    @classmethod
    def find(cls) -> LimitTools:
        """Return what this machine has, before a trial run."""
        group = ControlGroup.create(Bounds())
        if group is not None:
            group.remove()
            return cls(groups=True)
        unshare, mount = shutil.which("unshare") or "", shutil.which("mount") or ""
        filtered = bool(build_seccomp_filter())
        taskset = shutil.which("taskset") or "" if filtered else ""  # unfiltered, a program could change it back
        return cls(False, _counts_tasks_of_namespaces(), taskset, unshare if mount else "", mount if unshare else "")

    @property
    def unenforced(self) -> tuple[Resource, ...]:
        """The resources whose limits a hostile program can exceed."""
        if self.groups:
            return ()
        held = {Resource.PROCESSES: self.tasks, Resource.PROCESSORS: self.taskset, Resource.FILES: self.mount}
        return tuple(resource for resource in Resource if not held.get(resource))


class BubblewrapSandbox:
    """Runs programs with bubblewrap, with options that were tested on this machine.

    `private` are folders that no program sees.
    """

    def __init__(
        self,
        program: str,
        variant: Sequence[str],
        tools: LimitTools,
        private: Sequence[str] = (),
    ) -> None:
        self._program = program
        self._variant = variant
        self._tools = tools
        self._private = private
        self._runs = 0
        self.unenforced = tools.unenforced
        missing = f"not enforced: {', '.join(self.unenforced)}" if self.unenforced else "enforced by the kernel"
        self.name = f"bubblewrap, limits {missing}"

    @classmethod
    async def find(cls, private: Sequence[str] = ()) -> BubblewrapSandbox | str:
        """Return the sandbox, or the reason it cannot be used. A trial run decides, because not every machine allows
        namespaces."""
        program = shutil.which(BUBBLEWRAP_PROGRAM)
        if program is None:
            return "Bubblewrap is not installed."
        await asyncio.to_thread(remove_orphaned_cgroups)
        tools = await asyncio.to_thread(LimitTools.find)
        without_mounts = tools._replace(unshare="", mount="")
        reason = ""
        for variant in _OPTION_VARIANTS:
            for usable in dict.fromkeys((tools, without_mounts)):
                sandbox = cls(program, variant, usable, private)
                trial = Job(("true",), str(EMPTY_FILE.parent), bounds=Bounds(seconds=10))
                result = await run_sandbox_job(sandbox, trial)
                if result.code == 0:
                    return sandbox
                reason = sanitize_line(result.output.decode(errors="replace"), 200) or result.stopped
        return f"Bubblewrap does not work here ({reason})."

    async def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run a job; its processes and files are removed in every case."""
        view = await asyncio.to_thread(plan_sandbox_view, job, self._private)
        if view is None:
            yield Output(f"Program not found: {job.argv[0]}.".encode())
            yield Exit(127, 0.0)
            return
        files = pack_sandbox_job_files(job.files)
        if isinstance(files, str):
            yield Exit(None, 0.0, files)
            return
        group = await asyncio.to_thread(ControlGroup.create, job.bounds) if self._tools.groups else None
        if group is None and self._tools.groups:
            yield Exit(None, 0.0, "The program was not run: no control group could be created for its limits.")
            return
        try:
            async with aclosing(self._run_in_group(job, view, files, group)) as run:
                async for event in run:
                    yield event
        finally:
            if group is not None:
                await asyncio.to_thread(group.remove)

    async def _run_in_group(
        self, job: Job, view: SandboxView, files: bytes, group: ControlGroup | None
    ) -> AsyncGenerator[Output | Exit]:
        try:
            process = await self._start(job, view, files, group)
        except OSError as error:
            yield Exit(None, 0.0, f"The program could not be started: {error.strerror}.")
            return
        meter = group or ProcessTreeMeter(process.pid, job.bounds, _writable_places(job))
        supervision = RunSupervisor(process, job.bounds, meter, InitReport(process))

        async def stop() -> None:
            _stop(process)
            async with asyncio.timeout(_STOP_TIMEOUT):
                await supervision.drain()

        async with aclosing(supervision.run(stop, files)) as run:
            async for event in run:
                yield event

    async def _start(self, job: Job, view: SandboxView, files: bytes, group: ControlGroup | None) -> Process:
        tasks = job.bounds.processes + SANDBOX_PROCESSES + SPARE_PROCESSES if self._tools.tasks else 0
        init = sandbox_init_script_arguments(job.works_on_copy, files, tasks)
        with _open_filter() as filter_file:
            filter_options, passed = (("--seccomp", str(filter_file)), (filter_file,)) if filter_file else ((), ())
            options = (*self._options(job, view), *filter_options)
            return await asyncio.create_subprocess_exec(
                *(*self._launcher(job, group), self._program, *options, "--", *init, view.program, *job.argv[1:]),
                stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd="/", env={}, pass_fds=passed, start_new_session=True,
            )  # fmt: skip

    def _launcher(self, job: Job, group: ControlGroup | None) -> tuple[str, ...]:
        """Return the programs that set the limits of a run and then become bubblewrap."""
        if group is not None:
            paths = group.join_paths()
            return ("/bin/sh", "-c", _JOIN_GROUP_SCRIPT, "sh", str(len(paths)), *paths)
        launcher: tuple[str, ...] = ()
        if self._tools.taskset:
            launcher += (self._tools.taskset, "--cpu-list", self._next_processors(job.bounds))
        if self._tools.mount:
            options = f"mode=1777,nosuid,nodev,size={job.bounds.disk},nr_inodes={sandbox_file_count_limit(job.bounds)}"
            launcher += (self._tools.unshare, "--user", "--map-root-user", "--mount", "/bin/sh", "-c", _MOUNT_SCRIPT)
            launcher += ("sh", self._tools.mount, options, str(len(_writable_places(job))))
        return launcher

    def _next_processors(self, bounds: Bounds) -> str:
        """Return the processors of a run, as many as its limit rounded up; the next run gets the following ones."""
        usable = sorted(os.sched_getaffinity(0))
        count = min(len(usable), max(1, math.ceil(bounds.processors)))
        first, self._runs = self._runs, self._runs + count
        return ",".join(str(usable[(first + number) % len(usable)]) for number in range(count))

    def _options(self, job: Job, view: SandboxView) -> list[str]:
        options = [*_NAMESPACE_OPTIONS, *(("--share-net",) if job.network else ()), *self._variant, "--dev", "/dev"]
        places = _writable_places(job)
        writable = {place: self._writable_options(place, number, job.bounds) for number, place in enumerate(places)}
        options += [*writable["/dev/shm"], "--remount-ro", "/dev", *writable["/tmp"]]
        in_copy = [
            mount
            for mount in view.mounts
            if job.works_on_copy and is_inside_sandbox_mount(mount.target, job.visible_at)
        ]
        for mount in (mount for mount in view.mounts if mount not in in_copy):
            options += _mount_options(mount)
        for place, source in {**USER_MOUNTS, **({} if job.network else LOCALHOST_MOUNTS)}.items():
            options += ["--ro-bind", source, place]
        source_folder = SOURCE_MOUNT if job.works_on_copy else job.folder
        options += writable[job.visible_at] if job.works_on_copy else []
        options += ["--ro-bind", job.folder, source_folder]
        for path in view.emptied_folders:
            options += ["--tmpfs", os.path.join(source_folder, path), "--remount-ro", os.path.join(source_folder, path)]
        for path in view.emptied_files:
            options += ["--ro-bind", str(EMPTY_FILE), os.path.join(source_folder, path)]
        for mount in (*in_copy, *(Mount(place, source) for place, source in view.lent.items())):
            options += _mount_options(mount)
        for name, value in {**SANDBOX_VARIABLES, "PATH": view.path}.items():
            options += ["--setenv", name, value]
        for mount in view.mounts:  # last, since mount points below these are made before
            options += [] if mount.source else ["--remount-ro", mount.target]
        return [*options, "--remount-ro", "/", "--chdir", job.visible_at]

    def _writable_options(self, place: str, number: int, bounds: Bounds) -> list[str]:
        if self._tools.mount:
            return ["--bind", _WRITABLE_SOURCES[number], place]
        size = min(_SHM_BYTES, bounds.disk) if place == "/dev/shm" else bounds.disk
        return ["--size", str(size), "--perms", "1777", "--tmpfs", place]


def _writable_places(job: Job) -> tuple[str, ...]:
    return ("/tmp", "/dev/shm", *((job.visible_at,) if job.works_on_copy else ()))


def _mount_options(mount: Mount) -> list[str]:
    return ["--ro-bind", mount.source, mount.target] if mount.source else ["--tmpfs", mount.target]


@contextmanager
def _open_filter() -> Generator[int]:
    """Open the system call filter for one run, since reading moves its position; 0 if there is none."""
    if not (program := build_seccomp_filter()):
        yield 0
        return
    filter_file = os.memfd_create("filter")
    try:
        os.write(filter_file, program)
        os.lseek(filter_file, 0, os.SEEK_SET)
        yield filter_file
    finally:
        os.close(filter_file)


def _counts_tasks_of_namespaces() -> bool:
    """Whether the kernel can limit the processes and threads of one sandbox: since 5.14 it counts each user namespace
    on its own, but never counts root's."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return version is not None and (int(version[1]), int(version[2])) >= (5, 14) and not _is_root_outside()


def _is_root_outside() -> bool:
    """Whether this process is root to the kernel, also if a user namespace gives it another id or it has root's."""
    with suppress(OSError, ValueError, IndexError):
        inside, outside, count = map(int, Path("/proc/self/uid_map").read_text().split("\n")[0].split())
        if (inside, outside) != (0, 0) or count < 1 << 31:
            return True  # what the ids of a namespace are outside is not known in every case: count on nothing
    return os.getuid() == 0


def _stop(process: Process) -> None:
    """Kill the sandbox's first process, which ends everything inside; closing its input has the same effect."""
    assert process.stdin is not None
    process.stdin.close()
    kill_process_group(process)
