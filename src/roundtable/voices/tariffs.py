"""How a voice is paid for, from its voice string and the catalogs; asks no provider and loads no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from roundtable.core.values import Seat
from roundtable.voices.agents.acp import adapt_agent_cli_to_acp
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.models import DEFAULT_EMBEDDED_WINDOW, load_embedded_model_catalog

DEFAULT_OVERHEAD_TOKENS = 250
"""Tokens that a server adds to a prompt: chat template, schema, roles."""

_BYTES_PER_TOKEN = 4


class Tariff(msgspec.Struct, frozen=True):
    """How a voice is paid for: plan, key or free; its price list and model; tokens in addition to prompt and answer.

    `window` is the context window in tokens, `per_minute` the tokens a minute; 0 means unknown or unlimited.
    """

    paid: Literal["free", "tokens", "plan"]
    prices: str = ""
    model: str = ""
    overhead: int = DEFAULT_OVERHEAD_TOKENS
    thinking: int = 0
    keeps_session: bool = False
    window: int = 0
    per_minute: int = 0


class Tariffs:
    """The tariff of every voice; an unknown voice is paid by the token at an unknown price."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        agents: Callable[[], Mapping[str, Agent]],
        environment: Mapping[str, str],
    ) -> None:
        self._endpoints = endpoints
        self._agents = agents
        self._environment = environment

    def find_tariff(self, voice: str) -> Tariff:
        """Return the tariff of a voice string."""
        kind, _, rest = voice.partition(":")
        if kind == "script":
            return Tariff("free")
        if kind == "embedded":
            model = load_embedded_model_catalog().get(rest)
            return Tariff("free", window=model.window if model else DEFAULT_EMBEDDED_WINDOW)
        if kind in ("cli", "acp"):
            name, _, model = rest.partition(":")
            agent = self._agents().get(name)
            if agent is not None and kind == "acp":
                agent = adapt_agent_cli_to_acp(agent) if agent.acp is not None else None
            return Tariff("tokens") if agent is None else self._find_agent_tariff(agent, model or agent.default_model)
        endpoint = self._endpoints.get(kind)
        return Tariff("tokens") if endpoint is None else _find_endpoint_tariff(endpoint, rest or endpoint.default_model)

    def list_paid_voices(self, seats: Iterable[Seat], *, judging: bool = False) -> list[str]:
        """Return the voices of these seats that are paid by the token; with `judging`, also their judge voices."""
        voices = dict.fromkeys(voice for seat in seats for voice in seat.voice_chain(judging=judging))
        return [voice for voice in voices if self.find_tariff(voice).paid == "tokens"]

    def _find_agent_tariff(self, agent: Agent, model: str) -> Tariff:
        """Return the tariff of an agent. A key takes precedence over a plan; if neither is certain, assume a key."""
        says = bool(agent.key_variables) or any(rule.plan for rule in agent.reads)
        overhead = agent.overhead_bytes // _BYTES_PER_TOKEN
        paid = "plan" if says and not agent.has_key(self._environment) else "tokens"
        return Tariff(paid, agent.prices, model, overhead, keeps_session=agent.keeps_session)


def _find_endpoint_tariff(endpoint: Endpoint, model: str) -> Tariff:
    window, (_, per_minute) = endpoint.find_context_window(model), endpoint.find_token_limit(model)
    if endpoint.local:
        return Tariff("free", window=window, per_minute=per_minute)
    thinking = endpoint.thinking_tokens if endpoint.is_reasoning_model(model) else 0
    return Tariff("tokens", endpoint.prices, model, thinking=thinking, window=window, per_minute=per_minute)
