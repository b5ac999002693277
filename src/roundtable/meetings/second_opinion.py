"""The second opinion: several seats answer at once, and what they said is put together in their own words.

1. Every seat answers alone: a recommendation in one line, a plain yes or no where the question has one, the risks.
2. Two opinions are compared by what was said outright: the option taken, yes against no, the same words. Only where
   none of these tells, one secret ballot asks the seats themselves; it costs a few words each, and nothing is guessed.
3. Only if it was asked for, and only if the answers show a disagreement, a gap or a risk that blocks, the seats
   read each other, unsigned, and answer once more.
4. The synthesis quotes and is made by code. All who count agree, or nobody wins. There is nothing to ask the person.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import positions
from roundtable.core.decide import second_opinion as opinions
from roundtable.core.decide.second_opinion import FOLLOW_UP, OPINIONS
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import PlannedRound, Protocol
from roundtable.meetings.shared_rounds import RATING, compared, offered

BALLOT = "second-opinion/2-ballot"

OPINION = PlannedRound("opinion", "opinion", Turns(visibility="none"))
AGAIN = PlannedRound("follow-up", "reconsider", Turns(visibility="previous_rounds"), likely=False)

REASONS = {
    "disagreement": "They disagree.",
    "recommendation_gap": "They recommend different things.",
    "risk": "Somebody sees a risk that must be settled first.",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.second-opinion]` may set."""

    follow_up: bool = False


def plan(settings: Settings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """One round is to be expected; the ballot and the follow-up only where the first leaves it open."""
    ballot = () if options else (msgspec.structs.replace(RATING, likely=False),)
    return (OPINION, *ballot, *([AGAIN] if settings.follow_up else []))


async def second_opinion(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, Settings)
    first = await _opinions(table)
    if not first.quorate:
        return positions.insufficient(first)

    options = table.charter.options
    ratings: positions.Ratings = {} if options else opinions.stated(first, table.labels)
    if not options and not ratings and positions.differ(first) and await table.may_open(BALLOT):
        ratings = await compared(table, BALLOT, first)
    standing = positions.opening(first, table.labels, options, ratings)

    reason = opinions.divergence(standing) if settings.follow_up else ""
    if reason and await table.may_open(FOLLOW_UP):
        standing = positions.reconsidered(standing, await _follow_up(table, reason, standing))
    return opinions.conclude(standing)


async def _opinions(table: Table) -> Round:
    """The one round there always is: nobody knows what the others say."""
    options = table.charter.options
    return await table.ask(
        OPINIONS,
        Prompt(OPINION.template, {"choice": offered("Recommend", options)}),
        expect=Expect(OPINION.codec, options),
        turns=OPINION.turns,
    )


async def _follow_up(table: Table, reason: str, standing: positions.Standing) -> Round:
    """The one more round there may be, with the reason for it on the record."""
    ids = tuple(proposal.id for proposal in standing.proposals)
    return await table.ask(
        FOLLOW_UP,
        Prompt(AGAIN.template, {"reason": reason, "why": REASONS[reason]}, {"proposals": standing.reading()}),
        expect=Expect(AGAIN.codec, ids if table.charter.options else (*ids, positions.NEW)),
        turns=AGAIN.turns,
    )


PROTOCOL = Protocol(
    "second-opinion",
    1,
    second_opinion,
    Settings,
    plan,
    ("system", "opinion", "ballot", "follow-up"),
    "One round of answers at once, one more if they differ and you asked for it; quoted, not blended.",
    minimum=2,
)
