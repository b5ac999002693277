"""Words for the state of a turn, a seat or a session."""

from __future__ import annotations

from roundtable.core.faults import NotFound
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import MoveStatus

WAITING, ASKED, ANSWERED, LATE, MISSING, INTERRUPTED, OFF = (
    "waiting", "asked", "answered", "late", "missing", "interrupted", "off",
)  # fmt: skip


def turn_state(turn: Turn) -> str:
    """The state of one seat's turn."""
    if turn.move is not None:
        return LATE if turn.move.status is MoveStatus.LATE else ANSWERED
    if turn.missed is not None:
        return MISSING
    if not turn.asked:
        return INTERRUPTED if turn.interrupted else WAITING
    return INTERRUPTED if turn.asked[-1][1].call in turn.interrupted else ASKED


def seat_states(session: Session) -> dict[str, str]:
    """The state of each seat in its newest turn."""
    states = {seat.name: WAITING for seat in session.charter.seats}
    for record in session.rounds.values():
        states |= {name: turn_state(turn) for name, turn in record.turns.items()}
    return states | dict.fromkeys(session.seats_off, OFF)


def newest_round(session: Session) -> RoundRecord | None:
    """The round that was opened last."""
    return next(reversed(session.rounds.values()), None)


def find_round_by_address(session: Session, address: str) -> RoundRecord:
    """The round with this name (`council/1-blind`), last part (`1-blind`) or unique number."""
    found = [record for name, record in session.rounds.items() if _matches_address(name, address)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(session.rounds) or "none so far"
    message = f"{len(found)} rounds match {address}." if found else f"This session has no round {address}."
    raise NotFound(message, f"Name one of its rounds: {known}.")


def _matches_address(name: str, address: str) -> bool:
    last = name.rpartition("/")[2]
    return address in (name, last, last.partition("-")[0])


def has_degraded_decision(session: Session) -> bool:
    """Whether the decision rests on fewer answers than it should."""
    return session.decision is not None and session.decision.degraded


def describe_session_status(session: Session) -> str:
    """A short phrase that explains the one-word status."""
    if session.decision is not None:
        undone = ", its change was undone" if session.undone else ""
        return f"ended{undone}" if session.ended else "decided, not closed yet"
    if session.open_gates:
        return f"waiting for an answer to gate {', '.join(gate.id for gate in session.open_gates)}"
    if session.cancel is not None:
        return "being cancelled"
    if session.paused:
        return "paused on request"
    if session.stopped is not None:
        return f"stopped ({session.stopped.reason}), can be resumed"
    return "not finished" if session.runs else "not started"
