"""What a meeting in stages came to, for who was not there: decisions word for word, and how each came about.

`blocks.as_markdown` and `page_parts.as_page` make a document of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.effects import Applied, Delivered
from roundtable.core.events import Recorded
from roundtable.core.session import Session
from roundtable.core.stages import all_stages, attempt_of
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Decision
from roundtable.report import phrases
from roundtable.report.costs import NOTHING, Cost, costs, costs_by
from roundtable.report.document import Block, Grid, Heading, Points, Quote, Saying
from roundtable.report.project_versions import Attempt, Change, attempts, gates_of, settled
from roundtable.report.provenance import written_words
from roundtable.report.stage_report import answers, how_ended, stage_blocks
from roundtable.report.status import status_words

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
    return {it.name: it.title for it in all_stages(session.charter)}


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
    return attempt_of(round)[0]


def _people(session: Session) -> Iterator[Block]:
    """What people said to the table on the way."""
    if session.notes:
        yield Heading(2, "Notes")
    for _, note in session.notes:
        yield Quote(note.text, note.by)


def _result(session: Session, held: Sequence[Attempt], made: Made) -> Iterator[Block]:
    given = [it for it in session.results.values() if isinstance(it, Delivered)]
    written = [it for it in session.results.values() if isinstance(it, Applied)]
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
