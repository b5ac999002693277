"""The vote: ideas are pitched blind, discussed, and ranked on secret ballots.

1. Every seat pitches one idea alone, unless the person gave the options. Changing nothing is always a candidate too.
2. The seats read each other, unsigned, and argue for a set number of rounds.
3. Every seat ranks all candidates on a secret ballot, in which the candidates are shuffled for each seat.
4. The Condorcet winner wins, otherwise the winner of instant-runoff voting; a tie is the person's to break.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.decide.vote import RankedPoll, decide_vote, ranked_vote_candidates
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Prompt, Proposal, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import ask_meeting_choice_gate, render_meeting_prompt_candidates

PITCH = PlannedRound("pitch", "position", Turns(visibility="none"))
DISCUSS = PlannedRound("discuss", "free", Turns(visibility="previous_rounds"))
BALLOT = PlannedRound("ballot", "ranked-ballot", Turns(visibility="previous_rounds", secret=True))


class VoteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.vote]`."""

    rounds: int = 1


def _plan_vote_rounds(settings: VoteSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a vote; with given options there is no pitch."""
    return (*([] if options else [PITCH]), *[DISCUSS] * settings.rounds, BALLOT)


async def _hold_vote_meeting(table: Table) -> Decision:
    """Hold a vote."""
    settings = msgspec.convert(table.charter.settings, VoteSettings)
    open_rounds: list[Round] = []
    if not table.charter.options:
        open_rounds.append(
            await table.ask("vote/1-pitch", Prompt("pitch"), expect=Expect("position"), turns=PITCH.turns)
        )
        if not open_rounds[0].quorate:
            return decide_without_quorum(open_rounds[0])
    candidates_offered = ranked_vote_candidates(
        table.charter.options, open_rounds[0] if open_rounds else None, table.labels
    )

    for number in range(2, settings.rounds + 2):
        round = f"vote/{number}-discuss"
        if not await table.may_open(round):
            break
        open_rounds.append(await _hold_discussion(table, round, candidates_offered))

    poll = RankedPoll(
        candidates_offered, await _hold_ballot(table, settings.rounds + 2, candidates_offered), tuple(open_rounds)
    )
    if not poll.ballot.quorate:
        return decide_without_quorum(poll.ballot)
    tied = [proposal for proposal in candidates_offered if proposal.id in poll.tied]
    return decide_vote(poll, await ask_meeting_choice_gate(table, poll.ruling.why, tied) if tied else "")


async def _hold_discussion(table: Table, round: str, candidates_offered: Sequence[Proposal]) -> Round:
    prompt = Prompt(DISCUSS.template, lists={"candidates": render_meeting_prompt_candidates(candidates_offered)})
    return await table.ask(round, prompt, expect=Expect(DISCUSS.codec), turns=DISCUSS.turns)


async def _hold_ballot(table: Table, number: int, candidates_offered: Sequence[Proposal]) -> Round:
    """Let every seat rank all candidates, in secret."""
    return await table.ask(
        f"vote/{number}-ballot",
        Prompt(BALLOT.template, lists={"candidates": render_meeting_prompt_candidates(candidates_offered)}),
        expect=Expect(BALLOT.codec, tuple(proposal.id for proposal in candidates_offered)),
        turns=BALLOT.turns,
    )


MEETING = Meeting(
    "vote",
    1,
    _hold_vote_meeting,
    VoteSettings,
    _plan_vote_rounds,
    ("system", "pitch", "discuss", "ballot"),
    "Ideas are pitched, discussed and ranked on secret ballots.",
    gates=("choose",),
    minimum_seats=2,
)
