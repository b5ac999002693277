"""Runs a program by bubblewrap: in namespaces of its own, so that when its first process is ended, all are."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from roundtable.core.sandbox import Bounds, Exit, Job, Output
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.sandbox.cgroups import ControlGroup, remove_orphaned_cgroups
from roundtable.workshop.sandbox.init_script import SOURCE_MOUNT, InitReport, pack_job_files, sandbox_init_command
from roundtable.workshop.sandbox.process_usage import ProcessTreeMeter
from roundtable.workshop.sandbox.run_result import run_sandbox_job
from roundtable.workshop.sandbox.supervisor import RunSupervisor, kill_process_group
from roundtable.workshop.sandbox.visible_files import (
    EMPTY_FILE,
    LOCALHOST_MOUNTS,
    SANDBOX_VARIABLES,
    USER_MOUNTS,
    SandboxView,
    is_path_within,
    plan_sandbox_view,
)

BUBBLEWRAP_PROGRAM = "bwrap"

_APART = (
    "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session",
    "--cap-drop", "ALL", "--hostname", "sandbox",
)  # fmt: skip
_PROC = ("--proc", "/proc", "--remount-ro", "/proc")
"""Read-only as a whole: to the kernel, root is root in every namespace, and could set /proc/sys/kernel/core_pattern."""
_WAYS = (("--disable-userns", *_PROC), _PROC, ("--dir", "/proc"))
"""Older versions cannot forbid new namespaces inside, and in some containers nobody may mount a new /proc."""
_SMALL = 64 << 20
_PATIENCE = 60.0
"""Seconds in which what was ended must be gone: longer is no machine's slowness but a fault, and hangs nobody."""
_JOIN = 'n=$1; shift; while [ $n -gt 0 ]; do echo $$ >"$1" || exit 126; shift; n=$((n-1)); done; exec "$@"'
"""Goes into the control group before anything else happens."""


class BubblewrapSandbox:
    """A way to run programs that was seen to work here."""

    def __init__(self, program: str, way: Sequence[str], name: str = "bubblewrap") -> None:
        self._program = program
        self._way = way
        self.name = name

    @classmethod
    async def find(cls) -> BubblewrapSandbox | str:
        """The sandbox, or why there is none: it is tried, because not every machine lets it make namespaces."""
        program = shutil.which(BUBBLEWRAP_PROGRAM)
        if program is None:
            return "Bubblewrap is not installed."
        await asyncio.to_thread(remove_orphaned_cgroups)
        why = ""
        for way in _WAYS:
            found = cls(program, way)
            tried = await run_sandbox_job(found, Job(("true",), str(EMPTY_FILE.parent), bounds=Bounds(seconds=10)))
            if tried.code == 0:
                return cls(program, way, await asyncio.to_thread(_name))
            why = sanitize_line(tried.output.decode(errors="replace"), 200) or tried.stopped
        return f"Bubblewrap does not work here ({why})."

    async def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run it; whatever happens, nothing of it stays behind."""
        view = await asyncio.to_thread(plan_sandbox_view, job)
        if view is None:
            yield Output(f"There is no program {job.argv[0]} here.".encode())
            yield Exit(127, 0.0)
            return
        files = pack_job_files(job.files)
        if isinstance(files, str):
            yield Exit(None, 0.0, files)
            return
        group = await asyncio.to_thread(ControlGroup.make, job.bounds)
        try:
            async with aclosing(self._held(job, view, files, group)) as run:
                async for it in run:
                    yield it
        finally:
            if group is not None:
                await asyncio.to_thread(group.remove)

    async def _held(
        self, job: Job, view: SandboxView, files: bytes, group: ControlGroup | None
    ) -> AsyncGenerator[Output | Exit]:
        try:
            process = await self._started(job, view, files, group)
        except OSError as error:
            yield Exit(None, 0.0, f"It could not be started: {error.strerror}.")
            return
        supervision = RunSupervisor(
            process, job.bounds, group or ProcessTreeMeter(process.pid, job.bounds), InitReport(process)
        )

        async def end() -> None:
            _end(process)
            async with asyncio.timeout(_PATIENCE):
                await supervision.over()

        async with aclosing(supervision.run(end, files)) as run:
            async for it in run:
                yield it

    async def _started(self, job: Job, view: SandboxView, files: bytes, group: ControlGroup | None) -> Process:
        entrances = group.entrances() if group else ()
        joined = ("/bin/sh", "-c", _JOIN, "sh", str(len(entrances)), *entrances)
        first = sandbox_init_command(job.works_on_copy, files)
        return await asyncio.create_subprocess_exec(
            *(*joined, self._program, *self._options(job, view), "--", *first, view.program, *job.argv[1:]),
            stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd="/", env={}, start_new_session=True,
        )  # fmt: skip

    def _options(self, job: Job, view: SandboxView) -> list[str]:
        disk = str(job.bounds.disk)
        options = [*_APART, *(("--share-net",) if job.network else ()), *self._way, "--dev", "/dev"]
        options += ["--size", str(_SMALL), "--tmpfs", "/dev/shm"]
        options += ["--remount-ro", "/dev", "--size", disk, "--perms", "1777", "--tmpfs", "/tmp"]
        inside = [it for it in view.places if job.works_on_copy and is_path_within(it, job.visible_at)]
        for place in (it for it in view.places if it not in inside):
            options += ["--ro-bind", place, place]
        for place, source in {**USER_MOUNTS, **({} if job.network else LOCALHOST_MOUNTS)}.items():
            options += ["--ro-bind", source, place]
        shown = SOURCE_MOUNT if job.works_on_copy else job.folder
        if job.works_on_copy:
            options += ["--size", disk, "--tmpfs", job.visible_at]
        options += ["--ro-bind", job.folder, shown]
        for path in view.emptied_folders:
            options += ["--tmpfs", os.path.join(shown, path), "--remount-ro", os.path.join(shown, path)]
        for path in view.emptied_files:
            options += ["--ro-bind", str(EMPTY_FILE), os.path.join(shown, path)]
        for place, source in {**{it: it for it in inside}, **view.lent}.items():
            options += ["--ro-bind", source, place]
        for name, value in {**SANDBOX_VARIABLES, "PATH": view.path}.items():
            options += ["--setenv", name, value]
        return [*options, "--remount-ro", "/", "--chdir", job.visible_at]


def _name() -> str:
    """What people are told it is: who holds a run to its bounds is part of it."""
    group = ControlGroup.make(Bounds())
    if group is None:
        return "bubblewrap, bounds held by looking"
    group.remove()
    return "bubblewrap, bounds held by the kernel"


def _end(process: Process) -> None:
    """End the sandbox itself: the kernel ends with it everything inside, and so would its first program."""
    assert process.stdin is not None
    process.stdin.close()
    kill_process_group(process)
