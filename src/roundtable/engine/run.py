"""The one loop: open or resume, hold the meeting, write down how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from roundtable.core.events import DecisionMade, RunStarted, RunStopped, SessionEnded
from roundtable.core.faults import LeaseLost, NotFound, RecordMismatch
from roundtable.core.ports import AgentWorktrees, Lease, Leases, Performer, Store, Table, Voices
from roundtable.core.session import Session
from roundtable.core.values import Charter, Decision, Outcome
from roundtable.engine.feed import Feed
from roundtable.engine.recorder import SessionRecorder
from roundtable.engine.table import MeetingCancelled, MeetingLimitReached, RecordedTable

LEASE_RENEWAL_SECONDS = 8.0


class MeetingRules(msgspec.Struct, frozen=True):
    """A protocol with its name and version, as the engine takes it."""

    name: str
    version: int
    hold: Callable[[Table], Awaitable[Decision]]


FindMeeting = Callable[[Charter], MeetingRules]
"""The meeting a charter names, as this version of the product holds it."""


ObserveRun = Callable[[str], AbstractAsyncContextManager[object]]
"""What goes on beside a run, from the moment the session is ours: letting other processes listen."""


class Engine:
    """Runs sessions. It gets its record, voices and performers as arguments and knows no concrete one."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        voices: Voices,
        performer: Performer,
        feed: Feed,
        attend: ObserveRun = lambda _: nullcontext(),
        workplaces: AgentWorktrees | None = None,
    ) -> None:
        self._workplaces = workplaces
        self._attend = attend
        self._store = store
        self._leases = leases
        self._voices = voices
        self._performer = performer
        self._feed = feed

    async def run(self, session_id: str, meetings: FindMeeting, holder: str) -> Decision:
        """Hold the meeting from where its record stands to a decision. The same call opens and resumes."""
        lease, records = await self._leases.acquire(session_id, holder)
        self._feed.start(session_id)
        try:
            async with self._attend(session_id):
                session = Session.fold(session_id, records)
                if session.decision is not None:
                    return session.decision
                meeting = _checked(session, meetings)
                clerk = SessionRecorder(session, self._store, lease, self._feed)
                return await self._attended(clerk, meeting, holder, lease)
        finally:
            self._feed.stop(session_id)
            await self._leases.release(lease)

    async def _attended(self, clerk: SessionRecorder, meeting: MeetingRules, holder: str, lease: Lease) -> Decision:
        """Hold the meeting with someone at the door: hear other processes, keep the lease."""
        clerk.record_with_next(RunStarted(holder, resumed=clerk.session.runs > 0))
        main = asyncio.create_task(self._hold(clerk, meeting))
        watchers = [asyncio.create_task(clerk.listen()), asyncio.create_task(self._renew(lease))]
        try:
            done, _ = await asyncio.wait({main, *watchers}, return_when=asyncio.FIRST_COMPLETED)
            if main not in done:
                await next(iter(done))
            return await main
        except BaseException as error:
            await _ended(main)
            if not isinstance(error, LeaseLost):
                await _try_to_record(clerk, RunStopped(_reason(error)))
            raise
        finally:
            for watcher in watchers:
                await _ended(watcher)

    async def _hold(self, clerk: SessionRecorder, meeting: MeetingRules) -> Decision:
        session = clerk.session
        table = RecordedTable(clerk, self._voices, self._performer, self._workplaces)
        try:
            decision = await table.check_decrees(await meeting.hold(table))
            await table.final_boundary()
        except MeetingCancelled:
            decision = _outcome(session, Outcome.CANCELLED, "A person cancelled the session.")
        except MeetingLimitReached as stop:
            decision = _outcome(session, Outcome.INSUFFICIENT, stop.reached.sentence)
        finally:
            await table.finish()
        decision = _completed(session, decision)
        await clerk.record(DecisionMade(decision), SessionEnded(str(decision.outcome)))
        return decision

    async def _renew(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(LEASE_RENEWAL_SECONDS)
            await self._leases.renew(lease)


def _checked(session: Session, meetings: FindMeeting) -> MeetingRules:
    if session.charter_or_none is None:
        raise NotFound(f"There is no session {session.id}.", "`roundtable list` shows the sessions there are.")
    charter = session.charter
    meeting = meetings(charter)
    if (charter.meeting, charter.version) != (meeting.name, meeting.version):
        raise RecordMismatch(
            f"This session was opened as {charter.meeting} version {charter.version}, "
            f"and this Roundtable holds {meeting.name} version {meeting.version}.",
            "Open a new session; `roundtable forget` takes this one off the list.",
        )
    return meeting


def _outcome(session: Session, outcome: Outcome, how: str) -> Decision:
    """A decision that the meeting itself did not come to."""
    names = tuple(seat.name for seat in session.charter.seats)
    basis = tuple(record.name for record in session.rounds.values() if record.closed is not None)
    return Decision(outcome, how, electorate=names, basis=basis)


def _completed(session: Session, decision: Decision) -> Decision:
    """What the engine knows beside the meeting: which bound cut what short, and who spoke through another voice."""
    stops = [stop.sentence for stop in session.limit_stops.values()]
    notices = dict.fromkeys((*decision.notices, *stops, *_cut_short(session)))
    notices.pop(decision.how, None)
    return msgspec.structs.replace(decision, notices=tuple(notices), substitutions=session.substitutions())


def _cut_short(session: Session) -> list[str]:
    moves = [turn.move for record in session.rounds.values() for turn in record.turns.values()]
    cut = [f"{move.seat} in {move.round}" for move in moves if move is not None and move.truncated]
    return [f"Cut off at the token limit (max_tokens): {', '.join(cut)}."] if cut else []


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "interrupted"
    return f"{type(error).__name__}: {error}"


async def _ended(task: asyncio.Task[Decision] | asyncio.Task[None]) -> None:
    """Cancel a task and wait it out; its error has been, or will be, dealt with elsewhere."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _try_to_record(clerk: SessionRecorder, event: RunStopped) -> None:
    """Say why the run stopped, if the record still takes our word."""
    try:
        await clerk.record(event)
    except Exception:
        return
