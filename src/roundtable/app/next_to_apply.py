"""Which session a person means who wants something carried out and does not say what."""

from __future__ import annotations

from roundtable.app.agenda import Agenda
from roundtable.app.desk import Roundtable
from roundtable.app.to_apply import to_apply
from roundtable.core.effects import Applied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.session import Session


async def newest_to_apply(desk: Roundtable) -> Session:
    """The newest session here that decided something nobody has carried out yet."""
    carried_out: set[str] = set()
    for row in await desk.sessions(limit=None):
        if row.child or row.forgotten_at or not row.outcome or row.id in carried_out:
            continue
        session = await desk.session(row.id)
        if any(isinstance(it, Applied) for it in session.results.values()):
            carried_out.add(str(session.charter.settings.get("of", "")))
            continue
        try:
            to_apply(session, Agenda(""))
        except UsageError:
            continue
        return session
    raise NotFound(
        "Nothing was decided here that could be carried out.",
        'Decide something first: roundtable discuss "…", or have it built: roundtable build "…".',
    )
