"""The engine: opens or resumes a session, holds the meeting, and records how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from roundtable.core.events import DecisionMade, LimitReached, RunStarted, RunStopped, SessionEnded
from roundtable.core.faults import LeaseLost, NotFound, RecordMismatch
from roundtable.core.ports import AgentWorktrees, Lease, Leases, Performer, Store, Table, Voices
from roundtable.core.reasons import AnswersCutOff, LimitMet, PersonCancelled, Reason, Reasons, distinct_reasons
from roundtable.core.session import Session
from roundtable.core.values import Charter, Decision, Outcome
from roundtable.engine.feed import Feed
from roundtable.engine.recorder import SessionRecorder
from roundtable.engine.table import MeetingCancelled, MeetingLimitReached, RecordedTable

LEASE_RENEWAL_SECONDS = 8.0


class MeetingRules(msgspec.Struct, frozen=True):
    """The rules of a meeting with their name and version, as the engine needs them."""

    name: str
    version: int
    hold: Callable[[Table], Awaitable[Decision]]


FindMeeting = Callable[[Charter], MeetingRules]
"""Returns the rules of the meeting that a charter names."""


ObserveRun = Callable[[str], AbstractAsyncContextManager[object]]
"""Runs next to a meeting from the moment the lease is taken, for example to let other processes listen."""


class Engine:
    """Runs sessions. Its record, voices and performers are passed in; it knows no concrete class of them."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        voices: Voices,
        performer: Performer,
        feed: Feed,
        observe: ObserveRun = lambda _: nullcontext(),
        worktrees: AgentWorktrees | None = None,
    ) -> None:
        self._worktrees = worktrees
        self._observe = observe
        self._store = store
        self._leases = leases
        self._voices = voices
        self._performer = performer
        self._feed = feed

    async def run(self, session_id: str, meetings: FindMeeting, holder: str) -> Decision:
        """Hold the meeting from the end of its record to a decision. The same call opens and resumes."""
        lease, records = await self._leases.acquire(session_id, holder)
        self._feed.start(session_id)
        try:
            async with self._observe(session_id):
                session = Session.fold(session_id, records)
                if session.decision is not None:
                    return session.decision
                meeting = _find_matching_meeting(session, meetings)
                recorder = SessionRecorder(session, self._store, lease, self._feed)
                return await self._run_with_watchers(recorder, meeting, holder, lease)
        finally:
            self._feed.stop(session_id)
            await self._leases.release(lease)

    async def _run_with_watchers(
        self, recorder: SessionRecorder, meeting: MeetingRules, holder: str, lease: Lease
    ) -> Decision:
        """Hold the meeting while listening to other processes and renewing the lease."""
        recorder.record_with_next(RunStarted(holder, resumed=recorder.session.runs > 0))
        main = asyncio.create_task(self._hold(recorder, meeting))
        watchers = [asyncio.create_task(recorder.listen()), asyncio.create_task(self._renew(lease))]
        try:
            done, _ = await asyncio.wait({main, *watchers}, return_when=asyncio.FIRST_COMPLETED)
            if main not in done:
                await next(iter(done))
            return await main
        except BaseException as error:
            await _cancel_and_wait(main)
            if not isinstance(error, LeaseLost):
                await _try_to_record(recorder, RunStopped(_stop_reason(error)))
            raise
        finally:
            for watcher in watchers:
                await _cancel_and_wait(watcher)

    async def _hold(self, recorder: SessionRecorder, meeting: MeetingRules) -> Decision:
        session = recorder.session
        table = RecordedTable(recorder, self._voices, self._performer, self._worktrees)
        try:
            decision = await table.check_decrees(await meeting.hold(table))
            await table.final_boundary()
        except MeetingCancelled:
            decision = _decision_without_rule(session, Outcome.CANCELLED, PersonCancelled())
        except MeetingLimitReached as stop:
            decision = _decision_without_rule(session, Outcome.INSUFFICIENT, _limit_reason(stop.reached))
        finally:
            await table.finish()
        decision = _add_engine_facts(session, decision)
        await recorder.record(DecisionMade(decision), SessionEnded(str(decision.outcome)))
        return decision

    async def _renew(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(LEASE_RENEWAL_SECONDS)
            await self._leases.renew(lease)


def _find_matching_meeting(session: Session, meetings: FindMeeting) -> MeetingRules:
    if session.charter_or_none is None:
        raise NotFound(f"There is no session {session.id}.", "`roundtable list` shows all sessions.")
    charter = session.charter
    meeting = meetings(charter)
    if (charter.meeting, charter.version) != (meeting.name, meeting.version):
        raise RecordMismatch(
            f"This session was opened with {charter.meeting} version {charter.version}, "
            f"but this Roundtable has {meeting.name} version {meeting.version}.",
            "Open a new session; `roundtable forget` removes this one from the list.",
        )
    return meeting


def _decision_without_rule(session: Session, outcome: Outcome, how: Reason) -> Decision:
    """A decision that the engine makes because the meeting could not."""
    names = tuple(seat.name for seat in session.charter.seats)
    basis = tuple(record.name for record in session.rounds.values() if record.closed is not None)
    return Decision(outcome, (how,), electorate=names, basis=basis)


def _add_engine_facts(session: Session, decision: Decision) -> Decision:
    """Add what the engine knows: limits that stopped the meeting, truncated answers, and substituted voices."""
    stops = map(_limit_reason, session.limit_stops.values())
    notices = distinct_reasons((*decision.notices, *stops, *_truncation_notices(session)), without=decision.how)
    return msgspec.structs.replace(decision, notices=notices, substitutions=session.substitutions())


def _limit_reason(reached: LimitReached) -> LimitMet:
    """The limit that was reached, as a reason of a decision."""
    return LimitMet(reached.limit, reached.spent, reached.allowed)


def _truncation_notices(session: Session) -> Reasons:
    moves = [turn.move for record in session.rounds.values() for turn in record.turns.values()]
    cut = tuple((move.seat, move.round) for move in moves if move is not None and move.truncated)
    return (AnswersCutOff(cut),) if cut else ()


def _stop_reason(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "interrupted"
    return f"{type(error).__name__}: {error}"


async def _cancel_and_wait(task: asyncio.Task[Decision] | asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end; its error is handled elsewhere."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _try_to_record(recorder: SessionRecorder, event: RunStopped) -> None:
    """Record why the run stopped, if the record can still be written."""
    try:
        await recorder.record(event)
    except Exception:
        return
