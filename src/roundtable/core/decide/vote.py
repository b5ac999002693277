"""Counting ranked ballots: one against one, and by elimination. Unlisted candidates share the last place.

Counting by elimination step by step, as people want to see it; who wins is said by `voting`.

What a ballot is held over: the options given or what the seats pitched, and always the choice to leave things be.

What a ranked vote comes to: the ruling, whose words the winner is in, who wanted something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import msgspec

from roundtable.core.decide.decision import decision_from_ruling, dissent_from_move, last_counted_moves
from roundtable.core.decide.positions import counted_positions, normalize_position
from roundtable.core.decide.ruling import Ruling
from roundtable.core.reasons import (
    CandidatesTied,
    CondorcetWinner,
    EliminationWinner,
    NoBallotNamesCandidate,
    PersonChose,
    Reason,
)
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round

RankedBallots = Mapping[str, Sequence[str]]
"""Each seat's candidates, best first."""


def rule_ranked_vote(ballots: RankedBallots, candidates: Sequence[str]) -> Ruling:
    """The Condorcet winner, else the instant-runoff winner, else a tie for a person to break."""
    votes = {seat: _clean_ballot(ballot, candidates) for seat, ballot in ballots.items()}
    favourites = {seat: ballot[0] for seat, ballot in votes.items() if ballot}
    if not favourites:
        return Ruling(Outcome.INSUFFICIENT, why=(NoBallotNamesCandidate(),))
    counted = tuple(favourites)
    firsts: dict[str, float | int] = {name: list(favourites.values()).count(name) for name in candidates}
    winner = condorcet_winner(votes, candidates)
    why: Reason = CondorcetWinner(winner)
    if not winner:
        winner, *rivals = instant_runoff_winners(votes, candidates)
        if rivals:
            return Ruling(Outcome.TIE, counted=counted, why=(CandidatesTied((winner, *rivals)),), tally=firsts)
        why = EliminationWinner(winner)
    supporters = tuple(seat for seat, favourite in favourites.items() if favourite == winner)
    return Ruling(Outcome.REACHED, winner, supporters=supporters, counted=counted, why=(why,), tally=firsts)


def pairwise_preferences(ballots: RankedBallots, candidates: Sequence[str]) -> dict[tuple[str, str], int]:
    """For each pair, how many ballots put the first above the second."""
    counts = {(one, other): 0 for one in candidates for other in candidates if one != other}
    for given in ballots.values():
        ballot = _clean_ballot(given, candidates)
        unlisted = [name for name in candidates if name not in ballot]
        for place, name in enumerate(ballot):
            for beaten in (*ballot[place + 1 :], *unlisted):
                counts[name, beaten] += 1
    return counts


def condorcet_winner(ballots: RankedBallots, candidates: Sequence[str]) -> str:
    """The candidate that more ballots prefer to each other one than the reverse, or none."""
    if not any(_clean_ballot(ballot, candidates) for ballot in ballots.values()):
        return ""
    counts = pairwise_preferences(ballots, candidates)
    return next(
        (
            name
            for name in candidates
            if all(counts[name, other] > counts[other, name] for other in candidates if other != name)
        ),
        "",
    )


def instant_runoff_winners(ballots: RankedBallots, candidates: Sequence[str]) -> tuple[str, ...]:
    """Everybody who can win by elimination, over all ways to break the ties for the last place.

    One name means that no tie on the way mattered.
    """
    votes = [_clean_ballot(given, candidates) for given in ballots.values()]

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


def _clean_ballot(ballot: Iterable[str], candidates: Sequence[str]) -> tuple[str, ...]:
    """A ballot with only candidates on it, each where it was named first."""
    return tuple(dict.fromkeys(name for name in ballot if name in candidates))


class EliminationStep(msgspec.Struct, frozen=True):
    """First places among those still standing, and who leaves; nobody does where the last place is shared."""

    counts: dict[str, int]
    out: tuple[str, ...] = ()


def elimination_steps(ballots: RankedBallots, candidates: Sequence[str]) -> tuple[EliminationStep, ...]:
    """Every count until one candidate is left, or until it matters who of several last ones goes."""
    votes = [_clean_ballot(given, candidates) for given in ballots.values()]
    left: list[str] = list(candidates)
    steps: list[EliminationStep] = []
    while left:
        tops = [next((name for name in ballot if name in left), "") for ballot in votes]
        counts = {name: tops.count(name) for name in left}
        fewest = min(counts.values())
        last = tuple(name for name in left if counts[name] == fewest)
        out = last if len(left) > len(last) and (fewest == 0 or len(last) == 1) else ()
        steps.append(EliminationStep(counts, out))
        if not out:
            break
        left = [name for name in left if name not in out]
    return tuple(steps)


NO_CHANGE_PROPOSAL = Proposal("no-change", "No change needed")


def ranked_vote_candidates(
    options: Sequence[str], pitched: Round | None, labels: Mapping[str, str]
) -> tuple[Proposal, ...]:
    """Options in their order, or pitches under their authors' labels; the same words are one candidate."""
    offered = [(chr(ord("A") + place), text, "") for place, text in enumerate(options)]
    if not options and pitched is not None:
        pitches = counted_positions(pitched)
        order = sorted(pitches, key=lambda seat: _place(labels[seat]))
        offered = [(labels[seat], pitches[seat], seat) for seat in order]
    found: dict[str, Proposal] = {}
    for id, text, author in (*offered, (NO_CHANGE_PROPOSAL.id, NO_CHANGE_PROPOSAL.text, "")):
        known = found.get(normalize_position(text))
        authors = (*(known.authors if known else ()), *filter(None, (author,)))
        found[normalize_position(text)] = Proposal(known.id if known else id, known.text if known else text, authors)
    return tuple(found.values())


def _place(label: str) -> tuple[int, str]:
    """A to Z before AA."""
    return len(label), label


class RankedPoll(msgspec.Struct, frozen=True):
    """The candidates, the ballots on them, and the open rounds in which they were argued."""

    offered: tuple[Proposal, ...]
    ballot: Round
    open_rounds: tuple[Round, ...] = ()

    @property
    def ballots(self) -> dict[str, tuple[str, ...]]:
        """Each seat's ranking of the candidates, as far as it could be read and names any."""
        offered = [candidate.id for candidate in self.offered]
        given = {
            move.seat: _clean_ballot(move.verdict.ranking, offered) for move in self.ballot.moves if move.verdict.counts
        }
        return {seat: ballot for seat, ballot in given.items() if ballot}

    @property
    def ruling(self) -> Ruling:
        """Condorcet, then elimination."""
        return rule_ranked_vote(self.ballots, [candidate.id for candidate in self.offered])

    @property
    def tied(self) -> tuple[str, ...]:
        """Who shares the first place, where that is more than one."""
        tie = self.ruling.outcome is Outcome.TIE
        return instant_runoff_winners(self.ballots, [candidate.id for candidate in self.offered]) if tie else ()


def decide_vote(poll: RankedPoll, chosen: str = "") -> Decision:
    """The decision, with the first choices of those who wanted something else kept word for word."""
    ruling = poll.ruling
    winner = chosen or ruling.winner
    if chosen:
        ruling = msgspec.structs.replace(ruling, outcome=Outcome.REACHED, why=(PersonChose(chosen), *ruling.why))
    texts = {candidate.id: candidate.text for candidate in poll.offered}
    firsts = {seat: ballot[0] for seat, ballot in poll.ballots.items()}
    others = {seat: first for seat, first in firsts.items() if first != winner}
    decision = decision_from_ruling(
        ruling,
        (*poll.open_rounds, poll.ballot),
        proposals=poll.offered,
        winner=winner,
        spokesman=_spokesman(poll, winner) if winner else None,
        dissent=[dissent_from_move(_plea(poll, seat, first), texts[first]) for seat, first in others.items()],
        chosen_by_person=bool(chosen),
    )
    pitched = {candidate.id: len(candidate.authors) for candidate in poll.offered if candidate.authors}
    tally = {id: int(count) for id, count in ruling.tally.items()}
    return msgspec.structs.replace(decision, blind_vote=pitched, tally=tally)


def _spokesman(poll: RankedPoll, winner: str) -> Move | None:
    """Who ranked the winner highest speaks for it; among equals who pitched it."""
    ranking = [seat for seat, ballot in poll.ballots.items() if winner in ballot]
    authors = next(candidate.authors for candidate in poll.offered if candidate.id == winner)
    voters = sorted(ranking, key=lambda seat: (poll.ballots[seat].index(winner), seat not in authors))
    return _plea(poll, voters[0], winner) if voters else None


def _plea(poll: RankedPoll, seat: str, candidate: str) -> Move:
    """What a seat said for a candidate: the pitch, where it is its own, else with its ballot, else when last heard."""
    pitch = normalize_position(next(proposal.text for proposal in poll.offered if proposal.id == candidate))
    heard = (move for round in poll.open_rounds if (move := round.move_of(seat)))
    own = next((move for move in heard if normalize_position(move.verdict.position) == pitch), None)
    voted = last_counted_moves((poll.ballot,))[seat]
    bare = voted.text.lstrip().startswith(("{", "```"))
    return own or (last_counted_moves(poll.open_rounds).get(seat, voted) if bare else voted)
