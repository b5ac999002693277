"""One stage in a report: what was agreed, what was in dispute and who settled it, what was found, run and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.decide.findings import pooled, weighed
from roundtable.core.decide.program_run import how_run
from roundtable.core.decide.ruling import listed
from roundtable.core.decide.rulings import judge as ruling_of
from roundtable.core.decide.stage_files import ruled
from roundtable.core.effects import CandidatesTried, CheckOutcome, ClaimsProven, ProjectRan
from roundtable.core.events import AHEAD, GateAnswered
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.stages import HOW, How, StageEnd, after_a_stage
from roundtable.core.values import Gate, Outcome
from roundtable.core.verdict import Verdict
from roundtable.report.costs import NOTHING
from roundtable.report.document import Block, Folded, Grid, Heading, Output, Points, Quote, Saying
from roundtable.report.project_versions import Attempt, Change, gates_of, results_of
from roundtable.report.provenance import CANDIDATE_HEAD, candidate_rows, said_words
from roundtable.report.stage_words import end_sentences

_TOLD = 4_000
"""Characters of what a program printed, from its end."""


def how_ended(how: How) -> str:
    """How a stage ended, where it is not named besides."""
    return HOW[how].removeprefix("was ")


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
            asked = "Afterwards:" if after_a_stage(gate) else gate.question
            meant = gate.details.get(said.option, "")
            words = f"{said.option} ({meant})" if meant else said.option
            yield Points((f"{asked} {words}, {_by(said)}.",))
            if said.text:
                yield Quote(said_words(said), said.by)


def _by(said: GateAnswered) -> str:
    return said.by if said.by == AHEAD or said.by_default else f"by {said.by or 'a person'}"
