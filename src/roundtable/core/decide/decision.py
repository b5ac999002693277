"""Builds a decision from a ruling: with the counted and missing seats, the text of the winner, and the dissent."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.decide.positions import UNREADABLE_ANSWER
from roundtable.core.decide.ruling import Ruling, describe_settled_claims
from roundtable.core.reasons import NotAnAgreement
from roundtable.core.values import Absence, Decision, Dissent, Move, Outcome, Proposal, Round

MAX_POSITION_LINE = 200


def last_moves_counted_in_decision(rounds: Sequence[Round]) -> dict[str, Move]:
    """Return the newest readable move of every seat in the order of the electorate."""
    moves = {move.seat: move for round in rounds for move in round.moves if move.verdict.counts}
    electorate = dict.fromkeys(seat for round in rounds for seat in round.electorate)
    return {seat: moves[seat] for seat in electorate if seat in moves}


def decision_position_from_move(move: Move) -> str:
    """Return the position of a seat in one line, or the first line of its reply."""
    first_line = next((line.strip() for line in move.text.splitlines() if line.strip()), "")
    return move.verdict.position or (
        first_line if len(first_line) <= MAX_POSITION_LINE else f"{first_line[: MAX_POSITION_LINE - 1]}…"
    )


def decision_dissent_from_move(move: Move, position: str = "") -> Dissent:
    """Return a move as dissent: its position, its text word for word, and its prediction."""
    return Dissent(move.seat, position or decision_position_from_move(move), move.text, move.verdict.prediction)


def decision_from_ruling(
    ruling: Ruling,
    rounds: Sequence[Round],
    *,
    proposals: Sequence[Proposal] = (),
    winner: str = "",
    spokesman: Move | None = None,
    dissent: Sequence[Dissent] = (),
    chosen_by_person: bool = False,
) -> Decision:
    """Return the decision of a ruling on the newest round. Its text is the move of `spokesman`, word for word."""
    newest = rounds[-1]
    texts = {proposal.id: proposal.text for proposal in proposals}
    unreadable = (Absence(move.seat, UNREADABLE_ANSWER) for move in newest.moves if not move.verdict.counts)
    is_single_opinion = len(ruling.counted) == 1 and ruling.outcome is Outcome.REACHED and not chosen_by_person
    return Decision(
        ruling.outcome,
        how=ruling.why,
        winner=winner,
        position=texts.get(winner) or (decision_position_from_move(spokesman) if spokesman else ""),
        text=spokesman.text if spokesman else "",
        author=spokesman.seat if spokesman else "",
        electorate=newest.electorate,
        counted=ruling.counted,
        missing=(*newest.missing, *unreadable),
        dissent=tuple(dissent),
        proposals=tuple(proposals),
        basis=(*(round.name for round in rounds), *describe_settled_claims(rounds)),
        notices=(NotAnAgreement(),) if is_single_opinion else (),
    )
