"""The interfaces between the engine and the rest. Stores and voices have conformance kits in `tests/kits/`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from roundtable.core.changeset import FolderEdits
from roundtable.core.effects import Effect, EffectResult
from roundtable.core.events import Event, Recorded
from roundtable.core.faults import Fault
from roundtable.core.index import AppliedChange, SessionRow, WaitingGate
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.sandbox import Exit, Job, Output, Resource
from roundtable.core.values import (
    AgentWorktree,
    Charter,
    Decision,
    Digest,
    Expect,
    Gate,
    Prompt,
    Reply,
    Request,
    Round,
    Seat,
    Turns,
    Value,
)


class Voice(Protocol):
    """A way to reach a model.

    `speak` yields pieces of text as they arrive and ends with exactly one Reply or one Fault; nothing follows it. An
    empty piece is a sign of life: the call has left its queue, or the model is working and has produced no text yet. A
    `WaitNotice` says that the call waits in a queue until the next piece. A fault carries what the call used, if known.
    `speak` never raises for a failure of the outside world. Closing or cancelling the iterator stops the real work: the
    HTTP stream, the child process, the inference slot. One voice serves many calls at once.
    """

    name: str
    vendor: str
    structured: bool
    """Whether a reply can be constrained by a JSON schema."""
    plain_when_long: bool
    """Whether a schema would keep a long prompt out of the provider's cache; such a prompt asks for JSON in words
    instead."""
    edits: bool
    """Whether it can edit files, in the worktree that a request names and nowhere else."""

    def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]: ...

    async def close(self) -> None: ...


class Voices(Protocol):
    """Finds the voice for a string such as `openai:gpt-4o`; a Fault says why there is none."""

    def find(self, voice: str) -> Voice | Fault: ...


class Lease(Value, frozen=True):
    """The right to write the engine's facts of one session. The token fences off a holder that lost it."""

    session: str
    token: int


class RemovedSessions(Value, frozen=True):
    """The sessions that were removed from the record, and the number of bytes freed."""

    sessions: tuple[str, ...]
    size: int = 0


class DamagedFact(Value, frozen=True):
    """A fact of a session that cannot be read, and a sentence that says why."""

    session: str
    seq: int
    problem: str


class Store(Protocol):
    """The record. It numbers the facts of a session from 1, without gaps.

    No two sessions have the same slug: an opening with a slug that is taken gets a number appended. A fact with a lease
    is refused with LeaseLost once another process holds the session. A fact without a lease is a person's, and always
    accepted. What `append` returns has been redacted and survives a killed process.
    """

    async def append(self, session: str, event: Event, lease: Lease | None = None) -> Recorded: ...

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        """Append several facts, all or none."""
        ...

    async def read(self, session: str, after: int = 0) -> list[Recorded]:
        """The facts of a session after a number; DamagedRecord if one of them cannot be read."""
        ...

    async def recover(self, session: str) -> list[Recorded]:
        """The facts of a session, with an `UnknownEvent` in place of each that is damaged."""
        ...

    async def damaged(self) -> list[DamagedFact]:
        """Every fact of the record that cannot be read, found by reading all of them."""
        ...

    async def keep(self, data: bytes) -> Digest: ...

    async def fetch(self, digest: Digest) -> bytes: ...

    async def remove(self, sessions: Sequence[str]) -> RemovedSessions:
        """Remove sessions and the blobs that nothing refers to any more; a session that a process runs is kept.

        Blobs are removed only while no session is running: a running session may be about to refer to one.
        """
        ...

    async def changed(self, session: str, after: int, timeout: float, own: Lease | None = None) -> bool:
        """Wait until the session has a fact after `after`, from any process, or until the timeout.

        Facts written under the caller's `own` lease need not be reported.
        """
        ...


class Index(Protocol):
    """Lookups over all sessions. It is kept in step with the record, fact by fact, and no lookup reads every session.

    `workspace` means sessions that belong to this folder or were opened in it, `owner` those that this person opened;
    None means all.
    """

    async def sessions(
        self,
        workspace: str | None = None,
        limit: int | None = 100,
        *,
        owner: str | None = None,
        after: int | None = None,
        forgotten: bool = False,
    ) -> list[SessionRow]:
        """The sessions with the newest fact first. `after` is the `offset` of the last row of the page before."""
        ...

    async def find(self, address: str, workspace: str | None = None, owner: str | None = None) -> list[str]:
        """The ids an address may mean: an id, a slug, the beginning of either, a name in the workspace, or `last`."""
        ...

    async def children(self, session: str) -> list[SessionRow]:
        """The meetings that a session opened, in order; branches are not included."""
        ...

    async def open_gates(self, workspace: str | None = None, owner: str | None = None) -> list[WaitingGate]:
        """Every gate that waits for an answer, the session with the newest fact first."""
        ...

    async def rows(self, ids: Sequence[str]) -> list[SessionRow]:
        """The sessions with these ids, those with the newest fact first; unknown ids are left out."""
        ...

    async def applied_changes(self, workspace: str | None = None) -> list[AppliedChange]:
        """Every change that a session wrote to its workspace, the session with the newest fact first.

        The changes of one session are in the order in which they were written.
        """
        ...

    async def facts(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Recorded]]:
        """The facts of all sessions in the order in which they were written, each with its offset.

        The last offset is the cursor for the next call. Damaged facts are left out.
        """
        ...


class Ledger(Protocol):
    """The memory of workspaces: entries filed from the facts of sessions, for lookups.

    It outlives the sessions: a decision is still known after its session was removed.
    """

    async def unfiled(self) -> list[str]:
        """The sessions that have ended or got an entry since they were last filed, newest first."""
        ...

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File the entries of a session as of fact `seq`, and return them as filed. It may be repeated.

        Errors get their number here, and an id that is taken in its workspace gets a number appended; both never change
        again. An entry that a person wrote into the ledger (in another session than the entry's own) is not
        overwritten.
        """
        ...

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """Entries, newest first; without a limit, all of them."""
        ...

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Entries that share words with the query, most relevant first."""
        ...


class Leases(Protocol):
    """Which process runs a session: one at a time."""

    async def acquire(self, session: str, holder: str) -> tuple[Lease, list[Recorded]]:
        """Take the lease and read the record, or raise SessionHeld with the name of the live holder."""
        ...

    async def renew(self, lease: Lease) -> None: ...

    async def release(self, lease: Lease) -> None: ...

    async def holder(self, session: str) -> str | None:
        """The live holder of the session, if there is one."""
        ...


class Sandbox(Protocol):
    """Runs untrusted programs: without network unless a person allowed it for this job, without access to the person's
    files, and with limits on all resources.

    `run` yields output as it arrives and ends with exactly one Exit. Closing or cancelling the iterator ends every
    process that was started, and nothing is left behind. `name` is shown to people, with the resources of
    `unenforced`: those whose limits a hostile program can exceed on this machine.
    """

    name: str
    unenforced: tuple[Resource, ...]

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]: ...


class AgentWorktrees(Protocol):
    """Folders in which voices edit files: each a private, clean copy of the workspace."""

    async def open(self, session: str, turn: str) -> AgentWorktree | Fault:
        """The folder of one turn, as of the workspace's last commit; none where there is no commit."""
        ...

    async def edits(self, place: str) -> FolderEdits | Fault:
        """The edits in a folder."""
        ...


class Performer(Protocol):
    """Performs effects. `key` names the step permanently, so that an interrupted step can be recognised."""

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault: ...

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        """The result of a step that was started and never finished; None if it is safe to perform it again."""
        ...


class Table(Protocol):
    """The interface of a meeting to the engine. Everything asked or done here is recorded and never happens twice."""

    @property
    def charter(self) -> Charter: ...

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that are switched on now."""
        ...

    async def ask(
        self,
        round: str,
        prompt: Prompt,
        *,
        expect: Expect = Expect(),
        seats: Sequence[str] | None = None,
        turns: Turns = Turns(),
    ) -> Round:
        """Ask seats one round and wait until it closes. A fault becomes an absence."""
        ...

    async def may_open(self, round: str) -> bool:
        """Whether the limits allow this round; a refusal is recorded with its reason."""
        ...

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault:
        """Perform a step once, or return the Fault that prevented it."""
        ...

    async def gate(self, gate: Gate) -> str:
        """Ask the person, and wait for as long as it takes; returns the chosen option."""
        ...

    def answer_text(self, gate: str) -> str:
        """The text that the person wrote with their answer to a gate."""
        ...

    def answered_by_default(self, gate: str) -> bool:
        """Whether a gate got its default because no person answered."""
        ...

    async def gate_after_note(self, gate: Gate, before: str) -> str:
        """Ask the person at this gate if they wrote a note since the last round; otherwise return an empty string.

        The result is final once the round `before` has opened.
        """
        ...

    async def check_decrees(self, decision: Decision) -> Decision:
        """Check a decision against earlier decrees and failed approaches, and ask the person about each repetition.

        Every decision is checked at the end; a meeting that asks the person to act on a decision checks it before that.
        """
        ...

    async def child(self, step: str, charter: Charter) -> Decision:
        """Hold another meeting under this one, and return its decision."""
        ...

    @property
    def labels(self) -> dict[str, str]:
        """The names of the seats where seats are anonymous."""
        ...
