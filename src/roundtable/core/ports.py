"""Every seam of the product on one page. Stores and voices have conformance kits in `tests/kits/`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from roundtable.core.changeset import FolderEdits
from roundtable.core.effects import Effect, EffectResult
from roundtable.core.events import Event, Recorded
from roundtable.core.faults import Fault
from roundtable.core.index import SessionRow, WaitingGate
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.sandbox import Exit, Job, Output
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
    """How a seat is reached.

    `speak` yields pieces of text as they come and ends with exactly one Reply or one Fault; nothing
    follows it. An empty piece is a sign of life: the call is on its way after a wait for its turn, or
    the model is at work and has nothing to say yet. `Waits` is one that says
    that the call waits for its turn, until the next piece. A fault carries what the call used, where that
    is known. It never raises for a failure of the outside world. Closing or cancelling the iterator stops
    the real work: the HTTP stream, the child process, the inference slot. One voice serves many calls at
    once.
    """

    name: str
    vendor: str
    structured: bool
    """True when a reply can be held to a JSON schema."""
    plain_when_long: bool
    """True when a schema would cost a long prompt its place in the provider's cache: it is asked for in words then."""
    edits: bool
    """True when it can change files by itself, in the workplace that a request names and nowhere else."""

    def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]: ...

    async def close(self) -> None: ...


class Voices(Protocol):
    """Finds the voice behind a string such as `openai:gpt-4o`; a Fault says why there is none."""

    def find(self, voice: str) -> Voice | Fault: ...


class Lease(Value, frozen=True):
    """The right to write the engine's facts of one session. The token fences a holder that was too slow."""

    session: str
    token: int


class RemovedSessions(Value, frozen=True):
    """Which sessions were taken off the record, and how many bytes that freed."""

    sessions: tuple[str, ...]
    size: int = 0


class Store(Protocol):
    """The record. It numbers facts from 1 within a session, without gaps.

    No two sessions have one slug: an opening under one that is taken is recorded with a number behind it.
    A fact with a lease is refused with LeaseLost once somebody else holds the session. A fact without
    one is a person's, and always taken. What `append` returned has been redacted and outlives a killed process.
    """

    async def append(self, session: str, event: Event, lease: Lease | None = None) -> Recorded: ...

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        """Several facts, all of them or none."""
        ...

    async def read(self, session: str, after: int = 0) -> list[Recorded]: ...

    async def keep(self, data: bytes) -> Digest: ...

    async def fetch(self, digest: Digest) -> bytes: ...

    async def remove(self, sessions: Sequence[str]) -> RemovedSessions:
        """Take sessions off the record, and what is kept that nobody names any more; one that somebody runs stays.

        What is kept is cleared only while nobody runs any session: who runs one may be about to name it.
        """
        ...

    async def changed(self, session: str, after: int, timeout: float, own: Lease | None = None) -> bool:
        """Wait until the session has a fact after `after`, whoever wrote it, or until the time is up.

        Who writes the engine's facts need not be told of them: those under its `own` lease may go unmentioned.
        """
        ...


class Index(Protocol):
    """Lookups over all sessions. It is kept in step with the record, fact by fact, and no lookup reads every session.

    `workspace` means sessions that belong to this folder or were opened in it, `owner` those that this person opened;
    None stands for all.
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
        """The meetings held under a session, in the order in which they were opened; branches are not among them."""
        ...

    async def open_gates(self, workspace: str | None = None, owner: str | None = None) -> list[WaitingGate]:
        """Every gate that waits for an answer, the session with the newest fact first."""
        ...

    async def facts(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Recorded]]:
        """The facts of all sessions in the order in which they were written, each with its offset.

        The last offset is the cursor for the next call.
        """
        ...


class Ledger(Protocol):
    """What workspaces remember, filed by entry: a copy of what the sessions' facts come to, made for looking up.

    It outlives the sessions: what was decided is still known when what was said has been cleared away.
    """

    async def unfiled(self) -> list[str]:
        """The sessions that have ended, or got an entry, since they were last filed, newest first."""
        ...

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File what a session comes to as it stood at `seq`, as often as one likes; returns it as it is filed.

        Errors get their number here, and an id that is taken in its workspace gets a number behind it; both are kept
        for good. What was written into the ledger by hand (in another session than the entry's own) stays as written.
        """
        ...

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """Newest first; without a limit, all of them."""
        ...

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Those that share words with these, the most relevant first."""
        ...


class Leases(Protocol):
    """Who runs a session: one process at a time."""

    async def acquire(self, session: str, holder: str) -> tuple[Lease, list[Recorded]]:
        """Take the session with its record as it stands, or raise SessionHeld naming the live holder."""
        ...

    async def renew(self, lease: Lease) -> None: ...

    async def release(self, lease: Lease) -> None: ...

    async def holder(self, session: str) -> str | None:
        """Who runs it now, if anyone alive does."""
        ...


class Sandbox(Protocol):
    """Where programs run that nobody has read: no network but for a job that a person allowed one, nothing of the
    person's, bounds on everything.

    `run` yields output as it comes and ends with exactly one Exit. Closing or cancelling the iterator ends everything
    that was started. Nothing is left behind, whatever happens. `name` is what people are told it is.
    """

    name: str

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]: ...


class AgentWorktrees(Protocol):
    """Folders in which voices that edit files do so: a clean copy of the workspace each, and nobody else's."""

    async def open(self, session: str, turn: str) -> AgentWorktree | Fault:
        """The folder of one turn, as clean as the workspace's last commit; none where there is no commit."""
        ...

    async def edits(self, place: str) -> FolderEdits | Fault:
        """What was changed there."""
        ...


class Performer(Protocol):
    """Carries out effects. `key` names the step for good, so that a step cut in half can be recognised."""

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault: ...

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        """What a step that was started and never finished came to; None when it is safe to do it again."""
        ...


class Table(Protocol):
    """What a meeting sits at. Everything asked or done here is on the record and never happens twice."""

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
        """Ask the seats one round and wait until it closes. Faults come back as absences."""
        ...

    async def may_open(self, round: str) -> bool:
        """Whether the limits leave room for this round; a no is recorded with its reason."""
        ...

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault: ...

    async def gate(self, gate: Gate) -> str:
        """Ask the person, and wait as long as it takes; returns the name of the option chosen."""
        ...

    def words(self, gate: str) -> str:
        """What the person wrote with their answer to a gate, if anything."""
        ...

    def by_default(self, gate: str) -> bool:
        """Whether nobody answered a gate, so that its default stands."""
        ...

    async def interjected(self, gate: Gate, before: str) -> str:
        """Ask the person at this gate if they have spoken since the last round was asked; nothing if they have not.

        Whether they had is settled for good once the round `before` is open.
        """
        ...

    async def heed(self, decision: Decision) -> Decision:
        """What becomes of a decision that repeats what was rejected or has failed: the person is asked, once.

        Every decision is heeded at the end; a meeting that asks the person to act on one has it heeded before.
        """
        ...

    async def child(self, step: str, charter: Charter) -> Decision: ...

    @property
    def labels(self) -> dict[str, str]:
        """The name under which each seat is read out where seats are anonymous."""
        ...
