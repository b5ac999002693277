"""What a workspace remembers of its meetings: entries under ids, folded from each session's facts."""

from __future__ import annotations

from enum import StrEnum

from roundtable.core.values import Value


class EntryKind(StrEnum):
    """What can be remembered. Nothing else."""

    DECISION = "decision"
    DECREE = "decree"
    FAILURE = "failure"
    ERROR = "error"
    PREDICTION = "prediction"


class Entry(Value, frozen=True):
    """One thing to remember. The session it came from, and when, are filled in where it is filed."""

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
