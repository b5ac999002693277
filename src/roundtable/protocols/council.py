"""The council: blind answers, a vote that is kept, and a debate only where the seats disagree.

1. Every seat answers alone, with its position in one line. These votes are the bar, and they are kept.
2. Positions become proposals: by the options given, or by one secret ballot over the anonymous positions.
3. Only if they disagree, the seats read each other anonymously, twice at most. A change of mind must name
   an error or cite a fact; a flip without either counts at the seat's blind position.
4. More than half of those counted decide. The winning text is a seat's own; the minority is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.ports import Table
from roundtable.core.rules import positions as rule
from roundtable.core.values import Decision, Expect, Gate, Outcome, Prompt, Round, Turns
from roundtable.protocols.protocol import PlannedRound, Protocol

BALLOT = "council/2-ballot"

ANSWER = PlannedRound("blind", "position", Turns(visibility="none"))
RATING = PlannedRound("ballot", "ratings", Turns(visibility="own", secret=True))
READING = PlannedRound("reconsider", "reconsider", Turns(visibility="previous_rounds"))


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.council]` may set."""

    rounds: int = 2


def plan(settings: Settings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """One cross-reading is to be expected, the others only where the seats go on disagreeing."""
    unlikely = msgspec.structs.replace(READING, likely=False)
    readings = (READING, *[unlikely] * (settings.rounds - 1)) if settings.rounds > 0 else ()
    return (ANSWER, *readings) if options else (ANSWER, RATING, *readings)


async def council(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, Settings)
    blind = await _answers(table)
    if not blind.quorate:
        return rule.insufficient(blind)

    ratings: rule.Ratings = {}
    if rule.differ(blind) and not table.charter.options and await table.may_open(BALLOT):
        ratings = await _ballot(table, blind)
    standing = rule.opening(blind, table.labels, table.charter.options, ratings)

    for number in range(3, settings.rounds + 3):
        round = f"council/{number}-reconsider"
        if standing.settled or not await table.may_open(round):
            break
        standing = rule.reconsidered(standing, await _cross_reading(table, round, standing))

    chosen = await _tie_break(table, standing)
    return rule.conclude(standing, chosen)


async def _answers(table: Table) -> Round:
    """The blind round: nobody knows what the others say."""
    options = table.charter.options
    choice = "Take exactly one of these as your position:\n" + "\n".join(f"- {it}" for it in options) if options else ""
    return await table.ask(
        "council/1-blind",
        Prompt(ANSWER.template, {"choice": choice}),
        expect=Expect(ANSWER.codec, options),
        turns=ANSWER.turns,
    )


async def _ballot(table: Table, blind: Round) -> rule.Ratings:
    """One cheap secret ballot: which of these positions are the same as yours, acceptable, opposed?"""
    positions = rule.positions_of(blind)
    labels = {seat: table.labels[seat] for seat in positions}
    ballot = await table.ask(
        BALLOT,
        Prompt(
            RATING.template,
            lists={"positions": tuple(f"{labels[seat]}: {text}" for seat, text in positions.items())},
        ),
        expect=Expect(RATING.codec, tuple(sorted(labels.values()))),
        seats=tuple(positions),
        turns=RATING.turns,
    )
    return {move.seat: move.verdict.ratings for move in ballot.moves if move.verdict.counts}


async def _cross_reading(table: Table, round: str, standing: rule.Standing) -> Round:
    """Everyone reads the others, unsigned and shuffled, and answers again."""
    ids = tuple(proposal.id for proposal in standing.proposals)
    return await table.ask(
        round,
        Prompt(READING.template, lists={"proposals": standing.reading()}),
        expect=Expect(READING.codec, ids if table.charter.options else (*ids, rule.NEW)),
        turns=READING.turns,
    )


async def _tie_break(table: Table, standing: rule.Standing) -> str:
    """Where the seats cannot settle it, the person may; left alone, it stays unsettled."""
    outcome, _ = standing.outcome
    if outcome not in (Outcome.TIE, Outcome.DEADLOCK):
        return ""
    details = {proposal.id: proposal.text for proposal in standing.proposals}
    question = f"The seats ended in a {outcome}. Which proposal do you choose?"
    chosen = await table.gate(Gate("choose", question, (*details, "none"), default="none", details=details))
    return "" if chosen == "none" else chosen


PROTOCOL = Protocol(
    "council",
    1,
    council,
    Settings,
    plan,
    ("system", "blind", "ballot", "reconsider"),
    "Blind answers and a vote; a debate only where the seats disagree.",
    gates=("choose",),
)
