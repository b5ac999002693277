"""The council: blind answers, a vote that is kept, and a debate only where the seats disagree.

1. Every seat answers alone, with its position in one line. This blind vote is kept and shown with the decision.
2. Positions become proposals: by the given options, or by one secret ballot over the anonymous positions.
3. Only if they disagree, the seats read each other anonymously, at most twice. A seat that changes its mind must name
   an error or cite a fact; otherwise its blind position counts.
4. More than half of the counted seats decide. The winning text is a seat's own; the minority is reported.
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
    ask_meeting_choice_gate,
    hold_position_ballot,
    prove_meeting_claims,
    render_meeting_prompt_options,
)

BALLOT = "council/2-ballot"

ANSWER = PlannedRound("blind", "position", Turns(visibility="none"))
READING = PlannedRound("reconsider", "reconsider", Turns(visibility="previous_rounds"))


class CouncilSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.council]`."""

    rounds: int = 2


def _plan_council_rounds(settings: CouncilSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a council: one cross-reading is likely, more are held while the seats disagree."""
    unlikely = msgspec.structs.replace(READING, likely=False)
    readings = (READING, *[unlikely] * (settings.rounds - 1)) if settings.rounds > 0 else ()
    return (ANSWER, *readings) if options else (ANSWER, RATING_ROUND, *readings)


async def _hold_council_meeting(table: Table) -> Decision:
    """Hold a council."""
    settings = msgspec.convert(table.charter.settings, CouncilSettings)
    blind = await _ask_blind(table)
    if not blind.quorate:
        return rule.decide_without_quorum(blind)

    ratings: rule.PositionRatings = {}
    if rule.has_different_counted_positions(blind) and not table.charter.options and await table.may_open(BALLOT):
        ratings = await hold_position_ballot(table, BALLOT, blind)
    standing = rule.CouncilStanding.after_blind_round(blind, table.labels, table.charter.options, ratings)

    for number in range(3, settings.rounds + 3):
        round = f"council/{number}-reconsider"
        if standing.settled or not await table.may_open(round):
            break
        standing = standing.after_reading(await _cross_reading(table, round, standing))

    return rule.decide_council(standing, await _ask_to_break_tie(table, standing))


async def _ask_blind(table: Table) -> Round:
    """The blind round: nobody knows what the others say."""
    options = table.charter.options
    return await table.ask(
        "council/1-blind",
        Prompt(ANSWER.template, {"choice": render_meeting_prompt_options("Take as your position", options)}),
        expect=Expect(ANSWER.codec, options),
        turns=ANSWER.turns,
    )


async def _cross_reading(table: Table, round: str, standing: rule.CouncilStanding) -> Round:
    """Let every seat read the others, unsigned and shuffled, and answer again."""
    ids = tuple(proposal.id for proposal in standing.proposals)
    answers = await table.ask(
        round,
        Prompt(READING.template, lists={"proposals": standing.reading()}),
        expect=Expect(READING.codec, ids if table.charter.options else (*ids, rule.NEW_PROPOSAL)),
        turns=READING.turns,
    )
    return await prove_meeting_claims(table, answers)


async def _ask_to_break_tie(table: Table, standing: rule.CouncilStanding) -> str:
    """Ask the person to choose after a tie or deadlock; returns an empty string if nobody chooses."""
    outcome, _ = standing.outcome
    if outcome not in (Outcome.TIE, Outcome.DEADLOCK):
        return ""
    return await ask_meeting_choice_gate(table, (), standing.proposals, preface=f"The council ended in a {outcome}.")


MEETING = Meeting(
    "council",
    1,
    _hold_council_meeting,
    CouncilSettings,
    _plan_council_rounds,
    ("system", "blind", "ballot", "reconsider"),
    "Blind answers and a vote; a debate only where the seats disagree.",
    gates=("choose",),
)
