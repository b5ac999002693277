"""Token prices from the data of the genai-prices package. They are never fetched over the network."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING

from roundtable.core.values import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot


async def _load_price_list() -> None:
    """Load the price list once, in a thread. It takes 0.2 s and 16 MB, so meetings without costs skip it."""
    await asyncio.to_thread(_load_snapshot)


async def compute_provider_call_price(provider: str, model: str, usage: Usage) -> float | None:
    """Return the price of a call in dollars, or None if the model or kind of usage has no known price."""
    await _load_price_list()
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
    price = _load_snapshot().calc(billed, model, provider, None, None)
    rates = (price.model_price.input_mtok, price.model_price.output_mtok)
    return None if None in rates else float(price.total_price)
