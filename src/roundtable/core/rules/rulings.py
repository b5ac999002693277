"""Rules that rest on somebody's word: a judge's, the reviewers', a person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtable.core.rules.base import Ruling, heard, listed, nobody, with_stance
from roundtable.core.values import Move, Outcome
from roundtable.core.verdict import Stance, Verdict


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


def approvals(
    verdicts: Mapping[str, Verdict],
    author: str,
    electorate: Sequence[str],
    needed: int = 2,
    *,
    checks_green: bool,
) -> Ruling:
    """Reached when enough others approve, nobody requests changes, and the checks are green.

    The author never counts, so a small table cannot give as many approvals as a large one.
    """
    reviewers = [seat for seat in electorate if seat != author]
    reviews = {seat: verdicts[seat] for seat in reviewers if seat in verdicts and verdicts[seat].counts}
    if not reviews:
        return nobody(reviewers)
    required = max(1, min(needed, len(reviewers)))
    approving = with_stance(reviews, Stance.SUPPORT)
    against = with_stance(reviews, Stance.OPPOSE)
    note = f" Only {required} of the usual {needed} can be asked for at this table." if required < needed else ""
    outcome = Outcome.DEADLOCK
    if against:
        why = f"{listed(against)} requested changes."
    elif not checks_green:
        why = "The checks are not green."
    elif len(approving) < required:
        why = f"{len(approving)} approved; {required} must."
    else:
        outcome, why = Outcome.REACHED, f"{listed(approving)} approved and the checks are green."
    return Ruling(
        outcome,
        supporters=approving,
        opposed=against,
        counted=tuple(reviews),
        why=why + note,
        tally={"approved": len(approving), "needed": required},
    )


def human(option: str) -> Ruling:
    """A person's answer decides; no answer decides nothing."""
    if not option:
        return Ruling(Outcome.INSUFFICIENT, why="Nobody has answered yet.")
    return Ruling(Outcome.REACHED, option, why=f"A person chose {option}.")
