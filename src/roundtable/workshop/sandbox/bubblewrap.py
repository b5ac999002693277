"""The bubblewrap sandbox: a program runs in its own namespaces, and killing its first process ends all of them."""

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
    is_inside_sandbox_mount,
    plan_sandbox_view,
)

BUBBLEWRAP_PROGRAM = "bwrap"

_NAMESPACE_OPTIONS = (
    "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session",
    "--cap-drop", "ALL", "--hostname", "sandbox",
)  # fmt: skip
_PROC_OPTIONS = ("--proc", "/proc", "--remount-ro", "/proc")
"""Read-only as a whole: the kernel treats root as root in every namespace, which could set
/proc/sys/kernel/core_pattern."""
_OPTION_VARIANTS = (("--disable-userns", *_PROC_OPTIONS), _PROC_OPTIONS, ("--dir", "/proc"))
"""Older versions cannot forbid nested namespaces, and some containers forbid mounting a new /proc."""
_SHM_BYTES = 64 << 20
_STOP_TIMEOUT = 60.0
"""Seconds in which a killed sandbox must be gone; longer is a fault, so the caller stops waiting."""
_JOIN_GROUP_SCRIPT = 'n=$1; shift; while [ $n -gt 0 ]; do echo $$ >"$1" || exit 126; shift; n=$((n-1)); done; exec "$@"'
"""Joins the control group before the sandbox starts."""


class BubblewrapSandbox:
    """Runs programs with bubblewrap, with options that were tested on this machine."""

    def __init__(self, program: str, variant: Sequence[str], name: str = "bubblewrap") -> None:
        self._program = program
        self._variant = variant
        self.name = name

    @classmethod
    async def find(cls) -> BubblewrapSandbox | str:
        """Return the sandbox, or the reason it cannot be used. A trial run decides, because not every machine allows
        namespaces."""
        program = shutil.which(BUBBLEWRAP_PROGRAM)
        if program is None:
            return "Bubblewrap is not installed."
        await asyncio.to_thread(remove_orphaned_cgroups)
        reason = ""
        for variant in _OPTION_VARIANTS:
            sandbox = cls(program, variant)
            result = await run_sandbox_job(sandbox, Job(("true",), str(EMPTY_FILE.parent), bounds=Bounds(seconds=10)))
            if result.code == 0:
                return cls(program, variant, await asyncio.to_thread(_display_name))
            reason = sanitize_line(result.output.decode(errors="replace"), 200) or result.stopped
        return f"Bubblewrap does not work here ({reason})."

    async def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run a job; its processes and files are removed in every case."""
        view = await asyncio.to_thread(plan_sandbox_view, job)
        if view is None:
            yield Output(f"Program not found: {job.argv[0]}.".encode())
            yield Exit(127, 0.0)
            return
        files = pack_job_files(job.files)
        if isinstance(files, str):
            yield Exit(None, 0.0, files)
            return
        group = await asyncio.to_thread(ControlGroup.create, job.bounds)
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
        supervision = RunSupervisor(
            process, job.bounds, group or ProcessTreeMeter(process.pid, job.bounds), InitReport(process)
        )

        async def stop() -> None:
            _stop(process)
            async with asyncio.timeout(_STOP_TIMEOUT):
                await supervision.drain()

        async with aclosing(supervision.run(stop, files)) as run:
            async for event in run:
                yield event

    async def _start(self, job: Job, view: SandboxView, files: bytes, group: ControlGroup | None) -> Process:
        join_paths = group.join_paths() if group else ()
        join_group = ("/bin/sh", "-c", _JOIN_GROUP_SCRIPT, "sh", str(len(join_paths)), *join_paths)
        init = sandbox_init_command(job.works_on_copy, files)
        return await asyncio.create_subprocess_exec(
            *(*join_group, self._program, *self._options(job, view), "--", *init, view.program, *job.argv[1:]),
            stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd="/", env={}, start_new_session=True,
        )  # fmt: skip

    def _options(self, job: Job, view: SandboxView) -> list[str]:
        disk = str(job.bounds.disk)
        options = [*_NAMESPACE_OPTIONS, *(("--share-net",) if job.network else ()), *self._variant, "--dev", "/dev"]
        options += ["--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"]
        options += ["--remount-ro", "/dev", "--size", disk, "--perms", "1777", "--tmpfs", "/tmp"]
        in_copy = [
            place for place in view.places if job.works_on_copy and is_inside_sandbox_mount(place, job.visible_at)
        ]
        for place in (place for place in view.places if place not in in_copy):
            options += ["--ro-bind", place, place]
        for place, source in {**USER_MOUNTS, **({} if job.network else LOCALHOST_MOUNTS)}.items():
            options += ["--ro-bind", source, place]
        source_folder = SOURCE_MOUNT if job.works_on_copy else job.folder
        if job.works_on_copy:
            options += ["--size", disk, "--tmpfs", job.visible_at]
        options += ["--ro-bind", job.folder, source_folder]
        for path in view.emptied_folders:
            options += ["--tmpfs", os.path.join(source_folder, path), "--remount-ro", os.path.join(source_folder, path)]
        for path in view.emptied_files:
            options += ["--ro-bind", str(EMPTY_FILE), os.path.join(source_folder, path)]
        for place, source in {**{place: place for place in in_copy}, **view.lent}.items():
            options += ["--ro-bind", source, place]
        for name, value in {**SANDBOX_VARIABLES, "PATH": view.path}.items():
            options += ["--setenv", name, value]
        return [*options, "--remount-ro", "/", "--chdir", job.visible_at]


def _display_name() -> str:
    """Return the display name, which says whether the kernel or polling enforces the limits."""
    group = ControlGroup.create(Bounds())
    if group is None:
        return "bubblewrap, limits checked by polling"
    group.remove()
    return "bubblewrap, limits enforced by the kernel"


def _stop(process: Process) -> None:
    """Kill the sandbox's first process, which ends everything inside; closing its input has the same effect."""
    assert process.stdin is not None
    process.stdin.close()
    kill_process_group(process)
