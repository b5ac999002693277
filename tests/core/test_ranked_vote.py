"""Ranked ballots, compared with a brute-force oracle on profiles full of ties."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.core.decide import condorcet_winner, instant_runoff_winners, pairwise_preferences, rule_ranked_vote
from roundtable.core.values import Outcome
from roundtable.report.reasons import describe_reasons
from tests.core import ranked_vote_oracle as oracle


def ballots(profile: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    return {f"seat{index}": ballot for index, ballot in enumerate(profile)}


CANDIDATES = "ABCDE"


@st.composite
def elections(draw: st.DrawFn) -> tuple[list[str], str]:
    candidates = CANDIDATES[: draw(st.integers(1, 5))]
    whole = st.permutations(candidates).map("".join)
    partial = st.tuples(whole, st.integers(0, 5)).map(lambda cut: cut[0][: cut[1]])
    return draw(st.lists(whole | partial, max_size=8)), candidates


@given(elections())
@example((["ABC", "BCA", "CAB"], "ABC"))
@example((["", "", "A"], "AB"))
def test_the_vote_count_agrees_with_a_brute_force_oracle(election: tuple[list[str], str]) -> None:
    profile, candidates = election
    votes = ballots(profile)
    winner = oracle.condorcet(profile, candidates)
    by_elimination = oracle.runoff(profile, candidates)
    assert condorcet_winner(votes, candidates) == winner
    assert set(instant_runoff_winners(votes, candidates)) == by_elimination
    ruling = rule_ranked_vote(votes, candidates)
    if not any(profile):
        assert ruling.outcome is Outcome.INSUFFICIENT
    elif winner or len(by_elimination) == 1:
        assert (ruling.outcome, ruling.winner) == (Outcome.REACHED, winner or min(by_elimination))
    else:
        assert (ruling.outcome, ruling.winner) == (Outcome.TIE, "")
        assert all(name in describe_reasons(ruling.why) for name in by_elimination)


@given(elections(), st.randoms(use_true_random=False))
def test_the_order_of_ballots_and_candidates_does_not_matter(election: tuple[list[str], str], dice: Random) -> None:
    profile, candidates = election
    shuffled, others = list(profile), list(candidates)
    dice.shuffle(shuffled)
    dice.shuffle(others)
    one, other = rule_ranked_vote(ballots(profile), candidates), rule_ranked_vote(ballots(shuffled), others)
    assert (one.outcome, one.winner, one.tally) == (other.outcome, other.winner, other.tally)


@given(elections())
def test_ranking_the_condorcet_winner_higher_keeps_it_the_winner(election: tuple[list[str], str]) -> None:
    profile, candidates = election
    winner = condorcet_winner(ballots(profile), candidates)
    for index, ballot in enumerate(profile if winner else []):
        raised = [*profile[:index], winner + ballot.replace(winner, ""), *profile[index + 1 :]]
        assert rule_ranked_vote(ballots(raised), candidates).winner == winner


@given(elections())
def test_every_pair_is_counted_at_most_once_per_ballot(election: tuple[list[str], str]) -> None:
    profile, candidates = election
    counts = pairwise_preferences(ballots(profile), candidates)
    assert all(counts[one, other] + counts[other, one] <= len(profile) for one, other in counts)


@pytest.mark.parametrize(
    ("profile", "outcome", "winner"),
    [
        (["AB", "AB", "BA"], Outcome.REACHED, "A"),
        (["AB", "BA"], Outcome.TIE, ""),
        (["ABC", "BCA", "CAB"], Outcome.TIE, ""),
        (["A"], Outcome.REACHED, "A"),
        (["ZA", "AAB"], Outcome.REACHED, "A"),
        (["Z", ""], Outcome.INSUFFICIENT, ""),
        ([], Outcome.INSUFFICIENT, ""),
        # A cycle: A beats B, B beats C, C beats A; C goes out first and A gains nothing from it.
        (["ABC"] * 4 + ["BCA"] * 3 + ["CAB"] * 2, Outcome.REACHED, "A"),
        # D and E are tied for the last place, and it makes no difference who goes first.
        (["ABC"] * 4 + ["BCA"] * 3 + ["CAB"] * 2 + ["DABC", "EABC"], Outcome.REACHED, "A"),
    ],
)
def test_known_elections_have_their_published_winners(profile: list[str], outcome: Outcome, winner: str) -> None:
    ruling = rule_ranked_vote(ballots(profile), "ABCDE" if "DABC" in profile else "ABC")
    assert (ruling.outcome, ruling.winner) == (outcome, winner)
    assert ruling.why


def test_many_tied_candidates_are_counted_quickly() -> None:
    candidates = [f"c{index}" for index in range(40)]
    votes = {f"s{seat}": [candidates[(seat + place) % 12] for place in range(12)] for seat in range(12)}
    assert set(instant_runoff_winners(votes, candidates)) == set(candidates[:12])
