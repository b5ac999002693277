"""What tokens cost, by the figures that come with genai-prices. They are never fetched: nothing phones home."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING

from roundtable.core.values import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot


async def load_price_list() -> None:
    """Read the figures, once, in a thread: they take a fifth of a second and 16 MB, so local meetings do without."""
    await asyncio.to_thread(_load_snapshot)


async def compute_token_price(provider: str, model: str, usage: Usage) -> float | None:
    """What a call comes to in dollars; None where the model, or how it was used, has no known price."""
    await load_price_list()
    try:
        return _compute_price(provider, model, usage)
    except (LookupError, ValueError):  # no such model, or a server that counts more cached tokens than tokens
        return None


@cache
def _load_snapshot() -> DataSnapshot:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _compute_price(provider: str, model: str, usage: Usage) -> float | None:
    from genai_prices import Usage as Billed

    billed = Billed(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    found = _load_snapshot().calc(billed, model, provider, None, None)
    told = (found.model_price.input_mtok, found.model_price.output_mtok)
    return None if None in told else float(found.total_price)
