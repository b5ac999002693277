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

from roundtable.core.decide import positions as rule
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    RATING_ROUND,
    ask_person_to_choose,
    compare_positions,
    prove_round_claims,
    render_options,
)

BALLOT = "council/2-ballot"

ANSWER = PlannedRound("blind", "position", Turns(visibility="none"))
READING = PlannedRound("reconsider", "reconsider", Turns(visibility="previous_rounds"))


class CouncilSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.council]` may set."""

    rounds: int = 2


def plan_council_rounds(settings: CouncilSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """One cross-reading is to be expected, the others only where the seats go on disagreeing."""
    unlikely = msgspec.structs.replace(READING, likely=False)
    readings = (READING, *[unlikely] * (settings.rounds - 1)) if settings.rounds > 0 else ()
    return (ANSWER, *readings) if options else (ANSWER, RATING_ROUND, *readings)


async def hold_council_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, CouncilSettings)
    blind = await _answers(table)
    if not blind.quorate:
        return rule.decide_without_quorum(blind)

    ratings: rule.PositionRatings = {}
    if rule.has_different_positions(blind) and not table.charter.options and await table.may_open(BALLOT):
        ratings = await compare_positions(table, BALLOT, blind)
    standing = rule.standing_after_blind_round(blind, table.labels, table.charter.options, ratings)

    for number in range(3, settings.rounds + 3):
        round = f"council/{number}-reconsider"
        if standing.settled or not await table.may_open(round):
            break
        standing = rule.standing_after_reading(standing, await _cross_reading(table, round, standing))

    return rule.decide_council(standing, await _tie_break(table, standing))


async def _answers(table: Table) -> Round:
    """The blind round: nobody knows what the others say."""
    options = table.charter.options
    return await table.ask(
        "council/1-blind",
        Prompt(ANSWER.template, {"choice": render_options("Take as your position", options)}),
        expect=Expect(ANSWER.codec, options),
        turns=ANSWER.turns,
    )


async def _cross_reading(table: Table, round: str, standing: rule.CouncilStanding) -> Round:
    """Everyone reads the others, unsigned and shuffled, and answers again."""
    ids = tuple(proposal.id for proposal in standing.proposals)
    asked = await table.ask(
        round,
        Prompt(READING.template, lists={"proposals": standing.reading()}),
        expect=Expect(READING.codec, ids if table.charter.options else (*ids, rule.NEW_PROPOSAL)),
        turns=READING.turns,
    )
    return await prove_round_claims(table, asked)


async def _tie_break(table: Table, standing: rule.CouncilStanding) -> str:
    """Where the seats cannot settle it, the person may; left alone, it stays unsettled."""
    outcome, _ = standing.outcome
    if outcome not in (Outcome.TIE, Outcome.DEADLOCK):
        return ""
    return await ask_person_to_choose(table, (), standing.proposals, before=f"The seats ended in a {outcome}.")


MEETING = Meeting(
    "council",
    1,
    hold_council_meeting,
    CouncilSettings,
    plan_council_rounds,
    ("system", "blind", "ballot", "reconsider"),
    "Blind answers and a vote; a debate only where the seats disagree.",
    gates=("choose",),
)
