"""Counting ranked ballots: one against one, and by elimination. Unlisted candidates share the last place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from roundtable.core.decide.ruling import Ruling, listed
from roundtable.core.values import Outcome

Ballots = Mapping[str, Sequence[str]]
"""Each seat's candidates, best first."""


def ranked(ballots: Ballots, candidates: Sequence[str]) -> Ruling:
    """The Condorcet winner, else the instant-runoff winner, else a tie for a person to break."""
    votes = {seat: cleaned(ballot, candidates) for seat, ballot in ballots.items()}
    favourites = {seat: ballot[0] for seat, ballot in votes.items() if ballot}
    if not favourites:
        return Ruling(Outcome.INSUFFICIENT, why="No ballot names a candidate.")
    counted = tuple(favourites)
    firsts: dict[str, float | int] = {name: list(favourites.values()).count(name) for name in candidates}
    winner = condorcet_winner(votes, candidates)
    why = f"{winner} beats every other candidate one against one."
    if not winner:
        winner, *rivals = irv_winners(votes, candidates)
        if rivals:
            why = f"{listed((winner, *rivals))} are tied, one against one and by elimination."
            return Ruling(Outcome.TIE, counted=counted, why=why, tally=firsts)
        why = f"Nobody beats every other candidate; {winner} wins by elimination."
    supporters = tuple(seat for seat, favourite in favourites.items() if favourite == winner)
    return Ruling(Outcome.REACHED, winner, supporters=supporters, counted=counted, why=why, tally=firsts)


def pairwise(ballots: Ballots, candidates: Sequence[str]) -> dict[tuple[str, str], int]:
    """For each pair, how many ballots put the first above the second."""
    counts = {(one, other): 0 for one in candidates for other in candidates if one != other}
    for given in ballots.values():
        ballot = cleaned(given, candidates)
        unlisted = [name for name in candidates if name not in ballot]
        for place, name in enumerate(ballot):
            for beaten in (*ballot[place + 1 :], *unlisted):
                counts[name, beaten] += 1
    return counts


def condorcet_winner(ballots: Ballots, candidates: Sequence[str]) -> str:
    """The candidate that more ballots prefer to each other one than the reverse, or none."""
    if not any(cleaned(ballot, candidates) for ballot in ballots.values()):
        return ""
    counts = pairwise(ballots, candidates)
    return next(
        (
            name
            for name in candidates
            if all(counts[name, other] > counts[other, name] for other in candidates if other != name)
        ),
        "",
    )


def irv_winners(ballots: Ballots, candidates: Sequence[str]) -> tuple[str, ...]:
    """Everybody who can win by elimination, over all ways to break the ties for the last place.

    One name means that no tie on the way mattered.
    """
    votes = [cleaned(given, candidates) for given in ballots.values()]

    @cache
    def winners(left: frozenset[str]) -> frozenset[str]:
        tops = [next((name for name in ballot if name in left), "") for ballot in votes]
        counts = {name: tops.count(name) for name in left}
        if len(left) == 1 or not any(counts.values()):
            return left
        # Those without a vote go first in any order and hand nothing on, so they can go together.
        idle = {name for name in left if not counts[name]}
        if idle:
            return winners(left - idle)
        last = [name for name in left if counts[name] == min(counts.values())]
        return frozenset(winner for name in last for winner in winners(left - {name}))

    won = winners(frozenset(candidates))
    return tuple(name for name in candidates if name in won)


def cleaned(ballot: Iterable[str], candidates: Sequence[str]) -> tuple[str, ...]:
    """A ballot with only candidates on it, each where it was named first."""
    return tuple(dict.fromkeys(name for name in ballot if name in candidates))
