"""The rule that rests on a judge's word."""

from __future__ import annotations

from roundtable.core.decide.ruling import Ruling, heard
from roundtable.core.values import Move, Outcome
from roundtable.core.verdict import Stance


def judge(move: Move | None) -> Ruling:
    """Reached when the judge says CONSENSUS; a judge who is absent or unreadable decides nothing."""
    verdict = heard([move], [move.seat]).get(move.seat) if move else None
    if move is None or verdict is None:
        return Ruling(Outcome.INSUFFICIENT, why="No judge gave a ruling that can be read.")
    seats = (move.seat,)
    if verdict.stance is Stance.SUPPORT:
        base = verdict.directives.base if verdict.directives else verdict.target
        return Ruling(Outcome.REACHED, base, seats, counted=seats, why=f"{move.seat}, the judge, found a consensus.")
    if verdict.stance in (Stance.AMEND, Stance.OPPOSE):
        why = f"{move.seat}, the judge, wants more discussion."
        return Ruling(Outcome.DEADLOCK, opposed=seats, counted=seats, why=why)
    return Ruling(Outcome.INSUFFICIENT, counted=seats, why=f"{move.seat}, the judge, ruled neither way.")
