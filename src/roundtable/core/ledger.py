"""What a workspace remembers of its meetings: entries under ids, folded from each session's facts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from roundtable.core.values import Value


class EntryKind(StrEnum):
    """What can be remembered. Nothing else."""

    DECISION = "decision"
    DECREE = "decree"
    FAILURE = "failure"
    ERROR = "error"
    PREDICTION = "prediction"


BINDING_KINDS = (EntryKind.DECREE, EntryKind.FAILURE)
"""What forbids; a decision or an error is only told."""


NO_REASON = "no reason given"
"""Why something was rejected, where the person did not say."""


class EntryState(StrEnum):
    """What became of an entry, besides the outcome that a decision begins with."""

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


_BEARING: dict[EntryKind, frozenset[str]] = {
    EntryKind.DECISION: frozenset({"reached", "rejected"}),
    EntryKind.DECREE: frozenset({EntryState.STANDING}),
    EntryKind.FAILURE: frozenset({EntryState.STANDING}),
    EntryKind.ERROR: frozenset({EntryState.FIXING, EntryState.LOGGED}),
    EntryKind.PREDICTION: frozenset(),
}


class Entry(Value, frozen=True):
    """One thing to remember: what, why, what became of it, and the session it came from.

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
    def bears(self) -> bool:
        """Whether a new meeting has to know of it: it is settled, and nothing has lifted or overtaken it."""
        return self.state in _BEARING[self.kind]

    @property
    def searchable(self) -> str:
        """All by which it can be found."""
        return "\n".join(part for part in (self.id, self.text, self.why, self.question, self.seat) if part)


class PredictionRecord(Value, frozen=True):
    """How a seat's dissent turned out: of so many settled predictions so many were right."""

    seat: str
    right: int = 0
    settled: int = 0
    open: int = 0


def score_predictions(entries: Iterable[Entry]) -> list[PredictionRecord]:
    """The record of every seat that ever dissented, the most often right first."""
    told: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind is EntryKind.PREDICTION:
            told.setdefault(entry.seat, []).append(entry.state)
    records = [
        PredictionRecord(
            seat,
            states.count(EntryState.RIGHT),
            len(states) - states.count(EntryState.OPEN),
            states.count(EntryState.OPEN),
        )
        for seat, states in told.items()
    ]
    return sorted(records, key=lambda it: (-it.right, it.settled, it.seat))
