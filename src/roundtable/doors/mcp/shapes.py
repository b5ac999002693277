"""What the tools return, as typed data. A program reads these; the words beside them are for models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MeetingFact:
    """Something that happened, in short words."""

    seq: int
    kind: str
    words: str


@dataclass(frozen=True)
class OpenGate:
    """A question that the meeting puts to the person, and what can be answered."""

    id: str
    question: str
    options: list[str]
    default: str
    details: dict[str, str]


@dataclass(frozen=True)
class MissingSeat:
    """A seat that was not heard."""

    seat: str
    why: str


@dataclass(frozen=True)
class DissentingSeat:
    """A seat that stands for something else, in its own words."""

    seat: str
    position: str
    text: str
    prediction: str


@dataclass(frozen=True)
class MeetingResult:
    """How a meeting ended. `degraded` means that it rests on less than it should: `notices` and `missing` say why."""

    degraded: bool
    notices: list[str]
    missing: list[MissingSeat]
    outcome: str
    settled: bool
    position: str
    how: str
    text: str
    author: str
    counted: list[str]
    electorate: list[str]
    dissent: list[DissentingSeat]
    next_step: str
    price: str
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class MeetingStatus:
    """Where a meeting stands: `running`, `waiting` at a gate, `paused`, `stopped` (nobody runs it) or `ended`."""

    session: str
    address: str
    question: str
    meeting: str
    status: str
    seq: int
    facts: list[MeetingFact]
    gate: OpenGate | None
    result: MeetingResult | None
    trouble: str
    next: str


@dataclass(frozen=True)
class ListedMeeting:
    """One meeting of this workspace."""

    session: str
    address: str
    question: str
    meeting: str
    status: str
    outcome: str
    opened_at: str


@dataclass(frozen=True)
class MeetingList:
    """The meetings of this workspace, newest first."""

    meetings: list[ListedMeeting]


@dataclass(frozen=True)
class MemoryEntry:
    """Something an earlier meeting left behind: a decision, a decree, a failed approach, an error, a prediction."""

    id: str
    kind: str
    text: str
    why: str
    state: str
    question: str
    session: str
    at: str


@dataclass(frozen=True)
class MemoryList:
    """What is remembered, the most relevant first."""

    found: list[MemoryEntry]
