"""One stage in a report: what was agreed, what was in dispute and who settled it, what was found, run and written.

What a meeting in stages came to, for who was not there: decisions word for word, and how each came about.

`blocks.as_markdown` and `page_parts.as_page` make a document of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.decide.findings import pooled, weighed
from roundtable.core.decide.program_run import how_run
from roundtable.core.decide.ruling import judge as ruling_of
from roundtable.core.decide.ruling import listed
from roundtable.core.decide.stage_files import ruled
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
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Decision, Gate, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report import phrases
from roundtable.report.costs import NOTHING, Cost, costs, costs_by
from roundtable.report.document import Block, Folded, Grid, Heading, Output, Points, Quote, Saying
from roundtable.report.project_versions import Attempt, Change, attempts, gates_of, results_of, settled
from roundtable.report.provenance import CANDIDATE_HEAD, candidate_rows, said_words, written_words
from roundtable.report.stage_words import end_sentences
from roundtable.report.status import status_words

_TOLD = 4_000
"""Characters of what a program printed, from its end."""


def how_ended(how: StageEnding) -> str:
    """How a stage ended, where it is not named besides."""
    return STAGE_ENDING_WORDS[how].removeprefix("was ")


def stage_blocks(
    session: Session, attempt: Attempt, titles: Mapping[str, str], changes: Sequence[Change], *, again: bool
) -> Iterator[Block]:
    """An attempt at a stage; one that was held `again` is told as what it was."""
    name, end, _ = attempt
    number = f", attempt {end.attempt}" if end.attempt > 1 or again else ""
    tag = "sent back" if again else how_ended(end.how)
    yield Heading(2, f"{end.id} {titles.get(end.stage, end.stage)}{number}", tag)
    if end.how == "skipped":
        return
    yield Saying(" ".join(end_sentences(end)))
    if end.text:
        yield Quote(end.text)
    rounds = [it for key, it in session.rounds.items() if key.startswith(f"{name}/")]
    yield from _findings(session, name, rounds)
    yield from _runs(session, name)
    yield from _candidates(session, name)
    yield from _judges(rounds, end)
    yield from _files(changes)
    if told := tuple(answers(session, gates_of(session, name))):
        yield Heading(3, "The person")
        yield from told


def _judges(rounds: Sequence[RoundRecord], end: StageEnd) -> Iterator[Block]:
    """What judges said round by round, and what was in dispute until it was settled."""
    judging = [it for it in rounds if it.opened.turns.judging]
    rows = [
        (record.name.partition("/")[2], seat, *_ruling(record, turn, end))
        for record in judging
        for seat, turn in record.turns.items()
    ]
    if rows:
        yield Heading(3, "Judged")
        yield Grid(("Round", "Judge", "Ruling", "In its words"), tuple(rows))


def _ruling(record: RoundRecord, turn: Turn, end: StageEnd) -> tuple[str, str]:
    move = turn.as_move()
    if move is None:
        return "was not heard", turn.missed.fault.message if turn.missed else NOTHING
    if not move.verdict.counts:
        return "could not be read", NOTHING
    said = _ruled(move.verdict, record.opened.expect.choices)
    if ruling_of(move).outcome is Outcome.REACHED:
        return "consensus", "as it stands above" if said and said in end.text else said or NOTHING
    return "in dispute", "; ".join(move.verdict.options) or said or NOTHING


def _ruled(said: Verdict, candidates: Sequence[str]) -> str:
    """A ruling in words: what goes into the base, which findings weigh what, or what is agreed."""
    if said.directives:
        return ruled(said.directives, candidates)
    if it := said.findings:
        named = {"critical": it.critical, "warnings": it.warnings, "confirmed clean": it.clean}
        return "; ".join(f"{what}: {', '.join(found) or 'none'}" for what, found in named.items())
    return said.summary


def _findings(session: Session, name: str, rounds: Sequence[RoundRecord]) -> Iterator[Block]:
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
            listed(it.finding.seats),
            it.standing,
        )
        for it in weighed(pooled(*read), proven)
    ]
    if rows:
        yield Heading(3, "Found")
        yield Grid(("", "Severity", "Where", "What is wrong", "Found by", "Proof"), tuple(rows))


def _candidates(session: Session, name: str) -> Iterator[Block]:
    tried = [
        it for step, it in session.results.items() if step.startswith(f"{name}/") and isinstance(it, CandidatesTried)
    ]
    if tried:
        yield Heading(3, "Candidates")
        yield Grid(CANDIDATE_HEAD, tuple(candidate_rows(tried[-1])))
        if tried[-1].how:
            yield Saying(tried[-1].how, soft=True)


def _runs(session: Session, name: str) -> Iterator[Block]:
    for number, ran in enumerate(results_of(session, name, ProjectRan), 1):
        yield Heading(3, f"Run {number}", "passed" if ran.passed else "stopped" if ran.stopped else "failed")
        if told := " ".join(filter(None, (how_run(ran), ran.why))):
            yield Saying(told)
        if ran.steps:
            yield Grid(("Step", "Command", "Ended", "Seconds"), tuple(map(_step, ran.steps)), figures=1)
        said = "\n".join(f"$ {' '.join(it.argv)}\n{it.output.strip()}" for it in ran.steps if it.output.strip())
        if said:
            yield Folded("What it printed", (Output(said[-_TOLD:]),))


def _step(it: CheckOutcome) -> tuple[str, ...]:
    limit = f", limit of {it.limit}" if it.limit else ""
    ended = "was stopped" if it.code is None else "passed" if it.passed else f"exit code {it.code}"
    return it.name, " ".join(it.argv), f"{ended}{limit}", f"{it.seconds:.1f}"


def _files(changes: Sequence[Change]) -> Iterator[Block]:
    if changes:
        yield Heading(3, "Files")
        rows = tuple((it.path, it.became, it.words or NOTHING) for it in changes)
        yield Grid(("File", "", "Who contributed what"), rows)


def answers(session: Session, gates: Sequence[Gate]) -> Iterator[Block]:
    """What a person was asked, and what they said."""
    for gate in gates:
        if said := session.answers.get(gate.id):
            asked = "Afterwards:" if is_after_stage_gate(gate) else gate.question
            meant = gate.details.get(said.option, "")
            words = f"{said.option} ({meant})" if meant else said.option
            yield Points((f"{asked} {words}, {_by(said)}.",))
            if said.text:
                yield Quote(said_words(said), said.by)


def _by(said: GateAnswered) -> str:
    return said.by if said.by == BY_ADVANCE_ANSWER or said.by_default else f"by {said.by or 'a person'}"


Made = Mapping[str, Sequence[Change]]
"""What each attempt at a stage did to the files, by its name."""

_TITLE = 160
_GLANCE_HEAD = ("", "Stage", "How it ended", "Judge", "Base", "Rounds", "Files", "Tokens", "Cost")
_SHARE_HEAD = ("Seat", "Base of", "Files", "Parts taken over", "Judged")


def report(session: Session, records: Sequence[Recorded], made: Made) -> Iterator[Block]:
    """The whole report."""
    held = attempts(records)
    titles = _titles(session)
    yield from _heading(session)
    yield from _glance(session, settled(held), titles, made)
    last = {it.name for it in settled(held)}
    for attempt in held:
        yield from stage_blocks(session, attempt, titles, made.get(attempt.name, ()), again=attempt.name not in last)
    yield from _people(session)
    yield from _result(session, settled(held), made)
    yield from _shares(session, settled(held))
    yield from _bill(session, titles)


def _titles(session: Session) -> dict[str, str]:
    """What people call the stages."""
    return {it.name: it.title for it in charter_stages(session.charter)}


def _heading(session: Session) -> Iterator[Block]:
    charter, decision = session.charter, session.decision
    yield Heading(1, one_line(charter.question, _TITLE))
    seats = ", ".join(seat.name for seat in charter.seats)
    facts = (status_words(session), f"{charter.meeting} of {seats}", phrases.opened(session), charter.slug)
    yield Saying(" · ".join(filter(None, facts)), soft=True)
    if one_line(charter.question, _TITLE) != charter.question:
        yield Quote(charter.question)
    if decision is not None:
        yield Saying(decision.how)
        if told := tuple(_warnings(session, decision)):
            yield Points(told, warning=True)


def _warnings(session: Session, decision: Decision) -> Iterator[str]:
    yield from (f"Not heard: {it.seat}, {phrases.fault_line(it.fault)}" for it in decision.missing)
    yield from decision.notices
    yield from phrases.substitutions(session)
    yield from filter(None, (phrases.one_model(session),))


def _glance(session: Session, held: Sequence[Attempt], titles: Mapping[str, str], made: Made) -> Iterator[Block]:
    if not held:
        yield Saying("No stage has ended yet.")
        return
    spent = costs_by(session, lambda round, _: _stage(round))
    rows: list[tuple[str, ...]] = []
    for name, end, _ in held:
        rounds = sum(_stage(round) == end.stage for round in session.rounds)
        cost = spent.get(end.stage, Cost(end.stage))
        files = len(made.get(name, ()))
        figures = (str(rounds), str(files) if files else NOTHING, f"{cost.tokens:,}", cost.price)
        title = titles.get(end.stage, end.stage)
        rows.append((end.id, title, how_ended(end.how), end.judge or NOTHING, end.base or NOTHING, *figures))
    yield Heading(2, "At a glance")
    yield Grid(_GLANCE_HEAD, tuple(rows), figures=4)


def _stage(round: str) -> str:
    """The stage that a round belongs to; one of the handing over goes by its own beginning."""
    return parse_stage_attempt(round)[0]


def _people(session: Session) -> Iterator[Block]:
    """What people said to the table on the way."""
    if session.notes:
        yield Heading(2, "Notes")
    for _, note in session.notes:
        yield Quote(note.text, note.by)


def _result(session: Session, held: Sequence[Attempt], made: Made) -> Iterator[Block]:
    given = [it for it in session.results.values() if isinstance(it, ProjectDelivered)]
    written = [it for it in session.results.values() if isinstance(it, ChangeApplied)]
    files = {change.path: change for it in held for change in made.get(it.name, ())}
    if not (given or written or files):
        return
    yield Heading(2, "The project")
    yield from answers(session, gates_of(session, ""))
    for it in given:
        yield Saying(f"Handed over: {it.path}{f', commit {it.commit[:12]}' if it.commit else ''}")
    for it in written:
        yield Points(tuple(written_words(it)))
    stands = [it for _, it in sorted(files.items()) if it.became != "deleted"]
    yield Grid(("File", "Last changed by"), tuple((it.path, it.words or NOTHING) for it in stands))


def _shares(session: Session, held: Sequence[Attempt]) -> Iterator[Block]:
    """What came from whom, all stages together."""
    ends = [it.end for it in held]
    seats = [it.name for it in session.charter.seats]
    whole = Counter(it.seat for end in ends for it in end.took if not it.symbol)
    parts = Counter(it.seat for end in ends for it in end.took if it.symbol)

    def stages(field: str, seat: str) -> str:
        return ", ".join(it.stage for it in ends if getattr(it, field) == seat) or NOTHING

    rows = [(it, stages("base", it), str(whole[it]), str(parts[it]), stages("judge", it)) for it in seats]
    if ends:
        yield Heading(2, "What came from whom")
        yield Grid(_SHARE_HEAD, tuple(rows))


def _bill(session: Session, titles: Mapping[str, str]) -> Iterator[Block]:
    bill = costs(session)
    if not (bill.total.calls or bill.total.failed):
        return
    yield Heading(2, "Cost")
    rows = [(it.name, *it.cells()) for it in (*bill.seats, bill.total)]
    yield Grid(("", *phrases.COST_HEAD), tuple(rows), figures=len(phrases.COST_HEAD), summed=True)
    both = costs_by(session, lambda round, seat: f"{_stage(round)}\n{seat}")
    stages = costs_by(session, lambda round, _: _stage(round))
    seats = [it.name for it in bill.seats]
    table = tuple(
        (titles.get(it, it), *(_cell(both.get(f"{it}\n{seat}")) for seat in seats), _cell(stages[it])) for it in stages
    )
    yield Saying("Tokens and money by stage and seat:")
    yield Grid(("", *seats, "all"), table, figures=len(seats) + 1)


def _cell(cost: Cost | None) -> str:
    return NOTHING if cost is None else f"{cost.tokens:,} · {cost.price}"
