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
from roundtable.core.text.sanitize import clean, one_line
from roundtable.core.values import Gate
from roundtable.doors.mcp.shapes import Dissenter, Fact, Meeting, Missing, OpenGate, Remembered, Result
from roundtable.report.costs import costs
from roundtable.report.phrases import (
    counted,
    degraded,
    fault_line,
    minority,
    next_step,
    one_model,
    rates,
    stands_for,
    substitutions,
    whose_words,
)

LONGEST = 300
MOST_FACTS = 100


def meeting(session: Session, records: Iterable[Recorded], holder: str | None, trouble: str = "") -> Meeting:
    """Where a session stands, with what `records` add to what the reader knows."""
    gate = session.open_gate
    stands = status(session, holder)
    facts = [Fact(it.seq, event_kind(it.event), said) for it in records if (said := words(it.event))]
    return Meeting(
        session=session.id,
        address=session.charter.slug,
        question=one_line(session.charter.question, LONGEST),
        meeting=session.charter.meeting,
        status=stands,
        seq=session.seq,
        facts=facts[-MOST_FACTS:],
        gate=None if gate is None else _gate(gate),
        result=_result(session),
        trouble=_trouble(session, trouble) if stands == "stopped" else "",
        next=_next(session, stands),
    )


def status(session: Session, holder: str | None) -> str:
    """One word; `holder` must have been looked up before the session was, or one that ends just now seems stopped."""
    if session.ended:
        return "ended"
    if session.open_gate is not None:
        return "waiting"
    if holder is None:
        return "stopped"
    return "paused" if session.paused else "running"


def _trouble(session: Session, trouble: str) -> str:
    return one_line(trouble or (session.stopped.reason if session.stopped else ""), LONGEST)


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
    details = {name: clean(text) for name, text in gate.details.items()}
    return OpenGate(gate.id, clean(gate.question), list(gate.options), gate.default, details)


def _result(session: Session) -> Result | None:
    decision = session.decision
    if decision is None:
        return None
    total = costs(session).total
    return Result(
        degraded=decision.degraded,
        notices=[clean(it) for it in (*decision.notices, *substitutions(session), one_model(session)) if it],
        missing=[Missing(it.seat, clean(fault_line(it.fault))) for it in decision.missing],
        outcome=str(decision.outcome),
        settled=decision.settled,
        position=clean(decision.position),
        how=clean(decision.how),
        text=clean(decision.text),
        author=decision.author,
        counted=list(decision.counted),
        electorate=list(decision.electorate),
        dissent=[
            Dissenter(it.seat, clean(it.position), clean(it.text), clean(it.prediction)) for it in decision.dissent
        ],
        next_step=decision.next_step,
        price=total.price,
        tokens=total.tokens,
        cost_usd=total.cost_usd,
    )


def remembered(entry: Entry) -> Remembered:
    """What an earlier meeting left behind."""
    text, why, state = (clean(part) for part in (entry.text, entry.why, entry.state))
    asked = one_line(entry.question, LONGEST)
    return Remembered(entry.id, str(entry.kind), text, why, state, asked, entry.slug or entry.session, entry.at)


# --- for models ----------------------------------------------------------------------------------


def in_words(shown: Meeting, session: Session) -> str:
    """The same as text: what must not be overlooked first, then what is new, then what to do."""
    return "\n".join(_lines(shown, session))


def _lines(shown: Meeting, session: Session) -> Iterator[str]:
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


def memory_words(it: Remembered) -> str:
    """One thing remembered, in a line."""
    asked = f" to: {one_line(it.question, LONGEST)}" if it.question else ""
    why = f" Why: {one_line(it.why, LONGEST)}" if it.why else ""
    return f"{it.id} ({it.kind}, {it.state}){asked}: {one_line(it.text, LONGEST)}{why}"


def _result_lines(result: Result, session: Session) -> Iterator[str]:
    assert session.decision is not None
    if result.degraded:
        yield degraded(session.decision)
    for missing in result.missing:
        yield f"Not heard: {missing.seat}, {missing.why}"
    yield from result.notices
    decided = f"Decision {result.outcome}" if result.settled else f"No decision ({result.outcome})"
    yield f"{decided}: {one_line(result.position)}" if result.position else decided
    yield f"{result.how} ({counted(session.decision)}: {', '.join(result.counted) or 'nobody'})"
    if result.text:
        yield whose_words(result.author)
        yield _quoted(result.text)
    if result.dissent:
        yield f"{minority(session.decision)}:"
    for it in result.dissent:
        yield f"{it.seat}: {one_line(it.position) or '(no position)'}"
        yield _quoted(it.text)
        if it.prediction:
            yield f"{it.seat} predicts: {one_line(it.prediction)}"
    if next := next_step(session.decision):
        yield next
    yield f"Cost: {result.price}, {result.tokens:,} tokens."


def _gate_lines(gate: OpenGate) -> Iterator[str]:
    yield f"It waits at gate {gate.id}: {one_line(gate.question)}"
    for option in gate.options:
        detail = one_line(gate.details.get(option, ""), LONGEST)
        default = " (the default)" if option == gate.default else ""
        yield f"- {option}{default}{f': {detail}' if detail else ''}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def words(event: Event) -> str:
    """A fact in one line; empty for what goes without saying."""
    return one_line(_words(event))


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
            return event.sentence
        case GateOpened():
            return f"Gate {event.gate.id} opened: {one_line(event.gate.question, LONGEST)}"
        case EffectDone():
            return f"Done: {event.step}."
        case EffectFailed():
            return f"{event.step} failed: {one_line(event.fault.message, LONGEST)}"
        case RunStopped():
            return f"The run stopped: {one_line(event.reason, LONGEST)}."
        case SessionEnded():
            return f"The meeting ended: {event.outcome}."
        case _:
            return _person_words(event)


def _turn_words(event: MoveMade | SeatMissed | CallFailed | TurnDelayed) -> str:
    match event:
        case TurnDelayed():
            return f"{event.seat} {event.words}."
        case MoveMade():
            ballot = f"ballot: {rates(event.verdict)}" if event.verdict.ratings else ""
            said = ballot or stands_for(event.verdict) or event.text
            return f"{event.seat} in {event.round}: {one_line(said, LONGEST)}"
        case SeatMissed():
            why = one_line(fault_line(event.fault), LONGEST)
            return f"{event.seat} was not heard in {event.round}: {why}"
        case CallFailed():
            return f"{event.seat}, through {event.voice}: {one_line(event.fault.message, LONGEST)}"


def _person_words(event: Event) -> str:
    match event:
        case NoteSaid():
            return f"{event.by or 'A person'} said: {one_line(event.text, LONGEST)}"
        case GateAnswered():
            return f"Gate {event.gate} was answered with {event.option} by {event.by or 'a person'}."
        case PauseAsked():
            return f"{event.by or 'A person'} paused the meeting."
        case CancelAsked():
            return f"{event.by or 'A person'} cancelled the meeting. {one_line(event.reason, LONGEST)}".strip()
        case StopAsked():
            return f"{event.by or 'A person'} stopped the program."
        case SessionAmended():
            return f"{event.by or 'A person'} amended the session."
        case _:
            return ""
