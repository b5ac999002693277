"""Budgets in money: they stop a meeting at a round boundary, and count only money that was spent."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.core.values import Limits
from tests.stories.house import DISPUTE, House


def costing(**usage: float) -> dict[str, Any]:
    """A dispute in which every call uses this."""
    used = {"usage": {"input_tokens": 10, "output_tokens": 10, **usage}}
    return {"seats": {name: {**part, "defaults": used} for name, part in DISPUTE["seats"].items()}}


async def rounds_within(budget: float, **usage: float) -> int:
    house = House(costing(**usage))
    await house.open(limits=Limits(retries=0, budget_usd=budget))
    await house.run()
    return len((await house.session()).rounds)


@pytest.mark.parametrize(("budget", "rounds"), [(0.1, 1), (3, 1), (3.1, 2), (6.1, 3), (100, 4)])
async def test_no_round_is_opened_once_the_money_is_spent(budget: float, rounds: int) -> None:
    assert await rounds_within(budget, cost_usd=1.0) == rounds


async def test_what_a_plan_pays_for_is_not_spent() -> None:
    assert await rounds_within(0.1, cost_usd=0.0, plan_tokens=20, plan_usd=5.0) == 4


async def test_free_voices_need_no_budget() -> None:
    assert await rounds_within(0, cost_usd=0.0) == 4


async def test_a_budget_of_nothing_ends_with_the_first_money() -> None:
    assert await rounds_within(0, cost_usd=0.01) == 1
