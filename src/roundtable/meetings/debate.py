"""The debate: everybody proposes at once, then they agree, object and add until nobody has anything new to say.

1. The question goes to all seats at the same time; none of them can follow the first answer.
2. "Any objections or additions?" Each seat answers AGREE with a seat, OBJECT with a reason, ADD a point, signed.
   Rounds end when they agree, when everybody stands where all stood before, or at the bound. A note from the
   person pauses them.
3. Consensus check: the tally is read out, and every seat says outright what it agrees with. Silence is no agreement.
   A deadlock is the person's to break.
4. One seat drafts a plan. Nothing is carried out without the person's yes, however many seats agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import debate as rule
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.reasons import ExecutorMissing, PlanMissing
from roundtable.core.text.wording import end_sentence
from roundtable.core.values import Decision, Expect, Gate, NextStep, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    APPLY_HINT,
    ask_person_to_choose,
    prove_round_claims,
    render_options,
    serve_seat_requests,
)

ALOUD = Turns(visibility="previous_rounds", signed=True)
SEED = PlannedRound("seed", "position", Turns(visibility="none"))
OBJECTIONS = PlannedRound("objections", "agree-object-add", ALOUD)
CONSENSUS = PlannedRound("consensus", "agree-object-add", ALOUD)
PLAN = PlannedRound("plan", "free", ALOUD)


class DebateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.debate]` may set; without an `executor`, who proposed what won drafts the plan."""

    rounds: int = 3
    support: Literal["majority", "all"] = "majority"
    executor: str = ""


def plan_debate_rounds(settings: DebateSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """One round of objections is to be expected, the others only where the seats go on moving."""
    more = [msgspec.structs.replace(OBJECTIONS, likely=False)] * (settings.rounds - 1)
    return (SEED, *[OBJECTIONS] * (settings.rounds > 0), *more, CONSENSUS, PLAN)


async def hold_debate_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, DebateSettings)
    seed = await _seed(table)
    if not seed.quorate:
        return decide_without_quorum(seed)
    standing = await _argued(table, settings, rule.debate_after_blind_round(seed))
    ruling = standing.ruling(settings.support)
    choice = ""
    if ruling.outcome is Outcome.DEADLOCK:
        tally = f"No consensus: {standing.tally_line()}."
        choice = await ask_person_to_choose(table, ruling.why, standing.proposals, before=tally)
    decision = await table.check_decrees(rule.decide_debate(standing, settings.support, choice))
    return await _planned(table, settings, decision)


async def _seed(table: Table) -> Round:
    """Everybody at once, nobody before the others."""
    options = table.charter.options
    prompt = Prompt(SEED.template, {"choice": render_options("Take as your position", options)})
    return await table.ask("debate/1-seed", prompt, expect=Expect(SEED.codec, options), turns=SEED.turns)


async def _argued(table: Table, settings: DebateSettings, standing: rule.Debate) -> rule.Debate:
    """The rounds of objections, and the consensus check that ends them."""
    said = ""
    for number in range(2, settings.rounds + 2):
        name = f"debate/{number}-objections"
        if standing.over(settings.support) or not await table.may_open(name):
            break
        said = await _interjected(table, number, name)
        if said == "end":
            break
        standing = standing.after(await _asked(table, name, OBJECTIONS, standing))
    number = settings.rounds + 2
    check = f"debate/{number}-consensus"
    if not await table.may_open(check):
        return standing
    if said != "end":
        await _interjected(table, number, check)
    return standing.after(await _asked(table, check, CONSENSUS, standing))


async def _interjected(table: Table, number: int, round: str) -> str:
    """Who speaks up is not talked over: the debate waits, and the next round reads what was said."""
    question = "You spoke up, so the debate waits. Go on, or end the rounds and take the consensus check now?"
    gate = Gate(f"interjection-{number}", question, ("continue", "end"), default="continue")
    return await table.gate_after_note(gate, before=round)


async def _asked(table: Table, name: str, planned: PlannedRound, standing: rule.Debate) -> Round:
    """One round over the proposals, after the files and checks that seats asked for in the round before."""
    await serve_seat_requests(table, standing.latest)
    points = standing.points
    quotes = {"tally": standing.tally_line(), "points": "\n".join(points.reading()) or "(none)"}
    lists = {"proposals": standing.reading()}
    prompt = Prompt(planned.template, lists=lists, quotes=quotes, agreed=points.settled())
    expect = Expect(planned.codec, standing.authors)
    asked = await table.ask(name, prompt, expect=expect, turns=planned.turns)
    return await prove_round_claims(table, asked, standing.rounds)


async def _planned(table: Table, settings: DebateSettings, decision: Decision) -> Decision:
    """One seat says how it would carry the decision out, and the person says whether it may."""
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
    details = {"yes": f"note that it may be ({APPLY_HINT})", "no": "nothing is carried out"}
    question = f"{executor} has drafted a plan for: {end_sentence(decision.position)} Shall it be carried out?"
    answer = await table.gate(Gate("execute", question, ("yes", "no"), default="no", details=details))
    return msgspec.structs.replace(decision, next_step=NextStep.APPLY if answer == "yes" else "")


MEETING = Meeting(
    "debate",
    1,
    hold_debate_meeting,
    DebateSettings,
    plan_debate_rounds,
    ("system", "seed", "objections", "consensus", "plan"),
    "Proposals at once, then agree, object, add; a consensus check, and a plan you say yes or no to.",
    gates=("interjection-2", "choose", "execute"),
    minimum_seats=2,
)
