"""The vote: ideas are pitched blind, discussed, and ranked on secret ballots.

1. Every seat pitches one idea alone, unless the person gave the options. To leave things as they are is always
   a candidate too.
2. The seats read each other, unsigned, and argue for as many rounds as were set.
3. Everybody ranks all candidates on a secret ballot, read to each seat in an order of its own.
4. Who beats every other one against one wins, else who is left after elimination; a tie is the person's to break.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.decide.vote import RankedPoll, decide_vote, read_out_candidates, vote_candidates
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Prompt, Proposal, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import ask_person_to_choose

PITCH = PlannedRound("pitch", "position", Turns(visibility="none"))
DISCUSS = PlannedRound("discuss", "free", Turns(visibility="previous_rounds"))
BALLOT = PlannedRound("ballot", "ranked-ballot", Turns(visibility="previous_rounds", secret=True))


class VoteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.vote]` may set."""

    rounds: int = 1


def plan_vote_rounds(settings: VoteSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """Every round is held; only the pitch falls away where options are given."""
    return (*([] if options else [PITCH]), *[DISCUSS] * settings.rounds, BALLOT)


async def hold_vote_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, VoteSettings)
    open_rounds: list[Round] = []
    if not table.charter.options:
        open_rounds.append(
            await table.ask("vote/1-pitch", Prompt("pitch"), expect=Expect("position"), turns=PITCH.turns)
        )
        if not open_rounds[0].quorate:
            return decide_without_quorum(open_rounds[0])
    offered = vote_candidates(table.charter.options, open_rounds[0] if open_rounds else None, table.labels)

    for number in range(2, settings.rounds + 2):
        round = f"vote/{number}-discuss"
        if not await table.may_open(round):
            break
        open_rounds.append(await _discussion(table, round, offered))

    poll = RankedPoll(offered, await _ballot(table, settings.rounds + 2, offered), tuple(open_rounds))
    if not poll.ballot.quorate:
        return decide_without_quorum(poll.ballot)
    tied = [it for it in offered if it.id in poll.tied]
    return decide_vote(poll, await ask_person_to_choose(table, poll.ruling.why, tied) if tied else "")


async def _discussion(table: Table, round: str, offered: Sequence[Proposal]) -> Round:
    prompt = Prompt(DISCUSS.template, lists={"candidates": read_out_candidates(offered)})
    return await table.ask(round, prompt, expect=Expect(DISCUSS.codec), turns=DISCUSS.turns)


async def _ballot(table: Table, number: int, offered: Sequence[Proposal]) -> Round:
    """Everybody ranks everything; nobody learns how the others voted before the count."""
    return await table.ask(
        f"vote/{number}-ballot",
        Prompt(BALLOT.template, lists={"candidates": read_out_candidates(offered)}),
        expect=Expect(BALLOT.codec, tuple(it.id for it in offered)),
        turns=BALLOT.turns,
    )


MEETING = Meeting(
    "vote",
    1,
    hold_vote_meeting,
    VoteSettings,
    plan_vote_rounds,
    ("system", "pitch", "discuss", "ballot"),
    "Ideas are pitched, discussed and ranked on secret ballots.",
    gates=("choose",),
    minimum_seats=2,
)
