"""Which session a person means when they want something carried out."""

from __future__ import annotations

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.apply_source import (
    already_applied_error,
    applied_and_undone_error,
    build_apply_meeting_agenda,
    find_standing_change,
    is_new_project_session,
    new_project_error,
    session_display_name,
)
from roundtable.app.parts import Parts
from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Outcome
from roundtable.meetings import meeting_writes_files


async def find_session_to_apply(parts: Parts, address: str) -> Session:
    """The session at this address, or the newest here that decided something nobody has carried out yet.

    What a person took back or said no to is shown again only if they name it.
    """
    done = await _carried_out(parts)
    if address:
        named = await parts.read_session(await parts.find_session(address))
        writer = done.get(session_display_name(named)) or done.get(named.id)
        if writer and (applied := find_standing_change(writer)):
            raise already_applied_error(applied)
        return named
    projects: list[Session] = []
    for row in await parts.index.sessions(parts.recorded_workspace, None):
        if row.is_child or row.forgotten_at or not row.outcome or {row.slug, row.id} & done.keys():
            continue
        session = await parts.read_session(row.id)
        projects += [session] if is_new_project_session(session) else []
        if row.outcome == Outcome.REJECTED:
            continue
        try:
            build_apply_meeting_agenda(session, Agenda(""))
        except UsageError:
            continue
        return session
    if newest := next(iter(done.values()), None):
        applied = find_standing_change(newest)
        raise already_applied_error(applied) if applied else applied_and_undone_error(newest)
    if projects:
        raise new_project_error(projects[0])
    raise NotFound(
        "Nothing was decided here that could be carried out.",
        'Decide something first: roundtable discuss "…", or have it built: roundtable build "…".',
    )


async def _carried_out(parts: Parts) -> dict[str, Session]:
    """The session that wrote what was decided, newest first: under its own name and that of the one it carried out.

    What one wrote and a later one wrote again is the later one's.
    """
    found: dict[str, Session] = {}
    for row in await parts.index.sessions(parts.recorded_workspace, None):
        if not meeting_writes_files(row.meeting) or row.forgotten_at:
            continue
        session = await parts.read_session(row.id)
        if any(isinstance(result, ChangeApplied) for result in session.results.values()):
            writer = found.setdefault(session_display_name(session), session)
            if of := str(session.charter.settings.get("of", "")):
                found.setdefault(of, writer)
    return found
