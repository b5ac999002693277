"""What a ranked vote comes to: the ruling, whose words the winner is in, who wanted something else."""

from __future__ import annotations

import msgspec

from roundtable.core.decide.decision import concluded, dissent_of, last_words
from roundtable.core.decide.positions import same_words
from roundtable.core.decide.ruling import Ruling
from roundtable.core.decide.vote import cleaned, irv_winners, ranked
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round


class Poll(msgspec.Struct, frozen=True):
    """The candidates, the ballots on them, and the open rounds in which they were argued."""

    offered: tuple[Proposal, ...]
    ballot: Round
    open_rounds: tuple[Round, ...] = ()

    @property
    def ballots(self) -> dict[str, tuple[str, ...]]:
        """Each seat's ranking of the candidates, as far as it could be read and names any."""
        offered = [it.id for it in self.offered]
        given = {it.seat: cleaned(it.verdict.ranking, offered) for it in self.ballot.moves if it.verdict.counts}
        return {seat: ballot for seat, ballot in given.items() if ballot}

    @property
    def ruling(self) -> Ruling:
        """Condorcet, then elimination."""
        return ranked(self.ballots, [it.id for it in self.offered])

    @property
    def tied(self) -> tuple[str, ...]:
        """Who shares the first place, where that is more than one."""
        tie = self.ruling.outcome is Outcome.TIE
        return irv_winners(self.ballots, [it.id for it in self.offered]) if tie else ()


def conclude(poll: Poll, chosen: str = "") -> Decision:
    """The decision, with the first choices of those who wanted something else kept word for word."""
    ruling = poll.ruling
    winner = chosen or ruling.winner
    if chosen:
        why = f"The person chose {chosen}: {ruling.why}"
        ruling = msgspec.structs.replace(ruling, outcome=Outcome.REACHED, why=why)
    texts = {it.id: it.text for it in poll.offered}
    firsts = {seat: ballot[0] for seat, ballot in poll.ballots.items()}
    others = {seat: first for seat, first in firsts.items() if first != winner}
    decision = concluded(
        ruling,
        (*poll.open_rounds, poll.ballot),
        proposals=poll.offered,
        winner=winner,
        spokesman=_spokesman(poll, winner) if winner else None,
        dissent=[dissent_of(_plea(poll, seat, first), texts[first]) for seat, first in others.items()],
        chosen_by_person=bool(chosen),
    )
    pitched = {it.id: len(it.authors) for it in poll.offered if it.authors}
    tally = {id: int(count) for id, count in ruling.tally.items()}
    return msgspec.structs.replace(decision, blind_vote=pitched, tally=tally)


def _spokesman(poll: Poll, winner: str) -> Move | None:
    """Who ranked the winner highest speaks for it; among equals who pitched it."""
    ranking = [seat for seat, ballot in poll.ballots.items() if winner in ballot]
    authors = next(it.authors for it in poll.offered if it.id == winner)
    voters = sorted(ranking, key=lambda seat: (poll.ballots[seat].index(winner), seat not in authors))
    return _plea(poll, voters[0], winner) if voters else None


def _plea(poll: Poll, seat: str, candidate: str) -> Move:
    """What a seat said for a candidate: the pitch, where it is its own, else with its ballot, else when last heard."""
    pitch = same_words(next(it.text for it in poll.offered if it.id == candidate))
    heard = (move for round in poll.open_rounds if (move := round.by(seat)))
    own = next((move for move in heard if same_words(move.verdict.position) == pitch), None)
    voted = last_words((poll.ballot,))[seat]
    bare = voted.text.lstrip().startswith(("{", "```"))
    return own or (last_words(poll.open_rounds).get(seat, voted) if bare else voted)
