"""The same counts by pref_voting, an independent library of voting methods."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from roundtable.core.decide import condorcet_winner, instant_runoff_winners, pairwise_preferences

PROFILES = 4000


def oracle(module: str) -> Any:
    """The library is too large to be a dependency; without it these tests are skipped."""
    return pytest.importorskip(f"pref_voting.{module}", exc_type=ImportError)


def random_profile(dice: Random) -> tuple[list[list[int]], list[int]]:
    """Return few voters and few candidates, so that most profiles have a tie."""
    candidates = list(range(dice.randint(2, 6)))
    return [dice.sample(candidates, len(candidates)) for _ in range(dice.randint(1, 9))], candidates


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_pref_voting_agrees_on_whole_ballots() -> None:
    profiles, methods = oracle("profiles"), oracle("iterative_methods")
    dice = Random(20261115)
    cycles = ties = 0
    for _ in range(PROFILES):
        rows, numbers = random_profile(dice)
        theirs = profiles.Profile(rows)
        votes = {str(seat): [str(name) for name in row] for seat, row in enumerate(rows)}
        candidates = [str(name) for name in numbers]
        winner = theirs.condorcet_winner()
        ours = instant_runoff_winners(votes, candidates)
        assert condorcet_winner(votes, candidates) == ("" if winner is None else str(winner)), rows
        assert [int(name) for name in ours] == sorted(methods.instant_runoff_put(theirs)), rows
        counts = pairwise_preferences(votes, candidates)
        assert all(counts[str(a), str(b)] == theirs.support(a, b) for a in numbers for b in numbers if a != b), rows
        cycles += winner is None
        ties += len(ours) > 1
    assert cycles > PROFILES / 10
    assert ties > PROFILES / 10


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_pref_voting_agrees_on_partial_ballots() -> None:
    with_ties = oracle("profiles_with_ties")
    dice = Random(20261116)
    for _ in range(PROFILES):
        rows, numbers = random_profile(dice)
        cut = [row[: dice.randint(1, len(row))] for row in rows]
        theirs = with_ties.ProfileWithTies(
            [{name: place for place, name in enumerate(row)} for row in cut], None, numbers
        )
        theirs.use_extended_strict_preference()
        winner = theirs.condorcet_winner()
        votes = {str(seat): [str(name) for name in row] for seat, row in enumerate(cut)}
        assert condorcet_winner(votes, [str(name) for name in numbers]) == ("" if winner is None else str(winner)), cut
