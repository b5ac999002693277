"""Ranked voting straight from the definitions: slow, simple, and independent of the code it checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

Profile = Sequence[Sequence[str]]


def rank(ballot: Sequence[str], name: str) -> int:
    """Return a candidate's place on a ballot; unlisted candidates share the place after the last."""
    return list(ballot).index(name) if name in ballot else len(ballot)


def beats(profile: Profile, one: str, other: str) -> bool:
    """Return whether more ballots rank the first candidate above the second than below."""
    margin = 0
    for ballot in profile:
        margin += (rank(ballot, one) < rank(ballot, other)) - (rank(ballot, other) < rank(ballot, one))
    return margin > 0


def condorcet(profile: Profile, candidates: Sequence[str]) -> str:
    """Return the candidate that beats every other candidate, if there is one."""
    found = [one for one in candidates if all(one == other or beats(profile, one, other) for other in candidates)]
    return found[0] if len(found) == 1 and any(profile) else ""


def runoff(profile: Profile, candidates: Sequence[str]) -> set[str]:
    """Return all winners by elimination: every order of elimination in which each step is allowed."""
    return {order[-1] for order in permutations(candidates) if allowed(profile, order)}


def allowed(profile: Profile, order: Sequence[str]) -> bool:
    """Return whether no candidate is eliminated before one with fewer votes."""
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
