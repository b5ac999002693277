"""Which session a person means who wants something carried out."""

from __future__ import annotations

from roundtable.app.desk import Roundtable
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.apply_source import (
    carried_out_already,
    carried_out_and_undone,
    is_new_project,
    name_of,
    project_instead,
    to_apply,
    what_stands,
)
from roundtable.core.effects import Applied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Outcome
from roundtable.report.memory_entries import WRITING


async def session_to_apply(desk: Roundtable, address: str) -> Session:
    """The session at this address, or the newest here that decided something nobody has carried out yet.

    What a person took back or said no to is shown again only if they name it.
    """
    done = await _carried_out(desk)
    if address:
        named = await desk.session(await desk.find(address))
        writer = done.get(name_of(named)) or done.get(named.id)
        if writer and (applied := what_stands(writer)):
            raise carried_out_already(applied)
        return named
    projects: list[Session] = []
    for row in await desk.sessions(limit=None):
        if row.child or row.forgotten_at or not row.outcome or {row.slug, row.id} & done.keys():
            continue
        session = await desk.session(row.id)
        projects += [session] if is_new_project(session) else []
        if row.outcome == Outcome.REJECTED:
            continue
        try:
            to_apply(session, Agenda(""))
        except UsageError:
            continue
        return session
    if newest := next(iter(done.values()), None):
        applied = what_stands(newest)
        raise carried_out_already(applied) if applied else carried_out_and_undone(newest)
    if projects:
        raise project_instead(projects[0])
    raise NotFound(
        "Nothing was decided here that could be carried out.",
        'Decide something first: roundtable discuss "…", or have it built: roundtable build "…".',
    )


async def _carried_out(desk: Roundtable) -> dict[str, Session]:
    """The session that wrote what was decided, newest first: under its own name and that of the one it carried out.

    What one wrote and a later one wrote again is the later one's.
    """
    found: dict[str, Session] = {}
    for row in await desk.sessions(limit=None):
        if row.meeting not in WRITING or row.forgotten_at:
            continue
        session = await desk.session(row.id)
        if any(isinstance(it, Applied) for it in session.results.values()):
            writer = found.setdefault(name_of(session), session)
            if of := str(session.charter.settings.get("of", "")):
                found.setdefault(of, writer)
    return found
