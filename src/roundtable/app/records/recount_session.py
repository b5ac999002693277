"""Recounts the decision of a stored session: replays its record without each seat in turn."""

from __future__ import annotations

from roundtable.app.opening.meeting_catalog import MeetingCatalog
from roundtable.core.faults import ConfigError, NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.values import Decision
from roundtable.engine.replay import NotOnRecord, replay_recorded_asks
from roundtable.meetings import Meeting
from roundtable.report.recount import Recount, SeatAbsence, build_recount_report, report_decision_without_seat


async def recount_stored_session(session: Session) -> Recount:
    """Return how the decision would differ without each seat."""
    decision = session.decision
    if decision is None:
        raise UsageError("This session has no decision yet.", "Continue it with `roundtable resume`, then count again.")
    seats = [seat.name for seat in session.charter.seats]
    try:
        rules = MeetingCatalog.find_charter_meeting(session.charter)
        obstacle = await _find_obstacle(session, decision, rules)
    except (NotFound, ConfigError) as error:
        return build_recount_report(session, dict.fromkeys(seats, SeatAbsence(None, why=error.message)))
    if obstacle:
        return build_recount_report(session, dict.fromkeys(seats, SeatAbsence(None, why=obstacle)))
    return build_recount_report(
        session, {seat: await _replay_without(session, decision, rules, seat) for seat in seats}
    )


async def _find_obstacle(session: Session, decision: Decision, rules: Meeting) -> str:
    """Return why these rules cannot recount this record; empty if a replay with all seats repeats the decision."""
    charter = session.charter
    if rules.version != charter.version:
        return f"The rules of {charter.meeting} have changed since version {charter.version}, which this session used."
    if len(charter.seats) <= rules.minimum_seats:
        return f"The meeting {rules.name} needs at least {rules.minimum_seats} seats."
    replay = await _replay_without(session, decision, rules, "")
    if replay.changed is None:
        return replay.why
    return "This decision was not reached by the rules of the meeting." if replay.changed else ""


async def _replay_without(session: Session, decision: Decision, rules: Meeting, seat: str) -> SeatAbsence:
    try:
        return report_decision_without_seat(decision, await replay_recorded_asks(session, rules.hold, {seat}), seat)
    except NotOnRecord as missing:
        return SeatAbsence(None, why=str(missing))
