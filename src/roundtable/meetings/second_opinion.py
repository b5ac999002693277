"""The second opinion: several seats answer at once, and their words are put together unchanged.

1. Every seat answers alone: a recommendation in one line, a plain yes or no where the question has one, the risks.
2. Two opinions are compared by what they state: the chosen option, yes against no, the same words. Only if none of
   these decides, one secret ballot asks the seats themselves.
3. Only if it was requested, and if the answers show a disagreement, a gap or a blocking risk, the seats read each
   other, unsigned, and answer once more.
4. The synthesis quotes and is made by code. All counted seats agree, or nobody wins. The person is asked nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import positions
from roundtable.core.decide import second_opinion as opinions
from roundtable.core.decide.second_opinion import FOLLOW_UP_ROUND_NAME, OPINIONS_ROUND_NAME
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import RATING_ROUND, hold_position_ballot, render_meeting_prompt_options

BALLOT = "second-opinion/2-ballot"

OPINION = PlannedRound("opinion", "opinion", Turns(visibility="none"))
FOLLOW_UP_ROUND = PlannedRound("follow-up", "reconsider", Turns(visibility="previous_rounds"), likely=False)

FOLLOW_UP_REASONS = {
    "disagreement": "They disagree.",
    "recommendation_gap": "They recommend different things.",
    "risk": "At least one seat sees a risk that must be resolved first.",
}


class SecondOpinionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.second-opinion]`."""

    follow_up: bool = False


def _plan_second_opinion_rounds(settings: SecondOpinionSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a second opinion: one is likely, ballot and follow-up are held where the first leaves it open."""
    ballot = () if options else (msgspec.structs.replace(RATING_ROUND, likely=False),)
    return (OPINION, *ballot, *([FOLLOW_UP_ROUND] if settings.follow_up else []))


async def _hold_second_opinion_meeting(table: Table) -> Decision:
    """Hold a second opinion."""
    settings = msgspec.convert(table.charter.settings, SecondOpinionSettings)
    first = await _ask_opinions(table)
    if not first.quorate:
        return positions.decide_without_quorum(first)

    options = table.charter.options
    ratings: positions.PositionRatings = {} if options else opinions.vote_ratings_from_stances(first, table.labels)
    if (
        not options
        and not ratings
        and positions.has_different_counted_positions(first)
        and await table.may_open(BALLOT)
    ):
        ratings = await hold_position_ballot(table, BALLOT, first)
    standing = positions.CouncilStanding.after_blind_round(first, table.labels, options, ratings)

    reason = opinions.decide_second_opinion_follow_up(standing) if settings.follow_up else ""
    if reason and await table.may_open(FOLLOW_UP_ROUND_NAME):
        standing = standing.after_reading(await _ask_follow_up(table, reason, standing))
    return opinions.decide_second_opinion(standing)


async def _ask_opinions(table: Table) -> Round:
    """Ask every seat, blind."""
    options = table.charter.options
    return await table.ask(
        OPINIONS_ROUND_NAME,
        Prompt(OPINION.template, {"choice": render_meeting_prompt_options("Recommend", options)}),
        expect=Expect(OPINION.codec, options),
        turns=OPINION.turns,
    )


async def _ask_follow_up(table: Table, reason: str, standing: positions.CouncilStanding) -> Round:
    """Ask every seat once more; the reason is recorded with the round."""
    ids = tuple(proposal.id for proposal in standing.proposals)
    return await table.ask(
        FOLLOW_UP_ROUND_NAME,
        Prompt(
            FOLLOW_UP_ROUND.template,
            {"reason": reason, "why": FOLLOW_UP_REASONS[reason]},
            {"proposals": standing.reading()},
        ),
        expect=Expect(FOLLOW_UP_ROUND.codec, ids if table.charter.options else (*ids, positions.NEW_PROPOSAL)),
        turns=FOLLOW_UP_ROUND.turns,
    )


MEETING = Meeting(
    "second-opinion",
    1,
    _hold_second_opinion_meeting,
    SecondOpinionSettings,
    _plan_second_opinion_rounds,
    ("system", "opinion", "ballot", "follow-up"),
    "One round of answers, quoted unchanged; a second round on request if they differ.",
    minimum_seats=2,
)
