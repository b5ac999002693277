"""Finds the voice for a voice string, and owns what voices share: clients, pacers, loaded models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from roundtable.core.faults import ConfigError, Fault, FaultKind, UsageError
from roundtable.core.ports import Voice
from roundtable.core.text.wording import did_you_mean_text
from roundtable.core.values import Reply, Request
from roundtable.voices.agents.catalog import Agent, load_shipped_agent_clis
from roundtable.voices.endpoints import Endpoint, ResolveKey
from roundtable.voices.rate_limits import CallPacer
from roundtable.voices.scripted import ScriptedVoice, load_voice_script

if TYPE_CHECKING:
    import httpx2

    from roundtable.voices.agents.agent_voice import AgentKind
    from roundtable.voices.agents.roster import AgentVoices
    from roundtable.voices.embedded import EmbeddedModels
    from roundtable.voices.http_voice import PriceLookup


class VoiceRegistry:
    """The `Voices` port: `endpoint:model`, `cli:agent`, `acp:agent`, `script:path`, `embedded:model`.

    The HTTP client and the embedded models are imported only when a voice needs them, so a scripted meeting loads
    neither.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        resolve_key: ResolveKey,
        *,
        models_dir: Path,
        workspace: Path | None = None,
        slots: int = 4,
        agents: Callable[[], Mapping[str, Agent]] = load_shipped_agent_clis,
    ) -> None:
        self._endpoints = dict(endpoints)
        self._resolve_key = resolve_key
        self._models_dir = models_dir
        self._workspace = workspace or Path.cwd()
        self._embedded_slots = slots
        self._voices: dict[str, Voice] = {}
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._paces: dict[tuple[str, str], CallPacer] = {}
        self._embedded: EmbeddedModels | None = None
        self._agents = agents
        self._agent_voices: AgentVoices | None = None

    def find(self, voice: str) -> Voice | Fault:
        """Return the voice of that name, always the same object, or a fault that says why there is none."""
        if voice in self._voices:
            return self._voices[voice]
        try:
            created = self._create_voice(voice)
        except UsageError as error:  # the store of keys cannot be used
            return Fault.of(FaultKind.UNAUTHORIZED, error.message, help=error.help)
        if not isinstance(created, Fault):
            self._voices[voice] = created
        return created

    async def close(self) -> None:
        """Close every client and end every child process."""
        voices, self._voices = self._voices, {}
        clients, self._clients = self._clients, {}
        embedded, self._embedded = self._embedded, None
        for voice in voices.values():
            await voice.close()
        for client in clients.values():
            await client.aclose()
        if embedded is not None:
            await embedded.close()

    def _create_voice(self, voice: str) -> Voice | Fault:
        kind, _, rest = voice.partition(":")
        if kind == "script" and rest:
            return self._create_scripted_voice(voice, rest)
        if kind == "embedded":
            return self._create_embedded_voice(rest)
        if kind in ("cli", "acp") and rest:
            return self._create_agent_voice(rest, "acp" if kind == "acp" else "cli")
        if kind in self._endpoints and (rest or self._endpoints[kind].default_model):
            return self._create_http_voice(self._endpoints[kind], rest)
        return self._create_unknown_voice_fault(voice, kind)

    def _create_unknown_voice_fault(self, voice: str, kind: str) -> Fault:
        kinds = [*self._endpoints, "script", "embedded", "cli", "acp"]
        if kind in kinds:
            what = {"script": "path", "cli": "agent", "acp": "agent"}.get(kind, "model")
            message = f"The voice `{voice}` has no {what}."
            return Fault.of(FaultKind.MISSING, message, help=f"Write it as {kind}:{what.upper()}.")
        return Fault.of(
            FaultKind.MISSING,
            f"There is no endpoint called `{kind}`.{did_you_mean_text(kind, kinds)}",
            help=f"Known endpoints: {', '.join(sorted(kinds))}. Add others in the config under [endpoints.NAME].",
        )

    def _create_scripted_voice(self, voice: str, path: str) -> Voice | Fault:
        file = self._workspace / Path(path).expanduser()
        if not file.is_file():
            return Fault.of(FaultKind.MISSING, f"There is no script {file}.", help="Check the path after `script:`.")
        try:
            return ScriptedVoice(voice, load_voice_script(file))
        except ConfigError as error:
            return Fault.of(FaultKind.MALFORMED, error.message, retryable=False, help=error.help)

    def _create_http_voice(self, endpoint: Endpoint, model: str) -> Voice | Fault:
        key = self._resolve_endpoint_key(endpoint)
        if isinstance(key, Fault):
            return key
        filled = self.fill_endpoint(endpoint)
        if isinstance(filled, Fault):
            return filled
        from roundtable.voices.http_voice import HttpVoice

        model = model or endpoint.default_model
        client = self._get_client(filled)
        account = (urlsplit(filled.base_url).netloc, endpoint.key)  # one server may be reached in several dialects
        pace = self._paces.setdefault(account, CallPacer(endpoint.concurrency, endpoint.per_minute))
        return HttpVoice(filled, model, client, key=key, pace=pace, price=_create_price_lookup(endpoint))

    def fill_endpoint(self, endpoint: Endpoint) -> Endpoint | Fault:
        """Return the endpoint with the variables in its address and headers filled in, or a fault."""
        values = {name: (self._resolve_key(f"env:{name}") or "").strip() for name in endpoint.list_variables()}
        unset = next((name for name, value in values.items() if not value), "")
        if unset:
            message = f"The endpoint {endpoint.name} needs the variable {unset}, which is not set."
            return Fault.of(FaultKind.MISSING, message, help=f"Set {unset}, or remove this voice.")
        return endpoint.with_variables(values)

    def _resolve_endpoint_key(self, endpoint: Endpoint) -> str | Fault:
        if endpoint.key == "none":
            return ""
        key = (self._resolve_key(endpoint.key) or "").strip()
        kind, _, name = endpoint.key.partition(":")
        if not key:
            store = f"`roundtable keys set {endpoint.name}`"
            how = f"Set the variable {name}, or store it: {store}." if kind == "env" else f"Store it: {store}."
            return Fault.of(
                FaultKind.UNAUTHORIZED,
                f"The key {endpoint.key} of the endpoint {endpoint.name} was not found.",
                help=how,
            )
        if not (key.isascii() and key.isprintable()):
            message = f"The key of {endpoint.name} ({endpoint.key}) contains invalid characters."
            return Fault.of(FaultKind.UNAUTHORIZED, message, help="Copy the key again, without quotes or line breaks.")
        return key

    def _get_client(self, endpoint: Endpoint) -> httpx2.AsyncClient:
        if endpoint.name not in self._clients:
            from roundtable.voices.http_client import open_provider_http_client

            self._clients[endpoint.name] = open_provider_http_client(endpoint)
        return self._clients[endpoint.name]

    def _create_agent_voice(self, name: str, kind: AgentKind) -> Voice | Fault:
        from roundtable.voices.agents.roster import AgentVoices

        if self._agent_voices is None:
            self._agent_voices = AgentVoices(self._agents())
        return self._agent_voices.find_voice(name, kind)

    def _create_embedded_voice(self, model: str) -> Voice | Fault:
        from roundtable.voices.embedded import EmbeddedModels

        if self._embedded is None:
            self._embedded = EmbeddedModels(self._models_dir, self._embedded_slots)
        return self._embedded.find_voice(model)


def _create_price_lookup(endpoint: Endpoint) -> PriceLookup | None:
    """Return the price lookup of the endpoint, or None if it has no price list."""
    if not endpoint.prices:
        return None
    from roundtable.voices.prices import compute_provider_call_price

    return partial(compute_provider_call_price, endpoint.prices)


async def ask_voice_outside_meeting(voice: Voice, request: Request) -> Reply | Fault:
    """Ask a voice once outside a meeting; a call that takes longer than `request.timeout` ends as a timeout."""
    try:
        async with asyncio.timeout(request.timeout), aclosing(voice.speak(request)) as speech:
            async for piece in speech:
                if not isinstance(piece, str):
                    return piece
    except TimeoutError:
        return Fault.of(FaultKind.TIMEOUT, f"{voice.name}: no complete answer within {request.timeout:g} s.")
    except Exception as error:
        return Fault.of(FaultKind.CRASHED, f"{voice.name} failed unexpectedly: {type(error).__name__}.")
    return Fault.of(FaultKind.TRUNCATED, f"{voice.name} ended without a reply.")
