"""The container sandbox: a program runs in a container of its own, with this machine's programs or in a named image."""

from __future__ import annotations

import asyncio
import os
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path

import msgspec

from roundtable.core.sandbox import Bounds, Exit, Job, Limit, Output, Resource
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.identity import make_temp_name_of_process
from roundtable.workshop.sandbox.cgroups import ControlGroup
from roundtable.workshop.sandbox.engines import CONTAINER_LABEL, ContainerEngine
from roundtable.workshop.sandbox.init_script import (
    SANDBOX_PROCESSES,
    SOURCE_MOUNT,
    InitReport,
    pack_sandbox_job_files,
    sandbox_init_script_arguments,
)
from roundtable.workshop.sandbox.run_result import run_sandbox_job
from roundtable.workshop.sandbox.seccomp import CONTAINER_PROFILE
from roundtable.workshop.sandbox.supervisor import RunSupervisor, kill_process_group
from roundtable.workshop.sandbox.visible_files import (
    EMPTY_FILE,
    LOCALHOST_MOUNTS,
    SANDBOX_VARIABLES,
    SandboxView,
    find_hidden_paths,
    plan_lent_mounts,
    plan_sandbox_view,
)

_RUN_OPTIONS = ("--rm", "--interactive", "--pull", "never")
_ISOLATION_OPTIONS = (
    "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
    "--security-opt", f"seccomp={CONTAINER_PROFILE}", "--hostname", "sandbox", "--shm-size", "64m",
    "--log-driver", "none", "--label", CONTAINER_LABEL,
)  # fmt: skip
_EMPTY_FOLDER_OPTIONS = "ro,size=4k"
_STOP_TIMEOUT = 20.0
_READ_PIDS_LIMIT = "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; true"


class ContainerSandbox:
    """Runs programs in containers of an engine that was tested on this machine, limits included.

    `private` are folders that no program sees.
    """

    unenforced: tuple[Resource, ...] = ()

    def __init__(self, engine: ContainerEngine, image: str, own_image: bool, private: Sequence[str] = ()) -> None:
        self._engine = engine
        self._image = image
        self._own_image = own_image
        self._private = private
        self.name = f"{engine.name}, {f'image {image}' if own_image else 'with programs of this machine'}"

    @classmethod
    async def find(cls, name: str, image: str = "", private: Sequence[str] = ()) -> ContainerSandbox | str:
        """Return the sandbox, or the reason it cannot be used. A trial run decides, because an engine may not see this
        machine's folders or enforce limits."""
        engine = await ContainerEngine.find(name)
        if isinstance(engine, str):
            return engine
        await engine.remove_orphans()
        sandbox = cls(engine, image or await engine.empty_image(), bool(image), private)
        result = await run_sandbox_job(
            sandbox, Job(("sh", "-c", _READ_PIDS_LIMIT), str(EMPTY_FILE.parent), bounds=Bounds(seconds=30))
        )
        output = sanitize_line(result.output.decode(errors="replace"), 200)
        if result.code != 0:
            return f"{name.capitalize()} cannot run programs on this machine ({output or result.stopped})."
        if not output.isdigit():
            return f"{name.capitalize()} does not enforce limits on this machine ({output})."
        return sandbox

    async def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run a job; its container is removed in every case."""
        if ":" in job.place or job.place == "/tmp":  # the engine cannot tell these from its own
            job = msgspec.structs.replace(job, place="")
        view = await asyncio.to_thread(self._view, job)
        if view is None:
            yield Output(f"Program not found: {job.argv[0]}.".encode())
            yield Exit(127, 0.0)
            return
        files = pack_sandbox_job_files(job.files)
        if isinstance(files, str):
            yield Exit(None, 0.0, files)
            return
        name = make_temp_name_of_process()
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._engine.program, "run", "--name", name, *self._options(job, view), self._image),
                *(*sandbox_init_script_arguments(job.works_on_copy, files)[1:], view.program, *job.argv[1:]),
                stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self._engine.variables, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            yield Exit(None, 0.0, f"The program could not be started: {error.strerror}.")
            return
        supervisor = RunSupervisor(process, job.bounds, ContainerMeter(self._engine, name), InitReport(process))
        stop = partial(self._stop, process, name, supervisor)
        async with aclosing(supervisor.run(stop, files)) as run:
            async for event in run:
                yield event

    async def _stop(self, process: Process, name: str, supervisor: RunSupervisor) -> None:
        """Stop the container; one that does not exist yet ends when its standard input closes."""
        assert process.stdin is not None
        process.stdin.close()
        kill_container = self._engine.run_command(("kill", name)) if process.returncode is None else asyncio.sleep(0)
        try:
            async with asyncio.timeout(_STOP_TIMEOUT):
                await asyncio.gather(
                    kill_container, supervisor.drain()
                )  # the engine does not end a container whose output nobody reads
        except TimeoutError:
            kill_process_group(process)
            await self._engine.run_command(("rm", "--force", name))
            await supervisor.drain()

    def _view(self, job: Job) -> SandboxView | None:
        if not self._own_image:
            return plan_sandbox_view(job, self._private)
        hidden = find_hidden_paths(Path(job.folder), self._private)
        return SandboxView(job.argv[0], (), *hidden, "", plan_lent_mounts(job))

    def _options(self, job: Job, view: SandboxView) -> list[str]:
        source_folder = SOURCE_MOUNT if job.works_on_copy else job.folder
        options = sandbox_container_isolation_options(self._engine, job.bounds, network=job.network)
        options += ["--entrypoint", "/bin/sh", "--workdir", job.visible_at]
        options += ["--user", f"{os.getuid()}:{os.getgid()}"]
        for mount in view.mounts:
            options += (
                _bind_mount(mount.source, mount.target)
                if mount.source
                else self._engine.tmpfs_options(mount.target, _EMPTY_FOLDER_OPTIONS)
            )
        if not (self._own_image or job.network):
            for place, source in LOCALHOST_MOUNTS.items():
                options += _bind_mount(source, place)
        options += _bind_mount(job.folder, source_folder)
        if job.works_on_copy:
            options += self._engine.tmpfs_options(job.visible_at, container_tmpfs_options(job.bounds))
        for path in view.emptied_folders:
            options += self._engine.tmpfs_options(os.path.join(source_folder, path), _EMPTY_FOLDER_OPTIONS)
        for path in view.emptied_files:
            options += _bind_mount(str(EMPTY_FILE), os.path.join(source_folder, path))
        for place, source in view.lent.items():
            top = os.path.relpath(place, job.visible_at).split("/")[0]
            if top not in (
                "..",
                *os.listdir(job.folder),
            ):  # the engine would create the folders above the mount as root
                options += _bind_mount(source, place)
        for name, value in {**SANDBOX_VARIABLES, **({"PATH": view.path} if view.path else {})}.items():
            options += ["--env", f"{name}={value}"]
        return options


class ContainerMeter:
    """Reads a container's control group, once the container runs and if this machine exposes the group."""

    def __init__(self, engine: ContainerEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._group: ControlGroup | None = None
        self._processor_seconds = 0.0

    def exceeded_limit(self) -> Limit | None:
        """Return the limit that the kernel enforced on the container, as far as it is visible."""
        self._group = self._group or self._find_group()
        if self._group is None:
            return None
        self._processor_seconds = max(self._processor_seconds, self._group.processor_seconds())
        return self._group.exceeded_limit()

    def processor_seconds(self) -> float:
        """Return the highest value seen: the counter disappears with the container."""
        return self._processor_seconds

    def _find_group(self) -> ControlGroup | None:
        argv = (self._engine.program, "inspect", "--format", "{{.State.Pid}} {{.Id}}", self._name)
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            result = subprocess.run(argv, capture_output=True, env=self._engine.variables, timeout=5, text=True)
            pid, container = result.stdout.split()
            return ControlGroup.of_container(int(pid), container)
        return None


def sandbox_container_isolation_options(engine: ContainerEngine, bounds: Bounds, *, network: bool = False) -> list[str]:
    """Return the options of an isolated container within limits; `network` gives it the engine's network, nothing
    more."""
    options = [*_RUN_OPTIONS, *(() if network else ("--network", "none")), *_ISOLATION_OPTIONS]
    options += ["--memory", str(bounds.memory), "--memory-swap", str(bounds.memory)]
    options += ["--cpus", f"{bounds.processors:g}", "--pids-limit", str(bounds.processes + SANDBOX_PROCESSES)]
    return [*options, *engine.tmpfs_options("/tmp", container_tmpfs_options(bounds))]


def container_tmpfs_options(bounds: Bounds) -> str:
    """Return the options of a tmpfs that a container may write to."""
    return f"rw,exec,nosuid,nodev,size={bounds.disk},mode=1777"


def _bind_mount(source: str, target: str) -> list[str]:
    """Return the option for a read-only bind mount; its value is one line of CSV."""
    fields = ("type=bind", f"source={source}", f"target={target}", "readonly")
    return [
        "--mount",
        ",".join('"' + field.replace('"', '""') + '"' if set(',"') & set(field) else field for field in fields),
    ]
