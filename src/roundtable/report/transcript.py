"""A session as a Markdown document: the decision first, then the rounds. Seats' words are quoted and never merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roundtable.core.change_history import newest_session_candidates, newest_session_change
from roundtable.core.events import NoteSaid, RoundOpened
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.quotation import escape_markdown_line, markdown_table_text, quote_markdown
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision
from roundtable.report import change_words, phrases
from roundtable.report.costs import CostLine, build_cost_report
from roundtable.report.phrases import describe_session_status
from roundtable.report.reasons import decision_sentence, describe_reasons, notice_sentences

_LONGEST_TITLE = 100


def render_transcript(session: Session) -> str:
    """The whole session."""
    return _document(_session_parts(session))


def render_round_as_markdown(record: RoundRecord) -> str:
    """One round."""
    return _document(_round_parts(record))


def render_topic_as_markdown(session: Session) -> str:
    """The question, options, meeting and seats."""
    return _document(
        [*_topic_parts(session), f"{_meeting_and_seats(session)}, {phrases.describe_session_opening_time(session)}"]
    )


def render_discussion_as_markdown(session: Session) -> str:
    """Every round, with notes and changes by people."""
    return _document(list(_discussion_parts(session)) or ["No seat has answered yet."])


def render_decision_as_markdown(session: Session) -> str:
    """The decision with votes and dissent."""
    if session.decision is None:
        return _document([f"No decision yet: {describe_session_status(session)}."])
    return _document([*_warning_parts(session), *_decision_parts(session.decision)])


def render_cost_table(session: Session) -> str:
    """The cost by seat, by round and in total."""
    return _document(list(_cost_parts(session)) or ["No seat was asked yet."])


def _document(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _session_parts(session: Session) -> Iterator[str]:
    yield from _heading_parts(session)
    if session.decision is not None:
        yield from _decision_parts(session.decision)
    yield from _change_parts(session)
    yield from _discussion_parts(session)
    yield from _cost_parts(session)


def _heading_parts(session: Session) -> Iterator[str]:
    yield from _topic_parts(session)
    facts = [
        f"**{session.status}**",
        describe_session_status(session),
        _meeting_and_seats(session),
        phrases.describe_session_opening_time(session),
    ]
    yield " · ".join([*facts, *(escape_markdown_line(name) for name in (session.name, session.charter.slug) if name)])
    yield from _warning_parts(session)


def _topic_parts(session: Session) -> Iterator[str]:
    charter = session.charter
    yield f"# {escape_markdown_line(charter.question, _LONGEST_TITLE) or escape_markdown_line(charter.slug)}"
    if sanitize_line(charter.question, _LONGEST_TITLE) != charter.question:
        yield quote_markdown(charter.question)
    if charter.options:
        yield f"Options: {_join_escaped(charter.options)}"
    yield from map(escape_markdown_line, phrases.describe_session_context(charter))


def _meeting_and_seats(session: Session) -> str:
    seats = _join_escaped(seat.name for seat in session.charter.seats)
    return f"{escape_markdown_line(session.charter.meeting)} of {seats}"


def _warning_parts(session: Session) -> Iterator[str]:
    """Warnings to read before the decision."""
    if session.decision is not None and session.decision.degraded:
        yield f"**{phrases.render_degraded_decision_heading(session.decision)}**"
        yield _notice_list(session.decision)
    if lines := [
        *phrases.describe_voice_substitutions(session),
        *filter(None, (phrases.describe_shared_voice(session),)),
    ]:
        yield "\n".join(f"- {escape_markdown_line(line)}" for line in lines)


def _discussion_parts(session: Session) -> Iterator[str]:
    if session.rounds or session.notes:
        yield "## Rounds"
    for item in phrases.report_rounds_and_notes_in_order(session):
        yield from _note_parts(item) if isinstance(item, NoteSaid) else _round_parts(item)
    yield from _gate_parts(session)
    if lines := phrases.describe_session_changes(session):
        yield "## Changes during the session"
        yield "\n".join(f"- {escape_markdown_line(line)}" for line in lines)


def _notice_list(decision: Decision) -> str:
    absences = [
        f"No answer: **{escape_markdown_line(absence.seat)}**, "
        f"{escape_markdown_line(phrases.describe_fault(absence.fault))}"
        for absence in decision.missing
    ]
    return "\n".join(f"- {line}" for line in (*absences, *map(escape_markdown_line, notice_sentences(decision))))


def _join_escaped(names: Iterable[str]) -> str:
    return ", ".join(escape_markdown_line(name) for name in names)


def _decision_parts(decision: Decision) -> Iterator[str]:
    yield "## Decision"
    counted = (
        f" ({phrases.describe_counted_seats(decision)}: {_join_escaped(decision.counted) or 'nobody'})"
        if decision.electorate
        else ""
    )
    outcome = phrases.describe_decision_outcome(decision)
    yield f"**{outcome}**: {escape_markdown_line(decision_sentence(decision))}{counted}"
    if decision.position:
        yield f"**{': '.join(escape_markdown_line(part) for part in (decision.winner, decision.position) if part)}**"
    if decision.text:
        yield phrases.render_decision_text_heading(
            f"**{escape_markdown_line(decision.author)}**" if decision.author else ""
        )
        yield quote_markdown(decision.text)
    if not decision.is_compiled:
        yield from _position_parts(decision)
    if decision.conformity:
        seats = _join_escaped(decision.conformity)
        yield f"These seats changed their position without a reason, so their blind position was counted: {seats}."
    if decision.basis:
        yield f"Based on: {_join_escaped(decision.basis)}."


def _position_parts(decision: Decision) -> Iterator[str]:
    if decision.proposals:
        yield f"### {phrases.render_proposals_heading(decision)}"
        yield _vote_table(decision)
    if decision.dissent:
        yield f"### {phrases.render_dissent_heading(decision)}"
    for dissent in decision.dissent:
        position = escape_markdown_line(dissent.position) or "(no position)"
        yield f"**{escape_markdown_line(dissent.seat)}** holds: {position}"
        if words := phrases.render_dissent_argument(dissent):
            yield quote_markdown(words)


def _vote_table(decision: Decision) -> str:
    votes = phrases.render_vote_counts_by_heading(decision)
    rows = [
        (
            f"**{escape_markdown_line(proposal.id)}**"
            if proposal.id == decision.winner
            else escape_markdown_line(proposal.id),
            escape_markdown_line(proposal.text),
            _join_escaped(proposal.authors) or "–",
            *(str(count.get(proposal.id, 0)) for count in votes.values()),
        )
        for proposal in decision.proposals
    ]
    return markdown_table_text(("", *phrases.PROPOSAL_COLUMNS, *votes), rows)


def _note_parts(note: NoteSaid) -> Iterator[str]:
    to = f" to {_join_escaped(note.to)}" if note.to else ""
    yield f"**Note from {escape_markdown_line(note.by) or 'a person'}{to}:**"
    yield quote_markdown(note.text)


def _round_parts(record: RoundRecord) -> Iterator[str]:
    yield f"### {escape_markdown_line(record.name)}"
    yield f"*{phrases.describe_round_result(record)}*"
    for seat in record.opened.order:
        yield from _turn_parts(record.turns[seat], record.opened)


def _turn_parts(turn: Turn, opened: RoundOpened) -> Iterator[str]:
    yield f"#### {escape_markdown_line(turn.seat)}"
    yield f"*{escape_markdown_line(phrases.describe_turn(turn))}*"
    if turn.move is None:
        if turn.missed is not None:
            yield escape_markdown_line(phrases.describe_fault(turn.missed.fault))
        if turn.partial:
            yield phrases.render_partial_answer_heading(turn)
            yield quote_markdown(phrases.render_partial_answer_excerpt(turn.partial))
        return
    verdict = turn.move.verdict
    if position := phrases.describe_position(verdict, opened.prompt.items_by_name("proposals")):
        yield f"Position: **{escape_markdown_line(position)}**"
    if reasons := phrases.describe_verdict_reasons(verdict):
        yield f"Because: {escape_markdown_line(reasons)}"
    if details := phrases.describe_verdict_details(verdict, opened.expect.codec):
        yield escape_markdown_line(details)
    if verdict.ratings:
        yield f"Rates {escape_markdown_line(phrases.describe_ratings(verdict))}"
    words = phrases.render_reply_text(turn.move)
    if words or not verdict.ratings:
        yield quote_markdown(words)


def _gate_parts(session: Session) -> Iterator[str]:
    if session.gates:
        yield "## Gates"
    for gate in session.gates.values():
        answer = session.answers.get(gate.id)
        result = "*not answered*"
        if answer is not None:
            result = f"**{escape_markdown_line(answer.option)}**, by {escape_markdown_line(answer.by) or 'a person'}"
        question = f"**{escape_markdown_line(gate.id)}**: {escape_markdown_line(gate.question)}"
        yield f"{question} ({_join_escaped(gate.options)}): {result}"
        if answer is not None and answer.text:
            yield quote_markdown(change_words.describe_gate_answer_text(answer))


def _change_parts(session: Session) -> Iterator[str]:
    """The candidates and the change, hunk by hunk with its origin."""
    if candidates := newest_session_candidates(session):
        yield "## Candidates"
        yield _inline_table(change_words.CANDIDATE_COLUMNS, change_words.render_candidate_table_rows(candidates))
        yield escape_markdown_line(describe_reasons(candidates.how))
    carried = newest_session_change(session)
    if carried is None:
        return
    yield "## The change"
    lines = (*change_words.describe_change_outcome(carried), *change_words.describe_change_plan(carried.planned))
    yield "\n".join(f"- {escape_markdown_line(line)}" for line in lines)
    if carried.rehearsed and carried.rehearsed.checks:
        yield _inline_table(change_words.CHECK_COLUMNS, change_words.render_check_result_table_rows(carried.rehearsed))
    if carried.took:
        yield _inline_table(change_words.TAKEN_PART_COLUMNS, change_words.render_taken_part_rows(carried.took))
    for hunk in carried.hunks:
        origin = escape_markdown_line(change_words.describe_hunk_provenance(session, hunk))
        yield f"**{escape_markdown_line(hunk.hunk.id)}**: {origin}"
        yield "\n".join(["```diff", *change_words.render_hunk_lines(hunk.hunk), "```"])
        if hunk.rewritten:
            yield "\n".join(["The person replaced this hunk with:", "", "```diff", *hunk.rewritten, "```"])


def _inline_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return markdown_table_text(head, [tuple(map(escape_markdown_line, row)) for row in rows])


def _cost_parts(session: Session) -> Iterator[str]:
    costs = build_cost_report(session)
    if costs.total.calls or costs.total.failed:
        yield "## Cost"
        rows = [_cost_row(line) for line in (*costs.seats, *costs.rounds, costs.total)]
        yield markdown_table_text(("", *phrases.COST_COLUMNS), rows)


def _cost_row(line: CostLine) -> tuple[str, ...]:
    return (escape_markdown_line(line.name), *line.cells())
