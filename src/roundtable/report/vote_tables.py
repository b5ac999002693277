"""A ranked vote for people: candidates, ballots, who beats whom, who was eliminated, who won."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.vote import Ballots, Step, elimination, pairwise, ranked
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.quotation import inline, table

CODEC = "ranked-ballot"


def vote_results(session: Session) -> str:
    """The newest ranked vote of a session in Markdown; nothing where none was held."""
    held = [record for record in session.rounds.values() if record.opened.expect.codec == CODEC]
    return "\n\n".join(_document(session, held[-1])) + "\n" if held else ""


def _document(session: Session, record: RoundRecord) -> Iterator[str]:
    ids = record.opened.expect.choices
    ballots = {move.seat: move.verdict.ranking for move in record.moves() if move.verdict.counts}
    yield f"# Vote: {inline(session.charter.question, 100)}"
    yield _winner(session, ballots, ids)
    yield "## Candidates"
    yield "\n".join(f"- {inline(line)}" for line in record.opened.prompt.lists.get("candidates", ids))
    yield "## Ballots"
    cast = [(inline(seat), inline(" > ".join(ballot))) for seat, ballot in ballots.items()]
    none = [(inline(seat), "*no ballot that counts*") for seat in record.opened.electorate if seat not in ballots]
    yield table(("Seat", "Best first"), [*cast, *none])
    yield "## One against one"
    yield _duels(ballots, ids)
    yield "## By elimination"
    yield table(("Count", *map(inline, ids), "Out"), _steps(elimination(ballots, ids), ids))


def _winner(session: Session, ballots: Ballots, ids: Sequence[str]) -> str:
    decision = session.decision
    if decision is not None and decision.winner:
        winner, position = inline(decision.winner), inline(decision.position)
        return f"**Winner: {winner}, {position}.** {inline(decision.how)}"
    ruling = ranked(ballots, ids)
    return f"**Winner: {inline(ruling.winner) or 'none'}.** {inline(ruling.why)}"


def _duels(ballots: Ballots, ids: Sequence[str]) -> str:
    """How many ballots put the row above the column."""
    counts = pairwise(ballots, ids)
    rows = [(inline(row), *("–" if row == column else f"{counts[row, column]}" for column in ids)) for row in ids]
    return table(("preferred to", *map(inline, ids)), rows)


def _steps(steps: Sequence[Step], ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for number, step in enumerate(steps, 1):
        places = (str(step.counts[id]) if id in step.counts else "" for id in ids)
        yield (str(number), *places, inline(", ".join(step.out)) or "–")
