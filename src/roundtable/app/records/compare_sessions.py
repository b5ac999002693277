"""Compares two stored sessions, with the files that each of them wrote."""

from __future__ import annotations

from collections.abc import Mapping

from roundtable.app.parts import Parts
from roundtable.core.changeset import DraftFile
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.report.comparison import ProjectFiles, SessionComparison, build_session_comparison_report
from roundtable.workshop.edit.stored_drafts import DraftStore


async def compare_stored_sessions(parts: Parts, first: Session, second: Session) -> SessionComparison:
    """Return what two sessions have in common and where they differ."""
    first_files, second_files = await _load_files(parts, first), await _load_files(parts, second)
    ends = (*session_stage_ends(first), *session_stage_ends(second))
    drafts = {end.draft: await DraftStore(parts.record).load(end.draft) for end in ends if end.draft}
    files = (_merge_files(first_files, second_files), _merge_files(second_files, first_files))
    return build_session_comparison_report(first, second, files, drafts)


async def _load_files(parts: Parts, session: Session) -> dict[str, DraftFile]:
    files = await DraftStore(parts.record).load_files(StageEnd.latest_draft(session_stage_ends(session)))
    return {file.path: file for file in files}


def _merge_files(own: Mapping[str, DraftFile], other: Mapping[str, DraftFile]) -> ProjectFiles:
    """Return the content of every file that either session wrote; a file that this one left alone is unchanged."""
    return {path: own[path].after if path in own else other[path].before for path in (*own, *other)}
