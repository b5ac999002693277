"""The `sessions` part of the desk: finds, watches, steers, branches and exports sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.app.runs.watch import watch_session_run
from roundtable.app.wiring import Wiring
from roundtable.core.events import (
    CancelAsked,
    ContinueAsked,
    Delta,
    Event,
    NoteSaid,
    PauseAsked,
    Recorded,
    SessionAmended,
    StopAsked,
)
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.index import LAST_SESSION, SessionRow
from roundtable.core.session import RoundRecord, Session
from roundtable.core.values import Digest
from roundtable.workshop.identity import os_user_name

if TYPE_CHECKING:
    from roundtable.app.records.forget import RemovedSessions
    from roundtable.app.records.workspace_files import FolderWrite, WorkspaceFolder
    from roundtable.core.ports import DamagedFact
    from roundtable.report.comparison import SessionComparison
    from roundtable.report.recount import Recount


Records = list[Recorded]
"""The facts of one session in order."""


class Sessions:
    """The sessions on the record. `by` names the person who acts, if that is not the current user."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._parts = wiring.parts

    # --- looking up ------------------------------------------------------------------------------

    async def get(self, session: str) -> Session:
        """Return the current state of a session."""
        return await self._parts.read_session(session)

    async def list(
        self,
        *,
        everywhere: bool = False,
        limit: int | None = 100,
        owner: str | None = None,
        after: int | None = None,
    ) -> Sequence[SessionRow]:
        """Return the sessions that belong to this workspace or were opened in it, newest first.

        `after` is the `offset` of the last row of the previous page.
        """
        workspace = None if everywhere else self._parts.recorded_workspace
        return await self._parts.index.sessions(workspace, limit, owner=owner, after=after)

    async def find(self, address: str, owner: str | None = None) -> str:
        """Return the id of the session at an address: an id, a slug, the beginning of either, a name, or `last`."""
        return await self._parts.find_session(address, owner)

    def workspace_of(self, session: Session) -> Path:
        """Return the workspace of a session, or this one if that folder no longer exists."""
        return self._parts.find_session_workspace(session)

    async def children(self, session: str) -> Sequence[SessionRow]:
        """Return the child sessions of a session."""
        return await self._parts.index.children(session)

    async def records(self, session: str, after: int = 0) -> Records:
        """Return the facts of a session after a sequence number."""
        return await self._parts.record.read(session, after)

    async def recover(self, session: str) -> Records:
        """Return the facts of a session that can be read; an `UnknownEvent` stands for each damaged one."""
        return await self._parts.record.recover(session)

    async def verify(self) -> list[DamagedFact]:
        """Read the whole record, and return the facts of all sessions that are damaged."""
        return await self._parts.record.damaged()

    async def read_blob(self, digest: Digest) -> bytes:
        """Return a file or long text that facts refer to by its digest."""
        return await self._parts.record.fetch(digest)

    async def facts(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Recorded]]:
        """Return the facts of all sessions with their offsets, oldest first; the last offset is the next `after`."""
        return await self._parts.index.facts(after, limit)

    async def holder(self, session: str) -> str | None:
        """Return the process that runs a session, if there is one."""
        return await self._parts.leases.holder(session)

    # --- following -------------------------------------------------------------------------------

    def watch(self, session: str, after: int = 0, *, here: bool = False) -> AsyncGenerator[Recorded | Delta]:
        """Follow a session of this or another process: its record, the text being written, then live events.

        Set `here` if this process is about to run the session but has not started yet.
        """
        parts = self._parts
        return watch_session_run(parts.record, parts.feed, parts.places.socket(session), session, after, here)

    async def wait_for_facts(self, session: str, after: int, timeout: float) -> bool:
        """Wait until a session has a fact after this number; return False if the time is up."""
        return await self._parts.record.changed(session, after, timeout)

    # --- steering --------------------------------------------------------------------------------

    async def say(self, session: str, text: str, to: Sequence[str] = (), by: str = "") -> Recorded:
        """Record a note to the table; the seats read it at their next turn."""
        return await self._record_words(session, NoteSaid(text, by=by or os_user_name(), to=tuple(to)))

    async def pause(self, session: str, by: str = "") -> Recorded:
        """Pause a session: no new turn starts."""
        return await self._parts.record.append(session, PauseAsked(by=by or os_user_name()))

    async def resume(self, session: str, by: str = "") -> Recorded:
        """Continue a paused session."""
        return await self._parts.record.append(session, ContinueAsked(by=by or os_user_name()))

    async def stop_program(self, session: str, by: str = "") -> Recorded:
        """Stop the program that a session is running; the session continues."""
        return await self._parts.record.append(session, StopAsked(by=by or os_user_name()))

    async def cancel(self, session: str, reason: str = "", by: str = "") -> Recorded:
        """Cancel a session and its child sessions at once; everything recorded is kept."""
        recorded = await self._record_words(session, CancelAsked(by=by or os_user_name(), reason=reason))
        for row in await self._parts.index.children(session):
            if not row.outcome and not row.forgotten_at:
                await self.cancel(row.id, reason, by)
        return recorded

    async def amend(self, session: str, amendment: SessionAmended) -> Recorded:
        """Record a change of the charter, which takes effect with the next round."""
        if amendment.name == LAST_SESSION:
            raise UsageError(
                f"A session cannot have the name {LAST_SESSION}: that name always means the newest session."
            )
        known = {seat.name for seat in (await self.get(session)).charter.seats}
        for name in (*amendment.seats_on, *amendment.seats_off):
            if name not in known:
                raise NotFound(f"There is no seat {name} at this table.", f"Seats: {', '.join(sorted(known))}.")
        by = amendment.by or os_user_name()
        return await self._record_words(session, msgspec.structs.replace(amendment, by=by))

    async def add_context(self, session: str, path: str, by: str = "") -> Recorded:
        """Show a file to the seats from the next round on."""
        from roundtable.app.opening.context_files import add_opening_context_file

        parts = self._parts
        parts.keys.learn_keychain_keys()
        item = await add_opening_context_file(parts.record, parts.redactor, parts.workspace, path)
        return await self.amend(session, SessionAmended(by=by or os_user_name(), context_added=(item,)))

    async def branch(self, session: str, before_round: str) -> str:
        """Open a session that shares the record up to a round and continues from there on its own."""
        from roundtable.app.records.branch import branch_session_before_round

        branch, opened = await branch_session_before_round(self._parts, session, before_round)
        await self._wiring.hooks.run_for(branch, opened)
        return branch

    async def rollback(self, session: str, stage: str, instructions: str = "") -> str:
        """Open a session that repeats a stage and all later ones, with added instructions for the stage."""
        from roundtable.app.records.branch import branch_session_before_stage

        self._parts.keys.learn_keychain_keys()
        branch, opened = await branch_session_before_stage(self._parts, session, stage, instructions)
        await self._wiring.hooks.run_for(branch, opened)
        return branch

    @staticmethod
    def check_rollback(session: Session, text: str) -> None:
        """Raise NotFound if the stage in `STAGE: INSTRUCTIONS` was not held."""
        from roundtable.app.records.branch import check_rollback_request_on_record

        check_rollback_request_on_record(session, text)

    @staticmethod
    def requested_rollback(session: Session) -> tuple[str, str] | None:
        """Return the stage and the instructions of a session that ended with `back`; None if it ended otherwise."""
        from roundtable.app.records.branch import find_rollback_request_on_record

        return find_rollback_request_on_record(session)

    async def _record_words(self, session: str, event: Event) -> Recorded:
        """Record an event with a person's own words, redacted with all known keys."""
        self._parts.keys.learn_keychain_keys()
        return await self._parts.record.append(session, event)

    # --- reports and exports ---------------------------------------------------------------------

    async def compare(self, first: Session, second: Session) -> SessionComparison:
        """Return what two sessions have in common and where they differ."""
        from roundtable.app.records.compare_sessions import compare_stored_sessions

        return await compare_stored_sessions(self._parts, first, second)

    @staticmethod
    async def recount(session: Session) -> Recount:
        """Return how the decision would differ without each seat."""
        from roundtable.app.records.recount_session import recount_stored_session

        return await recount_stored_session(session)

    @staticmethod
    async def render(
        session: Session, records: Sequence[Recorded], form: str, record: RoundRecord | None = None
    ) -> str:
        """Return a session, or one round of it, as `json`, `jsonl`, `html` or Markdown."""
        from roundtable.app.records.export import export_session_text

        return await export_session_text(session, records, form, record)

    async def render_report(self, session: Session, records: Sequence[Recorded], form: str) -> str:
        """Return the report on a session with stages, as `report-md` or `report-html`."""
        from roundtable.app.records.export import export_stage_report

        return await export_stage_report(self._parts.record, session, records, form)

    async def render_layout(self, session: Session, records: Sequence[Recorded], layout: str) -> dict[str, str]:
        """Return the files of an export layout by path."""
        from roundtable.app.records.export import export_session_layout_files

        return await export_session_layout_files(self._parts, session, records, layout)

    @staticmethod
    def write_files(folder: Path, files: Mapping[str, str], *, force: bool) -> Sequence[Path]:
        """Write exported files; unless `force` is set, none is written if one already exists."""
        from roundtable.app.records.export import write_export_files

        return write_export_files(folder, files, force=force)

    async def find_run(self, run: str) -> Session:
        """Return the session of any workspace that was first run at the time in this run id."""
        from roundtable.app.records.export import find_exported_session_by_run_id

        return await find_exported_session_by_run_id(self._parts, run)

    # --- housekeeping ----------------------------------------------------------------------------

    async def forget(self, session: str, by: str = "") -> None:
        """Remove a session from lists and release its name; its record is kept until it is old."""
        from roundtable.app.records.forget import forget_session

        await forget_session(self._parts, session, by)

    async def remove_old(self, max_age_days: int, *, dry_run: bool = False) -> RemovedSessions:
        """Remove the sessions of all workspaces that have not changed for this many days."""
        from roundtable.app.records.forget import forget_old_sessions

        return await forget_old_sessions(self._parts, self._wiring.memory, max_age_days, dry_run=dry_run)

    async def sync_folder(self) -> FolderWrite:
        """Write the workspace's `.roundtable/` folder again from the record."""
        parts, folder = self._parts, self._wiring.folder
        return await folder.sync(parts.record, parts.index, parts.recorded_workspace, self._wiring.list_memory_entries)

    @property
    def folder(self) -> WorkspaceFolder:
        """The `.roundtable/` folder of the workspace."""
        return self._wiring.folder
