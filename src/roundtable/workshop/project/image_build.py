"""Builds the Dockerfile or compose file of a project and runs the result in containers."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from roundtable.core.sandbox import Bounds, Exit, Limit, Output
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.identity import make_temp_name_of_process
from roundtable.workshop.project.compose_file import ComposeNames, find_project_compose_file
from roundtable.workshop.project.container_scan import explain_missing_project_images, scan_project_container_files
from roundtable.workshop.sandbox.container import (
    ContainerMeter,
    container_tmpfs_options,
    sandbox_container_isolation_options,
)
from roundtable.workshop.sandbox.engines import CONTAINER_LABEL, ContainerEngine
from roundtable.workshop.sandbox.init_script import pack_sandbox_job_files
from roundtable.workshop.sandbox.supervisor import RunSupervisor, kill_process_group

DOCKERFILE = "Dockerfile"
_COMPOSE_PLUGIN_MISSING = (
    "The project has a compose file, but this engine has no `compose` command. Install its compose plugin."
)
_NO_CONTAINER_FILE = "The project has no Dockerfile and no compose file. Add one of them."


class ImageBuild(NamedTuple):
    """A build that the scan accepted and whose images are all present.

    `file` is the compose file, with the `names` in it, or the Dockerfile.
    """

    engine: ContainerEngine
    archive: bytes
    file: str
    names: ComposeNames | None


def find_project_container_file(files: Mapping[str, str]) -> str:
    """Return the compose file at the root, else the Dockerfile there; empty if there is neither."""
    return find_project_compose_file(files) or (DOCKERFILE if DOCKERFILE in files else "")


async def plan_project_image_build(engine: ContainerEngine, files: Mapping[str, str]) -> ImageBuild | str:
    """Return how these files are built, or why they cannot be."""
    file = find_project_container_file(files)
    if not file:
        return _NO_CONTAINER_FILE
    if findings := await asyncio.to_thread(scan_project_container_files, files):
        problems = " ".join(f"{finding.path}, line {finding.line}: {finding.sentence}" for finding in findings)
        return f"The project was not built. {problems}"
    if missing := await explain_missing_project_images(engine, files):
        return f"The project was not built. {missing}"
    archive = await asyncio.to_thread(pack_sandbox_job_files, files)
    if isinstance(archive, str):
        return archive
    return ImageBuild(engine, archive, file, None if file == DOCKERFILE else ComposeNames.read(files[file]))


async def build_and_run_project_image(
    build: ImageBuild, bounds: Bounds = Bounds(seconds=600), name: str = ""
) -> AsyncGenerator[Output | Exit]:
    """Build and run a project, each step within limits and without a network; everything is removed afterwards.

    Closing the iterator stops the build or the containers, whose names are `name` or begin with it.
    """
    name, engine = name or make_temp_name_of_process(), build.engine
    with TemporaryDirectory(prefix=f"{name}-build-") as folder:
        with tarfile.open(fileobj=io.BytesIO(build.archive)) as tar:
            await asyncio.to_thread(tar.extractall, folder, filter="data")
        if build.names is None:
            steps, cleanup = _dockerfile_steps(engine, name, folder, bounds)
        else:
            compose_steps = await _compose_steps(engine, name, Path(folder, build.file), build.names, bounds)
            if isinstance(compose_steps, str):
                yield Exit(None, 0.0, compose_steps)
                return
            steps, cleanup = compose_steps
        try:
            async with aclosing(run_project_container_commands(engine, steps, bounds)) as run:
                async for event in run:
                    yield event
        finally:
            for argv in cleanup:
                await engine.run_command(argv)


def project_container_name(name: str, service: str) -> str:
    """Return the container name of a service, whatever name the compose file gives it."""
    return f"{name}-{service}-1"


EngineSteps = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]
"""The engine commands that build and run, and those that clean up."""


def _dockerfile_steps(engine: ContainerEngine, name: str, folder: str, bounds: Bounds) -> EngineSteps:
    build = ("build", "--network", "none", "--force-rm", "--label", CONTAINER_LABEL, "--tag", name, folder)
    run = ("run", "--name", name, *sandbox_container_isolation_options(engine, bounds), name)
    return [build, run], [("rm", "--force", name), ("rmi", "--force", name)]


async def _compose_steps(
    engine: ContainerEngine, name: str, path: Path, names: ComposeNames, bounds: Bounds
) -> EngineSteps | str:
    base = ("compose", "--project-name", name, "--project-directory", str(path.parent), "--file", str(path))
    if (await engine.run_command(("compose", "version"))).code != 0:
        return _COMPOSE_PLUGIN_MISSING
    checked = await engine.run_command((*base, "config", "--quiet"))
    if checked.code != 0:
        return f"The compose file is invalid. {sanitize_line(checked.text, 300)}"
    override = path.with_name("bounds-of-the-sandbox.json")
    await asyncio.to_thread(override.write_text, json.dumps(_compose_override(name, names, bounds)))
    with_override = (*base, "--file", str(override))
    up = (*with_override, "up", "--build", "--no-color", "--abort-on-container-exit")
    down = (*with_override, "down", "--volumes", "--remove-orphans", "--rmi", "local", "--timeout", "0")
    return [up], [down]


def _compose_override(name: str, names: ComposeNames, bounds: Bounds) -> dict[str, object]:
    """Return a compose override: services reach only each other, have limits and our own names; missing images are not
    pulled."""
    limits: dict[str, object] = {
        "read_only": True,
        "tmpfs": [f"/tmp:{container_tmpfs_options(bounds)}"],
        "mem_limit": bounds.memory,
        "memswap_limit": bounds.memory,
        "pids_limit": bounds.processes,
        "cpus": bounds.processors,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "labels": {CONTAINER_LABEL: ""},
    }
    built_service = {"build": {"network": "none"}, "pull_policy": "build"}
    pulled_service = {"pull_policy": "never"}
    return {
        "services": {
            service: {
                **limits,
                **(built_service if service in names.built else pulled_service),
                "container_name": project_container_name(name, service),
            }
            for service in names.services
        },
        "networks": {network: {"internal": True} for network in ("default", *names.networks)},
    }


async def run_project_container_commands(
    engine: ContainerEngine, steps: Sequence[tuple[str, ...]], bounds: Bounds
) -> AsyncGenerator[Output | Exit]:
    """Run engine commands one after another until one fails; the last one's end is the end of all."""
    end = Exit(0, 0.0)
    for argv in steps:
        process = await asyncio.create_subprocess_exec(
            *(engine.program, *argv),
            stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=engine.variables, start_new_session=True,
        )  # fmt: skip
        meter = ContainerMeter(engine, argv[2]) if argv[0] == "run" else _Unmetered()
        supervisor = RunSupervisor(process, bounds, meter)
        async with aclosing(supervisor.run(partial(_stop, process, supervisor))) as run:
            async for event in run:
                if isinstance(event, Exit):
                    end = event
                else:
                    yield event
        if end.code != 0:
            break
    yield end


async def _stop(process: Process, supervisor: RunSupervisor) -> None:
    kill_process_group(process)
    await supervisor.drain()


class _Unmetered:
    """Measures nothing: the engine enforces the limits of its containers itself."""

    def exceeded_limit(self) -> Limit | None:
        return None

    def processor_seconds(self) -> float:
        return 0.0
