"""Where each seat began and ended, whatever form the meeting asked for: what recounts and the map are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.positions import NEW, names_a_reason, same_words
from roundtable.core.replies import codec
from roundtable.core.session import RoundRecord, Session
from roundtable.core.values import Expect, Move, Proposal, Value
from roundtable.core.verdict import Stance, Verdict

STANCES = {Stance.SUPPORT: "agrees", Stance.AMEND: "has open points", Stance.OPPOSE: "objects"}
"""Where a form has nothing to stand for but agreement itself."""


class Stand(Value, frozen=True):
    """One seat's way through the meeting; both ends are the same where it held.

    `reasoned` says whether a seat that moved named an error or a fact; None where the form had no place for one.
    """

    seat: str
    first: str
    last: str
    reasoned: bool | None = None

    @property
    def moved(self) -> bool:
        """Whether it ended elsewhere than it began."""
        return self.first != self.last


def stands(session: Session) -> dict[str, Stand]:
    """By seat, in the order of the table; a seat that never said where it stands is not among them."""
    proposals = session.decision.proposals if session.decision else ()
    taken: dict[str, list[tuple[str, bool | None]]] = {}
    for record, move in _counted(session):
        if stand := stand_of(move, proposals):
            asked = _asks_for_reasons(record.opened.expect)
            taken.setdefault(move.seat, []).append((stand, names_a_reason(move) if asked else None))
    order = (seat.name for seat in session.charter.seats)
    return {seat: _way(seat, taken[seat]) for seat in order if seat in taken}


def stand_of(move: Move, proposals: Sequence[Proposal]) -> str:
    """What a move stands for: the id of a proposal where there is one, else the position or stance itself."""
    said = move.verdict
    own = next((it.id for it in proposals if move.seat in it.authors), "")
    if said.target == NEW:
        return _known(said.position, proposals) or said.position
    if said.target and said.stance is not Stance.OPPOSE:
        return called(said.target, proposals)
    if named := said.key or _favourite(said):
        return named
    if said.position:
        return own or _known(said.position, proposals) or same_words(said.position)
    objects = said.stance is Stance.OPPOSE and said.score is None
    return own if own and objects else STANCES.get(said.stance, "")


def called(name: str, proposals: Sequence[Proposal]) -> str:
    """A proposal's id, where one of its authors may be named instead."""
    if any(it.id == name for it in proposals):
        return name
    return next((it.id for it in proposals if name in it.authors), name)


def _counted(session: Session) -> Iterator[tuple[RoundRecord, Move]]:
    for record in session.rounds.values():
        if record.closed is not None:
            for move in record.result(record.closed).moves:
                if move.verdict.counts:
                    yield record, move


def _favourite(said: Verdict) -> str:
    return said.ranking[0] if said.ranking else ""


def _known(position: str, proposals: Sequence[Proposal]) -> str:
    words = same_words(position)
    return next((it.id for it in proposals if same_words(it.text) == words), "")


def _asks_for_reasons(expect: Expect) -> bool:
    schema = codec(expect.codec).schema
    return schema is not None and not {"error", "evidence"}.isdisjoint(schema(expect).get("properties", {}))


def _way(seat: str, taken: list[tuple[str, bool | None]]) -> Stand:
    """From the first stand to the last; the reason is the one given where it came to the last one."""
    first, last = taken[0][0], taken[-1][0]
    if first == last:
        return Stand(seat, first, last)
    arrived = max(place for place in range(1, len(taken)) if taken[place - 1][0] != last and taken[place][0] == last)
    return Stand(seat, first, last, taken[arrived][1])
