"""The project that a session came to: every version of every file with whose it is, and the way out of the record."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from roundtable.app.effects.deliver_project import ProjectDelivery
from roundtable.core.changeset import Draft
from roundtable.core.decide.stage_outcome import HandoverForm
from roundtable.core.effects import ProjectDelivered
from roundtable.core.events import Recorded
from roundtable.core.faults import NotFound
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.stage_history import (
    StageFileChange,
    final_stage_attempts,
    list_stage_attempts,
    list_stage_candidates,
    list_stage_file_changes,
)
from roundtable.core.stages import StageEnd
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Digest
from roundtable.workshop.edit.stored_drafts import DraftStore


class ProjectVersion(NamedTuple):
    """A version of the project, and what in it differs from what the stage began with.

    It is called after the attempt at the stage, and after the seat as well where it is what one seat wrote.
    """

    name: str
    end: StageEnd
    seat: str
    draft: Digest
    changes: tuple[StageFileChange, ...]


async def list_project_versions(store: Store, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
    """Every version there is, in the order of the stages; before each that was put together, what the seats wrote."""
    drafts = DraftStore(store)
    found: list[ProjectVersion] = []
    after: dict[str, Digest] = {}
    for name, end, _ in list_stage_attempts(records):
        last = next((draft for stage, draft in reversed(after.items()) if stage != end.stage and draft), "")
        before = await _draft(drafts, last)
        for candidate in list_stage_candidates(session, name):
            wrote = StageEnd(end.id, end.stage, end.attempt, end.how, base=candidate.seat)
            differs = list_stage_file_changes(before, await _draft(drafts, candidate.draft), wrote)
            found.append(ProjectVersion(candidate.name, wrote, candidate.seat, candidate.draft, differs))
        after[end.stage] = end.draft
        differs = list_stage_file_changes(before, await _draft(drafts, end.draft), end) if end.draft else ()
        found.append(ProjectVersion(name, end, "", end.draft or last, differs))
    return found


async def read_project_file(store: Store, all: Sequence[ProjectVersion], path: str, name: str = "") -> bytes:
    """One file as it is in a version; in the last one that was put together, unless another is named."""
    named = {version.name: version for version in all if version.draft}
    last = [version_name for version_name in named if not named[version_name].seat]
    if not last:
        raise no_project_error()
    version = named.get(name or last[-1])
    if version is None:
        raise NotFound(f"There is no version {sanitize_line(name, 80)}.", f"Choose one of {', '.join(named)}.")
    files = {file.path: file.after for file in (await DraftStore(store).load(version.draft)).files if file.after}
    if path not in files:
        near = get_close_matches(path, files, 1) or sorted(files)[:5]
        raise NotFound(
            f"{version.name} has no file {sanitize_line(path, 120)} of the table's.", f"See {', '.join(near)}."
        )
    return await store.fetch(files[path])


async def hand_over_project(
    store: Store, session: Session, records: Sequence[Recorded], form: HandoverForm, into: Path
) -> ProjectDelivered:
    """Hand the project over as it stands now, at the person's own command."""
    if not any(attempt.end.draft for attempt in final_stage_attempts(list_stage_attempts(records))):
        raise no_project_error()
    return await ProjectDelivery(DraftStore(store)).hand_over(session, records, form, into)


def no_project_error() -> NotFound:
    """What is said of a session without any files."""
    return NotFound(
        "This session has written no project so far.",
        "`roundtable sdlc` makes one; `roundtable export` writes what this session came to.",
    )


async def _draft(drafts: DraftStore, digest: Digest) -> Draft:
    return await drafts.load(digest) if digest else Draft()
