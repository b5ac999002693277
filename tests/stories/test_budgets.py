"""Cost budgets stop a meeting between rounds and count only costs that occurred."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.core.values import Limits
from tests.stories.session_harness import DISPUTE, SessionHarness


def costing(**usage: float) -> dict[str, Any]:
    """Return a disputed council in which every call has this usage."""
    used = {"usage": {"input_tokens": 10, "output_tokens": 10, **usage}}
    return {"seats": {name: {**part, "defaults": used} for name, part in DISPUTE["seats"].items()}}


async def rounds_within(budget: float, **usage: float) -> int:
    harness = SessionHarness(costing(**usage))
    await harness.open(limits=Limits(retries=0, budget_usd=budget))
    await harness.run()
    return len((await harness.session()).rounds)


@pytest.mark.parametrize(("budget", "rounds"), [(0.1, 1), (3, 1), (3.1, 2), (6.1, 3), (100, 4)])
async def test_no_round_opens_once_the_budget_is_spent(budget: float, rounds: int) -> None:
    assert await rounds_within(budget, cost_usd=1.0) == rounds


async def test_usage_covered_by_a_subscription_does_not_count_toward_the_budget() -> None:
    assert await rounds_within(0.1, cost_usd=0.0, plan_tokens=20, plan_usd=5.0) == 4


async def test_free_voices_run_with_a_budget_of_zero() -> None:
    assert await rounds_within(0, cost_usd=0.0) == 4


async def test_a_budget_of_zero_ends_the_session_at_the_first_cost() -> None:
    assert await rounds_within(0, cost_usd=0.01) == 1
