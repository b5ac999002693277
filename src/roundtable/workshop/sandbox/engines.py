"""Docker and Podman by their command lines, where an engine on this machine answers."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence

import msgspec

from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.identity import is_orphaned_name

CONTAINER_LABEL = "roundtable.run"
EMPTY_IMAGE = "roundtable-empty:1"

_QUESTIONS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "docker": (
        (("context", "inspect", "--format", "{{.Endpoints.docker.Host}}"), "unix://"),
        (("version", "--format", "{{.Server.Version}}"), ""),
    ),
    "podman": ((("info", "--format", "{{.Host.ServiceIsRemote}}"), "false"),),
}
"""What to ask, and how the answer begins where the engine answers and runs on this machine, not on another."""
_VARIABLES = (
    "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
    "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
)  # fmt: skip
_PATIENCE = 20.0
_NOTHING = bytes(10_240)
"""An archive with nothing in it."""


def container_engine_variables() -> dict[str, str]:
    """The person's variables that say where programs and engines are."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


class EngineReply(msgspec.Struct, frozen=True):
    """What an engine said to one command; no code where it did not answer in time."""

    code: int | None
    text: str


class ContainerEngine:
    """One that answers. Its command line gets none of the person's variables but those that lead to it."""

    def __init__(self, name: str, program: str) -> None:
        self.name = name
        self.program = program

    def fresh(self, place: str, options: str) -> list[str]:
        """The option for a new place in memory; Podman would copy into it what it is to hide."""
        return ["--tmpfs", f"{place}:{options}{',notmpcopyup' if self.name == 'podman' else ''}"]

    @property
    def variables(self) -> dict[str, str]:
        """What its command line is given."""
        return container_engine_variables()

    @classmethod
    async def find(cls, name: str) -> ContainerEngine | str:
        """The engine of that name, or why it cannot be used."""
        program = shutil.which(name)
        if program is None:
            return f"{name.capitalize()} is not installed."
        engine = cls(name, program)
        for question, wanted in _QUESTIONS[name]:
            answer = await engine.ask(question)
            if answer.code != 0:
                return f"No {name.capitalize()} engine answers ({sanitize_line(answer.text, 200)})."
            if not answer.text.startswith(wanted):
                return f"{name.capitalize()} would run things on another machine ({sanitize_line(answer.text, 100)})."
        return engine

    async def ask(self, argv: Sequence[str], data: bytes | None = None) -> EngineReply:
        """One short command, and what it said."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(self.program, *argv),
                stdin=DEVNULL if data is None else PIPE, stdout=PIPE, stderr=STDOUT, env=self.variables,
            )  # fmt: skip
        except OSError as error:
            return EngineReply(None, error.strerror or "")
        try:
            async with asyncio.timeout(_PATIENCE):
                said, _ = await process.communicate(data)
        except TimeoutError:
            return EngineReply(None, f"no answer in {_PATIENCE:g} seconds")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return EngineReply(process.returncode, said.decode(errors="replace").strip())

    async def empty_image(self) -> str:
        """The name of an image with nothing in it; it is made here, so that nothing has to be fetched."""
        if (await self.ask(("image", "inspect", EMPTY_IMAGE))).code != 0:
            await self.ask(("import", "-", EMPTY_IMAGE), _NOTHING)
        return EMPTY_IMAGE

    async def sweep(self) -> None:
        """Take away the containers and images that killed processes of ours have left behind."""
        ours = ("--all", "--filter", f"label={CONTAINER_LABEL}", "--format")
        for listed, name, remove in (("ps", "{{.Names}}", "rm"), ("images", "{{.Repository}}", "rmi")):
            found = await self.ask((listed, *ours, name))
            if orphans := [name for name in found.text.split() if is_orphaned_name(name)]:
                await self.ask((remove, "--force", *orphans))
