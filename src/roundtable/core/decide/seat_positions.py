"""The position of each seat through a meeting: its first, its last, and whether a change had a stated reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.positions import NEW_PROPOSAL, is_position_change_justified, normalize_counted_position
from roundtable.core.replies import find_reply_codec
from roundtable.core.session import RoundRecord, Session
from roundtable.core.values import Expect, Move, Proposal, Value
from roundtable.core.verdict import Stance, Verdict

STANCE_POSITIONS = {Stance.SUPPORT: "agrees", Stance.AMEND: "has open points", Stance.OPPOSE: "objects"}
"""Positions in meetings whose replies hold only a stance."""


class SeatPositions(Value, frozen=True):
    """A seat's first and last position in the meeting.

    `reasoned` is whether a seat that moved named an error or a fact; None if the form did not ask for one.
    """

    seat: str
    first: str
    last: str
    reasoned: bool | None = None

    @property
    def moved(self) -> bool:
        """Whether the last position differs from the first."""
        return self.first != self.last


def seat_positions_up_to_decision(session: Session) -> dict[str, SeatPositions]:
    """The positions of each seat in table order; seats without any position are left out."""
    proposals = session.decision.proposals if session.decision else ()
    positions: dict[str, list[tuple[str, bool | None]]] = {}
    for record, move in _counted_moves(session):
        if position := _position_of_move(move, proposals):
            reasons_asked = _asks_for_reasons(record.opened.expect)
            positions.setdefault(move.seat, []).append(
                (position, is_position_change_justified(move) if reasons_asked else None)
            )
    order = (seat.name for seat in session.charter.seats)
    return {seat: _positions(seat, positions[seat]) for seat in order if seat in positions}


def _position_of_move(move: Move, proposals: Sequence[Proposal]) -> str:
    """The position a move takes: the id of a proposal, or else the position or stance itself."""
    verdict = move.verdict
    own = next((proposal.id for proposal in proposals if move.seat in proposal.authors), "")
    if verdict.target == NEW_PROPOSAL:
        return _matching_proposal(verdict.position, proposals) or verdict.position
    if verdict.target and verdict.stance is not Stance.OPPOSE:
        return decide_proposal_named_by_vote(verdict.target, proposals)
    if named := verdict.key or _first_choice(verdict):
        return named
    if verdict.position:
        return own or _matching_proposal(verdict.position, proposals) or normalize_counted_position(verdict.position)
    objects = verdict.stance is Stance.OPPOSE and verdict.score is None
    return own if own and objects else STANCE_POSITIONS.get(verdict.stance, "")


def decide_proposal_named_by_vote(name: str, proposals: Sequence[Proposal]) -> str:
    """The id of a proposal that may have been named by one of its authors."""
    if any(proposal.id == name for proposal in proposals):
        return name
    return next((proposal.id for proposal in proposals if name in proposal.authors), name)


def _counted_moves(session: Session) -> Iterator[tuple[RoundRecord, Move]]:
    for record in session.rounds.values():
        if record.closed is not None:
            for move in record.result(record.closed).moves:
                if move.verdict.counts:
                    yield record, move


def _first_choice(verdict: Verdict) -> str:
    return verdict.ranking[0] if verdict.ranking else ""


def _matching_proposal(position: str, proposals: Sequence[Proposal]) -> str:
    words = normalize_counted_position(position)
    return next((proposal.id for proposal in proposals if normalize_counted_position(proposal.text) == words), "")


def _asks_for_reasons(expect: Expect) -> bool:
    schema = find_reply_codec(expect.codec).schema
    return schema is not None and not {"error", "evidence"}.isdisjoint(schema(expect).get("properties", {}))


def _positions(seat: str, positions: list[tuple[str, bool | None]]) -> SeatPositions:
    """The first and last position, with the reason given when the seat reached the last one."""
    first, last = positions[0][0], positions[-1][0]
    if first == last:
        return SeatPositions(seat, first, last)
    arrived = max(
        index for index in range(1, len(positions)) if positions[index - 1][0] != last and positions[index][0] == last
    )
    return SeatPositions(seat, first, last, positions[arrived][1])
