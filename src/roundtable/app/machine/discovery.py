"""Finds the seats that this machine offers. Discovery never sends a paid request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from roundtable.app.machine.embedded_models import list_machine_models, machine_has_model_runtime
from roundtable.app.parts import Parts
from roundtable.app.settings.installation import Installation
from roundtable.app.settings.places import Places
from roundtable.app.settings.secrets import Keys
from roundtable.core.faults import Fault
from roundtable.core.values import Seat
from roundtable.voices.agents.agent_voice import find_agent_cli_program
from roundtable.voices.endpoints import Endpoint

DiscoveryKind = Literal["configured", "cli", "api", "local", "embedded"]

CONNECT_SECONDS = 0.4
ANSWER_SECONDS = 2.0
"""Seconds to wait: a running server accepts a connection at once, but may be busy with another call."""

_PERSONAS = (
    ("ada", "You are a careful sceptic: look first for what could go wrong and for what nobody has checked."),
    ("grace", "You are a pragmatist: prefer what works today, is simple to run and easy to undo."),
    ("alan", "You think from first principles: ask what the question really needs, and ignore habit."),
)


class DiscoveredSeat(msgspec.Struct, frozen=True):
    """A seat that could be used, or the reason why it cannot."""

    name: str
    voice: str
    kind: DiscoveryKind
    usable: bool
    note: str = ""

    def to_seat(self) -> Seat:
        """Return a seat with this voice alone."""
        return Seat(self.name, (self.voice,))


async def detect_machine_seats(parts: Parts) -> list[DiscoveredSeat]:
    """Return all seats in the order they are offered: configured, agents, keys, local servers, embedded."""
    local = await asyncio.gather(*(_find_local_seat(parts, item) for item in parts.endpoints.values() if item.local))
    return [
        *detect_configured_machine_seats(parts),
        *_find_agent_seats(parts),
        *(
            found
            for endpoint in parts.endpoints.values()
            if not endpoint.local
            for found in _find_api_seats(parts, endpoint)
        ),
        *(found for found in local if found is not None),
        *_find_embedded_seats(parts.places),
    ]


def propose_machine_seats(found: Iterable[DiscoveredSeat]) -> tuple[Seat, ...]:
    """Return the seats to offer: every usable agent, key and server; a single voice gets three personas."""
    usable = [item for item in found if item.usable]
    speakers = [item for item in usable if item.kind in ("cli", "api", "local")] or [
        item for item in usable if item.kind == "embedded"
    ][:1]
    if len(speakers) == 1:
        return _create_persona_seats(speakers[0].voice)
    return tuple(speaker.to_seat() for speaker in speakers)


def create_machine_model_seats(model: str) -> tuple[Seat, ...]:
    """Return three seats on one embedded model."""
    return _create_persona_seats(f"embedded:{model}")


def _create_persona_seats(voice: str) -> tuple[Seat, ...]:
    """Return three seats on one voice with different personas, so that they do not echo each other."""
    return tuple(Seat(name, (voice,), brief=brief) for name, brief in _PERSONAS)


def detect_configured_machine_seats(parts: Parts) -> list[DiscoveredSeat]:
    """Return the configured seats, including those that cannot speak."""
    config = parts.settings.config
    names = config.table.seats or tuple(name for name, seat in config.seats.items() if seat.enabled)
    chains = {name: config.seats[name].voices if name in config.seats else () for name in names}
    return [_check_configured_seat(parts, name, voices) for name, voices in chains.items()]


def _check_configured_seat(parts: Parts, name: str, voices: Sequence[str]) -> DiscoveredSeat:
    """Return the first voice of a chain that can speak, else the first one with its problem."""
    if not voices:
        held_back = f"seats.{name}.voices" in parts.settings.withheld
        note = (
            "its voices are withheld until you run `roundtable trust`" if held_back else f"[seats.{name}] has no voices"
        )
        return DiscoveredSeat(name, "", "configured", False, note)
    looked = [(voice, parts.voices.find(voice)) for voice in voices]
    for voice, resolved in looked:
        if not isinstance(resolved, Fault):
            return DiscoveredSeat(name, voice, "configured", True)
    voice, fault = looked[0]
    return DiscoveredSeat(name, voice, "configured", False, fault.message if isinstance(fault, Fault) else "")


def _find_agent_seats(parts: Parts) -> list[DiscoveredSeat]:
    agents = parts.agents()
    return [
        DiscoveredSeat(name, f"cli:{name}", "cli", True, f"{agents[name].title or name}, {path}")
        for name, path in find_machine_agents(parts).items()
    ]


def _find_api_seats(parts: Parts, endpoint: Endpoint) -> list[DiscoveredSeat]:
    """Return the seat of an endpoint whose key exists; the key is not tested."""
    place = parts.keys.find_location(endpoint.key)
    if not place:
        return []
    title = endpoint.title or endpoint.name
    if not endpoint.default_model:
        if any(item.key == endpoint.key and item.default_model for item in parts.endpoints.values()):
            return []  # another dialect of an account that is offered already
        note = f"{title}: a key exists; choose a model with {endpoint.name}:MODEL"
        return [DiscoveredSeat(endpoint.name, f"{endpoint.name}:", "api", False, note)]
    voice = f"{endpoint.name}:{endpoint.default_model}"
    resolved = parts.voices.find(voice)
    if isinstance(resolved, Fault):
        return [DiscoveredSeat(endpoint.name, voice, "api", False, resolved.message)]
    return [
        DiscoveredSeat(
            endpoint.name, voice, "api", True, f"{title}, key from {Keys.describe_location(endpoint.key, place)}"
        )
    ]


async def _find_local_seat(parts: Parts, endpoint: Endpoint) -> DiscoveredSeat | None:
    models = await detect_machine_server_models(parts, endpoint)
    if models is None:
        return None
    title = endpoint.title or endpoint.name
    model = endpoint.default_model or next(iter(models), "")
    if not model:
        return DiscoveredSeat(
            endpoint.name, f"{endpoint.name}:", "local", False, f"{title} answers but has no model loaded"
        )
    voice = f"{endpoint.name}:{model}"
    resolved = parts.voices.find(voice)
    if isinstance(resolved, Fault):
        return DiscoveredSeat(endpoint.name, voice, "local", False, resolved.message)
    return DiscoveredSeat(endpoint.name, voice, "local", True, f"{title} at {endpoint.base_url}")


class _ListedModel(msgspec.Struct):
    id: str


class _ModelListing(msgspec.Struct):
    data: list[_ListedModel] = []


async def detect_machine_server_models(parts: Parts, endpoint: Endpoint) -> list[str] | None:
    """Return the models of a local server, chat models first; None if it does not answer in time."""
    import httpx2

    from roundtable.voices.http_client import open_provider_http_client

    filled = parts.fill_endpoint(endpoint)
    if isinstance(filled, Fault):
        return None
    key = parts.keys.resolve(endpoint.key)
    headers = {**filled.headers, "authorization": f"Bearer {key}"} if key else filled.headers
    try:
        async with asyncio.timeout(ANSWER_SECONDS), open_provider_http_client(filled) as client:
            patience = httpx2.Timeout(None, connect=CONNECT_SECONDS)
            url = filled.base_url + (endpoint.probe or "/models")
            response = await client.get(url, headers=headers, timeout=patience)
        if response.status_code != 200:
            return None
        listing = msgspec.json.decode(response.content, type=_ModelListing)
    except (OSError, TimeoutError, httpx2.HTTPError, msgspec.DecodeError):
        return None
    return sorted((listed.id for listed in listing.data if listed.id), key=lambda id: "embed" in id.lower())


def _find_embedded_seats(places: Places) -> list[DiscoveredSeat]:
    """Return the embedded models, the default one first."""
    runs = machine_has_model_runtime()
    seats: list[DiscoveredSeat] = []
    for model in sorted(list_machine_models(places), key=lambda model: not model.default):
        megabytes = f"{model.size / 1e6:,.0f} MB"
        if not model.installed:
            note = f"run `roundtable models get {model.name}` to download it ({megabytes}, {model.licence})"
        else:
            note = (
                f"installed, {megabytes}"
                if runs
                else f"installed; to run it, first run `{Installation.install_command('local')}`"
            )
        seats.append(DiscoveredSeat(model.name, f"embedded:{model.name}", "embedded", model.installed and runs, note))
    return seats


# --- endpoints, for lists -------------------------------------------------------------------------


class EndpointState(msgspec.Struct, frozen=True):
    """An endpoint in a list: whether its key exists, never the key itself."""

    name: str
    title: str
    base_url: str
    dialect: str
    key: str
    key_present: bool
    key_place: str
    local: bool
    answers: bool | None
    models: tuple[str, ...]
    voice: str
    judge: str
    usable: bool

    @property
    def key_origin(self) -> str:
        """Where its key was found, in words."""
        return Keys.describe_location(self.key, self.key_place)


async def detect_machine_endpoint_states(parts: Parts) -> list[EndpointState]:
    """Return every known endpoint; only local ones are asked whether they run."""
    return list(await asyncio.gather(*(_endpoint_state(parts, endpoint) for endpoint in parts.endpoints.values())))


async def _endpoint_state(parts: Parts, endpoint: Endpoint) -> EndpointState:
    models = await detect_machine_server_models(parts, endpoint) if endpoint.local else None
    model = endpoint.default_model or next(iter(models or ()), "")
    place = parts.keys.find_location(endpoint.key)
    present = endpoint.key == "none" or bool(place)
    voice = f"{endpoint.name}:{model or 'MODEL'}"
    usable = present and (models is not None if endpoint.local else True) and _is_voice_available(parts, voice)
    return EndpointState(
        name=endpoint.name,
        title=endpoint.title or endpoint.name,
        base_url=endpoint.base_url,
        dialect=endpoint.dialect,
        key=endpoint.key,
        key_present=present,
        key_place=place,
        local=endpoint.local,
        answers=models is not None if endpoint.local else None,
        models=tuple(models or ()),
        voice=voice,
        judge=f"{endpoint.name}:{endpoint.judge_model}" if endpoint.judge_model else "",
        usable=usable,
    )


def _is_voice_available(parts: Parts, voice: str) -> bool:
    return not isinstance(parts.voices.find(voice), Fault)


def find_machine_agents(parts: Parts) -> dict[str, str]:
    """Return the installed agent command lines with their paths."""
    programs = {name: find_agent_cli_program(agent, os.environ) for name, agent in parts.agents().items()}
    return {name: program for name, program in programs.items() if not isinstance(program, Fault)}
