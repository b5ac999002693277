"""The result of a ranked vote as tables: candidates, ballots, pairwise counts and elimination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.vote import (
    EliminationStep,
    RankedBallots,
    pairwise_preferences,
    rule_ranked_vote,
    vote_elimination_steps,
)
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.quotation import escape_markdown_line, markdown_table_text
from roundtable.report.reasons import decision_sentence, describe_reasons

_RANKED_BALLOT = "ranked-ballot"


def render_vote_results(session: Session) -> str:
    """Render the newest ranked vote of a session as Markdown; empty if there was none."""
    ballot_rounds = [record for record in session.rounds.values() if record.opened.expect.codec == _RANKED_BALLOT]
    return "\n\n".join(_vote_sections(session, ballot_rounds[-1])) + "\n" if ballot_rounds else ""


def _vote_sections(session: Session, record: RoundRecord) -> Iterator[str]:
    ids = record.opened.expect.choices
    ballots = {move.seat: move.verdict.ranking for move in record.moves() if move.verdict.counts}
    yield f"# Vote: {escape_markdown_line(session.charter.question, 100)}"
    yield _winner_sentence(session, ballots, ids)
    yield "## Candidates"
    yield "\n".join(f"- {escape_markdown_line(line)}" for line in record.opened.prompt.lists.get("candidates", ids))
    yield "## Ballots"
    ballot_rows = [
        (escape_markdown_line(seat), escape_markdown_line(" > ".join(ballot))) for seat, ballot in ballots.items()
    ]
    missing_rows = [
        (escape_markdown_line(seat), "*no ballot that counts*")
        for seat in record.opened.electorate
        if seat not in ballots
    ]
    yield markdown_table_text(("Seat", "Best first"), [*ballot_rows, *missing_rows])
    yield "## One against one"
    yield _pairwise_table(ballots, ids)
    yield "## By elimination"
    yield markdown_table_text(
        ("Count", *map(escape_markdown_line, ids), "Out"), _elimination_rows(vote_elimination_steps(ballots, ids), ids)
    )


def _winner_sentence(session: Session, ballots: RankedBallots, ids: Sequence[str]) -> str:
    decision = session.decision
    if decision is not None and decision.winner:
        winner, position = escape_markdown_line(decision.winner), escape_markdown_line(decision.position)
        return f"**Winner: {winner}, {position}.** {escape_markdown_line(decision_sentence(decision))}"
    ruling = rule_ranked_vote(ballots, ids)
    reasons = escape_markdown_line(describe_reasons(ruling.why))
    return f"**Winner: {escape_markdown_line(ruling.winner) or 'none'}.** {reasons}"


def _pairwise_table(ballots: RankedBallots, ids: Sequence[str]) -> str:
    """How many ballots rank the row above the column."""
    counts = pairwise_preferences(ballots, ids)
    rows = [
        (escape_markdown_line(row), *("–" if row == column else f"{counts[row, column]}" for column in ids))
        for row in ids
    ]
    return markdown_table_text(("preferred to", *map(escape_markdown_line, ids)), rows)


def _elimination_rows(steps: Sequence[EliminationStep], ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for number, step in enumerate(steps, 1):
        places = (str(step.counts[id]) if id in step.counts else "" for id in ids)
        yield (str(number), *places, escape_markdown_line(", ".join(step.out)) or "–")
