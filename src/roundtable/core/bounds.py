"""How small a limit may be: one table for config files and command lines, so that both take the same."""

from __future__ import annotations

LEAST: dict[str, float] = {
    "rounds": 0,
    "seat_timeout": 0.1,
    "round_deadline": 0.1,
    "budget_usd": 0,
    "budget_tokens": 1,
    "max_tokens": 1,
    "retries": 0,
    "retry_delay": 0,
    "quorum": 1,
}

MOST = 1e12
"""More than this of anything is a slip, or infinity."""


def within(name: str, value: float) -> bool:
    """Whether a limit may have this value; what is not a number is within nothing."""
    return LEAST[name] <= value <= MOST
