"""The typed results of the tools, for programs; models read the text next to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MeetingFact:
    """One event in words."""

    seq: int
    kind: str
    words: str


@dataclass(frozen=True)
class OpenGate:
    """A question to the person, with its options."""

    id: str
    question: str
    options: list[str]
    default: str
    details: dict[str, str]


@dataclass(frozen=True)
class MissingSeat:
    """A seat without an answer."""

    seat: str
    why: str


@dataclass(frozen=True)
class DissentingSeat:
    """A seat with another position, in its own words."""

    seat: str
    position: str
    text: str
    prediction: str


@dataclass(frozen=True)
class MeetingResult:
    """The decision of a meeting. If `degraded`, it rests on less than it should; `notices` and `missing` say why."""

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
    """The state of a meeting: `running`, `waiting` at a gate, `paused`, `stopped` (no process runs it) or `ended`."""

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
    """An entry of an earlier meeting: a decision, decree, failed approach, error or prediction."""

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
    """The entries found, most relevant first."""

    found: list[MemoryEntry]
