"""The report of a meeting in stages, for readers who were not there.

It shows what each stage agreed, disputed, found, ran and wrote, then the result and the cost.
`render_blocks_as_markdown` and `render_blocks_as_html` make a document of its blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.decide.findings import decide_pooled_findings, weigh_findings_by_proof
from roundtable.core.decide.ruling import rule_by_judge as ruling_of
from roundtable.core.effects import (
    CandidatesTried,
    ChangeApplied,
    CheckOutcome,
    ClaimsProven,
    ProjectDelivered,
    ProjectRan,
)
from roundtable.core.events import AnswerSource, GateAnswered, Recorded
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.stage_address import StageAddress
from roundtable.core.stage_history import (
    StageAttempt,
    StageFileChange,
    session_attempt_gates,
    session_attempt_results,
    session_final_stage_attempts,
    session_stage_attempts,
)
from roundtable.core.stages import Stage, StageEnd, StageEnding
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Decision, Gate, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report import phrases
from roundtable.report.change_words import (
    CANDIDATE_COLUMNS,
    describe_applied_change,
    describe_gate_answer_text,
    render_candidate_table_rows,
)
from roundtable.report.costs import NO_VALUE, CostLine, build_cost_report, build_cost_report_lines
from roundtable.report.document import (
    BulletList,
    Collapsible,
    DataTable,
    Heading,
    Paragraph,
    ProgramOutput,
    Quote,
    ReportBlock,
)
from roundtable.report.phrases import describe_session_status
from roundtable.report.reasons import decision_sentence, describe_reasons, notice_sentences
from roundtable.report.run_words import program_run_method_sentence
from roundtable.report.stage_words import (
    STAGE_ENDING_WORDS,
    describe_file_contributions,
    describe_stage_end,
    describe_stage_ruling,
)

_OUTPUT_LENGTH = 4_000
"""Largest number of characters shown of the output of a program, from its end."""


def _stage_outcome_label(ending: StageEnding) -> str:
    """The outcome of a stage without its name."""
    return STAGE_ENDING_WORDS[ending].removeprefix("was ")


def _build_stage_blocks(
    session: Session,
    attempt: StageAttempt,
    titles: Mapping[str, str],
    changes: Sequence[StageFileChange],
    *,
    again: bool,
) -> Iterator[ReportBlock]:
    """The blocks of an attempt at a stage; `again` marks an attempt that was sent back."""
    name, end, _ = attempt
    number = f", attempt {end.attempt}" if end.attempt > 1 or again else ""
    tag = "sent back" if again else _stage_outcome_label(end.how)
    yield Heading(2, f"{end.id} {titles.get(end.stage, end.stage)}{number}", tag)
    if end.how == "skipped":
        return
    yield Paragraph(" ".join(describe_stage_end(end)))
    if end.text:
        yield Quote(end.text)
    rounds = [record for key, record in session.rounds.items() if StageAddress.parse(name).includes(key)]
    yield from _finding_blocks(session, name, rounds)
    yield from _run_blocks(session, name)
    yield from _candidate_blocks(session, name)
    yield from _ruling_blocks(rounds, end)
    yield from _file_blocks(changes)
    if answers := tuple(_build_gate_answer_blocks(session, session_attempt_gates(session, name))):
        yield Heading(3, "Answers at gates")
        yield from answers


def _ruling_blocks(rounds: Sequence[RoundRecord], end: StageEnd) -> Iterator[ReportBlock]:
    """The rulings of judges round by round, and the disputed points."""
    judging = [record for record in rounds if record.opened.turns.judging]
    rows = [
        (record.name.partition("/")[2], seat, *_describe_ruling_move(record, turn, end))
        for record in judging
        for seat, turn in record.turns.items()
    ]
    if rows:
        yield Heading(3, "Rulings")
        yield DataTable(("Round", "Judge", "Ruling", "Text"), tuple(rows))


def _describe_ruling_move(record: RoundRecord, turn: Turn, end: StageEnd) -> tuple[str, str]:
    move = turn.as_move()
    if move is None:
        return "no answer", turn.missed.fault.message if turn.missed else NO_VALUE
    if not move.verdict.counts:
        return "unreadable", NO_VALUE
    summary = _describe_ruling(move.verdict, record.opened.expect.choices)
    if ruling_of(move).outcome is Outcome.REACHED:
        return "consensus", "see above" if summary and summary in end.text else summary or NO_VALUE
    return "in dispute", "; ".join(move.verdict.options) or summary or NO_VALUE


def _describe_ruling(verdict: Verdict, candidates: Sequence[str]) -> str:
    """A ruling in words: the parts to merge, the findings, or the summary of what was agreed."""
    if verdict.directives:
        return describe_stage_ruling(verdict.directives, candidates)
    if findings := verdict.findings:
        groups = {"critical": findings.critical, "warnings": findings.warnings, "confirmed clean": findings.clean}
        return "; ".join(
            f"{group}: {', '.join(findings_in_group) or 'none'}" for group, findings_in_group in groups.items()
        )
    return verdict.summary


def _finding_blocks(session: Session, name: str, rounds: Sequence[RoundRecord]) -> Iterator[ReportBlock]:
    rounds_read = [
        record.result(record.closed) for record in rounds if record.opened.expect.codec == "findings" and record.closed
    ]
    proven = session_attempt_results(session, name, ClaimsProven)
    rows = [
        (
            finding.finding.id,
            finding.finding.severity,
            finding.finding.said[0].issue.location,
            finding.finding.text,
            join_names_as_text(finding.finding.seats),
            finding.standing,
        )
        for finding in weigh_findings_by_proof(decide_pooled_findings(*rounds_read), proven)
    ]
    if rows:
        yield Heading(3, "Findings")
        yield DataTable(("", "Severity", "Location", "Problem", "Found by", "Proof"), tuple(rows))


def _candidate_blocks(session: Session, name: str) -> Iterator[ReportBlock]:
    results = session_attempt_results(session, name, CandidatesTried)
    if results:
        yield Heading(3, "Candidates")
        yield DataTable(CANDIDATE_COLUMNS, tuple(render_candidate_table_rows(results[-1])))
        if results[-1].how:
            yield Paragraph(describe_reasons(results[-1].how), soft=True)


def _run_blocks(session: Session, name: str) -> Iterator[ReportBlock]:
    for number, run in enumerate(session_attempt_results(session, name, ProjectRan), 1):
        yield Heading(3, f"Run {number}", "passed" if run.passed else "stopped" if run.stopped else "failed")
        if description := " ".join(filter(None, (program_run_method_sentence(run), run.why))):
            yield Paragraph(description)
        if run.steps:
            yield DataTable(("Step", "Command", "Result", "Seconds"), tuple(map(_step_row, run.steps)), figures=1)
        output = "\n".join(
            f"$ {' '.join(step.argv)}\n{step.output.strip()}" for step in run.steps if step.output.strip()
        )
        if output:
            yield Collapsible("Output", (ProgramOutput(output[-_OUTPUT_LENGTH:]),))


def _step_row(step: CheckOutcome) -> tuple[str, ...]:
    limit = f", limit of {step.limit}" if step.limit else ""
    ended = "stopped" if step.code is None else "passed" if step.passed else f"exit code {step.code}"
    return step.name, " ".join(step.argv), f"{ended}{limit}", f"{step.seconds:.1f}"


def _file_blocks(changes: Sequence[StageFileChange]) -> Iterator[ReportBlock]:
    if changes:
        yield Heading(3, "Files")
        rows = tuple((change.path, change.kind, describe_file_contributions(change) or NO_VALUE) for change in changes)
        yield DataTable(("File", "Change", "Contributions"), rows)


def _build_gate_answer_blocks(session: Session, gates: Sequence[Gate]) -> Iterator[ReportBlock]:
    """The gates a person answered, with the answers."""
    for gate in gates:
        if answer := session.answers.get(gate.id):
            question = "After the stage:" if gate.is_after_stage else gate.question
            meaning = gate.details.get(answer.option, "")
            words = f"{answer.option} ({meaning})" if meaning else answer.option
            yield BulletList((f"{question} {words}, {_answered_by(answer)}.",))
            if answer.text:
                yield Quote(describe_gate_answer_text(answer), answer.by)


def _answered_by(answer: GateAnswered) -> str:
    return f"by {answer.by or 'a person'}" if answer.source is AnswerSource.PERSON else answer.by


ChangesByAttempt = Mapping[str, Sequence[StageFileChange]]
"""The file changes of each attempt at a stage, by its name."""

_TITLE = 160
_OVERVIEW_COLUMNS = ("", "Stage", "Outcome", "Judge", "Base", "Rounds", "Files", "Tokens", "Cost")
_CONTRIBUTION_COLUMNS = ("Seat", "Base of", "Files", "Parts used", "Judged")


def render_stage_report_blocks(
    session: Session, records: Sequence[Recorded], changes: ChangesByAttempt
) -> Iterator[ReportBlock]:
    """All blocks of the report."""
    attempts = session_stage_attempts(records)
    titles = _stage_titles(session)
    yield from _heading_blocks(session)
    yield from _overview_blocks(session, session_final_stage_attempts(attempts), titles, changes)
    final_names = {attempt.name for attempt in session_final_stage_attempts(attempts)}
    for attempt in attempts:
        yield from _build_stage_blocks(
            session, attempt, titles, changes.get(attempt.name, ()), again=attempt.name not in final_names
        )
    yield from _note_blocks(session)
    yield from _project_blocks(session, session_final_stage_attempts(attempts), changes)
    yield from _contribution_blocks(session, session_final_stage_attempts(attempts))
    yield from _cost_blocks(session, titles)


def _stage_titles(session: Session) -> dict[str, str]:
    """The title of each stage."""
    return {stage.name: stage.title for stage in Stage.list_of(session.charter)}


def _heading_blocks(session: Session) -> Iterator[ReportBlock]:
    charter, decision = session.charter, session.decision
    yield Heading(1, sanitize_line(charter.question, _TITLE))
    seats = ", ".join(seat.name for seat in charter.seats)
    facts = (
        describe_session_status(session),
        f"{charter.meeting} of {seats}",
        phrases.describe_session_opening_time(session),
        charter.slug,
    )
    yield Paragraph(" · ".join(filter(None, facts)), soft=True)
    if sanitize_line(charter.question, _TITLE) != charter.question:
        yield Quote(charter.question)
    if decision is not None:
        yield Paragraph(decision_sentence(decision))
        if warnings := tuple(_warning_lines(session, decision)):
            yield BulletList(warnings, warning=True)


def _warning_lines(session: Session, decision: Decision) -> Iterator[str]:
    yield from (f"No answer: {missing.seat}, {phrases.describe_fault(missing.fault)}" for missing in decision.missing)
    yield from notice_sentences(decision)
    yield from phrases.describe_voice_substitutions(session)
    yield from filter(None, (phrases.describe_shared_voice(session),))


def _overview_blocks(
    session: Session, attempts: Sequence[StageAttempt], titles: Mapping[str, str], changes: ChangesByAttempt
) -> Iterator[ReportBlock]:
    if not attempts:
        yield Paragraph("No stage has ended yet.")
        return
    costs = build_cost_report_lines(session, lambda round, _: _stage_of_round(round))
    rows: list[tuple[str, ...]] = []
    for name, end, _ in attempts:
        rounds = sum(_stage_of_round(round) == end.stage for round in session.rounds)
        cost = costs.get(end.stage, CostLine(end.stage))
        files = len(changes.get(name, ()))
        figures = (str(rounds), str(files) if files else NO_VALUE, f"{cost.tokens:,}", cost.price)
        title = titles.get(end.stage, end.stage)
        rows.append(
            (end.id, title, _stage_outcome_label(end.how), end.judge or NO_VALUE, end.base or NO_VALUE, *figures)
        )
    yield Heading(2, "Overview")
    yield DataTable(_OVERVIEW_COLUMNS, tuple(rows), figures=4)


def _stage_of_round(round: str) -> str:
    """The stage of a round; rounds of the delivery have their own name."""
    return StageAddress.of_step(round).stage


def _note_blocks(session: Session) -> Iterator[ReportBlock]:
    """The notes people wrote to the table."""
    if session.notes:
        yield Heading(2, "Notes")
    for _, note in session.notes:
        yield Quote(note.text, note.by)


def _project_blocks(
    session: Session, attempts: Sequence[StageAttempt], changes: ChangesByAttempt
) -> Iterator[ReportBlock]:
    deliveries = [result for result in session.results.values() if isinstance(result, ProjectDelivered)]
    applied_changes = [result for result in session.results.values() if isinstance(result, ChangeApplied)]
    files = {change.path: change for attempt in attempts for change in changes.get(attempt.name, ())}
    if not (deliveries or applied_changes or files):
        return
    yield Heading(2, "The project")
    yield from _build_gate_answer_blocks(session, session_attempt_gates(session, ""))
    for delivery in deliveries:
        yield Paragraph(f"Delivered: {delivery.path}{f', commit {delivery.commit[:12]}' if delivery.commit else ''}")
    for change in applied_changes:
        yield BulletList(tuple(describe_applied_change(change)))
    remaining = [change for _, change in sorted(files.items()) if change.kind != "deleted"]
    yield DataTable(
        ("File", "Last changed by"),
        tuple((change.path, describe_file_contributions(change) or NO_VALUE) for change in remaining),
    )


def _contribution_blocks(session: Session, attempts: Sequence[StageAttempt]) -> Iterator[ReportBlock]:
    """The contributions of each seat over all stages."""
    ends = [attempt.end for attempt in attempts]
    seats = [seat.name for seat in session.charter.seats]
    files = Counter(part.seat for end in ends for part in end.took if not part.symbol)
    parts = Counter(part.seat for end in ends for part in end.took if part.symbol)

    def stages(field: str, seat: str) -> str:
        return ", ".join(end.stage for end in ends if getattr(end, field) == seat) or NO_VALUE

    rows = [(seat, stages("base", seat), str(files[seat]), str(parts[seat]), stages("judge", seat)) for seat in seats]
    if ends:
        yield Heading(2, "Contributions")
        yield DataTable(_CONTRIBUTION_COLUMNS, tuple(rows))


def _cost_blocks(session: Session, titles: Mapping[str, str]) -> Iterator[ReportBlock]:
    bill = build_cost_report(session)
    if not (bill.total.calls or bill.total.failed):
        return
    yield Heading(2, "Cost")
    rows = [(line.name, *line.cells()) for line in (*bill.seats, bill.total)]
    yield DataTable(("", *phrases.COST_COLUMNS), tuple(rows), figures=len(phrases.COST_COLUMNS), summed=True)
    both = build_cost_report_lines(session, lambda round, seat: f"{_stage_of_round(round)}\n{seat}")
    stages = build_cost_report_lines(session, lambda round, _: _stage_of_round(round))
    seats = [line.name for line in bill.seats]
    table = tuple(
        (
            titles.get(stage, stage),
            *(_cost_cell(both.get(f"{stage}\n{seat}")) for seat in seats),
            _cost_cell(stages[stage]),
        )
        for stage in stages
    )
    yield Paragraph("Tokens and cost by stage and seat:")
    yield DataTable(("", *seats, "all"), table, figures=len(seats) + 1)


def _cost_cell(cost: CostLine | None) -> str:
    return NO_VALUE if cost is None else f"{cost.tokens:,} · {cost.price}"
