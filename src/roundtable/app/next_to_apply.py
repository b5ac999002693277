"""Which session a person means who wants something carried out."""

from __future__ import annotations

from roundtable.app.agenda import Agenda
from roundtable.app.desk import Roundtable
from roundtable.app.to_apply import carried_out_already, is_new_project, project_instead, to_apply, what_stands
from roundtable.core.effects import Applied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.remembering import WRITING
from roundtable.core.session import Session


async def session_to_apply(desk: Roundtable, address: str) -> Session:
    """The session at this address, or the newest here that decided something nobody has carried out yet."""
    done = await _carried_out(desk)
    if address:
        named = await desk.session(await desk.find(address))
        if named.id in done and (applied := what_stands(done[named.id])):
            raise carried_out_already(applied)
        return named
    projects: list[Session] = []
    for row in await desk.sessions(limit=None):
        if row.child or row.forgotten_at or not row.outcome or row.id in done:
            continue
        session = await desk.session(row.id)
        projects += [session] if is_new_project(session) else []
        try:
            to_apply(session, Agenda(""))
        except UsageError:
            continue
        return session
    for writer in done.values():
        if applied := what_stands(writer):
            raise carried_out_already(applied)
    if projects:
        raise project_instead(projects[0])
    raise NotFound(
        "Nothing was decided here that could be carried out.",
        'Decide something first: roundtable discuss "…", or have it built: roundtable build "…".',
    )


async def _carried_out(desk: Roundtable) -> dict[str, Session]:
    """The session that wrote what was decided, newest first: under its own id and that of the one it carried out."""
    found: dict[str, Session] = {}
    for row in await desk.sessions(limit=None):
        if row.meeting not in WRITING or row.forgotten_at:
            continue
        session = await desk.session(row.id)
        if any(isinstance(it, Applied) for it in session.results.values()):
            found.setdefault(session.id, session)
            found.setdefault(str(session.charter.settings.get("of", "")), session)
    return found
