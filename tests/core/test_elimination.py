"""The eliminations that are shown agree with the elimination that is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.decide.vote import EliminationStep, instant_runoff_winners, vote_elimination_steps

NAMES = ("A", "B", "C", "D")
ballots = st.lists(st.permutations(NAMES).flatmap(lambda order: st.integers(0, 4).map(lambda most: order[:most])))


@given(ballots)
def test_the_candidates_left_by_the_shown_eliminations_are_the_winners(cast: list[list[str]]) -> None:
    votes = {str(place): ballot for place, ballot in enumerate(cast)}
    steps = vote_elimination_steps(votes, NAMES)
    left = set(steps[-1].counts)
    assert set(instant_runoff_winners(votes, NAMES)) <= left
    if len(left) == 1:
        assert set(instant_runoff_winners(votes, NAMES)) == left


def test_candidates_without_a_first_place_are_eliminated_together_and_a_tie_for_last_stops() -> None:
    steps = vote_elimination_steps({"x": ["A", "B"], "y": ["B"]}, NAMES)
    assert steps == (EliminationStep({"A": 1, "B": 1, "C": 0, "D": 0}, ("C", "D")), EliminationStep({"A": 1, "B": 1}))
