"""Docker and Podman through their command lines, where an engine on this machine answers."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence

import msgspec

from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.identity import is_temp_name_of_dead_process

CONTAINER_LABEL = "roundtable.run"
EMPTY_IMAGE = "roundtable-empty:1"

_LOCAL_ENGINE_CHECKS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "docker": (
        (("context", "inspect", "--format", "{{.Endpoints.docker.Host}}"), "unix://"),
        (("version", "--format", "{{.Server.Version}}"), ""),
    ),
    "podman": ((("info", "--format", "{{.Host.ServiceIsRemote}}"), "false"),),
}
"""Commands to ask, and the prefix of the answer of an engine that runs on this machine and not on another."""
_VARIABLES = (
    "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
    "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
)  # fmt: skip
_COMMAND_TIMEOUT = 20.0
_EMPTY_ARCHIVE = bytes(10_240)
"""An empty tar archive."""


def sandbox_container_engine_variables() -> dict[str, str]:
    """Return the user's environment variables that lead to an engine."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


class EngineReply(msgspec.Struct, frozen=True):
    """The answer of an engine to one command; `code` is None if it did not answer in time."""

    code: int | None
    text: str


class ContainerEngine:
    """A container engine that answers. Its command line gets only the user's variables that lead to it."""

    def __init__(self, name: str, program: str) -> None:
        self.name = name
        self.program = program

    def tmpfs_options(self, place: str, options: str) -> list[str]:
        """Return the option for a new tmpfs; Podman would otherwise copy the hidden contents into it."""
        return ["--tmpfs", f"{place}:{options}{',notmpcopyup' if self.name == 'podman' else ''}"]

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the engine's command line."""
        return sandbox_container_engine_variables()

    @classmethod
    async def find(cls, name: str) -> ContainerEngine | str:
        """Return the engine of that name, or the reason it cannot be used."""
        program = shutil.which(name)
        if program is None:
            return f"{name.capitalize()} is not installed."
        engine = cls(name, program)
        for command, prefix in _LOCAL_ENGINE_CHECKS[name]:
            answer = await engine.run_command(command)
            if answer.code != 0:
                return f"The {name.capitalize()} engine does not answer ({sanitize_line(answer.text, 200)})."
            if not answer.text.startswith(prefix):
                return f"{name.capitalize()} runs on another machine ({sanitize_line(answer.text, 100)})."
        return engine

    async def run_command(self, argv: Sequence[str], data: bytes | None = None) -> EngineReply:
        """Run one short command of the engine."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(self.program, *argv),
                stdin=DEVNULL if data is None else PIPE, stdout=PIPE, stderr=STDOUT, env=self.variables,
            )  # fmt: skip
        except OSError as error:
            return EngineReply(None, error.strerror or "")
        try:
            async with asyncio.timeout(_COMMAND_TIMEOUT):
                output, _ = await process.communicate(data)
        except TimeoutError:
            return EngineReply(None, f"no answer in {_COMMAND_TIMEOUT:g} seconds")
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        return EngineReply(process.returncode, output.decode(errors="replace").strip())

    async def empty_image(self) -> str:
        """Return the name of an empty image, created locally so that nothing has to be downloaded."""
        if (await self.run_command(("image", "inspect", EMPTY_IMAGE))).code != 0:
            await self.run_command(("import", "-", EMPTY_IMAGE), _EMPTY_ARCHIVE)
        return EMPTY_IMAGE

    async def remove_orphans(self) -> None:
        """Delete the containers and images that killed Roundtable processes left behind."""
        own_filter = ("--all", "--filter", f"label={CONTAINER_LABEL}", "--format")
        for list_command, name, remove in (("ps", "{{.Names}}", "rm"), ("images", "{{.Repository}}", "rmi")):
            reply = await self.run_command((list_command, *own_filter, name))
            if orphans := [name for name in reply.text.split() if is_temp_name_of_dead_process(name)]:
                await self.run_command((remove, "--force", *orphans))
