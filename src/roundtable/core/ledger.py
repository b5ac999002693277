"""The memory of a workspace: entries under ids, folded from the facts of its sessions."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from roundtable.core.values import Value


class EntryKind(StrEnum):
    """The kinds of entries."""

    DECISION = "decision"
    DECREE = "decree"
    FAILURE = "failure"
    ERROR = "error"
    PREDICTION = "prediction"


BINDING_KINDS = (EntryKind.DECREE, EntryKind.FAILURE)
"""Kinds that forbid something; the other kinds only inform."""


NO_REASON = "no reason given"
"""The reason of a rejection for which the person gave none."""


class EntryState(StrEnum):
    """The state of an entry; a decision also has its outcome as a state."""

    OVERRULED = "overruled"
    FAILED = "failed"
    STANDING = "standing"
    LIFTED = "lifted"
    FIXING = "fixing"
    LOGGED = "logged"
    CLOSED = "closed"
    OPEN = "open"
    RIGHT = "right"
    WRONG = "wrong"


_RELEVANT_STATES: dict[EntryKind, frozenset[str]] = {
    EntryKind.DECISION: frozenset({"reached", "rejected"}),
    EntryKind.DECREE: frozenset({EntryState.STANDING}),
    EntryKind.FAILURE: frozenset({EntryState.STANDING}),
    EntryKind.ERROR: frozenset({EntryState.FIXING, EntryState.LOGGED}),
    EntryKind.PREDICTION: frozenset(),
}


class Entry(Value, frozen=True):
    """One entry of the memory: its text, its reason, its state, and the session it came from.

    An error has no id until it is filed; a prediction has no `due` date until then.
    """

    id: str
    kind: EntryKind
    text: str
    why: str = ""
    state: str = ""
    seat: str = ""
    due: str = ""
    question: str = ""
    session: str = ""
    slug: str = ""
    workspace: str = ""
    at: str = ""

    @property
    def is_relevant(self) -> bool:
        """Whether a new meeting must know this entry: it is settled, and was not lifted or superseded."""
        return self.state in _RELEVANT_STATES[self.kind]

    def is_overdue(self, today: str) -> bool:
        """Whether a prediction is due on this date and nobody has said how it turned out."""
        return self.state == EntryState.OPEN and self.due <= today

    @property
    def searchable(self) -> str:
        """The text in which a search looks."""
        return "\n".join(part for part in (self.id, self.text, self.why, self.question, self.seat) if part)


class PredictionRecord(Value, frozen=True):
    """How the predictions of one seat's dissent turned out."""

    seat: str
    right: int = 0
    settled: int = 0
    open: int = 0

    @classmethod
    def of_seats(cls, entries: Iterable[Entry]) -> list[PredictionRecord]:
        """The prediction record of every seat that ever dissented, most often right first."""
        states_by_seat: dict[str, list[str]] = {}
        for entry in entries:
            if entry.kind is EntryKind.PREDICTION:
                states_by_seat.setdefault(entry.seat, []).append(entry.state)
        records = [
            cls(
                seat,
                states.count(EntryState.RIGHT),
                len(states) - states.count(EntryState.OPEN),
                states.count(EntryState.OPEN),
            )
            for seat, states in states_by_seat.items()
        ]
        return sorted(records, key=lambda record: (-record.right, record.settled, record.seat))
