"""Projections of the record for lookups: sessions, gates and applied changes. They can be rebuilt at any time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from roundtable.core.effects import ChangeApplied
from roundtable.core.events import (
    ChangeUndone,
    DecisionMade,
    EffectDone,
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
"""The length of the shortest prefix of an id or slug that is accepted as an address."""

LAST_SESSION = "last"

INDEXED_EVENTS = (SessionOpened, SessionAmended, DecisionMade, SessionEnded, SessionForgotten)
"""The facts that change more of a row than the position of its newest fact."""

INDEXED_GATES = (GateOpened, GateAnswered)
"""The facts that open or answer a gate."""

INDEXED_CHANGES = (EffectDone, ChangeUndone)
"""The facts that may apply or undo a change."""

ROW_FIELDS = (
    *("id", "slug", "name", "workspace", "question", "meeting"),
    *("parent", "branched_at", "opened_at", "outcome", "forgotten_at", "opened_in", "owner", "applies"),
)
"""The stored fields of a row; the other fields give the position of the session's newest fact."""


class SessionRow(msgspec.Struct, frozen=True):
    """One session as lists show it. `offset` is the global position of its newest fact, and the order of lists.

    `applies` is the slug or id of the session whose decision this one applies.
    """

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
    applies: str = ""

    def is_found_in(self, workspace: str | None) -> bool:
        """Whether the session belongs to this workspace or was opened there; always true if no workspace is given."""
        return workspace in (None, self.workspace, self.opened_in)

    def is_owned_by(self, owner: str | None) -> bool:
        """Whether this person opened the session; always true if no person is given."""
        return owner in (None, self.owner)

    @property
    def is_child(self) -> bool:
        """Whether the meeting was opened by another meeting; a branch was not."""
        return bool(self.parent) and not self.branched_at

    @staticmethod
    def after(row: SessionRow | None, offset: int, recorded: Recorded) -> SessionRow | None:
        """The row of a session after one more fact; None before the session is opened."""
        event = recorded.event
        if isinstance(event, SessionOpened):
            return SessionRow._opened(event, offset, recorded)
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

    @staticmethod
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
            applies=str(charter.settings.get("of", "")),
        )

    @staticmethod
    def match_address(
        address: str, rows: Iterable[SessionRow], workspace: str | None = None, owner: str | None = None
    ) -> list[str]:
        """The ids that an address may mean: none, one, or several if it is ambiguous.

        An id has precedence over a name in the workspace, a name over a slug, a slug over a prefix of an id, and that
        over a prefix of a slug. A name can be reused; it then means the session opened last under it.
        """
        rows = [row for row in rows if row.is_owned_by(owner)]
        in_workspace = [row for row in rows if row.is_found_in(workspace)]
        if address == LAST_SESSION:
            newest = max(
                (row for row in in_workspace if not row.is_child and not row.forgotten_at),
                key=lambda row: row.offset,
                default=None,
            )
            return [newest.id] if newest else []
        by_name = sorted((row for row in in_workspace if row.name == address), key=lambda row: (row.opened_at, row.id))
        is_prefix_long_enough = len(address) >= MIN_PREFIX_LENGTH
        by_slug_prefix = [
            row for row in rows if is_prefix_long_enough and row.slug.startswith(address) and not row.forgotten_at
        ]
        candidates = (
            (row.id for row in rows if row.id == address),
            (row.id for row in by_name[-1:]),
            (row.id for row in in_workspace if row.slug == address),
            (row.id for row in rows if row.slug == address),
            (row.id for row in rows if is_prefix_long_enough and row.id.startswith(address)),
            (row.id for row in by_slug_prefix if row in in_workspace),
            (row.id for row in by_slug_prefix),
        )
        for matches in candidates:
            if address and (ids := sorted(matches)):
                return ids
        return []


class IndexedGate(msgspec.Struct, frozen=True):
    """A gate of a session: when it was opened, and whether it was answered."""

    gate: Gate
    since: str
    answered: bool = False

    @staticmethod
    def id_of(event: GateOpened | GateAnswered) -> str:
        """The id of the gate that a fact is about."""
        return event.gate.id if isinstance(event, GateOpened) else event.gate

    @staticmethod
    def after(known: IndexedGate | None, recorded: Recorded) -> IndexedGate | None:
        """The gate that a fact is about, after this fact. A gate is opened once, and its first valid answer counts."""
        event = recorded.event
        if isinstance(event, GateOpened) and known is None:
            return IndexedGate(event.gate, recorded.at)
        if isinstance(event, GateAnswered) and known is not None and event.option in known.gate.options:
            return IndexedGate(known.gate, known.since, answered=True)
        return known


class WaitingGate(msgspec.Struct, frozen=True):
    """A gate without an answer, and the session that waits at it since then."""

    session: SessionRow
    gate: Gate
    since: str


class IndexedChange(msgspec.Struct, frozen=True):
    """A change of a session: its commit, whether it was written to the workspace, and whether it was undone."""

    commit: str = ""
    applied: bool = False
    undone: bool = False

    @staticmethod
    def id_of(event: EffectDone | ChangeUndone) -> str:
        """The change that a fact applies or undoes; empty for any other effect."""
        if isinstance(event, ChangeUndone):
            return event.change
        return event.result.undo if isinstance(event.result, ChangeApplied) else ""

    @staticmethod
    def after(known: IndexedChange | None, event: EffectDone | ChangeUndone) -> IndexedChange:
        """The entry of a change after one more fact about it."""
        known = known or IndexedChange()
        if isinstance(event, EffectDone) and isinstance(event.result, ChangeApplied):
            return IndexedChange(event.result.commit, applied=True, undone=known.undone)
        return IndexedChange(known.commit, known.applied, undone=True)


class AppliedChange(msgspec.Struct, frozen=True):
    """A change that a session wrote to its workspace. `change` is its id for `roundtable undo`."""

    session: SessionRow
    change: str
    commit: str = ""
    undone: bool = False
