"""Two sessions of the record held against each other, with the files that each of them came to."""

from __future__ import annotations

from collections.abc import Mapping

from roundtable.app.parts import Parts
from roundtable.core.changeset import DraftFile
from roundtable.core.session import Session
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.report.comparison import ProjectFiles, SessionComparison, summarize_session_differences
from roundtable.workshop.edit.stored_drafts import DraftStore


async def compare_stored_sessions(parts: Parts, first: Session, second: Session) -> SessionComparison:
    """What is the same in both, and what is not."""
    ours, theirs = await _drafted(parts, first), await _drafted(parts, second)
    ends = (*list_stage_ends(first), *list_stage_ends(second))
    drafts = {end.draft: await DraftStore(parts.record).load(end.draft) for end in ends if end.draft}
    return summarize_session_differences(first, second, (_standing(ours, theirs), _standing(theirs, ours)), drafts)


async def _drafted(parts: Parts, session: Session) -> dict[str, DraftFile]:
    files = await DraftStore(parts.record).load_files(StageEnd.latest_draft(list_stage_ends(session)))
    return {file.path: file for file in files}


def _standing(own: Mapping[str, DraftFile], other: Mapping[str, DraftFile]) -> ProjectFiles:
    """What stands in every file that either wrote; one that this line did not touch is as the other found it."""
    return {path: own[path].after if path in own else other[path].before for path in (*own, *other)}
