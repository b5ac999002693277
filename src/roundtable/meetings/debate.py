"""The debate: all seats propose at once, then they agree, object and add until no seat has anything new to say.

1. The question goes to all seats at the same time, so that none of them can follow the first answer.
2. "Any objections or additions?" Each seat answers AGREE with a seat, OBJECT with a reason, or ADD a point, signed.
   Rounds end when the seats agree, when no seat changes its stance, or at the limit. A note from the person pauses
   them.
3. Consensus check: the seats see the tally and each says explicitly what it agrees with. Silence is not agreement. A
   deadlock is the person's to break.
4. One seat writes a plan. Nothing is carried out without the person's yes, however many seats agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import debate as rule
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.reasons import ExecutorMissing, PlanMissing
from roundtable.core.text.wording import end_text_as_sentence
from roundtable.core.values import Decision, Expect, Gate, NextStep, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    APPLY_HINT,
    ask_meeting_choice_gate,
    fulfill_seat_requests_in_meeting,
    prove_meeting_claims,
    render_meeting_prompt_options,
)

ALOUD = Turns(visibility="previous_rounds", signed=True)
SEED = PlannedRound("seed", "position", Turns(visibility="none"))
OBJECTIONS = PlannedRound("objections", "agree-object-add", ALOUD)
CONSENSUS = PlannedRound("consensus", "agree-object-add", ALOUD)
PLAN = PlannedRound("plan", "free", ALOUD)


class DebateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.debate]`; without an `executor`, the author of the winning proposal writes the plan."""

    rounds: int = 3
    support: Literal["majority", "all"] = "majority"
    executor: str = ""


def _plan_debate_rounds(settings: DebateSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a debate: one round of objections is likely, more are held while seats change their stance."""
    more = [msgspec.structs.replace(OBJECTIONS, likely=False)] * (settings.rounds - 1)
    return (SEED, *[OBJECTIONS] * (settings.rounds > 0), *more, CONSENSUS, PLAN)


async def _hold_debate_meeting(table: Table) -> Decision:
    """Hold a debate."""
    settings = msgspec.convert(table.charter.settings, DebateSettings)
    seed = await _ask_seed(table)
    if not seed.quorate:
        return decide_without_quorum(seed)
    standing = await _hold_objections(table, settings, rule.Debate.after_blind_round(seed))
    ruling = standing.ruling(settings.support)
    choice = ""
    if ruling.outcome is Outcome.DEADLOCK:
        tally = f"No consensus: {standing.tally_line()}."
        choice = await ask_meeting_choice_gate(table, ruling.why, standing.proposals, preface=tally)
    decision = await table.check_decrees(rule.decide_debate(standing, settings.support, choice))
    return await _ask_for_plan(table, settings, decision)


async def _ask_seed(table: Table) -> Round:
    """Let all seats propose at the same time."""
    options = table.charter.options
    prompt = Prompt(SEED.template, {"choice": render_meeting_prompt_options("Take as your position", options)})
    return await table.ask("debate/1-seed", prompt, expect=Expect(SEED.codec, options), turns=SEED.turns)


async def _hold_objections(table: Table, settings: DebateSettings, standing: rule.Debate) -> rule.Debate:
    """Hold the rounds of objections, and the consensus check that ends them."""
    answer = ""
    for number in range(2, settings.rounds + 2):
        name = f"debate/{number}-objections"
        if standing.over(settings.support) or not await table.may_open(name):
            break
        answer = await _pause_after_note(table, number, name)
        if answer == "end":
            break
        standing = standing.after(await _ask_round(table, name, OBJECTIONS, standing))
    number = settings.rounds + 2
    check = f"debate/{number}-consensus"
    if not await table.may_open(check):
        return standing
    if answer != "end":
        await _pause_after_note(table, number, check)
    return standing.after(await _ask_round(table, check, CONSENSUS, standing))


async def _pause_after_note(table: Table, number: int, round: str) -> str:
    """Pause the debate if the person wrote a note; the next round reads it."""
    question = "You wrote a note, so the debate is paused. Continue, or hold the consensus check now?"
    gate = Gate(f"interjection-{number}", question, ("continue", "end"), default="continue")
    return await table.gate_after_note(gate, before=round)


async def _ask_round(table: Table, name: str, planned: PlannedRound, standing: rule.Debate) -> Round:
    """Hold one round over the proposals, after serving the files and checks that seats asked for."""
    await fulfill_seat_requests_in_meeting(table, standing.latest)
    points = standing.points
    quotes = {"tally": standing.tally_line(), "points": "\n".join(points.reading()) or "(none)"}
    lists = {"proposals": standing.reading()}
    prompt = Prompt(planned.template, lists=lists, quotes=quotes, agreed=points.settled())
    expect = Expect(planned.codec, standing.authors)
    answers = await table.ask(name, prompt, expect=expect, turns=planned.turns)
    return await prove_meeting_claims(table, answers, standing.rounds)


async def _ask_for_plan(table: Table, settings: DebateSettings, decision: Decision) -> Decision:
    """Let one seat write a plan for the decision, and ask the person whether it may be carried out."""
    name = f"debate/{settings.rounds + 3}-plan"
    executor = settings.executor or decision.author
    if decision.outcome is not Outcome.REACHED:
        return decision
    if executor not in decision.electorate:
        return msgspec.structs.replace(decision, how=(*decision.how, ExecutorMissing(executor)))
    if not await table.may_open(name):
        return decision
    prompt = Prompt(PLAN.template, quotes={"position": decision.position})
    drafted = await table.ask(name, prompt, seats=(executor,), turns=PLAN.turns)
    if drafted.move_of(executor) is None:
        return msgspec.structs.replace(decision, notices=(*decision.notices, PlanMissing(executor)))
    details = {"yes": f"mark it to be carried out ({APPLY_HINT})", "no": "nothing is carried out"}
    position = end_text_as_sentence(decision.position)
    question = f"{executor} has drafted a plan for this decision: {position} Should the plan be carried out?"
    answer = await table.gate(Gate("execute", question, ("yes", "no"), default="no", details=details))
    return msgspec.structs.replace(decision, next_step=NextStep.APPLY if answer == "yes" else "")


MEETING = Meeting(
    "debate",
    1,
    _hold_debate_meeting,
    DebateSettings,
    _plan_debate_rounds,
    ("system", "seed", "objections", "consensus", "plan"),
    "Seats propose at the same time, then agree, object or add; after a consensus check, you accept or reject a plan.",
    gates=("interjection-2", "choose", "execute"),
    minimum_seats=2,
)
