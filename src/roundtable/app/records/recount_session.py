"""A decision counted again: the meeting's own rules are held over its record without each seat in turn."""

from __future__ import annotations

from roundtable.app.opening.meeting_catalog import find_charter_meeting
from roundtable.core.faults import ConfigError, NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Decision
from roundtable.engine.replay import NotOnRecord, replay_recorded_asks
from roundtable.meetings import Meeting
from roundtable.report.recount import Recount, SeatAbsence, build_recount_report, summarize_seat_absence


async def recount_stored_session(session: Session) -> Recount:
    """Everything the record tells of how the decision would have gone otherwise."""
    decision = session.decision
    if decision is None:
        raise UsageError("This session has no decision yet, so there is nothing to count again.", "`roundtable resume`")
    seats = [seat.name for seat in session.charter.seats]
    try:
        rules = find_charter_meeting(session.charter)
        obstacle = await _obstacle(session, decision, rules)
    except (NotFound, ConfigError) as gone:
        return build_recount_report(session, dict.fromkeys(seats, SeatAbsence(None, why=gone.message)))
    if obstacle:
        return build_recount_report(session, dict.fromkeys(seats, SeatAbsence(None, why=obstacle)))
    return build_recount_report(session, {seat: await _without(session, decision, rules, seat) for seat in seats})


async def _obstacle(session: Session, decision: Decision, rules: Meeting) -> str:
    """Why these rules say nothing about this record, if they do not: with everybody, they must come to what was."""
    charter = session.charter
    if rules.version != charter.version:
        return f"It was held as {charter.meeting} version {charter.version}, and the rules have changed since."
    if len(charter.seats) <= rules.minimum_seats:
        return f"The meeting {rules.name} needs at least {rules.minimum_seats} seats."
    again = await _without(session, decision, rules, "")
    return again.why if again.changed is None else "The meeting's rules did not decide it." if again.changed else ""


async def _without(session: Session, decision: Decision, rules: Meeting, seat: str) -> SeatAbsence:
    try:
        return summarize_seat_absence(decision, await replay_recorded_asks(session, rules.hold, {seat}), seat)
    except NotOnRecord as untold:
        return SeatAbsence(None, why=str(untold))
