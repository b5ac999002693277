"""From a session that decided something to the meeting that carries it out: who writes, and what it is told."""

from __future__ import annotations

import msgspec

from roundtable.app.opening.agenda import Agenda
from roundtable.core.change_history import encode_draft_authors
from roundtable.core.decide.lead import LeadSeat, decide_executor_seat
from roundtable.core.effects import ApplyChange, ChangeApplied, PlanChange
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.reasons import LeadReason
from roundtable.core.session import Session
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.values import DECISION_CONTEXT_NAME, Decision, Digest, Outcome, Quorum, Right, Seat
from roundtable.report.change_words import describe_draft_doubt
from roundtable.report.reasons import LEAD_REASON_WORDS
from roundtable.report.stage_words import summarize_stage_history

APPLY_MEETING = "apply"


def build_apply_meeting_agenda(decided: Session, wanted: Agenda) -> Agenda:
    """What the person wants, filled in from the session it is about. Only who carries it out must be there."""
    decision = _decision(decided)
    seats = wanted.seats or decided.seats
    draft = _find_unwritten_draft(decided)
    author = decision.author if decision.author in {seat.name for seat in seats} else ""
    lead = _named(str(wanted.settings.get("by", "")), seats) or _lead(decided, seats, author if draft else "")
    told = f"{_words(decided, decision)}\n\n{lead.seat} carries it out: {LEAD_REASON_WORDS[lead.why]}."
    of = {"of": session_display_name(decided), "position": decision.position, "draft": draft, "by": lead.seat}
    task_only = {"task_only": True} if decision.task_only else {}
    if draft:
        of |= {"wrote": encode_draft_authors(decided, draft), "body": summarize_stage_history(list_stage_ends(decided))}
        of |= {"doubt": describe_draft_doubt(decided, draft, decision.author)}
    return msgspec.structs.replace(
        wanted,
        question=decided.charter.question,
        seats=seats,
        meeting=APPLY_MEETING,
        settings={**wanted.settings, **of, **task_only},
        limits=wanted.limits and msgspec.structs.replace(wanted.limits, quorum=Quorum(1, essential=(lead.seat,))),
        told={DECISION_CONTEXT_NAME: told},
    )


def session_display_name(session: Session) -> str:
    """What a session is called in commits and by the one that carries it out."""
    return session.charter.slug or session.id


def _find_unwritten_draft(session: Session) -> Digest:
    """The draft that was planned last and never written, if there is one."""
    if find_standing_change(session):
        return ""
    undone = [
        effect for step, effect in session.effects.items() if isinstance(session.results.get(step), ChangeApplied)
    ]
    plans = [
        effect.draft for effect in undone or session.effects.values() if isinstance(effect, ApplyChange | PlanChange)
    ]
    return plans[-1] if plans else ""


def find_standing_change(session: Session) -> ChangeApplied | None:
    """What a session wrote to the workspace that was not undone since."""
    written = (
        result
        for result in session.results.values()
        if isinstance(result, ChangeApplied) and result.undo not in session.undone
    )
    return next(written, None)


def is_new_project_session(session: Session) -> bool:
    """Whether a session made a project from nothing: that is handed over whole, and changes no workspace."""
    return session.charter.starts_without_files and bool(StageEnd.latest_draft(list_stage_ends(session)))


def new_project_error(session: Session) -> UsageError:
    """How a person gets a project that was made from nothing."""
    return UsageError(
        f"{session.charter.slug} made a new project, which does not belong into this workspace.",
        f"To have it handed over: roundtable project {session.charter.slug} --to FOLDER",
    )


def already_applied_error(applied: ChangeApplied) -> UsageError:
    """That it was done, where, and how to have it done anew."""
    commit = f" ({applied.commit[:7]})" if applied.commit else ""
    return UsageError(
        f"This was carried out already, as change {applied.undo}{commit}.",
        f"To have it carried out anew, take it back first: roundtable undo {applied.undo}",
    )


def applied_and_undone_error(session: Session) -> UsageError:
    """That it was taken back, and how to have it written again."""
    return UsageError(
        f"{session.charter.slug} was carried out and undone.",
        f"To have it written again: roundtable apply {session.charter.slug}",
    )


def _decision(decided: Session) -> Decision:
    """What there is to carry out, or why there is nothing."""
    decision = decided.decision
    if decision is None:
        raise UsageError("This session has not decided anything yet.", "`roundtable resume` lets it go on.")
    if is_new_project_session(decided):
        raise new_project_error(decided)
    if applied := find_standing_change(decided):
        raise already_applied_error(applied)
    if decision.outcome is Outcome.REACHED or _find_unwritten_draft(decided):
        return decision
    raise UsageError(
        f"This session ended without a decision that could be carried out ({decision.outcome}).",
        "`roundtable show` says how it ended; `roundtable list` shows the others.",
    )


def _named(name: str, seats: tuple[Seat, ...]) -> LeadSeat | None:
    """The seat a person named, if it may."""
    if not name:
        return None
    seat = next((seat for seat in seats if seat.name == name), None)
    if seat is None:
        raise NotFound(f"There is no seat {name} at this table.", f"Seats: {', '.join(seat.name for seat in seats)}.")
    allowed = [seat.name for seat in seats if Right.EXECUTE in seat.rights]
    if allowed and name not in allowed:
        raise UsageError(f"{name} has no right to execute.", f"Name one of: {', '.join(allowed)}.")
    return LeadSeat(name, LeadReason.NAMED_BY_PERSON)


def _lead(decided: Session, seats: tuple[Seat, ...], author: str) -> LeadSeat:
    """Who wrote the draft; else whom the meeting had as its executor; else by right, score, capability and priority."""
    if author:
        return LeadSeat(author, LeadReason.OWN_DRAFT)
    if executing := str(decided.charter.settings.get("executor", "")):
        return _named(executing, seats) or LeadSeat(executing, LeadReason.EXECUTOR_OF_MEETING)
    scores: dict[str, float] = {}
    for record in decided.rounds.values():
        scores |= {
            move.seat: move.verdict.score
            for move in record.moves()
            if move.verdict.counts and move.verdict.score is not None
        }
    wrote = decided.decision.author if decided.decision else ""
    found = decide_executor_seat(scores or {wrote: 1.0}, seats, decided.charter.question)
    assert found is not None
    return found


def _words(decided: Session, decision: Decision) -> str:
    """The decision as its executor reads it, with what was said against it."""
    parts = [f"Asked: {decided.charter.question}", f"Decided: {decision.position}" if decision.position else ""]
    parts += [decision.text]
    parts += [f"Against it, {dissent.seat}: {dissent.position}" for dissent in decision.dissent]
    return "\n\n".join(filter(None, parts))
