"""Where a table that scores itself stands: who speaks for it, and what decision a person's choice makes of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.agreement import rule_score_threshold
from roundtable.core.decide.decision import (
    decision_from_ruling,
    dissent_from_move,
    last_counted_moves,
    position_from_move,
)
from roundtable.core.decide.lead import decide_lead_seat
from roundtable.core.decide.positions import has_different_positions, normalize_position
from roundtable.core.decide.ruling import Ruling
from roundtable.core.reasons import LeadReason, PersonChose, PersonRejected, Reasons, ScoresGiven, SpeaksForTable
from roundtable.core.text.wording import end_sentence
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round, Seat

_ASSENT = re.compile(r"\W*(?:I\s+(?:\w+\s+)?)?(?:agree|agreed)\b|\W*同意", re.IGNORECASE)


class KnightsLead(msgspec.Struct, frozen=True):
    """The seat in whose words the table speaks and that would carry them out, and why it is this one."""

    move: Move
    why: LeadReason


class KnightsAccord(msgspec.Struct, frozen=True):
    """The rounds so far and what the rule makes of the newest one; earlier scores never count."""

    rounds: tuple[Round, ...]
    ruling: Ruling

    @property
    def settled(self) -> bool:
        """Nothing is left to argue. In the first round not everybody has answered every proposal yet, so nothing is
        rejected, and high scores settle nothing between proposals that differ.
        """
        answered = len(self.rounds) > 1
        if self.ruling.outcome is Outcome.REJECTED:
            return answered
        return self.ruling.reached and (answered or not has_different_positions(self.rounds[0]))

    @property
    def scores(self) -> str:
        """The newest scores in one line."""
        return ", ".join(f"{seat} {score:g}" for seat, score in self.ruling.tally.items())

    def blocking(self) -> tuple[str, ...]:
        """The sentence that names every open issue that blocks, in its seat's words; none where nothing does."""
        open = [
            f"{move.seat}: {' '.join(issue.text.split())}"
            for move in self.rounds[-1].moves
            for issue in move.verdict.issues
            if issue.blocking and move.seat in self.ruling.counted
        ]
        return (f"Open and blocking: {end_sentence('; '.join(open))}",) if open else ()

    def words(self) -> dict[str, Move]:
        """What each seat said last that is more than agreement, where it ever said more."""
        said = {
            move.seat: move for round in self.rounds for move in round.moves if move.verdict.counts and _proposes(move)
        }
        return {seat: said.get(seat, move) for seat, move in last_counted_moves(self.rounds).items()}

    def proposals(self) -> tuple[Proposal, ...]:
        """What the seats proposed last, each under the name of its first author; the same words are one proposal."""
        found: dict[str, Proposal] = {}
        for seat, move in self.words().items():
            said = position_from_move(move)
            known = found.get(normalize_position(said), Proposal(seat, said))
            found[normalize_position(said)] = msgspec.structs.replace(known, authors=(*known.authors, seat))
        return tuple(found.values())


def rule_knights_accord(rounds: Sequence[Round], minimum: float, pending_blocks: str) -> KnightsAccord:
    """Rule on the newest round, with the electorate of that round alone."""
    newest = rounds[-1]
    any_blocks = "any" if pending_blocks == "any" else "marked"
    ruling = rule_score_threshold(newest.moves, newest.electorate, minimum, pending_blocks=any_blocks)
    return KnightsAccord(tuple(rounds), ruling)


def choose_knights_lead(accord: KnightsAccord, seats: Sequence[Seat], question: str) -> KnightsLead | None:
    """The highest score leads; among equals whose capabilities the question names, then who comes first.

    Who only agrees says what the table decides in nobody's words, and leads only where nobody says more.
    """
    words = accord.words()
    known = {seat.name for seat in seats}
    scored = {seat: words[seat] for seat in accord.ruling.tally if seat in known}
    scored = {seat: move for seat, move in scored.items() if _proposes(move)} or scored
    first = decide_lead_seat({seat: accord.ruling.tally[seat] for seat in scored}, seats, question)
    return KnightsLead(scored[first.seat], first.why) if first else None


def _proposes(move: Move) -> bool:
    return bool(move.verdict.position) or not _ASSENT.match(move.text)


def decide_knights(accord: KnightsAccord, lead: KnightsLead | None, choice: str, chosen: str = "") -> Decision:
    """The decision, in a seat's own words. `choice` is what the person did with it, `chosen` whose proposal it took.

    Who agrees and proposed nothing stands behind what wins; who proposed something else dissents, whatever its score.
    What the table itself rejects is nobody's, so that nobody speaks for it or against it.
    """
    ruling, words = _taken(accord.ruling, choice, chosen), accord.words()
    newest = last_counted_moves(accord.rounds)
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
        dissent=[dissent_from_move(move) for seat, move in words.items() if not rejected and behind[seat] != winner.id],
        chosen_by_person=bool(chosen),
    )
    tally = dict(Counter(behind[seat] for seat in ruling.counted)) if agreed else {}
    return msgspec.structs.replace(decision, tally=tally, next_step="" if chosen else choice)


def _taken(ruling: Ruling, choice: str, chosen: str) -> Ruling:
    """The ruling after the person's word, which is the last."""
    if chosen:
        why = (PersonChose(chosen, of_seat=True), *ruling.why)
        return msgspec.structs.replace(ruling, outcome=Outcome.REACHED, why=why)
    if choice == "reject":
        return msgspec.structs.replace(ruling, outcome=Outcome.REJECTED, why=(PersonRejected(), *ruling.why))
    return ruling
