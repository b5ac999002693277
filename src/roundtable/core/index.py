"""The list of sessions: a projection of the record, kept for quick look-ups and rebuilt from it at any time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from roundtable.core.events import (
    DecisionMade,
    GateAnswered,
    GateOpened,
    Recorded,
    SessionAmended,
    SessionEnded,
    SessionForgotten,
    SessionOpened,
)
from roundtable.core.values import Gate

MIN_PREFIX_LENGTH = 6
"""The fewest characters of an id or a slug that may stand for the whole."""

LAST_SESSION = "last"

INDEXED_EVENTS = (SessionOpened, SessionAmended, DecisionMade, SessionEnded, SessionForgotten)
"""The facts that change more of a row than where its session ends."""

INDEXED_GATES = (GateOpened, GateAnswered)
"""The facts that open or answer a gate."""

ROW_FIELDS = (
    *("id", "slug", "name", "workspace", "question", "meeting"),
    *("parent", "branched_at", "opened_at", "outcome", "forgotten_at", "opened_in", "owner"),
)
"""What a store keeps of a row; the rest is the place of the session's newest fact."""


class SessionRow(msgspec.Struct, frozen=True):
    """One session as a list shows it. `offset` is the global place of its newest fact, and the order of lists."""

    id: str
    slug: str
    name: str
    workspace: str
    question: str
    meeting: str
    parent: str
    branched_at: int
    opened_at: str
    updated_at: str
    last_seq: int
    offset: int
    outcome: str = ""
    forgotten_at: str = ""
    opened_in: str = ""
    owner: str = ""

    def is_found_in(self, workspace: str | None) -> bool:
        """Whether it belongs to a workspace or was opened there; with none named, it is found anyway."""
        return workspace in (None, self.workspace, self.opened_in)

    def is_owned_by(self, owner: str | None) -> bool:
        """Whether this person opened it; with no person named, everybody's sessions count."""
        return owner in (None, self.owner)

    @property
    def child(self) -> bool:
        """True for a meeting held under another one; a branch stands on its own."""
        return bool(self.parent) and not self.branched_at


class IndexedGate(msgspec.Struct, frozen=True):
    """A gate of a session: when it was opened, and whether it was answered."""

    gate: Gate
    since: str
    answered: bool = False


class WaitingGate(msgspec.Struct, frozen=True):
    """A gate without an answer, and the session that waits at it since then."""

    session: SessionRow
    gate: Gate
    since: str


def index_gate(known: IndexedGate | None, recorded: Recorded) -> IndexedGate | None:
    """The gate that a fact is about, after this fact. A gate is opened once, and its first valid answer counts."""
    event = recorded.event
    if isinstance(event, GateOpened) and known is None:
        return IndexedGate(event.gate, recorded.at)
    if isinstance(event, GateAnswered) and known is not None and event.option in known.gate.options:
        return IndexedGate(known.gate, known.since, answered=True)
    return known


def gate_id(event: GateOpened | GateAnswered) -> str:
    """The gate that a fact is about."""
    return event.gate.id if isinstance(event, GateOpened) else event.gate


def update_session_row(row: SessionRow | None, offset: int, recorded: Recorded) -> SessionRow | None:
    """The row after one more fact; None as long as the session has not been opened."""
    event = recorded.event
    if isinstance(event, SessionOpened):
        return _opened(event, offset, recorded)
    if row is None:
        return None
    name, outcome, forgotten_at = row.name, row.outcome, row.forgotten_at
    if isinstance(event, SessionAmended) and event.name is not None:
        name = event.name
    elif isinstance(event, DecisionMade):
        outcome = str(event.decision.outcome)
    elif isinstance(event, SessionEnded):
        outcome = event.outcome
    elif isinstance(event, SessionForgotten):
        name, forgotten_at = "", recorded.at
    return msgspec.structs.replace(
        row,
        name=name,
        outcome=outcome,
        forgotten_at=forgotten_at,
        updated_at=recorded.at,
        last_seq=recorded.seq,
        offset=offset,
    )


def _opened(event: SessionOpened, offset: int, recorded: Recorded) -> SessionRow:
    charter = event.charter
    return SessionRow(
        id=recorded.session,
        slug=charter.slug,
        name=charter.name,
        workspace=charter.workspace,
        question=charter.question[:200],
        meeting=charter.meeting,
        parent=charter.parent,
        branched_at=charter.branched_at,
        opened_at=recorded.at,
        updated_at=recorded.at,
        last_seq=recorded.seq,
        offset=offset,
        opened_in=charter.opened_in,
        owner=charter.owner,
    )


def match_session_address(
    address: str, rows: Iterable[SessionRow], workspace: str | None = None, owner: str | None = None
) -> list[str]:
    """The ids an address may mean: none, the one, or several when it is ambiguous.

    An id comes before a name within the workspace, a name before a slug, a slug before the beginning of an id, and that
    before the beginning of a slug. A name may be used again, and then means the session that was opened last under it.
    """
    rows = [row for row in rows if row.is_owned_by(owner)]
    here = [row for row in rows if row.is_found_in(workspace)]
    if address == LAST_SESSION:
        newest = max(
            (row for row in here if not row.child and not row.forgotten_at), key=lambda row: row.offset, default=None
        )
        return [newest.id] if newest else []
    named = sorted((row for row in here if row.name == address), key=lambda row: (row.opened_at, row.id))
    long = len(address) >= MIN_PREFIX_LENGTH
    begun = [row for row in rows if long and row.slug.startswith(address) and not row.forgotten_at]
    readings = (
        (row.id for row in rows if row.id == address),
        (row.id for row in named[-1:]),
        (row.id for row in here if row.slug == address),
        (row.id for row in rows if row.slug == address),
        (row.id for row in rows if long and row.id.startswith(address)),
        (row.id for row in begun if row in here),
        (row.id for row in begun),
    )
    for reading in readings:
        if address and (found := sorted(reading)):
            return found
    return []
