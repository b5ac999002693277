"""What every decision rule returns, and whom every one of them hears.

The rule that rests on a judge's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from roundtable.core.reasons import JudgeRuled, JudgeUnreadable, NobodyCounted, Reasons
from roundtable.core.values import Move, MoveStatus, Outcome, Round
from roundtable.core.verdict import Stance, Verdict


class Ruling(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rule makes of a round: the outcome, who counted on which side, and one plain sentence why."""

    outcome: Outcome
    winner: str = ""
    supporters: tuple[str, ...] = ()
    opposed: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    why: Reasons = ()
    tally: dict[str, float | int] = {}
    amendments: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """True when this settles the question in favour."""
        return self.outcome is Outcome.REACHED


def counted_verdicts(moves: Iterable[Move], electorate: Sequence[str], round: str = "") -> dict[str, Verdict]:
    """The verdicts that count, in the electorate's order: in time, readable, and of this one round.

    A crashed seat's earlier move must not stand in for it, so moves of several rounds need `round`.
    """
    given = [move for move in moves if not round or move.round == round]
    if len({move.round for move in given}) > 1:
        raise ValueError("Moves of several rounds: say which round is being decided.")
    verdicts = {move.seat: move.verdict for move in given if move.status is MoveStatus.MADE and move.verdict.counts}
    return {seat: verdicts[seat] for seat in electorate if seat in verdicts}


def seats_with_stance(verdicts: dict[str, Verdict], *stances: Stance) -> tuple[str, ...]:
    """The seats that took one of these stances."""
    return tuple(seat for seat, verdict in verdicts.items() if verdict.stance in stances)


def seats_not_counted(electorate: Sequence[str], counted: Iterable[str]) -> tuple[str, ...]:
    """The seats of the electorate that do not count."""
    present = set(counted)
    return tuple(seat for seat in electorate if seat not in present)


def rule_nobody_counted(electorate: Sequence[str]) -> Ruling:
    """The ruling when there is nothing to rule on."""
    return Ruling(Outcome.INSUFFICIENT, why=(NobodyCounted(len(electorate)),))


def describe_settled_claims(rounds: Sequence[Round]) -> tuple[str, ...]:
    """What was settled by running it, in a sentence each."""
    lines = dict.fromkeys(
        f"{'proven' if claim.held else 'refuted'} by running it: {claim.text}"
        for round in rounds
        for move in round.moves
        for claim in move.verdict.claims
        if claim.held is not None
    )
    return tuple(lines)


def rule_by_judge(move: Move | None) -> Ruling:
    """Reached when the judge says CONSENSUS; a judge who is absent or unreadable decides nothing."""
    verdict = counted_verdicts([move], [move.seat]).get(move.seat) if move else None
    if move is None or verdict is None:
        return Ruling(Outcome.INSUFFICIENT, why=(JudgeUnreadable(),))
    seats = (move.seat,)
    if verdict.stance is Stance.SUPPORT:
        base = verdict.directives.base if verdict.directives else verdict.target
        return Ruling(Outcome.REACHED, base, seats, counted=seats, why=(JudgeRuled(move.seat, "consensus"),))
    if verdict.stance in (Stance.AMEND, Stance.OPPOSE):
        return Ruling(Outcome.DEADLOCK, opposed=seats, counted=seats, why=(JudgeRuled(move.seat, "more_discussion"),))
    return Ruling(Outcome.INSUFFICIENT, counted=seats, why=(JudgeRuled(move.seat, "neither"),))
