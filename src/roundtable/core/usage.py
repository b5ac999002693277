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


MAX_TOKENS_PER_CALL = 100_000_000
"""More tokens than this cannot be those of one call."""
MAX_COST_PER_CALL = 10_000.0
"""More dollars than this cannot be the price of one call."""
_MAX_BYTES_PER_TOKEN = 64
"""A report of fewer tokens than this implies leaves something out."""


def estimate_usage(prompt_bytes: int, text: str) -> Usage:
    """Our own estimate of the tokens of a call."""
    return Usage(prompt_bytes // BYTES_PER_TOKEN, len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def is_plausible_usage(reported: Usage) -> bool:
    """Whether all figures of a report can be those of one call: none is negative, absurd or not a number."""
    counts = (
        *(reported.input_tokens, reported.output_tokens, reported.cached_tokens),
        *(reported.cache_write_tokens, reported.plan_tokens),
    )
    costs = (reported.cost_usd or 0.0, reported.plan_usd or 0.0)
    return all(0 <= count <= MAX_TOKENS_PER_CALL for count in counts) and all(
        0 <= cost <= MAX_COST_PER_CALL for cost in costs
    )


def correct_reported_usage(reported: Usage, estimate: Usage, *, whole_prompt: bool = False) -> Usage:
    """The usage that a voice reported, with our estimate in place of figures that are missing or implausible.

    A report with one implausible figure is not used at all; its cost is unknown, so that the list price applies. With
    `whole_prompt` the voice was sent the whole prompt, and a report of far fewer input tokens is corrected too.
    """
    if not is_plausible_usage(reported):
        return msgspec.structs.replace(estimate, plan_tokens=estimate.tokens if reported.plan_tokens else 0)
    if not reported.tokens:
        return msgspec.structs.replace(estimate, cost_usd=reported.cost_usd)
    fewest = BYTES_PER_TOKEN / _MAX_BYTES_PER_TOKEN
    is_input_low = whole_prompt and reported.input_tokens < estimate.input_tokens * fewest
    is_output_low = reported.output_tokens < estimate.output_tokens * fewest
    return msgspec.structs.replace(
        reported,
        input_tokens=estimate.input_tokens if is_input_low else reported.input_tokens,
        output_tokens=estimate.output_tokens if is_output_low else reported.output_tokens,
    )


def _add_known(first: float | None, second: float | None) -> float | None:
    amounts = [amount for amount in (first, second) if amount is not None]
    return sum(amounts) if amounts else None
