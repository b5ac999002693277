"""The tokens and the cost of a call."""

from __future__ import annotations

import msgspec

BYTES_PER_TOKEN = 4
"""The bytes of an average token, for estimates."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The usage of one call. `cost_usd` is the money spent, or None if unknown.

    Cached tokens are input read from the provider's prompt cache, cache-write tokens were stored in it; both are part
    of the input. Tokens paid for by a subscription cost nothing here; `plan_usd` is their price if paid by the
    token.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    cache_write_tokens: int = 0
    plan_tokens: int = 0
    plan_usd: float | None = None

    @property
    def tokens(self) -> int:
        """Input and output tokens together, as budgets count them."""
        return self.input_tokens + self.output_tokens

    @property
    def has_known_price(self) -> bool:
        """Whether a price was reported or a subscription paid."""
        return self.cost_usd is not None or bool(self.plan_tokens)

    def plus(self, other: Usage) -> Usage:
        """The sum of two usages; the sum of prices is unknown only if both are unknown."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            _add_known(self.cost_usd, other.cost_usd),
            self.cache_write_tokens + other.cache_write_tokens,
            self.plan_tokens + other.plan_tokens,
            _add_known(self.plan_usd, other.plan_usd),
        )


def _add_known(first: float | None, second: float | None) -> float | None:
    amounts = [amount for amount in (first, second) if amount is not None]
    return sum(amounts) if amounts else None
