"""One word for where a turn, a seat or a session stands."""

from __future__ import annotations

from roundtable.core.faults import NotFound
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import MoveStatus

WAITING, ASKED, ANSWERED, LATE, MISSING, INTERRUPTED, OFF = (
    "waiting", "asked", "answered", "late", "missing", "interrupted", "off",
)  # fmt: skip


def turn_state(turn: Turn) -> str:
    """What became of one seat's turn, as far as the record knows."""
    if turn.move is not None:
        return LATE if turn.move.status is MoveStatus.LATE else ANSWERED
    if turn.missed is not None:
        return MISSING
    if not turn.asked:
        return INTERRUPTED if turn.interrupted else WAITING
    return INTERRUPTED if turn.asked[-1][1].call in turn.interrupted else ASKED


def seat_states(session: Session) -> dict[str, str]:
    """Every seat of the charter, by the newest turn it had."""
    states = {seat.name: WAITING for seat in session.charter.seats}
    for record in session.rounds.values():
        states |= {name: turn_state(turn) for name, turn in record.turns.items()}
    return states | dict.fromkeys(session.seats_off, OFF)


def newest_round(session: Session) -> RoundRecord | None:
    """The round opened last."""
    return next(reversed(session.rounds.values()), None)


def find_round_by_address(session: Session, address: str) -> RoundRecord:
    """A round by its name `council/1-blind`, by `1-blind`, or by its number where only one has it."""
    found = [record for name, record in session.rounds.items() if _is_named(name, address)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(session.rounds) or "none yet"
    wrong = f"{address} fits {len(found)} rounds of" if found else f"There is no round {address} in"
    raise NotFound(f"{wrong} this session.", f"Its rounds: {known}.")


def _is_named(name: str, address: str) -> bool:
    last = name.rpartition("/")[2]
    return address in (name, last, last.partition("-")[0])


def has_degraded_decision(session: Session) -> bool:
    """Whether the decision stands on less than it should."""
    return session.decision is not None and session.decision.degraded


def describe_session_status(session: Session) -> str:
    """A sentence for people beside the one-word status."""
    if session.decision is not None:
        undone = ", what it wrote is undone" if session.undone else ""
        return f"ended{undone}" if session.ended else "decided, not closed yet"
    if session.open_gates:
        return f"waits for an answer to {', '.join(gate.id for gate in session.open_gates)}"
    if session.cancel is not None:
        return "is being cancelled"
    if session.paused:
        return "paused on request"
    if session.stopped is not None:
        return f"stopped ({session.stopped.reason}), can be resumed"
    return "not finished" if session.runs else "not started"
