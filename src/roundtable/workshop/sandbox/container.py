"""Runs a program in a container of its own: with the programs of this machine, or in an image the person names."""

from __future__ import annotations

import asyncio
import os
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path

import msgspec

from roundtable.core.sandbox import Bounds, Exit, Job, Limit, Output
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.identity import process_owned_name
from roundtable.workshop.sandbox.cgroups import ControlGroup
from roundtable.workshop.sandbox.engines import CONTAINER_LABEL, ContainerEngine
from roundtable.workshop.sandbox.init_script import (
    SANDBOX_PROCESSES,
    SOURCE_MOUNT,
    InitReport,
    pack_job_files,
    sandbox_init_command,
)
from roundtable.workshop.sandbox.run_result import run_sandbox_job
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

_ONCE = ("--rm", "--interactive", "--pull", "never")
_ALONE = (
    "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--hostname", "sandbox",
    "--shm-size", "64m", "--log-driver", "none", "--label", CONTAINER_LABEL,
)  # fmt: skip
_PATIENCE = 20.0
_BOUND = "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; true"


class ContainerSandbox:
    """An engine that was seen to run programs here and to hold them to their bounds."""

    def __init__(self, engine: ContainerEngine, image: str, own_image: bool) -> None:
        self._engine = engine
        self._image = image
        self._own_image = own_image
        self.name = f"{engine.name}, {f'image {image}' if own_image else 'with the programs of this machine'}"

    @classmethod
    async def find(cls, name: str, image: str = "") -> ContainerSandbox | str:
        """The sandbox, or why there is none: it is tried, because not every engine sees this machine's folders."""
        engine = await ContainerEngine.find(name)
        if isinstance(engine, str):
            return engine
        await engine.sweep()
        found = cls(engine, image or await engine.empty_image(), bool(image))
        tried = await run_sandbox_job(
            found, Job(("sh", "-c", _BOUND), str(EMPTY_FILE.parent), bounds=Bounds(seconds=30))
        )
        said = sanitize_line(tried.output.decode(errors="replace"), 200)
        if tried.code != 0:
            return f"{name.capitalize()} does not run programs here ({said or tried.stopped})."
        if not said.isdigit():
            return f"{name.capitalize()} holds nothing to its bounds here ({said})."
        return found

    async def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run it; whatever happens, the container and all in it go."""
        if ":" in job.place or job.place == "/tmp":  # which the engine cannot tell from its own
            job = msgspec.structs.replace(job, place="")
        view = await asyncio.to_thread(self._view, job)
        if view is None:
            yield Output(f"There is no program {job.argv[0]} here.".encode())
            yield Exit(127, 0.0)
            return
        files = pack_job_files(job.files)
        if isinstance(files, str):
            yield Exit(None, 0.0, files)
            return
        name = process_owned_name()
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._engine.program, "run", "--name", name, *self._options(job, view), self._image),
                *(*sandbox_init_command(job.works_on_copy, files)[1:], view.program, *job.argv[1:]),
                stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self._engine.variables, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            yield Exit(None, 0.0, f"It could not be started: {error.strerror}.")
            return
        supervision = RunSupervisor(process, job.bounds, ContainerMeter(self._engine, name), InitReport(process))
        end = partial(self._end, process, name, supervision)
        async with aclosing(supervision.run(end, files)) as run:
            async for it in run:
                yield it

    async def _end(self, process: Process, name: str, supervision: RunSupervisor) -> None:
        """End the container; one that is not there yet ends as it finds its standard input closed."""
        assert process.stdin is not None
        process.stdin.close()
        stop = self._engine.ask(("kill", name)) if process.returncode is None else asyncio.sleep(0)
        try:
            async with asyncio.timeout(_PATIENCE):
                await asyncio.gather(stop, supervision.over())  # the engine ends nothing that nobody listens to
        except TimeoutError:
            kill_process_group(process)
            await self._engine.ask(("rm", "--force", name))
            await supervision.over()

    def _view(self, job: Job) -> SandboxView | None:
        if not self._own_image:
            return plan_sandbox_view(job)
        return SandboxView(job.argv[0], (), *find_hidden_paths(Path(job.folder)), "", plan_lent_mounts(job))

    def _options(self, job: Job, view: SandboxView) -> list[str]:
        shown = SOURCE_MOUNT if job.works_on_copy else job.folder
        options = container_isolation_options(self._engine, job.bounds, network=job.network)
        options += ["--entrypoint", "/bin/sh", "--workdir", job.visible_at]
        options += ["--user", f"{os.getuid()}:{os.getgid()}"]
        for place in view.places:
            options += _bound(place, place)
        if not (self._own_image or job.network):
            for place, source in LOCALHOST_MOUNTS.items():
                options += _bound(source, place)
        options += _bound(job.folder, shown)
        if job.works_on_copy:
            options += self._engine.fresh(job.visible_at, container_tmpfs_options(job.bounds))
        for path in view.emptied_folders:
            options += self._engine.fresh(os.path.join(shown, path), "ro,size=4k")
        for path in view.emptied_files:
            options += _bound(str(EMPTY_FILE), os.path.join(shown, path))
        for place, source in view.lent.items():
            top = os.path.relpath(place, job.visible_at).split("/")[0]
            if top not in ("..", *os.listdir(job.folder)):  # the engine makes the folders above a place as root's
                options += _bound(source, place)
        for name, value in {**SANDBOX_VARIABLES, **({"PATH": view.path} if view.path else {})}.items():
            options += ["--env", f"{name}={value}"]
        return options


class ContainerMeter:
    """Reads the control group of a container, once it is there and where this machine shows it."""

    def __init__(self, engine: ContainerEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._group: ControlGroup | None = None
        self._used = 0.0

    def met(self) -> Limit | None:
        """Which bound the kernel has had to hold the container to, as far as one sees from here."""
        self._group = self._group or self._found()
        if self._group is None:
            return None
        self._used = max(self._used, self._group.processor_seconds())
        return self._group.met()

    def processor_seconds(self) -> float:
        """The most that was seen; a container takes its count with it."""
        return self._used

    def _found(self) -> ControlGroup | None:
        argv = (self._engine.program, "inspect", "--format", "{{.State.Pid}} {{.Id}}", self._name)
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            done = subprocess.run(argv, capture_output=True, env=self._engine.variables, timeout=5, text=True)
            pid, container = done.stdout.split()
            return ControlGroup.of(int(pid), container)
        return None


def container_isolation_options(engine: ContainerEngine, bounds: Bounds, *, network: bool = False) -> list[str]:
    """The options of a container that has nothing but itself, and that within bounds; its engine's network at most."""
    options = [*_ONCE, *(() if network else ("--network", "none")), *_ALONE]
    options += ["--memory", str(bounds.memory), "--memory-swap", str(bounds.memory)]
    options += ["--cpus", f"{bounds.processors:g}", "--pids-limit", str(bounds.processes + SANDBOX_PROCESSES)]
    return [*options, *engine.fresh("/tmp", container_tmpfs_options(bounds))]


def container_tmpfs_options(bounds: Bounds) -> str:
    """The options of a place that a container may write to."""
    return f"rw,exec,nosuid,nodev,size={bounds.disk},mode=1777"


def _bound(source: str, target: str) -> list[str]:
    """A place of this machine, shown as it is and not to be written; the option is a line of comma-separated values."""
    fields = ("type=bind", f"source={source}", f"target={target}", "readonly")
    return ["--mount", ",".join('"' + it.replace('"', '""') + '"' if set(',"') & set(it) else it for it in fields)]
