"""Ranked votes: the candidates, the ballots, the Condorcet winner, elimination, and the decision.

Candidates that a ballot does not list share its last place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import msgspec

from roundtable.core.decide.decision import (
    decision_dissent_from_move,
    decision_from_ruling,
    last_moves_counted_in_decision,
)
from roundtable.core.decide.positions import normalize_counted_position, positions_counted_in_decision
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
    """Rule for the Condorcet winner, or else the instant-runoff winner; a tie is left to the person."""
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
    """The number of ballots that rank the first of each pair of candidates above the second."""
    counts = {(one, other): 0 for one in candidates for other in candidates if one != other}
    for raw_ballot in ballots.values():
        ballot = _clean_ballot(raw_ballot, candidates)
        unlisted = [name for name in candidates if name not in ballot]
        for place, name in enumerate(ballot):
            for beaten in (*ballot[place + 1 :], *unlisted):
                counts[name, beaten] += 1
    return counts


def condorcet_winner(ballots: RankedBallots, candidates: Sequence[str]) -> str:
    """The candidate that wins against every other one in a pairwise comparison; empty if there is none."""
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
    """The candidates that can win by elimination, over all ways to break ties for the last place.

    A single name means that no tie changed the result.
    """
    votes = [_clean_ballot(ballot, candidates) for ballot in ballots.values()]

    @cache
    def winners(remaining: frozenset[str]) -> frozenset[str]:
        tops = [next((name for name in ballot if name in remaining), "") for ballot in votes]
        counts = {name: tops.count(name) for name in remaining}
        if len(remaining) == 1 or not any(counts.values()):
            return remaining
        # Candidates without votes are eliminated together: they transfer no votes, so their order has no effect.
        voteless = {name for name in remaining if not counts[name]}
        if voteless:
            return winners(remaining - voteless)
        last = [name for name in remaining if counts[name] == min(counts.values())]
        return frozenset(winner for name in last for winner in winners(remaining - {name}))

    possible_winners = winners(frozenset(candidates))
    return tuple(name for name in candidates if name in possible_winners)


def _clean_ballot(ballot: Iterable[str], candidates: Sequence[str]) -> tuple[str, ...]:
    """A ballot without unknown names and repetitions."""
    return tuple(dict.fromkeys(name for name in ballot if name in candidates))


class EliminationStep(msgspec.Struct, frozen=True):
    """One count of an elimination: the first places of the remaining candidates, and those eliminated (`out`).

    No candidate is eliminated if several with votes share the last place.
    """

    counts: dict[str, int]
    out: tuple[str, ...] = ()


def vote_elimination_steps(ballots: RankedBallots, candidates: Sequence[str]) -> tuple[EliminationStep, ...]:
    """The counts of an elimination, until one candidate remains or several with votes share the last place."""
    votes = [_clean_ballot(ballot, candidates) for ballot in ballots.values()]
    remaining: list[str] = list(candidates)
    steps: list[EliminationStep] = []
    while remaining:
        tops = [next((name for name in ballot if name in remaining), "") for ballot in votes]
        counts = {name: tops.count(name) for name in remaining}
        fewest = min(counts.values())
        last = tuple(name for name in remaining if counts[name] == fewest)
        out = last if len(remaining) > len(last) and (fewest == 0 or len(last) == 1) else ()
        steps.append(EliminationStep(counts, out))
        if not out:
            break
        remaining = [name for name in remaining if name not in out]
    return tuple(steps)


NO_CHANGE_PROPOSAL = Proposal("no-change", "No change needed")


def ranked_vote_candidates(
    options: Sequence[str], pitched: Round | None, labels: Mapping[str, str]
) -> tuple[Proposal, ...]:
    """The candidates of a vote: the options with letters as ids, or the pitches with labels as ids; and "no change".

    Equal texts are one candidate. Pitches count only if there are no options.
    """
    offered = [(chr(ord("A") + place), text, "") for place, text in enumerate(options)]
    if not options and pitched is not None:
        pitches = positions_counted_in_decision(pitched)
        order = sorted(pitches, key=lambda seat: _label_sort_key(labels[seat]))
        offered = [(labels[seat], pitches[seat], seat) for seat in order]
    by_words: dict[str, Proposal] = {}
    for id, text, author in (*offered, (NO_CHANGE_PROPOSAL.id, NO_CHANGE_PROPOSAL.text, "")):
        words = normalize_counted_position(text)
        known = by_words.get(words)
        authors = (*(known.authors if known else ()), *filter(None, (author,)))
        by_words[words] = Proposal(known.id if known else id, known.text if known else text, authors)
    return tuple(by_words.values())


def _label_sort_key(label: str) -> tuple[int, str]:
    """Sort key of a seat label: A to Z come before AA."""
    return len(label), label


class RankedPoll(msgspec.Struct, frozen=True):
    """The candidates of a ranked vote (`offered`), the round of ballots, and the open rounds before it."""

    offered: tuple[Proposal, ...]
    ballot: Round
    open_rounds: tuple[Round, ...] = ()

    @property
    def ballots(self) -> dict[str, tuple[str, ...]]:
        """The ranking of each seat, if it could be read and lists a candidate."""
        offered = [candidate.id for candidate in self.offered]
        given = {
            move.seat: _clean_ballot(move.verdict.ranking, offered) for move in self.ballot.moves if move.verdict.counts
        }
        return {seat: ballot for seat, ballot in given.items() if ballot}

    @property
    def ruling(self) -> Ruling:
        """The ruling on the ballots: by pairwise comparison, or else by elimination."""
        return rule_ranked_vote(self.ballots, [candidate.id for candidate in self.offered])

    @property
    def tied(self) -> tuple[str, ...]:
        """The candidates that share the first place; empty without a tie."""
        tie = self.ruling.outcome is Outcome.TIE
        return instant_runoff_winners(self.ballots, [candidate.id for candidate in self.offered]) if tie else ()


def decide_vote(poll: RankedPoll, chosen: str = "") -> Decision:
    """The decision of a ranked vote; `chosen` is the person's choice.

    The dissent quotes every seat whose first choice is another candidate, word for word.
    """
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
        dissent=[
            decision_dissent_from_move(_argument_for(poll, seat, first), texts[first]) for seat, first in others.items()
        ],
        chosen_by_person=bool(chosen),
    )
    pitched = {candidate.id: len(candidate.authors) for candidate in poll.offered if candidate.authors}
    tally = {id: int(count) for id, count in ruling.tally.items()}
    return msgspec.structs.replace(decision, blind_vote=pitched, tally=tally)


def _spokesman(poll: RankedPoll, winner: str) -> Move | None:
    """The move quoted for the winner: by the seat that ranked it highest; of equals, by the one that pitched it."""
    ranking = [seat for seat, ballot in poll.ballots.items() if winner in ballot]
    authors = next(candidate.authors for candidate in poll.offered if candidate.id == winner)
    voters = sorted(ranking, key=lambda seat: (poll.ballots[seat].index(winner), seat not in authors))
    return _argument_for(poll, voters[0], winner) if voters else None


def _argument_for(poll: RankedPoll, seat: str, candidate: str) -> Move:
    """The move in which a seat argued for a candidate.

    It is the seat's pitch of that candidate, or else its ballot. A ballot of bare JSON has no argument: then it is the
    seat's last move before the vote.
    """
    pitch = normalize_counted_position(next(proposal.text for proposal in poll.offered if proposal.id == candidate))
    earlier_moves = (move for round in poll.open_rounds if (move := round.move_of(seat)))
    own_pitch = next(
        (move for move in earlier_moves if normalize_counted_position(move.verdict.position) == pitch), None
    )
    ballot = last_moves_counted_in_decision((poll.ballot,))[seat]
    is_bare_json = ballot.text.lstrip().startswith(("{", "```"))
    return own_pitch or (last_moves_counted_in_decision(poll.open_rounds).get(seat, ballot) if is_bare_json else ballot)
