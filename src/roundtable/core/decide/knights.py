"""The knights' meeting: whether the seats agree by their scores, which seat leads, and the decision."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.agreement import rule_score_threshold
from roundtable.core.decide.decision import (
    decision_dissent_from_move,
    decision_from_ruling,
    decision_position_from_move,
    last_moves_counted_in_decision,
)
from roundtable.core.decide.lead import decide_lead_seat
from roundtable.core.decide.positions import has_different_counted_positions, normalize_counted_position
from roundtable.core.decide.ruling import Ruling
from roundtable.core.reasons import LeadReason, PersonChose, PersonRejected, Reasons, ScoresGiven, SpeaksForTable
from roundtable.core.text.wording import end_text_as_sentence
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round, Seat

_ASSENT = re.compile(r"\W*(?:I\s+(?:\w+\s+)?)?(?:agree|agreed)\b|\W*同意", re.IGNORECASE)


class KnightsLead(msgspec.Struct, frozen=True):
    """The last move of the leading seat, and why it leads. The decision quotes this seat, which may also execute it."""

    move: Move
    why: LeadReason


class KnightsAccord(msgspec.Struct, frozen=True):
    """The rounds so far and the ruling on the newest one; scores of earlier rounds do not count."""

    rounds: tuple[Round, ...]
    ruling: Ruling

    @property
    def settled(self) -> bool:
        """Whether the discussion is over: the seats agree or reject the proposals.

        In the first round not every seat has seen every proposal. So nothing is rejected then, and high scores count
        as agreement only if all positions are equal.
        """
        answered = len(self.rounds) > 1
        if self.ruling.outcome is Outcome.REJECTED:
            return answered
        return self.ruling.reached and (answered or not has_different_counted_positions(self.rounds[0]))

    @property
    def scores(self) -> str:
        """The newest scores in one line."""
        return ", ".join(f"{seat} {score:g}" for seat, score in self.ruling.tally.items())

    def blocking(self) -> tuple[str, ...]:
        """One sentence that quotes every open blocking issue with its seat; empty without such issues."""
        open_issues = [
            f"{move.seat}: {' '.join(issue.text.split())}"
            for move in self.rounds[-1].moves
            for issue in move.verdict.issues
            if issue.blocking and move.seat in self.ruling.counted
        ]
        return (f"Open and blocking: {end_text_as_sentence('; '.join(open_issues))}",) if open_issues else ()

    def words(self) -> dict[str, Move]:
        """Each seat's last move that proposes something, or its last move if it only agreed."""
        proposing = {
            move.seat: move for round in self.rounds for move in round.moves if move.verdict.counts and _proposes(move)
        }
        return {seat: proposing.get(seat, move) for seat, move in last_moves_counted_in_decision(self.rounds).items()}

    def proposals(self) -> tuple[Proposal, ...]:
        """The last proposal of each seat, with the name of its first author as id; equal texts are one proposal."""
        by_words: dict[str, Proposal] = {}
        for seat, move in self.words().items():
            position = decision_position_from_move(move)
            words = normalize_counted_position(position)
            proposal = by_words.get(words, Proposal(seat, position))
            by_words[words] = msgspec.structs.replace(proposal, authors=(*proposal.authors, seat))
        return tuple(by_words.values())


def rule_knights_accord(rounds: Sequence[Round], minimum: float, pending_blocks: str) -> KnightsAccord:
    """Rule on the newest round, with only the electorate of that round."""
    newest = rounds[-1]
    any_blocks = "any" if pending_blocks == "any" else "marked"
    ruling = rule_score_threshold(newest.moves, newest.electorate, minimum, pending_blocks=any_blocks)
    return KnightsAccord(tuple(rounds), ruling)


def decide_knights_lead(accord: KnightsAccord, seats: Sequence[Seat], question: str) -> KnightsLead | None:
    """Return the seat with the highest score; of equals, the one whose capabilities fit the question, or the first.

    A seat that only agreed has no text of its own to quote: it leads only if no seat proposed anything.
    """
    words = accord.words()
    known = {seat.name for seat in seats}
    scored = {seat: words[seat] for seat in accord.ruling.tally if seat in known}
    scored = {seat: move for seat, move in scored.items() if _proposes(move)} or scored
    first = decide_lead_seat({seat: accord.ruling.tally[seat] for seat in scored}, seats, question)
    return KnightsLead(scored[first.seat], first.why) if first else None


def _proposes(move: Move) -> bool:
    """Whether a move is more than agreement with other seats."""
    return bool(move.verdict.position) or not _ASSENT.match(move.text)


def decide_knights(accord: KnightsAccord, lead: KnightsLead | None, choice: str, chosen: str = "") -> Decision:
    """The decision, in a seat's own words.

    `choice` is the person's answer at the gate, and `chosen` the seat whose proposal the person took.

    A seat that agreed and proposed nothing supports the winner. A seat that proposed something else dissents, whatever
    its score. If the seats reject everything, the decision quotes no seat, neither as author nor as dissent.
    """
    ruling, words = _ruling_after_answer(accord.ruling, choice, chosen), accord.words()
    newest = last_moves_counted_in_decision(accord.rounds)
    rejected = ruling.outcome is Outcome.REJECTED and choice != "reject"
    spokesman = None if lead is None or rejected or ruling.outcome is Outcome.DEADLOCK else lead.move
    spokesman = words[chosen] if chosen else spokesman
    how: Reasons = (*ruling.why, ScoresGiven(accord.ruling.tally))
    if lead and spokesman is lead.move and not chosen:
        how = (*how, SpeaksForTable(lead.move.seat, lead.why))
    proposals = accord.proposals()
    winner = next(
        (proposal for proposal in proposals if spokesman and spokesman.seat in proposal.authors), Proposal("", "")
    )
    agreed = accord.ruling.reached and not chosen
    silent = [seat for seat in ruling.supporters if agreed and not newest[seat].verdict.position]
    behind = {seat: proposal.id for proposal in proposals for seat in proposal.authors} | dict.fromkeys(
        silent, winner.id
    )
    decision = decision_from_ruling(
        msgspec.structs.replace(ruling, why=how),
        accord.rounds,
        proposals=proposals,
        winner=winner.id,
        spokesman=spokesman,
        dissent=[
            decision_dissent_from_move(move)
            for seat, move in words.items()
            if not rejected and behind[seat] != winner.id
        ],
        chosen_by_person=bool(chosen),
    )
    tally = dict(Counter(behind[seat] for seat in ruling.counted)) if agreed else {}
    return msgspec.structs.replace(decision, tally=tally, next_step="" if chosen else choice)


def _ruling_after_answer(ruling: Ruling, choice: str, chosen: str) -> Ruling:
    """The ruling after the person's answer, which overrides the scores."""
    if chosen:
        why = (PersonChose(chosen, of_seat=True), *ruling.why)
        return msgspec.structs.replace(ruling, outcome=Outcome.REACHED, why=why)
    if choice == "reject":
        return msgspec.structs.replace(ruling, outcome=Outcome.REJECTED, why=(PersonRejected(), *ruling.why))
    return ruling
