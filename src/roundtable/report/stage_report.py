"""One stage in a report: what was agreed, what was in dispute and who settled it, what was found, run and written.

What a meeting in stages came to, for who was not there: decisions word for word, and how each came about.

`blocks.as_markdown` and `page_parts.as_page` make a document of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.decide.findings import pool_findings, weigh_findings_by_proof
from roundtable.core.decide.program_run import describe_run_method
from roundtable.core.decide.ruling import join_names
from roundtable.core.decide.ruling import rule_by_judge as ruling_of
from roundtable.core.decide.stage_files import describe_stage_ruling
from roundtable.core.effects import (
    CandidatesTried,
    ChangeApplied,
    CheckOutcome,
    ClaimsProven,
    ProjectDelivered,
    ProjectRan,
)
from roundtable.core.events import BY_ADVANCE_ANSWER, GateAnswered, Recorded
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.stages import (
    STAGE_ENDING_WORDS,
    StageEnd,
    StageEnding,
    charter_stages,
    is_after_stage_gate,
    parse_stage_attempt,
)
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision, Gate, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report import phrases
from roundtable.report.costs import NO_VALUE, CostLine, group_costs, summarize_costs
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
from roundtable.report.project_versions import (
    StageAttempt,
    StageFileChange,
    attempt_gates,
    attempt_results,
    final_stage_attempts,
    list_stage_attempts,
)
from roundtable.report.provenance import (
    CANDIDATE_COLUMNS,
    candidate_table_rows,
    describe_applied_change,
    describe_gate_answer_text,
)
from roundtable.report.stage_words import describe_stage_end
from roundtable.report.status import describe_session_status

_TOLD = 4_000
"""Characters of what a program printed, from its end."""


def stage_outcome_label(how: StageEnding) -> str:
    """How a stage ended, where it is not named besides."""
    return STAGE_ENDING_WORDS[how].removeprefix("was ")


def build_stage_blocks(
    session: Session,
    attempt: StageAttempt,
    titles: Mapping[str, str],
    changes: Sequence[StageFileChange],
    *,
    again: bool,
) -> Iterator[ReportBlock]:
    """An attempt at a stage; one that was held `again` is told as what it was."""
    name, end, _ = attempt
    number = f", attempt {end.attempt}" if end.attempt > 1 or again else ""
    tag = "sent back" if again else stage_outcome_label(end.how)
    yield Heading(2, f"{end.id} {titles.get(end.stage, end.stage)}{number}", tag)
    if end.how == "skipped":
        return
    yield Paragraph(" ".join(describe_stage_end(end)))
    if end.text:
        yield Quote(end.text)
    rounds = [it for key, it in session.rounds.items() if key.startswith(f"{name}/")]
    yield from _findings(session, name, rounds)
    yield from _runs(session, name)
    yield from _candidates(session, name)
    yield from _judges(rounds, end)
    yield from _files(changes)
    if told := tuple(build_gate_answer_blocks(session, attempt_gates(session, name))):
        yield Heading(3, "The person")
        yield from told


def _judges(rounds: Sequence[RoundRecord], end: StageEnd) -> Iterator[ReportBlock]:
    """What judges said round by round, and what was in dispute until it was settled."""
    judging = [it for it in rounds if it.opened.turns.judging]
    rows = [
        (record.name.partition("/")[2], seat, *_ruling(record, turn, end))
        for record in judging
        for seat, turn in record.turns.items()
    ]
    if rows:
        yield Heading(3, "Judged")
        yield DataTable(("Round", "Judge", "Ruling", "In its words"), tuple(rows))


def _ruling(record: RoundRecord, turn: Turn, end: StageEnd) -> tuple[str, str]:
    move = turn.as_move()
    if move is None:
        return "was not heard", turn.missed.fault.message if turn.missed else NO_VALUE
    if not move.verdict.counts:
        return "could not be read", NO_VALUE
    said = _ruled(move.verdict, record.opened.expect.choices)
    if ruling_of(move).outcome is Outcome.REACHED:
        return "consensus", "as it stands above" if said and said in end.text else said or NO_VALUE
    return "in dispute", "; ".join(move.verdict.options) or said or NO_VALUE


def _ruled(said: Verdict, candidates: Sequence[str]) -> str:
    """A ruling in words: what goes into the base, which findings weigh what, or what is agreed."""
    if said.directives:
        return describe_stage_ruling(said.directives, candidates)
    if it := said.findings:
        named = {"critical": it.critical, "warnings": it.warnings, "confirmed clean": it.clean}
        return "; ".join(f"{what}: {', '.join(found) or 'none'}" for what, found in named.items())
    return said.summary


def _findings(session: Session, name: str, rounds: Sequence[RoundRecord]) -> Iterator[ReportBlock]:
    read = [it.result(it.closed) for it in rounds if it.opened.expect.codec == "findings" and it.closed]
    proven = [
        it for step, it in session.results.items() if step.startswith(f"{name}/") and isinstance(it, ClaimsProven)
    ]
    rows = [
        (
            it.finding.id,
            it.finding.severity,
            it.finding.said[0].issue.location,
            it.finding.text,
            join_names(it.finding.seats),
            it.standing,
        )
        for it in weigh_findings_by_proof(pool_findings(*read), proven)
    ]
    if rows:
        yield Heading(3, "Found")
        yield DataTable(("", "Severity", "Where", "What is wrong", "Found by", "Proof"), tuple(rows))


def _candidates(session: Session, name: str) -> Iterator[ReportBlock]:
    tried = [
        it for step, it in session.results.items() if step.startswith(f"{name}/") and isinstance(it, CandidatesTried)
    ]
    if tried:
        yield Heading(3, "Candidates")
        yield DataTable(CANDIDATE_COLUMNS, tuple(candidate_table_rows(tried[-1])))
        if tried[-1].how:
            yield Paragraph(tried[-1].how, soft=True)


def _runs(session: Session, name: str) -> Iterator[ReportBlock]:
    for number, ran in enumerate(attempt_results(session, name, ProjectRan), 1):
        yield Heading(3, f"Run {number}", "passed" if ran.passed else "stopped" if ran.stopped else "failed")
        if told := " ".join(filter(None, (describe_run_method(ran), ran.why))):
            yield Paragraph(told)
        if ran.steps:
            yield DataTable(("Step", "Command", "Ended", "Seconds"), tuple(map(_step, ran.steps)), figures=1)
        said = "\n".join(f"$ {' '.join(it.argv)}\n{it.output.strip()}" for it in ran.steps if it.output.strip())
        if said:
            yield Collapsible("What it printed", (ProgramOutput(said[-_TOLD:]),))


def _step(it: CheckOutcome) -> tuple[str, ...]:
    limit = f", limit of {it.limit}" if it.limit else ""
    ended = "was stopped" if it.code is None else "passed" if it.passed else f"exit code {it.code}"
    return it.name, " ".join(it.argv), f"{ended}{limit}", f"{it.seconds:.1f}"


def _files(changes: Sequence[StageFileChange]) -> Iterator[ReportBlock]:
    if changes:
        yield Heading(3, "Files")
        rows = tuple((it.path, it.became, it.words or NO_VALUE) for it in changes)
        yield DataTable(("File", "", "Who contributed what"), rows)


def build_gate_answer_blocks(session: Session, gates: Sequence[Gate]) -> Iterator[ReportBlock]:
    """What a person was asked, and what they said."""
    for gate in gates:
        if said := session.answers.get(gate.id):
            asked = "Afterwards:" if is_after_stage_gate(gate) else gate.question
            meant = gate.details.get(said.option, "")
            words = f"{said.option} ({meant})" if meant else said.option
            yield BulletList((f"{asked} {words}, {_by(said)}.",))
            if said.text:
                yield Quote(describe_gate_answer_text(said), said.by)


def _by(said: GateAnswered) -> str:
    return said.by if said.by == BY_ADVANCE_ANSWER or said.by_default else f"by {said.by or 'a person'}"


ChangesByAttempt = Mapping[str, Sequence[StageFileChange]]
"""What each attempt at a stage did to the files, by its name."""

_TITLE = 160
_GLANCE_HEAD = ("", "Stage", "How it ended", "Judge", "Base", "Rounds", "Files", "Tokens", "Cost")
_SHARE_HEAD = ("Seat", "Base of", "Files", "Parts taken over", "Judged")


def build_stage_report(session: Session, records: Sequence[Recorded], made: ChangesByAttempt) -> Iterator[ReportBlock]:
    """The whole report."""
    held = list_stage_attempts(records)
    titles = _titles(session)
    yield from _heading(session)
    yield from _glance(session, final_stage_attempts(held), titles, made)
    last = {it.name for it in final_stage_attempts(held)}
    for attempt in held:
        yield from build_stage_blocks(
            session, attempt, titles, made.get(attempt.name, ()), again=attempt.name not in last
        )
    yield from _people(session)
    yield from _result(session, final_stage_attempts(held), made)
    yield from _shares(session, final_stage_attempts(held))
    yield from _bill(session, titles)


def _titles(session: Session) -> dict[str, str]:
    """What people call the stages."""
    return {it.name: it.title for it in charter_stages(session.charter)}


def _heading(session: Session) -> Iterator[ReportBlock]:
    charter, decision = session.charter, session.decision
    yield Heading(1, sanitize_line(charter.question, _TITLE))
    seats = ", ".join(seat.name for seat in charter.seats)
    facts = (
        describe_session_status(session),
        f"{charter.meeting} of {seats}",
        phrases.format_opening_time(session),
        charter.slug,
    )
    yield Paragraph(" · ".join(filter(None, facts)), soft=True)
    if sanitize_line(charter.question, _TITLE) != charter.question:
        yield Quote(charter.question)
    if decision is not None:
        yield Paragraph(decision.how)
        if told := tuple(_warnings(session, decision)):
            yield BulletList(told, warning=True)


def _warnings(session: Session, decision: Decision) -> Iterator[str]:
    yield from (f"Not heard: {it.seat}, {phrases.describe_fault(it.fault)}" for it in decision.missing)
    yield from decision.notices
    yield from phrases.describe_substitutions(session)
    yield from filter(None, (phrases.describe_shared_voice(session),))


def _glance(
    session: Session, held: Sequence[StageAttempt], titles: Mapping[str, str], made: ChangesByAttempt
) -> Iterator[ReportBlock]:
    if not held:
        yield Paragraph("No stage has ended yet.")
        return
    spent = group_costs(session, lambda round, _: _stage(round))
    rows: list[tuple[str, ...]] = []
    for name, end, _ in held:
        rounds = sum(_stage(round) == end.stage for round in session.rounds)
        cost = spent.get(end.stage, CostLine(end.stage))
        files = len(made.get(name, ()))
        figures = (str(rounds), str(files) if files else NO_VALUE, f"{cost.tokens:,}", cost.price)
        title = titles.get(end.stage, end.stage)
        rows.append(
            (end.id, title, stage_outcome_label(end.how), end.judge or NO_VALUE, end.base or NO_VALUE, *figures)
        )
    yield Heading(2, "At a glance")
    yield DataTable(_GLANCE_HEAD, tuple(rows), figures=4)


def _stage(round: str) -> str:
    """The stage that a round belongs to; one of the handing over goes by its own beginning."""
    return parse_stage_attempt(round)[0]


def _people(session: Session) -> Iterator[ReportBlock]:
    """What people said to the table on the way."""
    if session.notes:
        yield Heading(2, "Notes")
    for _, note in session.notes:
        yield Quote(note.text, note.by)


def _result(session: Session, held: Sequence[StageAttempt], made: ChangesByAttempt) -> Iterator[ReportBlock]:
    given = [it for it in session.results.values() if isinstance(it, ProjectDelivered)]
    written = [it for it in session.results.values() if isinstance(it, ChangeApplied)]
    files = {change.path: change for it in held for change in made.get(it.name, ())}
    if not (given or written or files):
        return
    yield Heading(2, "The project")
    yield from build_gate_answer_blocks(session, attempt_gates(session, ""))
    for it in given:
        yield Paragraph(f"Handed over: {it.path}{f', commit {it.commit[:12]}' if it.commit else ''}")
    for it in written:
        yield BulletList(tuple(describe_applied_change(it)))
    stands = [it for _, it in sorted(files.items()) if it.became != "deleted"]
    yield DataTable(("File", "Last changed by"), tuple((it.path, it.words or NO_VALUE) for it in stands))


def _shares(session: Session, held: Sequence[StageAttempt]) -> Iterator[ReportBlock]:
    """What came from whom, all stages together."""
    ends = [it.end for it in held]
    seats = [it.name for it in session.charter.seats]
    whole = Counter(it.seat for end in ends for it in end.took if not it.symbol)
    parts = Counter(it.seat for end in ends for it in end.took if it.symbol)

    def stages(field: str, seat: str) -> str:
        return ", ".join(it.stage for it in ends if getattr(it, field) == seat) or NO_VALUE

    rows = [(it, stages("base", it), str(whole[it]), str(parts[it]), stages("judge", it)) for it in seats]
    if ends:
        yield Heading(2, "What came from whom")
        yield DataTable(_SHARE_HEAD, tuple(rows))


def _bill(session: Session, titles: Mapping[str, str]) -> Iterator[ReportBlock]:
    bill = summarize_costs(session)
    if not (bill.total.calls or bill.total.failed):
        return
    yield Heading(2, "Cost")
    rows = [(it.name, *it.cells()) for it in (*bill.seats, bill.total)]
    yield DataTable(("", *phrases.COST_COLUMNS), tuple(rows), figures=len(phrases.COST_COLUMNS), summed=True)
    both = group_costs(session, lambda round, seat: f"{_stage(round)}\n{seat}")
    stages = group_costs(session, lambda round, _: _stage(round))
    seats = [it.name for it in bill.seats]
    table = tuple(
        (titles.get(it, it), *(_cell(both.get(f"{it}\n{seat}")) for seat in seats), _cell(stages[it])) for it in stages
    )
    yield Paragraph("Tokens and money by stage and seat:")
    yield DataTable(("", *seats, "all"), table, figures=len(seats) + 1)


def _cell(cost: CostLine | None) -> str:
    return NO_VALUE if cost is None else f"{cost.tokens:,} · {cost.price}"
