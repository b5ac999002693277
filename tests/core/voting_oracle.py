"""Ranked voting straight from the definitions: slow, plain, and sharing no idea with the code it checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

Profile = Sequence[Sequence[str]]


def rank(ballot: Sequence[str], name: str) -> int:
    """A candidate's place on a ballot; all the unlisted share the place after the last."""
    return list(ballot).index(name) if name in ballot else len(ballot)


def beats(profile: Profile, one: str, other: str) -> bool:
    """More ballots place the one before the other than the other way round."""
    margin = 0
    for ballot in profile:
        margin += (rank(ballot, one) < rank(ballot, other)) - (rank(ballot, other) < rank(ballot, one))
    return margin > 0


def condorcet(profile: Profile, candidates: Sequence[str]) -> str:
    """Whoever beats everybody else."""
    found = [one for one in candidates if all(one == other or beats(profile, one, other) for other in candidates)]
    return found[0] if len(found) == 1 and any(profile) else ""


def runoff(profile: Profile, candidates: Sequence[str]) -> set[str]:
    """All winners by elimination: every order of elimination is tried, and kept if each step was allowed."""
    return {order[-1] for order in permutations(candidates) if allowed(profile, order)}


def allowed(profile: Profile, order: Sequence[str]) -> bool:
    """Nobody goes out while somebody with fewer votes is still in."""
    for step in range(len(order) - 1):
        left = order[step:]
        votes = dict.fromkeys(left, 0)
        for ballot in profile:
            listed = [name for name in ballot if name in left]
            if listed:
                votes[listed[0]] += 1
        if votes[order[step]] != min(votes.values()):
            return False
    return True
