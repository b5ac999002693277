"""A session as a document: the decision first, then how it came about. Words of seats are quoted, never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from roundtable.core.events import NoteSaid
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown, render_markdown_table
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision
from roundtable.report import phrases, provenance
from roundtable.report.costs import CostLine, summarize_costs
from roundtable.report.status import describe_session_status

LONGEST_TITLE = 100


def render_transcript(session: Session) -> str:
    """The whole session in Markdown."""
    return _document(_whole(session))


def render_round_transcript(record: RoundRecord) -> str:
    """One round of it."""
    return _document(_round(record))


def render_topic(session: Session) -> str:
    """The question, and who was to answer it how."""
    return _document([*_topic(session), f"{_held(session)}, {phrases.format_opening_time(session)}"])


def render_discussion(session: Session) -> str:
    """Every round, and what people said and changed."""
    return _document(list(_discussion(session)) or ["Nothing was said yet."])


def render_decision_document(session: Session) -> str:
    """The decision with its votes and its dissent."""
    if session.decision is None:
        return _document([f"No decision yet: {describe_session_status(session)}."])
    return _document([*_caveats(session), *_decision(session.decision)])


def render_cost_table(session: Session) -> str:
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
    facts = [
        f"**{session.status}**",
        describe_session_status(session),
        _held(session),
        phrases.format_opening_time(session),
    ]
    yield " · ".join([*facts, *(escape_markdown_line(name) for name in (session.name, session.charter.slug) if name)])
    yield from _caveats(session)


def _topic(session: Session) -> Iterator[str]:
    charter = session.charter
    yield f"# {escape_markdown_line(charter.question, LONGEST_TITLE) or escape_markdown_line(charter.slug)}"
    if sanitize_line(charter.question, LONGEST_TITLE) != charter.question:
        yield quote_markdown(charter.question)
    if charter.options:
        yield f"Options: {_listed(charter.options)}"
    yield from map(escape_markdown_line, phrases.describe_session_context(charter))


def _held(session: Session) -> str:
    return f"{escape_markdown_line(session.charter.meeting)} of {_listed(seat.name for seat in session.charter.seats)}"


def _caveats(session: Session) -> Iterator[str]:
    """What must be known before the decision is read."""
    if session.decision is not None and session.decision.degraded:
        yield f"**{phrases.degraded_heading(session.decision)}**"
        yield _notices(session.decision)
    if lines := [*phrases.describe_substitutions(session), *filter(None, (phrases.describe_shared_voice(session),))]:
        yield "\n".join(f"- {escape_markdown_line(line)}" for line in lines)


def _discussion(session: Session) -> Iterator[str]:
    if session.rounds or session.notes:
        yield "## Rounds"
    for item in phrases.rounds_and_notes_in_order(session):
        yield from _note(item) if isinstance(item, NoteSaid) else _round(item)
    yield from _gates(session)
    if lines := phrases.describe_session_changes(session):
        yield "## On the way"
        yield "\n".join(f"- {escape_markdown_line(line)}" for line in lines)


def _notices(decision: Decision) -> str:
    missing = [
        f"Not heard: **{escape_markdown_line(it.seat)}**, {escape_markdown_line(phrases.describe_fault(it.fault))}"
        for it in decision.missing
    ]
    return "\n".join(f"- {line}" for line in (*missing, *(escape_markdown_line(notice) for notice in decision.notices)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(escape_markdown_line(name) for name in names)


def _decision(decision: Decision) -> Iterator[str]:
    yield "## Decision"
    who = (
        f" ({phrases.describe_counted_seats(decision)}: {_listed(decision.counted) or 'nobody'})"
        if decision.electorate
        else ""
    )
    yield f"**{phrases.describe_outcome(decision)}**: {escape_markdown_line(decision.how)}{who}"
    if decision.position:
        yield f"**{': '.join(escape_markdown_line(it) for it in (decision.winner, decision.position) if it)}**"
    if decision.text:
        yield phrases.decision_text_heading(f"**{escape_markdown_line(decision.author)}**" if decision.author else "")
        yield quote_markdown(decision.text)
    if not phrases.is_compiled_text(decision):
        yield from _sides(decision)
    if decision.conformity:
        yield f"Changed without a named reason, so counted at the blind position: {_listed(decision.conformity)}."
    if decision.basis:
        yield f"Rests on: {_listed(decision.basis)}."


def _sides(decision: Decision) -> Iterator[str]:
    if decision.proposals:
        yield f"### {phrases.proposals_heading(decision)}"
        yield _votes(decision)
    if decision.dissent:
        yield f"### {phrases.dissent_heading(decision)}"
    for dissent in decision.dissent:
        position = escape_markdown_line(dissent.position) or "(no position)"
        yield f"**{escape_markdown_line(dissent.seat)}** stands for: {position}"
        if words := phrases.dissent_argument(dissent):
            yield quote_markdown(words)


def _votes(decision: Decision) -> str:
    votes = phrases.vote_counts_by_heading(decision)
    rows = [
        (
            f"**{escape_markdown_line(it.id)}**" if it.id == decision.winner else escape_markdown_line(it.id),
            escape_markdown_line(it.text),
            _listed(it.authors) or "–",
            *(str(count.get(it.id, 0)) for count in votes.values()),
        )
        for it in decision.proposals
    ]
    return render_markdown_table(("", *phrases.PROPOSAL_COLUMNS, *votes), rows)


def _note(note: NoteSaid) -> Iterator[str]:
    to = f" to {_listed(note.to)}" if note.to else ""
    yield f"**Note from {escape_markdown_line(note.by) or 'a person'}{to}:**"
    yield quote_markdown(note.text)


def _round(record: RoundRecord) -> Iterator[str]:
    yield f"### {escape_markdown_line(record.name)}"
    yield f"*{phrases.describe_round_result(record)}*"
    for seat in record.opened.order:
        yield from _turn(record.turns[seat], phrases.parse_offered_proposals(record.opened))


def _turn(turn: Turn, proposals: Mapping[str, str]) -> Iterator[str]:
    yield f"#### {escape_markdown_line(turn.seat)}"
    yield f"*{escape_markdown_line(phrases.describe_turn(turn))}*"
    if turn.move is None:
        if turn.missed is not None:
            yield escape_markdown_line(phrases.describe_fault(turn.missed.fault))
        if turn.partial:
            yield phrases.partial_answer_heading(turn)
            yield quote_markdown(phrases.excerpt_partial_answer(turn.partial))
        return
    said = turn.move.verdict
    if position := phrases.describe_position(said, proposals):
        yield f"Stands for **{escape_markdown_line(position)}**"
    if reasons := phrases.describe_reasons(said):
        yield f"Because: {escape_markdown_line(reasons)}"
    if weighed := phrases.describe_verdict_details(said):
        yield escape_markdown_line(weighed)
    if said.ratings:
        yield f"Rates {escape_markdown_line(phrases.describe_ratings(said))}"
    words = phrases.displayed_reply_text(turn.move)
    if words or not said.ratings:
        yield quote_markdown(words)


def _gates(session: Session) -> Iterator[str]:
    if session.gates:
        yield "## Gates"
    for gate in session.gates.values():
        said = session.answers.get(gate.id)
        answer = (
            f"**{escape_markdown_line(said.option)}**, by {escape_markdown_line(said.by) or 'a person'}"
            if said
            else "*not answered*"
        )
        question = f"**{escape_markdown_line(gate.id)}**: {escape_markdown_line(gate.question)}"
        yield f"{question} ({_listed(gate.options)}): {answer}"
        if said and said.text:
            yield quote_markdown(provenance.describe_gate_answer_text(said))


def _change(session: Session) -> Iterator[str]:
    """What was tried and what was written, hunk by hunk with where it comes from."""
    if tried := provenance.newest_candidates(session):
        yield "## Candidates"
        yield _inline_table(provenance.CANDIDATE_COLUMNS, provenance.candidate_table_rows(tried))
        yield escape_markdown_line(tried.how)
    carried = provenance.summarize_change(session)
    if carried is None:
        return
    yield "## The change"
    told = (*provenance.describe_change_outcome(carried), *provenance.describe_change_plan(carried.planned))
    yield "\n".join(f"- {escape_markdown_line(line)}" for line in told)
    if carried.rehearsed and carried.rehearsed.checks:
        yield _inline_table(provenance.CHECK_COLUMNS, provenance.check_table_rows(carried.rehearsed))
    if carried.took:
        yield _inline_table(provenance.TAKEN_PART_COLUMNS, provenance.taken_part_rows(carried.took))
    for it in carried.hunks:
        yield f"**{escape_markdown_line(it.hunk.id)}**: {escape_markdown_line(provenance.describe_hunk_provenance(it))}"
        yield "\n".join(["```diff", *provenance.render_hunk_lines(it.hunk), "```"])
        if it.rewritten:
            yield "\n".join(["As it was written instead:", "", "```diff", *it.rewritten, "```"])


def _inline_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return render_markdown_table(head, [tuple(map(escape_markdown_line, row)) for row in rows])


def _bill(session: Session) -> Iterator[str]:
    costs = summarize_costs(session)
    if costs.total.calls or costs.total.failed:
        yield "## Cost"
        rows = [_cost_row(line) for line in (*costs.seats, *costs.rounds, costs.total)]
        yield render_markdown_table(("", *phrases.COST_COLUMNS), rows)


def _cost_row(line: CostLine) -> tuple[str, ...]:
    return (escape_markdown_line(line.name), *line.cells())
