"""The project that a session made: its versions, their files, and handing it over to the person."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from roundtable.app.effects.deliver_project import ProjectDelivery
from roundtable.core.changeset import Draft
from roundtable.core.effects import ProjectDelivered
from roundtable.core.events import Recorded
from roundtable.core.faults import NotFound
from roundtable.core.handover import HandoverForm
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.stage_history import (
    StageFileChange,
    session_final_stage_attempts,
    session_stage_attempts,
    session_stage_candidates,
    session_stage_file_changes,
)
from roundtable.core.stages import StageEnd
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Digest
from roundtable.workshop.edit.stored_drafts import DraftStore


class ProjectVersion(NamedTuple):
    """A version of the project, with its changes to the version that the stage started from.

    The name is the attempt at the stage, followed by the seat if it is the candidate of one seat.
    """

    name: str
    end: StageEnd
    seat: str
    draft: Digest
    changes: tuple[StageFileChange, ...]


class SessionProjects:
    """The projects that sessions made, as the record has them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._drafts = DraftStore(store)

    async def list_versions(self, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
        """Return every version in the order of the stages; the candidates of the seats come before the merged one."""
        versions: list[ProjectVersion] = []
        merged: dict[str, Digest] = {}
        for name, end, _ in session_stage_attempts(records):
            base = next((draft for stage, draft in reversed(merged.items()) if stage != end.stage and draft), "")
            before = await self._load(base)
            for candidate in session_stage_candidates(session, name):
                seat_end = StageEnd(end.id, end.stage, end.attempt, end.how, base=candidate.seat)
                changes = session_stage_file_changes(before, await self._load(candidate.draft), seat_end)
                versions.append(ProjectVersion(candidate.name, seat_end, candidate.seat, candidate.draft, changes))
            merged[end.stage] = end.draft
            changes = session_stage_file_changes(before, await self._load(end.draft), end) if end.draft else ()
            versions.append(ProjectVersion(name, end, "", end.draft or base, changes))
        return versions

    async def require_versions(self, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
        """Return every version; raise NotFound if the session wrote no files."""
        versions = await self.list_versions(session, records)
        if not any(version.changes for version in versions):
            raise _no_project_error()
        return versions

    async def read_file(self, versions: Sequence[ProjectVersion], path: str, name: str = "") -> bytes:
        """Return one file of a version; of the last merged version unless another one is named."""
        by_name = {version.name: version for version in versions if version.draft}
        merged = [version_name for version_name, version in by_name.items() if not version.seat]
        if not merged:
            raise _no_project_error()
        version = by_name.get(name or merged[-1])
        if version is None:
            raise NotFound(f"There is no version {sanitize_line(name, 80)}.", f"Choose one of {', '.join(by_name)}.")
        files = {file.path: file.after for file in (await self._drafts.load(version.draft)).files if file.after}
        if path not in files:
            near = get_close_matches(path, files, 1) or sorted(files)[:5]
            raise NotFound(
                f"Version {version.name} of the project has no file {sanitize_line(path, 120)}.",
                f"See {', '.join(near)}.",
            )
        return await self._store.fetch(files[path])

    async def hand_over(
        self, session: Session, records: Sequence[Recorded], form: HandoverForm, into: Path
    ) -> ProjectDelivered:
        """Write the newest version of the project to a folder, because the person asked for it."""
        if not any(attempt.end.draft for attempt in session_final_stage_attempts(session_stage_attempts(records))):
            raise _no_project_error()
        return await ProjectDelivery(self._drafts).hand_over(session, records, form, into)

    async def _load(self, digest: Digest) -> Draft:
        return await self._drafts.load(digest) if digest else Draft()


def _no_project_error() -> NotFound:
    return NotFound(
        "This session has not written a project.",
        "`roundtable sdlc` makes a project; `roundtable export` writes a report on any session.",
    )
