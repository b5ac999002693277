"""Builds the Dockerfile or compose file of a project that was just written, and runs what comes of it."""

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
from roundtable.workshop.identity import process_owned_name
from roundtable.workshop.sandbox.compose_file import ComposeNames, find_compose_file, read_compose_names
from roundtable.workshop.sandbox.container import ContainerMeter, container_isolation_options, container_tmpfs_options
from roundtable.workshop.sandbox.container_scan import describe_missing_images, scan_container_files
from roundtable.workshop.sandbox.engines import CONTAINER_LABEL, ContainerEngine
from roundtable.workshop.sandbox.init_script import pack_job_files
from roundtable.workshop.sandbox.supervisor import RunSupervisor, kill_process_group

DOCKERFILE = "Dockerfile"
_NO_COMPOSE = "There is a compose file, and this engine has no `compose` command. Install its compose plugin."
_NOTHING = "There is no Dockerfile and no compose file to build. Add one of them."


class ImageBuild(NamedTuple):
    """What may be built: the scan has let it pass, and the images it takes from are here.

    `file` is its compose file, with what that names, or its Dockerfile.
    """

    engine: ContainerEngine
    archive: bytes
    file: str
    names: ComposeNames | None


def find_container_file(files: Mapping[str, str]) -> str:
    """The compose file at the root, else the Dockerfile there; nothing where there is neither."""
    return find_compose_file(files) or (DOCKERFILE if DOCKERFILE in files else "")


async def plan_image_build(engine: ContainerEngine, files: Mapping[str, str]) -> ImageBuild | str:
    """How these files are built, or why they are not."""
    file = find_container_file(files)
    if not file:
        return _NOTHING
    if found := await asyncio.to_thread(scan_container_files, files):
        told = " ".join(f"{it.path}, line {it.line}: {it.sentence}" for it in found)
        return f"It was not built. {told}"
    if missing := await describe_missing_images(engine, files):
        return f"It was not built. {missing}"
    archive = await asyncio.to_thread(pack_job_files, files)
    if isinstance(archive, str):
        return archive
    return ImageBuild(engine, archive, file, None if file == DOCKERFILE else read_compose_names(files[file]))


async def build_and_run_image(
    build: ImageBuild, bounds: Bounds = Bounds(seconds=600), name: str = ""
) -> AsyncGenerator[Output | Exit]:
    """Build and run it, each step within the bounds and without a network; nothing of it stays behind.

    Closing the iterator ends the build or the containers, which are called by the `name` or begin with it.
    """
    name, engine = name or process_owned_name(), build.engine
    with TemporaryDirectory(prefix=f"{name}-build-") as folder:
        with tarfile.open(fileobj=io.BytesIO(build.archive)) as tar:
            await asyncio.to_thread(tar.extractall, folder, filter="data")
        if build.names is None:
            steps, cleaning = _of_dockerfile(engine, name, folder, bounds)
        else:
            found = await _of_compose(engine, name, Path(folder, build.file), build.names, bounds)
            if isinstance(found, str):
                yield Exit(None, 0.0, found)
                return
            steps, cleaning = found
        try:
            async with aclosing(run_engine_commands(engine, steps, bounds)) as run:
                async for it in run:
                    yield it
        finally:
            for argv in cleaning:
                await engine.ask(argv)


def compose_container_name(name: str, service: str) -> str:
    """What the container of a service is called, whatever the compose file calls it."""
    return f"{name}-{service}-1"


EngineSteps = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]
"""The commands that do it, and those that clear up after them."""


def _of_dockerfile(engine: ContainerEngine, name: str, folder: str, bounds: Bounds) -> EngineSteps:
    build = ("build", "--network", "none", "--force-rm", "--label", CONTAINER_LABEL, "--tag", name, folder)
    run = ("run", "--name", name, *container_isolation_options(engine, bounds), name)
    return [build, run], [("rm", "--force", name), ("rmi", "--force", name)]


async def _of_compose(
    engine: ContainerEngine, name: str, path: Path, names: ComposeNames, bounds: Bounds
) -> EngineSteps | str:
    base = ("compose", "--project-name", name, "--project-directory", str(path.parent), "--file", str(path))
    if (await engine.ask(("compose", "version"))).code != 0:
        return _NO_COMPOSE
    read = await engine.ask((*base, "config", "--quiet"))
    if read.code != 0:
        return f"The compose file was not understood. {sanitize_line(read.text, 300)}"
    over = path.with_name("bounds-of-the-sandbox.json")
    await asyncio.to_thread(over.write_text, json.dumps(_bounded(name, names, bounds)))
    both = (*base, "--file", str(over))
    up = (*both, "up", "--build", "--no-color", "--abort-on-container-exit")
    down = (*both, "down", "--volumes", "--remove-orphans", "--rmi", "local", "--timeout", "0")
    return [up], [down]


def _bounded(name: str, names: ComposeNames, bounds: Bounds) -> dict[str, object]:
    """Laid over the project's own file: its services reach each other and nothing else, each within the bounds and by
    a name of ours; what is not here is not fetched."""
    bound: dict[str, object] = {
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
    built = {"build": {"network": "none"}, "pull_policy": "build"}
    taken = {"pull_policy": "never"}
    return {
        "services": {
            it: {**bound, **(built if it in names.built else taken), "container_name": compose_container_name(name, it)}
            for it in names.services
        },
        "networks": {it: {"internal": True} for it in ("default", *names.networks)},
    }


async def run_engine_commands(
    engine: ContainerEngine, steps: Sequence[tuple[str, ...]], bounds: Bounds
) -> AsyncGenerator[Output | Exit]:
    """One command after the other, as long as each ends well; the last one's end is the end of all."""
    end = Exit(0, 0.0)
    for argv in steps:
        process = await asyncio.create_subprocess_exec(
            *(engine.program, *argv),
            stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=engine.variables, start_new_session=True,
        )  # fmt: skip
        meter = ContainerMeter(engine, argv[2]) if argv[0] == "run" else _Unmetered()
        supervision = RunSupervisor(process, bounds, meter)
        async with aclosing(supervision.run(partial(_end, process, supervision))) as run:
            async for it in run:
                if isinstance(it, Exit):
                    end = it
                else:
                    yield it
        if end.code != 0:
            break
    yield end


async def _end(process: Process, supervision: RunSupervisor) -> None:
    kill_process_group(process)
    await supervision.over()


class _Unmetered:
    """The engine holds its containers to their bounds by itself."""

    def met(self) -> Limit | None:
        return None

    def processor_seconds(self) -> float:
        return 0.0
