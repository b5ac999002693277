"""Verdicts in both orders: a verdict that flips with the order is discarded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.decide.merge_ruling import decide_swapped_order_verdicts

CANDIDATES = ("one", "two")


def test_a_preference_that_survives_the_swap_counts() -> None:
    read = decide_swapped_order_verdicts({"gemini": "one", "grok": "two"}, {"gemini": "one", "grok": "two"}, CANDIDATES)
    assert read.preferred == {"gemini": "one", "grok": "two"}
    assert read.void == ()


def test_a_verdict_that_flips_with_the_order_is_discarded() -> None:
    read = decide_swapped_order_verdicts({"gemini": "one", "grok": "two"}, {"gemini": "two", "grok": "one"}, CANDIDATES)
    assert read.preferred == {}
    assert read.void == ("gemini", "grok")


def test_a_judge_heard_in_one_order_only_or_without_a_preference_is_discarded() -> None:
    read = decide_swapped_order_verdicts(
        {"gemini": "one", "grok": "three"}, {"grok": "three", "qwen": "two"}, CANDIDATES
    )
    assert read.void == ("gemini", "grok", "qwen")


def test_the_most_preferred_comes_first_in_the_tally() -> None:
    both = {"a": "two", "b": "one", "c": "two"}
    assert list(decide_swapped_order_verdicts(both, both, CANDIDATES).tally().items()) == [("two", 2), ("one", 1)]


CHOICES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(("one", "two", "three", "")))


@given(CHOICES, CHOICES)
def test_every_judge_is_counted_or_discarded_whichever_order_comes_first(
    ab: dict[str, str], ba: dict[str, str]
) -> None:
    read, swapped = (
        decide_swapped_order_verdicts(ab, ba, CANDIDATES),
        decide_swapped_order_verdicts(ba, ab, CANDIDATES),
    )
    assert set(read.preferred) | set(read.void) == set(ab) | set(ba)
    assert not set(read.preferred) & set(read.void)
    assert (read.preferred, set(read.void)) == (swapped.preferred, set(swapped.void))
    assert all(ab[judge] == ba[judge] == name for judge, name in read.preferred.items())
