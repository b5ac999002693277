"""A session as versioned plain data, for `show --format json` and `status --json`."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from roundtable.core.change_history import newest_session_candidates, newest_session_change
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.sanitize import sanitize_text
from roundtable.core.values import Decision, Seat
from roundtable.report.costs import CostLine, build_cost_report
from roundtable.report.reasons import decision_sentence, notice_sentences
from roundtable.report.second_opinion_run import render_second_opinion_run_id

_SUMMARY_VERSION = 1


def report_session_as_data(session: Session, *, texts: bool = False) -> dict[str, Any]:
    """The state of a session as plain data; with `texts`, also the words of the seats."""
    charter = session.charter
    states = session.seat_states
    newest = session.newest_round
    decision = session.decision
    data = {
        "v": _SUMMARY_VERSION,
        "id": session.id,
        "slug": charter.slug,
        "run_id": render_second_opinion_run_id(session),
        "name": session.name,
        "status": session.status,
        "degraded": decision is not None and decision.degraded,
        "question": charter.question,
        "options": list(charter.options),
        "meeting": charter.meeting,
        "workspace": charter.workspace,
        "parent": charter.parent,
        "recalled": [_all_fields(entry) for entry in charter.recalled],
        "context": [_all_fields(item) for item in charter.context],
        "seats": [_summarize_seat(seat, states[seat.name]) for seat in charter.seats],
        "round": newest.name if newest else None,
        "rounds": [report_round_as_data(record, texts=texts) for record in session.rounds.values()],
        "decision": None if decision is None else _summarize_decision(decision),
        "candidates": None if (candidates := newest_session_candidates(session)) is None else _all_fields(candidates),
        "change": _summarize_change(session),
        "usage": report_usage_as_data(session),
        "limits": _all_fields(session.limits),
        "limit_reached": [_all_fields(reached) for reached in session.limit_stops.values()],
        "open_gate": _all_fields(session.open_gates[0]) if session.open_gates else None,
        "open_gates": [_all_fields(gate) for gate in session.open_gates],
        "answers": {gate: {"option": answer.option, "by": answer.by} for gate, answer in session.answers.items()},
        "paused": session.paused,
        "ended": session.ended,
        "stopped": None if session.stopped is None else session.stopped.reason,
        "seq": session.seq,
        "opened_at": session.opened_at,
        "updated_at": session.updated_at,
    }
    return cast("dict[str, Any]", _sanitized(data))


def _summarize_decision(decision: Decision) -> dict[str, Any]:
    """A decision as plain data: `how` and `notices` are sentences, their `_reasons` the values with their codes."""
    fields = _all_fields(decision)
    return {
        **fields,
        "how": decision_sentence(decision),
        "how_reasons": fields["how"],
        "notices": list(notice_sentences(decision)),
        "notice_reasons": fields["notices"],
        "settled": decision.is_decided,
        "degraded": decision.degraded,
    }


def report_round_as_data(record: RoundRecord, *, texts: bool = False) -> dict[str, Any]:
    """One round as plain data."""
    closed = record.closed
    data = {
        "name": record.name,
        "secret": record.opened.turns.secret,
        "closed": None if closed is None else closed.how,
        "counted": [] if closed is None else list(closed.counted),
        "quorate": None if closed is None else closed.quorate,
        "turns": [_summarize_turn(record.turns[seat], texts) for seat in record.opened.order],
    }
    return cast("dict[str, Any]", _sanitized(data))


def report_usage_as_data(session: Session) -> dict[str, Any]:
    """The bill as plain data; `price` is in words."""
    bill = build_cost_report(session)
    return {
        "seats": {line.name: _summarize_cost_line(line) for line in bill.seats},
        "rounds": {line.name: _summarize_cost_line(line) for line in bill.rounds},
        "total": _summarize_cost_line(bill.total),
    }


def _summarize_change(session: Session) -> dict[str, Any] | None:
    """The plan with the origin of every hunk, the rehearsal and what was written; None without a plan."""
    change = newest_session_change(session)
    if change is None:
        return None
    hunks = [
        {**_all_fields(hunk.hunk), "written_by": hunk.wrote, "became": hunk.state, "approved_by": hunk.by}
        for hunk in change.hunks
    ]
    return {
        "plan": {**_all_fields(change.planned), "hunks": hunks},
        "took": [_all_fields(part) for part in change.took],
        "rehearsed": None if change.rehearsed is None else _all_fields(change.rehearsed),
        "applied": None if change.applied is None else _all_fields(change.applied),
        "undone": None if change.undone is None else _all_fields(change.undone),
    }


def _summarize_seat(seat: Seat, state: str) -> dict[str, Any]:
    return {"name": seat.name, "voices": list(seat.voices), "judge": seat.judge, "role": seat.role, "state": state}


def _summarize_turn(turn: Turn, texts: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"seat": turn.seat, "state": turn.state}
    if turn.move is not None:
        move = turn.move
        data |= {"voice": move.voice, "model": move.model, "seconds": move.timing.total}
        data |= {"position": move.verdict.position, "parse": str(move.verdict.parse)}
    elif turn.missed is not None:
        data["fault"] = msgspec.to_builtins(turn.missed.fault)
    if texts:
        data |= {"text": turn.move.text if turn.move else "", "partial": "" if turn.move else turn.partial}
    return data


def _summarize_cost_line(line: CostLine) -> dict[str, Any]:
    price_fields = {
        "cost_usd": line.cost_usd,
        "cached_share": line.cached_share,
        "priced": line.priced,
        "price": line.price,
    }
    return {"calls": line.calls, "failed": line.failed, **_all_fields(line.used), **price_fields}


def _all_fields(value: msgspec.Struct) -> dict[str, Any]:
    """Every field by name, including those the record omits because they have their default."""
    return {key: msgspec.to_builtins(item) for key, item in msgspec.structs.asdict(value).items()}


def _sanitized(data: object) -> object:
    match data:
        case str():
            return sanitize_text(data)
        case dict():
            return {key: _sanitized(item) for key, item in cast("dict[str, object]", data).items()}
        case list() | tuple():
            return [_sanitized(item) for item in cast("list[object]", data)]
        case _:
            return data
