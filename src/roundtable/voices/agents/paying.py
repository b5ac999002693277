"""What a turn of an agent comes to, and who pays for it: a subscription, a key, or nobody says."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from roundtable.core.usage import Usage
from roundtable.voices.agents.catalog import Agent
from roundtable.voices.agents.output_rules import Reading
from roundtable.voices.prices import price_of


async def bill(agent: Agent, reading: Reading, used: Usage, asked: str, environ: Mapping[str, str]) -> Usage:
    """The same usage with its price. What a subscription pays for costs nothing, and has a price all the same."""
    cost = await _cost(agent.prices, (reading.model, asked), used)
    if not _on_plan(agent, reading, environ):
        return msgspec.structs.replace(used, cost_usd=cost)
    return msgspec.structs.replace(used, cost_usd=0.0, plan_tokens=used.tokens, plan_usd=cost)


def _on_plan(agent: Agent, reading: Reading, environ: Mapping[str, str]) -> bool:
    """A key pays before a plan does, whatever the agent calls it; else it knows best, and else it is the login."""
    if agent.keyed(environ):
        return False
    return bool(agent.key_variables) if reading.plan is None else reading.plan


async def _cost(prices: str, models: tuple[str, ...], used: Usage) -> float | None:
    """What the agent says, else the price list. An agent that says 0 for tokens it used only has no price for them."""
    if used.cost_usd or not used.tokens:
        return used.cost_usd
    for model in models if prices else ():
        cost = await price_of(prices, model, used) if model else None
        if cost is not None:
            return cost
    return None
