"""A session as a document: the decision first, then how it came about. Words of seats are quoted, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roundtable.core.events import NoteSaid
from roundtable.core.faults import Fault
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import Decision
from roundtable.core.views.clean import one_line
from roundtable.core.views.costs import Cost, costs
from roundtable.core.views.quoting import inline, quoted
from roundtable.core.views.states import INTERRUPTED, LATE, status_words, turn_state

TITLE = 100


def transcript(session: Session) -> str:
    """The whole session in Markdown."""
    parts = [
        *_heading(session),
        *(_decision(session.decision) if session.decision else ()),
        *_rounds(session),
        *_gates(session),
        *_changes(session),
        *_bill(session),
    ]
    return "\n\n".join(parts) + "\n"


def round_transcript(record: RoundRecord) -> str:
    """One round of it."""
    return "\n\n".join(_round(record)) + "\n"


def _heading(session: Session) -> Iterator[str]:
    charter = session.charter
    yield f"# {inline(charter.question, TITLE) or inline(charter.slug)}"
    if one_line(charter.question, TITLE) != charter.question:
        yield quoted(charter.question)
    if charter.options:
        yield "Options: " + ", ".join(inline(option) for option in charter.options)
    facts = [f"**{session.status}**", status_words(session), charter.meeting, _count(len(charter.seats), "seat")]
    names = [inline(name) for name in (session.name, charter.slug) if name]
    yield " · ".join([*facts, *names, f"opened {session.opened_at[:16].replace('T', ' ')} UTC"])
    if session.decision is not None and session.decision.degraded:
        yield _notice(session.decision)


def _notice(decision: Decision) -> str:
    """What stands above the text when the decision stands on less than it should."""
    lines = [f"**DEGRADED: {_counted(decision)}.**"]
    lines += [f"- Not heard: **{inline(it.seat)}**, {_fault(it.fault)}" for it in decision.missing]
    lines += [f"- {inline(notice)}" for notice in decision.notices]
    return f"{lines[0]}\n\n" + "\n".join(lines[1:])


def _counted(decision: Decision) -> str:
    return f"counted {len(decision.counted)} of {len(decision.electorate)}"


def _fault(fault: Fault) -> str:
    return f"{fault.kind.replace('_', ' ')}: {inline(fault.message)} {inline(fault.help)}".rstrip()


def _decision(decision: Decision) -> Iterator[str]:
    yield "## Decision"
    counted = ", ".join(inline(seat) for seat in decision.counted)
    yield f"**{decision.outcome}**: {inline(decision.how)} ({_counted(decision)}{': ' if counted else ''}{counted})"
    if decision.position:
        yield f"**{inline(decision.winner)}: {inline(decision.position)}**"
    if decision.text:
        yield f"In the words of **{inline(decision.author)}**:"
        yield quoted(decision.text)
    yield from _votes(decision)
    if decision.dissent:
        yield "### Minority report"
    for dissent in decision.dissent:
        yield f"**{inline(dissent.seat)}** stands for: {inline(dissent.position) or '(no position)'}"
        yield quoted(dissent.text)
    if decision.conformity:
        seats = ", ".join(inline(seat) for seat in decision.conformity)
        yield f"Changed without a named reason, so counted at the blind position: {seats}."
    if decision.basis:
        yield f"Rests on: {', '.join(inline(round) for round in decision.basis)}."


def _votes(decision: Decision) -> Iterator[str]:
    if not decision.proposals:
        return
    yield "### Votes"
    rows = [
        (
            f"**{inline(it.id)}**" if it.id == decision.winner else inline(it.id),
            inline(it.text),
            ", ".join(inline(author) for author in it.authors) or "–",
            str(decision.blind_vote.get(it.id, 0)),
            str(decision.tally.get(it.id, 0)),
        )
        for it in decision.proposals
    ]
    yield _table(("", "Proposal", "First from", "Blind vote", "Final"), rows)


def _rounds(session: Session) -> Iterator[str]:
    if session.rounds or session.notes:
        yield "## Rounds"
    notes = list(session.notes)
    for record in session.rounds.values():
        while notes and notes[0][0] < record.seq:
            yield from _note(notes.pop(0)[1])
        yield from _round(record)
    for _, note in notes:
        yield from _note(note)


def _note(note: NoteSaid) -> Iterator[str]:
    to = f" to {', '.join(inline(seat) for seat in note.to)}" if note.to else ""
    yield f"**Note from {inline(note.by) or 'a person'}{to}:**"
    yield quoted(note.text)


def _round(record: RoundRecord) -> Iterator[str]:
    yield f"### {inline(record.name)}"
    closed = record.closed
    if closed is None:
        yield "*Still open.*"
    else:
        quorum = "" if closed.quorate else " Not enough for the quorum."
        late = "" if closed.how == "all" else f" Closed by {closed.how}."
        yield f"*Counted {len(closed.counted)} of {len(record.opened.electorate)}.{late}{quorum}*"
    for seat in record.opened.order:
        yield from _turn(record.turns[seat])


def _turn(turn: Turn) -> Iterator[str]:
    state = turn_state(turn)
    made = turn.move
    if made is None:
        yield f"#### {inline(turn.seat)} ({state})"
        if turn.missed is not None:
            yield _fault(turn.missed.fault)
        if turn.partial:
            yield "Cut off in mid-answer:" if state == INTERRUPTED else "What it had said before it failed:"
            yield quoted(turn.partial)
        return
    marks = [f"via {inline(made.voice)}", f"{made.timing.total:.1f} s"]
    late = ", late and not counted" if state == LATE else ""
    yield f"#### {inline(turn.seat)}{late}"
    said = made.verdict
    marks += [f"{said.confidence:.0%} sure"] if said.confidence is not None else []
    marks += [] if said.counts else ["could not be read as a vote"]
    yield f"*{' · '.join(marks)}*"
    if said.target or said.position:
        yield f"Stands for: **{inline(' '.join(filter(None, (said.target, said.position))))}**"
    if said.ratings:
        yield "Rates: " + ", ".join(f"{inline(id)} {inline(word)}" for id, word in said.ratings.items())
    if made.text or not said.ratings:
        yield quoted(made.text)


def _gates(session: Session) -> Iterator[str]:
    if session.gates:
        yield "## Gates"
    for gate in session.gates.values():
        said = session.answers.get(gate.id)
        answer = f"**{inline(said.option)}**, by {inline(said.by) or 'a person'}" if said else "*not answered*"
        yield f"**{inline(gate.id)}**: {inline(gate.question)} ({', '.join(inline(it) for it in gate.options)}): {answer}"
        if said and said.text:
            yield quoted(said.text)


def _changes(session: Session) -> Iterator[str]:
    """What people changed on the way, and the bounds that were met."""
    lines = [f"- File added: {inline(item.name)} ({item.size:,} bytes)" for _, item in session.context_added]
    lines += [f"- File taken away: {inline(name)}" for name in sorted(session.context_removed)]
    lines += [f"- Seat switched off: {inline(name)}" for name in sorted(session.off)]
    lines += [f"- Renamed to {inline(session.name)}"] if session.name != session.charter.name else []
    lines += ["- Limits changed"] if session.limits_seq else []
    lines += [
        f"- Limit reached before {inline(it.round)}: {it.limit.replace('_', ' ')}, {it.spent:,.10g} of {it.allowed:,.10g}"
        for _, it in session.limit_stops.values()
    ]
    if session.cancel is not None:
        reason = f": {inline(session.cancel.reason)}" if session.cancel.reason else ""
        lines.append(f"- Cancelled by {inline(session.cancel.by) or 'a person'}{reason}")
    if lines:
        yield "## On the way"
        yield "\n".join(lines)


def _bill(session: Session) -> Iterator[str]:
    bill = costs(session)
    if not bill.total.calls:
        return
    yield "## Cost"
    rows = [_cost_row(line) for line in (*bill.seats, *bill.rounds)]
    head = ("", "Calls", "Tokens in", "Cached", "Tokens out", "Cost")
    yield _table(head, [*rows, _cost_row(bill.total, bold=True)])


def _cost_row(line: Cost, *, bold: bool = False) -> tuple[str, ...]:
    name = f"**{line.name}**" if bold else inline(line.name)
    return (name, str(line.calls), *(f"{n:,}" for n in (line.input_tokens, line.cached_tokens, line.output_tokens)), line.price)  # fmt: skip


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
