"""Other programs on this machine: agent command lines, sandboxes, model servers, and where keys are stored."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.app.machine.discovery import detect_machine_server_models
from roundtable.app.machine.isolation import Isolation, run_machine_sandbox_check
from roundtable.app.parts import Parts
from roundtable.app.settings.places import Places
from roundtable.app.settings.vault import Keychain, Vault
from roundtable.core.faults import Fault, RoundtableError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.voices.agents.agent_voice import find_agent_cli_program
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.agents.process import AgentProcess
from roundtable.voices.agents.workdirs import filter_agent_cli_environment
from roundtable.workshop.sandbox import SandboxSettings

SANDBOX_PROGRAMS = ("docker", "podman", "bwrap")

_VERSION_TIMEOUT = 10.0
_MAX_VERSION_LENGTH = 60


class Program(msgspec.Struct, frozen=True):
    """A program with the version it reports; `tried` is the version that was tested."""

    path: str
    version: str = ""
    tried: str = ""


class LocalService(msgspec.Struct, frozen=True):
    """A model server that may run on this machine."""

    url: str
    answers: bool
    models: tuple[str, ...] = ()


class KeyStorage(msgspec.Struct, frozen=True):
    """Where a new key is stored, and how many keys there are; `note` says what is wrong."""

    place: str = "file"
    stored: int = 0
    note: str = ""


class MachineState(msgspec.Struct, frozen=True):
    """The result of the inspection."""

    agents: dict[str, Program]
    sandboxes: dict[str, Program]
    services: dict[str, LocalService]
    keys: KeyStorage
    isolation: Isolation = Isolation()


async def inspect_machine(places: Places, parts: Parts | None, *, deep: bool = False) -> MachineState:
    """Inspect everything; without `parts` there is no config and thus no agents and servers."""
    agents, sandboxes, services, keys, isolation = await asyncio.gather(
        _inspect_agents(parts.agents() if parts else {}),
        _inspect_sandboxes(),
        _inspect_services(parts),
        asyncio.to_thread(_inspect_key_storage, places),
        run_machine_sandbox_check(
            parts.settings.config.sandbox if parts else SandboxSettings(), places.private_folders, deep=deep
        ),
    )
    return MachineState(agents, sandboxes, services, keys, isolation)


async def _inspect_agents(agents: Mapping[str, Agent]) -> dict[str, Program]:
    looked = await asyncio.gather(*(_inspect_agent(agent) for agent in agents.values()))
    return {name: program for name, program in zip(agents, looked, strict=True) if program is not None}


async def _inspect_sandboxes() -> dict[str, Program]:
    programs = {name: path for name in SANDBOX_PROGRAMS if (path := shutil.which(name))}
    versions = await asyncio.gather(*(_read_version(path, "--version") for path in programs.values()))
    return {name: Program(programs[name], version) for name, version in zip(programs, versions, strict=True)}


async def _inspect_services(parts: Parts | None) -> dict[str, LocalService]:
    if parts is None:
        return {}
    local = [endpoint for endpoint in parts.endpoints.values() if endpoint.local]
    listed = await asyncio.gather(*(detect_machine_server_models(parts, endpoint) for endpoint in local))
    return {
        endpoint.name: LocalService(endpoint.base_url, models is not None, tuple(models or ()))
        for endpoint, models in zip(local, listed, strict=True)
    }


def _inspect_key_storage(places: Places) -> KeyStorage:
    """Inspect the key store without opening a key."""
    try:
        place = "keychain" if Keychain("roundtable").usable else "file"
        return KeyStorage(place, len(Vault(places.secrets, places.seal).list_stored()))
    except RoundtableError as error:
        return KeyStorage(note=f"{error.message} {error.help}".strip())


async def _inspect_agent(agent: Agent) -> Program | None:
    path = find_agent_cli_program(agent, os.environ)
    return None if isinstance(path, Fault) else Program(path, await _read_version(path, *agent.version), agent.checked)


async def _read_version(*argv: str) -> str:
    """Return the first line of a program's output; empty if it prints none in time."""
    try:
        child = await AgentProcess.start(
            argv, b"", Path(tempfile.gettempdir()), filter_agent_cli_environment(os.environ, ())
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_VERSION_TIMEOUT):
            return await _read_first_line(child)
    except TimeoutError:
        return ""
    finally:
        await child.terminate()


async def _read_first_line(child: AgentProcess) -> str:
    while output := await child.read_output(_VERSION_TIMEOUT):
        if output.kind == "line":
            return sanitize_line(output.text.decode(errors="replace"), _MAX_VERSION_LENGTH)
        if output.kind != "stderr":
            break
    return ""
