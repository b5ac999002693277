"""Who leads: the seat that speaks for the table or carries out what it decided, and why it is this one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.reasons import LeadReason
from roundtable.core.values import Right, Seat


class LeadSeat(msgspec.Struct, frozen=True):
    """A seat by its name, and what put it before the others."""

    seat: str
    why: LeadReason


def decide_lead_seat(scores: Mapping[str, float], seats: Sequence[Seat], question: str) -> LeadSeat | None:
    """The highest score leads; among equals whose capabilities the question names, then who comes first in priority."""
    asked = _words(question)
    known = {seat.name: seat for seat in sorted(seats, key=lambda seat: seat.priority)}

    def fit(seat: str) -> int:
        return sum(_words(it) <= asked for it in known[seat].capabilities)

    ranked = sorted((seat for seat in known if seat in scores), key=lambda seat: (-scores[seat], -fit(seat)))
    if not ranked:
        return None
    first, *rest = ranked
    equals = [seat for seat in rest if scores[seat] == scores[first]]
    if not equals:
        return LeadSeat(first, LeadReason.HIGHEST_SCORE)
    if all(fit(first) > fit(seat) for seat in equals):
        return LeadSeat(first, LeadReason.CAPABILITIES_FIT)
    return LeadSeat(first, LeadReason.FIRST_IN_PRIORITY)


def decide_executor_seat(scores: Mapping[str, float], seats: Sequence[Seat], question: str) -> LeadSeat | None:
    """The one seat that carries a decision out; where seats have the right to execute, only one of those."""
    allowed = [seat for seat in seats if Right.EXECUTE in seat.rights]
    if len(allowed) == 1:
        return LeadSeat(allowed[0].name, LeadReason.ONLY_EXECUTOR)
    may = allowed or seats
    return decide_lead_seat({seat.name: scores.get(seat.name, 0.0) for seat in may}, may, question)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))
