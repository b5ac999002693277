"""A session as the tools return it: typed data for programs, text for models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roundtable.core.events import (
    CallFailed,
    CancelAsked,
    EffectDone,
    EffectFailed,
    Event,
    GateAnswered,
    GateOpened,
    LimitReached,
    MoveMade,
    NoteSaid,
    PauseAsked,
    Recorded,
    RoundClosed,
    RoundOpened,
    RunStopped,
    SeatMissed,
    SessionAmended,
    SessionEnded,
    StopAsked,
    TurnDelayed,
    event_kind,
)
from roundtable.core.ledger import Entry
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import Gate
from roundtable.doors.mcp.shapes import (
    DissentingSeat,
    MeetingFact,
    MeetingResult,
    MeetingStatus,
    MemoryEntry,
    MissingSeat,
    OpenGate,
)
from roundtable.report.costs import build_cost_report
from roundtable.report.phrases import (
    describe_counted_seats,
    describe_fault,
    describe_next_step,
    describe_position,
    describe_ratings,
    describe_shared_voice,
    describe_voice_substitutions,
    render_decision_text_heading,
    render_degraded_decision_heading,
    render_dissent_heading,
)
from roundtable.report.reasons import decision_sentence, describe_reached_limit, notice_sentences

LONGEST_LINE = 300
MOST_FACTS = 100


def build_mcp_meeting_status(
    session: Session, records: Iterable[Recorded], holder: str | None, trouble: str = ""
) -> MeetingStatus:
    """The state of a session; `records` are the events the reader does not know yet."""
    gate = next(iter(session.open_gates), None)
    status = mcp_meeting_status_word(session, holder)
    facts = [
        MeetingFact(record.seq, event_kind(record.event), sentence)
        for record in records
        if (sentence := render_mcp_event_line(record.event))
    ]
    return MeetingStatus(
        session=session.id,
        address=session.charter.slug,
        question=sanitize_line(session.charter.question, LONGEST_LINE),
        meeting=session.charter.meeting,
        status=status,
        seq=session.seq,
        facts=facts[-MOST_FACTS:],
        gate=None if gate is None else _open_gate(gate),
        result=_meeting_result(session),
        trouble=_stop_reason(session, trouble) if status == "stopped" else "",
        next=_next_action(session, status),
    )


def mcp_meeting_status_word(session: Session, holder: str | None) -> str:
    """The state in one word. Look up `holder` before the session, or a session that just ended seems stopped."""
    if session.ended:
        return "ended"
    if session.open_gates:
        return "waiting"
    if holder is None:
        return "stopped"
    return "paused" if session.paused else "running"


def _stop_reason(session: Session, trouble: str) -> str:
    return sanitize_line(trouble or (session.stopped.reason if session.stopped else ""), LONGEST_LINE)


def _next_action(session: Session, word: str) -> str:
    match word:
        case "ended":
            return ""
        case "waiting":
            return "Ask the person what they choose, then call answer_gate."
        case "stopped":
            return "No process runs this meeting. Call resume_meeting to continue it."
        case "paused":
            return "A person paused this meeting. Call resume_meeting to continue it."
        case _:
            return f"Call watch_meeting with after={session.seq} to wait for later events."


def _open_gate(gate: Gate) -> OpenGate:
    details = {name: sanitize_text(text) for name, text in gate.details.items()}
    return OpenGate(gate.id, sanitize_text(gate.question), list(gate.options), gate.default, details)


def _meeting_result(session: Session) -> MeetingResult | None:
    decision = session.decision
    if decision is None:
        return None
    total = build_cost_report(session).total
    return MeetingResult(
        degraded=decision.degraded,
        notices=[
            sanitize_text(notice)
            for notice in (
                *notice_sentences(decision),
                *describe_voice_substitutions(session),
                describe_shared_voice(session),
            )
            if notice
        ],
        missing=[
            MissingSeat(missing.seat, sanitize_text(describe_fault(missing.fault))) for missing in decision.missing
        ],
        outcome=str(decision.outcome),
        settled=decision.is_decided,
        position=sanitize_text(decision.position),
        how=sanitize_text(decision_sentence(decision)),
        text=sanitize_text(decision.text),
        author=decision.author,
        counted=list(decision.counted),
        electorate=list(decision.electorate),
        dissent=[
            DissentingSeat(
                dissent.seat,
                sanitize_text(dissent.position),
                sanitize_text(dissent.text),
                sanitize_text(dissent.prediction),
            )
            for dissent in decision.dissent
        ],
        next_step=decision.next_step,
        price=total.price,
        tokens=total.tokens,
        cost_usd=total.cost_usd,
    )


def build_mcp_memory_entry(entry: Entry) -> MemoryEntry:
    """An entry of the ledger."""
    text, reason, state = (sanitize_text(part) for part in (entry.text, entry.why, entry.state))
    question = sanitize_line(entry.question, LONGEST_LINE)
    return MemoryEntry(entry.id, str(entry.kind), text, reason, state, question, entry.slug or entry.session, entry.at)


# --- for models ----------------------------------------------------------------------------------


def render_mcp_meeting_text(status: MeetingStatus, session: Session) -> str:
    """The state of a meeting as text: warnings first, then new events, then what to do next."""
    return "\n".join(_meeting_lines(status, session))


def _meeting_lines(status: MeetingStatus, session: Session) -> Iterator[str]:
    if status.result is not None:
        yield from _result_lines(status.result, session)
        yield f"Session {status.address} ({status.session})."
        return
    yield f"Session {status.address} ({status.session}) is {status.status}."
    if status.trouble:
        yield f"Reason: {status.trouble}"
    for fact in status.facts:
        yield f"{fact.seq}. {fact.words}"
    if status.gate is not None:
        yield from _gate_lines(status.gate)
    if status.next:
        yield status.next


def render_mcp_memory_line(entry: MemoryEntry) -> str:
    """One entry of the memory in a line."""
    question = f" to: {sanitize_line(entry.question, LONGEST_LINE)}" if entry.question else ""
    reason = f" Why: {sanitize_line(entry.why, LONGEST_LINE)}" if entry.why else ""
    return f"{entry.id} ({entry.kind}, {entry.state}){question}: {sanitize_line(entry.text, LONGEST_LINE)}{reason}"


def _result_lines(result: MeetingResult, session: Session) -> Iterator[str]:
    assert session.decision is not None
    if result.degraded:
        yield render_degraded_decision_heading(session.decision)
    for missing in result.missing:
        yield f"No answer: {missing.seat}, {missing.why}"
    yield from result.notices
    heading = f"Decision {result.outcome}" if result.settled else f"No decision ({result.outcome})"
    yield f"{heading}: {sanitize_line(result.position)}" if result.position else heading
    yield f"{result.how} ({describe_counted_seats(session.decision)}: {', '.join(result.counted) or 'nobody'})"
    if result.text:
        yield render_decision_text_heading(result.author)
        yield _quote_lines(result.text)
    if result.dissent:
        yield f"{render_dissent_heading(session.decision)}:"
    for dissent in result.dissent:
        yield f"{dissent.seat}: {sanitize_line(dissent.position) or '(no position)'}"
        yield _quote_lines(dissent.text)
        if dissent.prediction:
            yield f"{dissent.seat} predicts: {sanitize_line(dissent.prediction)}"
    if next := describe_next_step(session.decision):
        yield next
    yield f"Cost: {result.price}, {result.tokens:,} tokens."


def _gate_lines(gate: OpenGate) -> Iterator[str]:
    yield f"Waiting at gate {gate.id}: {sanitize_line(gate.question)}"
    for option in gate.options:
        detail = sanitize_line(gate.details.get(option, ""), LONGEST_LINE)
        default = " (the default)" if option == gate.default else ""
        yield f"- {option}{default}{f': {detail}' if detail else ''}"


def _quote_lines(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def render_mcp_event_line(event: Event) -> str:
    """An event in one line; empty for events that need no mention."""
    return sanitize_line(_fact_sentence(event))


def _fact_sentence(event: Event) -> str:
    match event:
        case MoveMade() | SeatMissed() | CallFailed() | TurnDelayed():
            return _turn_sentence(event)
        case RoundOpened():
            return f"Round {event.round} opened with these seats: {', '.join(event.electorate)}."
        case RoundClosed():
            of = len(event.counted) + len(event.missing)
            return f"Round {event.round} closed: {len(event.counted)} of {of} seats answered."
        case LimitReached():
            return f"Stopped: {describe_reached_limit(event)}."
        case GateOpened():
            return f"Gate {event.gate.id} opened: {sanitize_line(event.gate.question, LONGEST_LINE)}"
        case EffectDone():
            return f"Step {event.step} is done."
        case EffectFailed():
            return f"Step {event.step} failed: {sanitize_line(event.fault.message, LONGEST_LINE)}"
        case RunStopped():
            return f"The run stopped: {sanitize_line(event.reason, LONGEST_LINE)}."
        case SessionEnded():
            return f"The meeting ended: {event.outcome}."
        case _:
            return _person_sentence(event)


def _turn_sentence(event: MoveMade | SeatMissed | CallFailed | TurnDelayed) -> str:
    match event:
        case TurnDelayed():
            return f"{event.seat} {event.words}."
        case MoveMade():
            ballot = f"ballot: {describe_ratings(event.verdict)}" if event.verdict.ratings else ""
            answer = ballot or describe_position(event.verdict) or event.text
            return f"{event.seat} in {event.round}: {sanitize_line(answer, LONGEST_LINE)}"
        case SeatMissed():
            reason = sanitize_line(describe_fault(event.fault), LONGEST_LINE)
            return f"{event.seat} did not answer in {event.round}: {reason}"
        case CallFailed():
            return f"A call of {event.seat} to {event.voice} failed: {sanitize_line(event.fault.message, LONGEST_LINE)}"


def _person_sentence(event: Event) -> str:
    match event:
        case NoteSaid():
            return f"{event.by or 'A person'} said: {sanitize_line(event.text, LONGEST_LINE)}"
        case GateAnswered():
            return f"{event.by or 'A person'} answered gate {event.gate} with option {event.option}."
        case PauseAsked():
            return f"{event.by or 'A person'} paused the meeting."
        case CancelAsked():
            return (
                f"{event.by or 'A person'} cancelled the meeting. {sanitize_line(event.reason, LONGEST_LINE)}".strip()
            )
        case StopAsked():
            return f"{event.by or 'A person'} stopped the program."
        case SessionAmended():
            return f"{event.by or 'A person'} amended the session."
        case _:
            return ""
