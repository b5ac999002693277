"""The result type of every decision rule, the moves that rules count, and the rule of a judge's verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from roundtable.core.reasons import JudgeRuled, JudgeUnreadable, NobodyCounted, Reasons
from roundtable.core.values import Move, MoveStatus, Outcome, Round
from roundtable.core.verdict import Stance, Verdict


class Ruling(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ruling on a round: the outcome, the seats on each side, and the reasons."""

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
        """Whether the seats reached agreement."""
        return self.outcome is Outcome.REACHED


def verdicts_counted_in_decision(
    moves: Iterable[Move], electorate: Sequence[str], round: str = ""
) -> dict[str, Verdict]:
    """Return the verdicts that count, in the order of the electorate: in time, readable, and of this round.

    A crashed seat's earlier move must not replace the missing one, so moves of several rounds need `round`.
    """
    given = [move for move in moves if not round or move.round == round]
    if len({move.round for move in given}) > 1:
        raise ValueError("These moves belong to several rounds. Pass the name of one round.")
    verdicts = {move.seat: move.verdict for move in given if move.status is MoveStatus.MADE and move.verdict.counts}
    return {seat: verdicts[seat] for seat in electorate if seat in verdicts}


def seats_voting_with_stance(verdicts: dict[str, Verdict], *stances: Stance) -> tuple[str, ...]:
    """Return the seats with one of these stances."""
    return tuple(seat for seat, verdict in verdicts.items() if verdict.stance in stances)


def seats_not_counted_in_decision(electorate: Sequence[str], counted: Iterable[str]) -> tuple[str, ...]:
    """Return the seats of the electorate that do not count."""
    present = set(counted)
    return tuple(seat for seat in electorate if seat not in present)


def rule_nobody_counted(electorate: Sequence[str]) -> Ruling:
    """Return the ruling for a round without countable moves."""
    return Ruling(Outcome.INSUFFICIENT, why=(NobodyCounted(len(electorate)),))


def describe_settled_claims(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Return a sentence for each claim that a proof settled."""
    lines = dict.fromkeys(
        f"{'proven' if claim.held else 'refuted'} by running it: {claim.text}"
        for round in rounds
        for move in round.moves
        for claim in move.verdict.claims
        if claim.held is not None
    )
    return tuple(lines)


def rule_by_judge(move: Move | None) -> Ruling:
    """Reached when the judge says CONSENSUS; a missing or unreadable judge decides nothing."""
    verdict = verdicts_counted_in_decision([move], [move.seat]).get(move.seat) if move else None
    if move is None or verdict is None:
        return Ruling(Outcome.INSUFFICIENT, why=(JudgeUnreadable(),))
    seats = (move.seat,)
    if verdict.stance is Stance.SUPPORT:
        base = verdict.directives.base if verdict.directives else verdict.target
        return Ruling(Outcome.REACHED, base, seats, counted=seats, why=(JudgeRuled(move.seat, "consensus"),))
    if verdict.stance in (Stance.AMEND, Stance.OPPOSE):
        return Ruling(Outcome.DEADLOCK, opposed=seats, counted=seats, why=(JudgeRuled(move.seat, "more_discussion"),))
    return Ruling(Outcome.INSUFFICIENT, counted=seats, why=(JudgeRuled(move.seat, "neither"),))
