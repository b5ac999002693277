"""The lead: the seat that speaks for the table or carries out its decision, and why this one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.reasons import LeadReason
from roundtable.core.values import Right, Seat


class LeadSeat(msgspec.Struct, frozen=True):
    """The name of a seat, and why it is chosen before the others."""

    seat: str
    why: LeadReason


def decide_lead_seat(scores: Mapping[str, float], seats: Sequence[Seat], question: str) -> LeadSeat | None:
    """Return the seat with the highest score; of equals, the one with the most capabilities that the question names.

    If that does not decide, the seat with the first priority leads.
    """
    question_words = _words(question)
    known = {seat.name: seat for seat in sorted(seats, key=lambda seat: seat.priority)}

    def fit(seat: str) -> int:
        return sum(_words(capability) <= question_words for capability in known[seat].capabilities)

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
    """Return the seat that carries a decision out; if any seat has the right to execute, only one of those."""
    allowed = [seat for seat in seats if Right.EXECUTE in seat.rights]
    if len(allowed) == 1:
        return LeadSeat(allowed[0].name, LeadReason.ONLY_EXECUTOR)
    eligible = allowed or seats
    return decide_lead_seat({seat.name: scores.get(seat.name, 0.0) for seat in eligible}, eligible, question)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))
