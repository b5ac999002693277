"""Finds the voice behind a string, and owns what voices share: clients, slots, loaded models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.voices.datafile import nearest
from roundtable.voices.endpoints import Endpoint, ResolveKey
from roundtable.voices.scripted import ScriptedVoice, load_script

if TYPE_CHECKING:
    import httpx2

    from roundtable.voices.embedded import EmbeddedModels

_LATER = {"cli", "acp"}


class VoiceRegistry:
    """The `Voices` port: `endpoint:model`, `script:path`, `embedded:model`.

    The HTTP client and the embedded models are imported only when a voice needs them, so a scripted
    meeting does not pay for either.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        resolve_key: ResolveKey,
        *,
        models_dir: Path,
        workspace: Path | None = None,
        slots: int = 4,
    ) -> None:
        self._endpoints = dict(endpoints)
        self._resolve_key = resolve_key
        self._models_dir = models_dir
        self._workspace = workspace or Path.cwd()
        self._embedded_slots = slots
        self._voices: dict[str, Voice] = {}
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._embedded: EmbeddedModels | None = None

    def find(self, voice: str) -> Voice | Fault:
        """The voice of that name, the same one every time; a Fault says why there is none."""
        if voice in self._voices:
            return self._voices[voice]
        found = self._make(voice)
        if not isinstance(found, Fault):
            self._voices[voice] = found
        return found

    async def close(self) -> None:
        """Close every client and end every child."""
        voices, self._voices = self._voices, {}
        clients, self._clients = self._clients, {}
        embedded, self._embedded = self._embedded, None
        for voice in voices.values():
            await voice.close()
        for client in clients.values():
            await client.aclose()
        if embedded is not None:
            await embedded.close()

    def _make(self, voice: str) -> Voice | Fault:
        kind, colon, rest = voice.partition(":")
        if kind == "script" and rest:
            return self._script(voice, rest)
        if kind == "embedded":
            return self._local(rest)
        if kind in _LATER and colon:
            return Fault.of(
                FaultKind.MISSING,
                f"There is no voice {voice} yet: it comes with the agent command lines.",
                help="Use an endpoint, an embedded model or a script for now.",
            )
        if kind in self._endpoints and (rest or self._endpoints[kind].default_model):
            return self._remote(self._endpoints[kind], rest)
        return self._unknown(voice, kind)

    def _unknown(self, voice: str, kind: str) -> Fault:
        known = [*self._endpoints, "script", "embedded"]
        if kind in known:
            what = "path" if kind == "script" else "model"
            message = f"The voice `{voice}` names no {what}."
            return Fault.of(FaultKind.MISSING, message, help=f"Write it as {kind}:{what.upper()}.")
        return Fault.of(
            FaultKind.MISSING,
            f"There is no endpoint called `{kind}`.{nearest(kind, known)}",
            help=f"Known: {', '.join(sorted(known))}. Others are added in the config under [endpoints.NAME].",
        )

    def _script(self, voice: str, path: str) -> Voice | Fault:
        file = self._workspace / Path(path).expanduser()
        if not file.is_file():
            return Fault.of(FaultKind.MISSING, f"There is no script {file}.", help="Check the path after `script:`.")
        try:
            return ScriptedVoice(voice, load_script(file))
        except ConfigError as error:
            return Fault.of(FaultKind.MALFORMED, error.message, retryable=False, help=error.help)

    def _remote(self, endpoint: Endpoint, model: str) -> Voice | Fault:
        if endpoint.dialect != "openai-chat":
            message = f"The dialect {endpoint.dialect} of {endpoint.name} is not spoken yet."
            return Fault.of(FaultKind.MISSING, message, help="Use an endpoint with the dialect openai-chat.")
        key = self._key(endpoint)
        if isinstance(key, Fault):
            return key
        from roundtable.voices.openai_chat import OpenAIChat

        slots = self._slots.setdefault(endpoint.name, asyncio.Semaphore(endpoint.concurrency))
        return OpenAIChat(endpoint, model or endpoint.default_model, self._client(endpoint), key=key, slots=slots)

    def _key(self, endpoint: Endpoint) -> str | Fault:
        if endpoint.key == "none":
            return ""
        key = (self._resolve_key(endpoint.key) or "").strip()
        kind, _, name = endpoint.key.partition(":")
        if not key:
            how = f"Set the variable {name}." if kind == "env" else f"Store it: `roundtable secrets set {name}`."
            return Fault.of(FaultKind.UNAUTHORIZED, f"{endpoint.name} has no key ({endpoint.key}).", help=how)
        if not (key.isascii() and key.isprintable()):
            message = f"The key of {endpoint.name} ({endpoint.key}) has characters that no key has."
            return Fault.of(FaultKind.UNAUTHORIZED, message, help="Copy it again, without quotes or line breaks.")
        return key

    def _client(self, endpoint: Endpoint) -> httpx2.AsyncClient:
        if endpoint.name not in self._clients:
            from roundtable.voices.http_client import open_client

            self._clients[endpoint.name] = open_client(endpoint)
        return self._clients[endpoint.name]

    def _local(self, model: str) -> Voice | Fault:
        from roundtable.voices.embedded import EmbeddedModels

        if self._embedded is None:
            self._embedded = EmbeddedModels(self._models_dir, self._embedded_slots)
        return self._embedded.voice(model)
