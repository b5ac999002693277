"""Finds the session whose decision is to be applied, and builds the agenda of the meeting that applies it."""

from __future__ import annotations

import msgspec

from roundtable.app.opening.agenda import Agenda
from roundtable.app.parts import Parts
from roundtable.core.change_history import encode_session_draft_authors
from roundtable.core.decide.lead import LeadSeat, decide_executor_seat
from roundtable.core.effects import ApplyChange, ChangeApplied, PlanChange
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.index import AppliedChange
from roundtable.core.reasons import LeadReason
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.values import DECISION_CONTEXT_NAME, Decision, Digest, Outcome, Quorum, Right, Seat
from roundtable.report.change_words import describe_draft_doubt
from roundtable.report.reasons import LEAD_REASON_WORDS
from roundtable.report.stage_words import describe_stage_history

APPLY_MEETING = "apply"
_PAGE = 50


async def find_opening_apply_source(parts: Parts, address: str) -> Session:
    """Return the session at this address, or the newest one here with a decision that nobody has applied or undone.

    A session whose change was undone or rejected must be named.
    """
    applied = await _applied_changes_by_source(parts)
    if address:
        named = await parts.read_session(await parts.find_session(address))
        changes = applied.get(_display_name(named)) or applied.get(named.id) or []
        if standing := next((change for change in changes if not change.undone), None):
            raise _already_applied_error(standing.change, standing.commit)
        return named
    project: Session | None = None
    after: int | None = None
    while rows := await parts.index.sessions(parts.recorded_workspace, _PAGE, after=after):
        after = rows[-1].offset
        for row in rows:
            if row.is_child or not row.outcome or {row.slug, row.id} & applied.keys():
                continue
            session = await parts.read_session(row.id)
            project = project or (session if _made_new_project(session) else None)
            if row.outcome != Outcome.REJECTED and _has_something_to_apply(session):
                return session
    if newest := next(iter(applied.values()), None):
        raise _applied_error(newest)
    if project:
        raise _new_project_error(project)
    raise NotFound(
        "This workspace has no decision that can be applied.",
        'Hold a meeting with `roundtable discuss "…"`, or build a change with `roundtable build "…"`.',
    )


async def _applied_changes_by_source(parts: Parts) -> dict[str, list[AppliedChange]]:
    """Return the changes that apply a decision, by the session that decided and by the one that wrote, newest first.

    If a later session wrote the change of an earlier one again, the later one counts for both.
    """
    by_session: dict[str, list[AppliedChange]] = {}
    for change in await parts.index.applied_changes(parts.recorded_workspace):
        by_session.setdefault(change.session.id, []).append(change)
    by_source: dict[str, list[AppliedChange]] = {}
    for changes in by_session.values():
        row = changes[0].session
        latest = by_source.setdefault(row.slug or row.id, changes)
        if row.applies:
            by_source.setdefault(row.applies, latest)
    return by_source


def build_opening_apply_agenda(decided: Session, wanted: Agenda) -> Agenda:
    """Return the agenda for applying a decision; what the person leaves out comes from the session that decided.

    Only the seat that applies the decision is essential.
    """
    decision = _decision_to_apply(decided)
    seats = wanted.seats or decided.seats
    draft = _find_unwritten_draft(decided)
    author = decision.author if decision.author in {seat.name for seat in seats} else ""
    lead = _named_lead(str(wanted.settings.get("by", "")), seats) or _choose_lead(
        decided, seats, author if draft else ""
    )
    context = (
        f"{_render_decision(decided, decision)}\n\n{lead.seat} carries out the decision: {LEAD_REASON_WORDS[lead.why]}."
    )
    source = {"of": _display_name(decided), "position": decision.position, "draft": draft, "by": lead.seat}
    task_only = {"task_only": True} if decision.task_only else {}
    if draft:
        source |= {
            "wrote": encode_session_draft_authors(decided, draft),
            "body": describe_stage_history(session_stage_ends(decided)),
            "doubt": describe_draft_doubt(decided, draft, decision.author),
        }
    return msgspec.structs.replace(
        wanted,
        question=decided.charter.question,
        seats=seats,
        meeting=APPLY_MEETING,
        settings={**wanted.settings, **source, **task_only},
        limits=wanted.limits and msgspec.structs.replace(wanted.limits, quorum=Quorum(1, essential=(lead.seat,))),
        extra_context={DECISION_CONTEXT_NAME: context},
    )


def _display_name(session: Session) -> str:
    return session.charter.slug or session.id


def _find_unwritten_draft(session: Session) -> Digest:
    """Return the last planned draft; empty if there is none or the change was written."""
    if _find_standing_change(session):
        return ""
    undone = [
        effect for step, effect in session.effects.items() if isinstance(session.results.get(step), ChangeApplied)
    ]
    plans = [
        effect.draft for effect in undone or session.effects.values() if isinstance(effect, ApplyChange | PlanChange)
    ]
    return plans[-1] if plans else ""


def _find_standing_change(session: Session) -> ChangeApplied | None:
    """Return the change that a session wrote to the workspace and that was not undone."""
    applied = (
        result
        for result in session.results.values()
        if isinstance(result, ChangeApplied) and result.undo not in session.undone
    )
    return next(applied, None)


def _made_new_project(session: Session) -> bool:
    """Return whether a session made a new project, which is delivered as a whole instead of applied here."""
    return session.charter.starts_without_files and bool(StageEnd.latest_draft(session_stage_ends(session)))


def _has_something_to_apply(session: Session) -> bool:
    try:
        build_opening_apply_agenda(session, Agenda(""))
    except UsageError:
        return False
    return True


def _new_project_error(session: Session) -> UsageError:
    return UsageError(
        f"Session {session.charter.slug} made a new project, which is not part of this workspace.",
        f"Write the project to a folder: roundtable project {session.charter.slug} --to FOLDER",
    )


def _already_applied_error(change: str, commit: str) -> UsageError:
    shown = f" ({commit[:7]})" if commit else ""
    return UsageError(
        f"This decision was already applied, as change {change}{shown}.",
        f"To apply it again, undo that change first: roundtable undo {change}",
    )


def _applied_error(changes: list[AppliedChange]) -> UsageError:
    """Return the error for the last applied decision: it is in the workspace, or it was undone."""
    if standing := next((change for change in changes if not change.undone), None):
        return _already_applied_error(standing.change, standing.commit)
    slug = changes[0].session.slug
    return UsageError(
        f"The change of session {slug} was applied and then undone.", f"To apply it again: roundtable apply {slug}"
    )


def _decision_to_apply(decided: Session) -> Decision:
    """Return the decision to apply, or raise UsageError if there is nothing to apply."""
    decision = decided.decision
    if decision is None:
        raise UsageError(
            "This session has no decision yet.", f"Continue the session: roundtable resume {_display_name(decided)}"
        )
    if _made_new_project(decided):
        raise _new_project_error(decided)
    if applied := _find_standing_change(decided):
        raise _already_applied_error(applied.undo, applied.commit)
    if decision.outcome is Outcome.REACHED or _find_unwritten_draft(decided):
        return decision
    raise UsageError(
        f"This session ended without a decision that can be applied (outcome: {decision.outcome}).",
        "`roundtable show` shows how it ended; `roundtable list` lists the other sessions.",
    )


def _named_lead(name: str, seats: tuple[Seat, ...]) -> LeadSeat | None:
    """Return the seat that the person named to apply the decision; None if they named none."""
    if not name:
        return None
    seat = next((seat for seat in seats if seat.name == name), None)
    if seat is None:
        raise NotFound(f"There is no seat {name} at this table.", f"Seats: {', '.join(seat.name for seat in seats)}.")
    allowed = [seat.name for seat in seats if Right.EXECUTE in seat.rights]
    if allowed and name not in allowed:
        raise UsageError(
            f"Seat {name} does not have the right to execute decisions.", f"Choose one of: {', '.join(allowed)}."
        )
    return LeadSeat(name, LeadReason.NAMED_BY_PERSON)


def _choose_lead(decided: Session, seats: tuple[Seat, ...], author: str) -> LeadSeat:
    """Choose the author of the draft, else the executor of the meeting, else by right, score and priority."""
    if author:
        return LeadSeat(author, LeadReason.OWN_DRAFT)
    if executor := str(decided.charter.settings.get("executor", "")):
        return _named_lead(executor, seats) or LeadSeat(executor, LeadReason.EXECUTOR_OF_MEETING)
    scores: dict[str, float] = {}
    for record in decided.rounds.values():
        scores |= {
            move.seat: move.verdict.score
            for move in record.moves()
            if move.verdict.counts and move.verdict.score is not None
        }
    winner = decided.decision.author if decided.decision else ""
    lead = decide_executor_seat(scores or {winner: 1.0}, seats, decided.charter.question)
    assert lead is not None
    return lead


def _render_decision(decided: Session, decision: Decision) -> str:
    """Return the decision and the dissent as the executor reads them."""
    parts = [f"Asked: {decided.charter.question}", f"Decided: {decision.position}" if decision.position else ""]
    parts += [decision.text]
    parts += [f"Against it, {dissent.seat}: {dissent.position}" for dissent in decision.dissent]
    return "\n\n".join(filter(None, parts))
