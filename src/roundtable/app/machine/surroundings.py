"""What else is on this machine: agent command lines, sandboxes, model servers, and where keys are kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.app.machine.discovery import ask_local
from roundtable.app.machine.isolation import Isolation, prove_isolation
from roundtable.app.parts import Parts
from roundtable.app.settings.places import Places
from roundtable.app.settings.vault import Keychain, Vault
from roundtable.core.faults import Fault, RoundtableError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.voices.agents.agent_voice import program_of
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.agents.process import Child
from roundtable.voices.agents.workdirs import allowed
from roundtable.workshop.sandbox import SandboxSettings

SANDBOXES = ("docker", "podman", "bwrap")

_PATIENCE = 10.0
_LONGEST = 60


class Program(msgspec.Struct, frozen=True):
    """A program and the version it says it has; `tried` is the one that we know it by."""

    path: str
    version: str = ""
    tried: str = ""


class Service(msgspec.Struct, frozen=True):
    """A model server that may run here."""

    url: str
    answers: bool
    models: tuple[str, ...] = ()


class KeyPlace(msgspec.Struct, frozen=True):
    """Where a key goes that is stored now, and how many there are; `note` says what is wrong with that."""

    place: str = "file"
    stored: int = 0
    note: str = ""


class Surroundings(msgspec.Struct, frozen=True):
    """Everything that was seen."""

    agents: dict[str, Program]
    sandboxes: dict[str, Program]
    services: dict[str, Service]
    keys: KeyPlace
    isolation: Isolation = Isolation()


async def look_around(places: Places, parts: Parts | None, *, deep: bool = False) -> Surroundings:
    """Look at everything; agents and servers are those the config knows, so without a parts there are none."""
    agents, sandboxes, services, keys, isolation = await asyncio.gather(
        _agents(parts.agents() if parts else {}),
        _sandboxes(),
        _services(parts),
        asyncio.to_thread(_key_place, places),
        prove_isolation(parts.settings.config.sandbox if parts else SandboxSettings(), deep=deep),
    )
    return Surroundings(agents, sandboxes, services, keys, isolation)


async def _agents(agents: Mapping[str, Agent]) -> dict[str, Program]:
    looked = await asyncio.gather(*(_agent(agent) for agent in agents.values()))
    return {name: program for name, program in zip(agents, looked, strict=True) if program is not None}


async def _sandboxes() -> dict[str, Program]:
    found = {name: path for name in SANDBOXES if (path := shutil.which(name))}
    versions = await asyncio.gather(*(_version(path, "--version") for path in found.values()))
    return {name: Program(found[name], version) for name, version in zip(found, versions, strict=True)}


async def _services(parts: Parts | None) -> dict[str, Service]:
    if parts is None:
        return {}
    local = [endpoint for endpoint in parts.endpoints.values() if endpoint.local]
    listed = await asyncio.gather(*(ask_local(parts, endpoint) for endpoint in local))
    return {
        endpoint.name: Service(endpoint.base_url, models is not None, tuple(models or ()))
        for endpoint, models in zip(local, listed, strict=True)
    }


def _key_place(places: Places) -> KeyPlace:
    """None of the keys is opened."""
    try:
        place = "keychain" if Keychain("roundtable").usable else "file"
        return KeyPlace(place, len(Vault(places.secrets, places.seal).stored()))
    except RoundtableError as error:
        return KeyPlace(note=f"{error.message} {error.help}".strip())


async def _agent(agent: Agent) -> Program | None:
    path = program_of(agent, os.environ)
    return None if isinstance(path, Fault) else Program(path, await _version(path, *agent.version), agent.checked)


async def _version(*argv: str) -> str:
    """The first line a program says of itself; nothing if it says none in time."""
    try:
        child = await Child.start(argv, b"", Path(tempfile.gettempdir()), allowed(os.environ, ()))
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _first_line(child)
    except TimeoutError:
        return ""
    finally:
        await child.end()


async def _first_line(child: Child) -> str:
    while heard := await child.hear(_PATIENCE):
        if heard.what == "line":
            return sanitize_line(heard.text.decode(errors="replace"), _LONGEST)
        if heard.what != "trouble":
            break
    return ""
