"""Usage reported from outside: implausible figures never count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.usage import Usage, correct_reported_usage, is_plausible_usage

ESTIMATE = Usage(500, 100)
COUNTS = st.integers(-(10**20), 10**20)
COSTS = st.none() | st.floats() | st.just(-1000.0)


@pytest.mark.parametrize(
    "reported",
    [
        Usage(-5, 100),
        Usage(500, -1),
        Usage(500, 10**12),
        Usage(500, 100, cached_tokens=-1),
        Usage(500, 100, cost_usd=-1000.0),
        Usage(500, 100, cost_usd=math.nan),
        Usage(500, 100, cost_usd=math.inf),
        Usage(500, 100, cost_usd=1e9),
        Usage(0, 0),
    ],
)
def test_a_missing_or_implausible_report_is_replaced_by_the_estimate(reported: Usage) -> None:
    assert correct_reported_usage(reported, ESTIMATE) == ESTIMATE


def test_a_plausible_report_is_kept() -> None:
    reported = Usage(700, 90, 600, 0.02, 50)
    assert correct_reported_usage(reported, ESTIMATE, whole_prompt=True) == reported


def test_a_report_of_far_too_few_tokens_is_corrected() -> None:
    assert correct_reported_usage(Usage(700, 1), ESTIMATE) == Usage(700, 100)
    assert correct_reported_usage(Usage(3, 90), ESTIMATE, whole_prompt=True) == Usage(500, 90)
    assert correct_reported_usage(Usage(3, 90), ESTIMATE) == Usage(3, 90), "a native session holds the rest"


@given(COUNTS, COUNTS, COUNTS, COSTS)
def test_no_report_lowers_what_was_spent(first: int, second: int, third: int, cost: float | None) -> None:
    used = correct_reported_usage(Usage(first, second, third, cost), ESTIMATE)
    assert is_plausible_usage(used)
    assert used.tokens > 0
