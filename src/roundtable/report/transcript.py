"""A session as a document: the decision first, then how it came about. Words of seats are quoted, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from roundtable.core.events import NoteSaid
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.quotation import inline, quoted, table
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Decision
from roundtable.report import phrases, provenance
from roundtable.report.costs import Cost, costs
from roundtable.report.status import status_words

TITLE = 100


def transcript(session: Session) -> str:
    """The whole session in Markdown."""
    return _document(_whole(session))


def round_transcript(record: RoundRecord) -> str:
    """One round of it."""
    return _document(_round(record))


def topic(session: Session) -> str:
    """The question, and who was to answer it how."""
    return _document([*_topic(session), f"{_held(session)}, {phrases.opened(session)}"])


def discussion(session: Session) -> str:
    """Every round, and what people said and changed."""
    return _document(list(_discussion(session)) or ["Nothing was said yet."])


def decisions(session: Session) -> str:
    """The decision with its votes and its dissent."""
    if session.decision is None:
        return _document([f"No decision yet: {status_words(session)}."])
    return _document([*_caveats(session), *_decision(session.decision)])


def bill(session: Session) -> str:
    """What it cost by seat, by round and in all, as one table."""
    return _document(list(_bill(session)) or ["Nothing was asked yet."])


def _document(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _whole(session: Session) -> Iterator[str]:
    yield from _heading(session)
    if session.decision is not None:
        yield from _decision(session.decision)
    yield from _change(session)
    yield from _discussion(session)
    yield from _bill(session)


def _heading(session: Session) -> Iterator[str]:
    yield from _topic(session)
    facts = [f"**{session.status}**", status_words(session), _held(session), phrases.opened(session)]
    yield " · ".join([*facts, *(inline(name) for name in (session.name, session.charter.slug) if name)])
    yield from _caveats(session)


def _topic(session: Session) -> Iterator[str]:
    charter = session.charter
    yield f"# {inline(charter.question, TITLE) or inline(charter.slug)}"
    if one_line(charter.question, TITLE) != charter.question:
        yield quoted(charter.question)
    if charter.options:
        yield f"Options: {_listed(charter.options)}"
    yield from map(inline, phrases.surroundings(charter))


def _held(session: Session) -> str:
    return f"{inline(session.charter.meeting)} of {_listed(seat.name for seat in session.charter.seats)}"


def _caveats(session: Session) -> Iterator[str]:
    """What must be known before the decision is read."""
    if session.decision is not None and session.decision.degraded:
        yield f"**{phrases.degraded(session.decision)}**"
        yield _notices(session.decision)
    if lines := [*phrases.substitutions(session), *filter(None, (phrases.one_model(session),))]:
        yield "\n".join(f"- {inline(line)}" for line in lines)


def _discussion(session: Session) -> Iterator[str]:
    if session.rounds or session.notes:
        yield "## Rounds"
    for item in phrases.in_order(session):
        yield from _note(item) if isinstance(item, NoteSaid) else _round(item)
    yield from _gates(session)
    if lines := phrases.changes(session):
        yield "## On the way"
        yield "\n".join(f"- {inline(line)}" for line in lines)


def _notices(decision: Decision) -> str:
    missing = [f"Not heard: **{inline(it.seat)}**, {inline(phrases.fault_line(it.fault))}" for it in decision.missing]
    return "\n".join(f"- {line}" for line in (*missing, *(inline(notice) for notice in decision.notices)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(inline(name) for name in names)


def _decision(decision: Decision) -> Iterator[str]:
    yield "## Decision"
    who = f" ({phrases.counted(decision)}: {_listed(decision.counted) or 'nobody'})" if decision.electorate else ""
    yield f"**{phrases.outcome(decision)}**: {inline(decision.how)}{who}"
    if decision.position:
        yield f"**{': '.join(inline(it) for it in (decision.winner, decision.position) if it)}**"
    if decision.text:
        yield phrases.whose_words(f"**{inline(decision.author)}**" if decision.author else "")
        yield quoted(decision.text)
    if not phrases.put_together(decision):
        yield from _sides(decision)
    if decision.conformity:
        yield f"Changed without a named reason, so counted at the blind position: {_listed(decision.conformity)}."
    if decision.basis:
        yield f"Rests on: {_listed(decision.basis)}."


def _sides(decision: Decision) -> Iterator[str]:
    if decision.proposals:
        yield f"### {phrases.proposals(decision)}"
        yield _votes(decision)
    if decision.dissent:
        yield f"### {phrases.minority(decision)}"
    for dissent in decision.dissent:
        position = inline(dissent.position) or "(no position)"
        yield f"**{inline(dissent.seat)}** stands for: {position}"
        if words := phrases.argument(dissent):
            yield quoted(words)


def _votes(decision: Decision) -> str:
    votes = phrases.votes(decision)
    rows = [
        (
            f"**{inline(it.id)}**" if it.id == decision.winner else inline(it.id),
            inline(it.text),
            _listed(it.authors) or "–",
            *(str(count.get(it.id, 0)) for count in votes.values()),
        )
        for it in decision.proposals
    ]
    return table(("", *phrases.PROPOSAL_HEAD, *votes), rows)


def _note(note: NoteSaid) -> Iterator[str]:
    to = f" to {_listed(note.to)}" if note.to else ""
    yield f"**Note from {inline(note.by) or 'a person'}{to}:**"
    yield quoted(note.text)


def _round(record: RoundRecord) -> Iterator[str]:
    yield f"### {inline(record.name)}"
    yield f"*{phrases.heard(record)}*"
    for seat in record.opened.order:
        yield from _turn(record.turns[seat], phrases.offered(record.opened))


def _turn(turn: Turn, proposals: Mapping[str, str]) -> Iterator[str]:
    yield f"#### {inline(turn.seat)}"
    yield f"*{inline(phrases.marks(turn))}*"
    if turn.move is None:
        if turn.missed is not None:
            yield inline(phrases.fault_line(turn.missed.fault))
        if turn.partial:
            yield phrases.kept(turn)
            yield quoted(phrases.glimpse(turn.partial))
        return
    said = turn.move.verdict
    if position := phrases.stands_for(said, proposals):
        yield f"Stands for **{inline(position)}**"
    if reasons := phrases.because(said):
        yield f"Because: {inline(reasons)}"
    if weighed := phrases.weighs(said):
        yield inline(weighed)
    if said.ratings:
        yield f"Rates {inline(phrases.rates(said))}"
    words = phrases.speech(turn.move)
    if words or not said.ratings:
        yield quoted(words)


def _gates(session: Session) -> Iterator[str]:
    if session.gates:
        yield "## Gates"
    for gate in session.gates.values():
        said = session.answers.get(gate.id)
        answer = f"**{inline(said.option)}**, by {inline(said.by) or 'a person'}" if said else "*not answered*"
        question = f"**{inline(gate.id)}**: {inline(gate.question)}"
        yield f"{question} ({_listed(gate.options)}): {answer}"
        if said and said.text:
            yield quoted(provenance.said_words(said))


def _change(session: Session) -> Iterator[str]:
    """What was tried and what was written, hunk by hunk with where it comes from."""
    if tried := provenance.candidates(session):
        yield "## Candidates"
        yield _inline_table(provenance.CANDIDATE_HEAD, provenance.candidate_rows(tried))
        yield inline(tried.how)
    carried = provenance.carried(session)
    if carried is None:
        return
    yield "## The change"
    told = (*provenance.became_words(carried), *provenance.plan_lines(carried.planned))
    yield "\n".join(f"- {inline(line)}" for line in told)
    if carried.rehearsed and carried.rehearsed.checks:
        yield _inline_table(provenance.CHECK_HEAD, provenance.check_rows(carried.rehearsed))
    if carried.took:
        yield _inline_table(provenance.TOOK_HEAD, provenance.took_rows(carried.took))
    for it in carried.hunks:
        yield f"**{inline(it.hunk.id)}**: {inline(provenance.provenance_words(it))}"
        yield "\n".join(["```diff", *provenance.diff_lines(it.hunk), "```"])
        if it.rewritten:
            yield "\n".join(["As it was written instead:", "", "```diff", *it.rewritten, "```"])


def _inline_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return table(head, [tuple(map(inline, row)) for row in rows])


def _bill(session: Session) -> Iterator[str]:
    bill = costs(session)
    if bill.total.calls or bill.total.failed:
        yield "## Cost"
        rows = [_cost_row(line) for line in (*bill.seats, *bill.rounds, bill.total)]
        yield table(("", *phrases.COST_HEAD), rows)


def _cost_row(line: Cost) -> tuple[str, ...]:
    return (inline(line.name), *line.cells())
