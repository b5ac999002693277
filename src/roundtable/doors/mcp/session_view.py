"""A session as the tools tell it: typed for programs, and in short words for models. Nothing is decided here."""

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
from roundtable.report.costs import summarize_costs
from roundtable.report.phrases import (
    decision_text_heading,
    degraded_heading,
    describe_counted_seats,
    describe_fault,
    describe_next_step,
    describe_position,
    describe_ratings,
    describe_shared_voice,
    describe_substitutions,
    dissent_heading,
)
from roundtable.report.reasons import decision_sentence, limit_text, notice_sentences

LONGEST_LINE = 300
MOST_FACTS = 100


def build_meeting_status(
    session: Session, records: Iterable[Recorded], holder: str | None, trouble: str = ""
) -> MeetingStatus:
    """Where a session stands, with what `records` add to what the reader knows."""
    gate = next(iter(session.open_gates), None)
    stands = meeting_status_word(session, holder)
    facts = [MeetingFact(it.seq, event_kind(it.event), said) for it in records if (said := render_fact_line(it.event))]
    return MeetingStatus(
        session=session.id,
        address=session.charter.slug,
        question=sanitize_line(session.charter.question, LONGEST_LINE),
        meeting=session.charter.meeting,
        status=stands,
        seq=session.seq,
        facts=facts[-MOST_FACTS:],
        gate=None if gate is None else _gate(gate),
        result=_result(session),
        trouble=_trouble(session, trouble) if stands == "stopped" else "",
        next=_next(session, stands),
    )


def meeting_status_word(session: Session, holder: str | None) -> str:
    """One word; `holder` must have been looked up before the session was, or one that ends just now seems stopped."""
    if session.ended:
        return "ended"
    if session.open_gates:
        return "waiting"
    if holder is None:
        return "stopped"
    return "paused" if session.paused else "running"


def _trouble(session: Session, trouble: str) -> str:
    return sanitize_line(trouble or (session.stopped.reason if session.stopped else ""), LONGEST_LINE)


def _next(session: Session, word: str) -> str:
    match word:
        case "ended":
            return ""
        case "waiting":
            return "Ask the person what they choose, then call answer_gate."
        case "stopped":
            return "No process runs it; resume_meeting goes on with it."
        case "paused":
            return "A person paused it; resume_meeting lets it go on."
        case _:
            return f"Call watch_meeting with after={session.seq} to hear what follows."


def _gate(gate: Gate) -> OpenGate:
    details = {name: sanitize_text(text) for name, text in gate.details.items()}
    return OpenGate(gate.id, sanitize_text(gate.question), list(gate.options), gate.default, details)


def _result(session: Session) -> MeetingResult | None:
    decision = session.decision
    if decision is None:
        return None
    total = summarize_costs(session).total
    return MeetingResult(
        degraded=decision.degraded,
        notices=[
            sanitize_text(it)
            for it in (*notice_sentences(decision), *describe_substitutions(session), describe_shared_voice(session))
            if it
        ],
        missing=[MissingSeat(it.seat, sanitize_text(describe_fault(it.fault))) for it in decision.missing],
        outcome=str(decision.outcome),
        settled=decision.is_decided,
        position=sanitize_text(decision.position),
        how=sanitize_text(decision_sentence(decision)),
        text=sanitize_text(decision.text),
        author=decision.author,
        counted=list(decision.counted),
        electorate=list(decision.electorate),
        dissent=[
            DissentingSeat(it.seat, sanitize_text(it.position), sanitize_text(it.text), sanitize_text(it.prediction))
            for it in decision.dissent
        ],
        next_step=decision.next_step,
        price=total.price,
        tokens=total.tokens,
        cost_usd=total.cost_usd,
    )


def build_memory_entry(entry: Entry) -> MemoryEntry:
    """What an earlier meeting left behind."""
    text, why, state = (sanitize_text(part) for part in (entry.text, entry.why, entry.state))
    asked = sanitize_line(entry.question, LONGEST_LINE)
    return MemoryEntry(entry.id, str(entry.kind), text, why, state, asked, entry.slug or entry.session, entry.at)


# --- for models ----------------------------------------------------------------------------------


def render_meeting_text(shown: MeetingStatus, session: Session) -> str:
    """The same as text: what must not be overlooked first, then what is new, then what to do."""
    return "\n".join(_lines(shown, session))


def _lines(shown: MeetingStatus, session: Session) -> Iterator[str]:
    if shown.result is not None:
        yield from _result_lines(shown.result, session)
        yield f"Session {shown.address} ({shown.session})."
        return
    yield f"Session {shown.address} ({shown.session}) is {shown.status}."
    if shown.trouble:
        yield f"Why: {shown.trouble}"
    for fact in shown.facts:
        yield f"{fact.seq}. {fact.words}"
    if shown.gate is not None:
        yield from _gate_lines(shown.gate)
    if shown.next:
        yield shown.next


def render_memory_line(it: MemoryEntry) -> str:
    """One thing remembered, in a line."""
    asked = f" to: {sanitize_line(it.question, LONGEST_LINE)}" if it.question else ""
    why = f" Why: {sanitize_line(it.why, LONGEST_LINE)}" if it.why else ""
    return f"{it.id} ({it.kind}, {it.state}){asked}: {sanitize_line(it.text, LONGEST_LINE)}{why}"


def _result_lines(result: MeetingResult, session: Session) -> Iterator[str]:
    assert session.decision is not None
    if result.degraded:
        yield degraded_heading(session.decision)
    for missing in result.missing:
        yield f"Not heard: {missing.seat}, {missing.why}"
    yield from result.notices
    decided = f"Decision {result.outcome}" if result.settled else f"No decision ({result.outcome})"
    yield f"{decided}: {sanitize_line(result.position)}" if result.position else decided
    yield f"{result.how} ({describe_counted_seats(session.decision)}: {', '.join(result.counted) or 'nobody'})"
    if result.text:
        yield decision_text_heading(result.author)
        yield _quoted(result.text)
    if result.dissent:
        yield f"{dissent_heading(session.decision)}:"
    for it in result.dissent:
        yield f"{it.seat}: {sanitize_line(it.position) or '(no position)'}"
        yield _quoted(it.text)
        if it.prediction:
            yield f"{it.seat} predicts: {sanitize_line(it.prediction)}"
    if next := describe_next_step(session.decision):
        yield next
    yield f"Cost: {result.price}, {result.tokens:,} tokens."


def _gate_lines(gate: OpenGate) -> Iterator[str]:
    yield f"It waits at gate {gate.id}: {sanitize_line(gate.question)}"
    for option in gate.options:
        detail = sanitize_line(gate.details.get(option, ""), LONGEST_LINE)
        default = " (the default)" if option == gate.default else ""
        yield f"- {option}{default}{f': {detail}' if detail else ''}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def render_fact_line(event: Event) -> str:
    """A fact in one line; empty for what goes without saying."""
    return sanitize_line(_words(event))


def _words(event: Event) -> str:
    match event:
        case MoveMade() | SeatMissed() | CallFailed() | TurnDelayed():
            return _turn_words(event)
        case RoundOpened():
            return f"Round {event.round} opened: {', '.join(event.electorate)}."
        case RoundClosed():
            of = len(event.counted) + len(event.missing)
            return f"Round {event.round} closed: {len(event.counted)} of {of} answered."
        case LimitReached():
            return f"Stopped: {limit_text(event)}."
        case GateOpened():
            return f"Gate {event.gate.id} opened: {sanitize_line(event.gate.question, LONGEST_LINE)}"
        case EffectDone():
            return f"Done: {event.step}."
        case EffectFailed():
            return f"{event.step} failed: {sanitize_line(event.fault.message, LONGEST_LINE)}"
        case RunStopped():
            return f"The run stopped: {sanitize_line(event.reason, LONGEST_LINE)}."
        case SessionEnded():
            return f"The meeting ended: {event.outcome}."
        case _:
            return _person_words(event)


def _turn_words(event: MoveMade | SeatMissed | CallFailed | TurnDelayed) -> str:
    match event:
        case TurnDelayed():
            return f"{event.seat} {event.words}."
        case MoveMade():
            ballot = f"ballot: {describe_ratings(event.verdict)}" if event.verdict.ratings else ""
            said = ballot or describe_position(event.verdict) or event.text
            return f"{event.seat} in {event.round}: {sanitize_line(said, LONGEST_LINE)}"
        case SeatMissed():
            why = sanitize_line(describe_fault(event.fault), LONGEST_LINE)
            return f"{event.seat} was not heard in {event.round}: {why}"
        case CallFailed():
            return f"{event.seat}, through {event.voice}: {sanitize_line(event.fault.message, LONGEST_LINE)}"


def _person_words(event: Event) -> str:
    match event:
        case NoteSaid():
            return f"{event.by or 'A person'} said: {sanitize_line(event.text, LONGEST_LINE)}"
        case GateAnswered():
            return f"Gate {event.gate} was answered with {event.option} by {event.by or 'a person'}."
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
