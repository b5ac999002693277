"""The knights: they speak in turn, each hearing those before, and score how far the table agrees.

1. The first round is in order of priority, later rounds in an order drawn by lot. Each turn ends with a score out of
   ten, the points agreed with and the open issues.
2. After every round its scores decide: consensus means that all reach the threshold and no blocking issue is open; in
   the first round the proposals must also be the same. Before the last rounds the person is warned and may stop.
3. At the end the person chooses: apply, do it myself, later, continue the discussion, choose one proposal,
   reject. No seat presides, and nothing is carried out without the person's yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import knights as rule
from roundtable.core.decide.points import decide_debate_points
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.text.wording import end_text_as_sentence
from roundtable.core.values import Decision, Expect, Gate, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    APPLY_HINT,
    ask_meeting_choice_gate,
    fulfill_seat_requests_in_meeting,
    prove_meeting_claims,
    render_meeting_prompt_options,
)
from roundtable.report.reasons import decision_sentence, describe_reasons

TURNS = Turns(concurrency="sequential", visibility="same_round", signed=True, order="priority")
SPEAK = PlannedRound("speak", "score-json", TURNS)
RESPOND = PlannedRound("respond", "score-json", msgspec.structs.replace(TURNS, order="shuffle"))

MAX_SITTINGS = 3
FURTHER_ROUNDS = 2
"""How many rounds follow each time the person continues the discussion."""

CHOICES = {
    "apply": f"mark it to be carried out ({APPLY_HINT})",
    "myself": "you carry it out yourself",
    "later": "decide later",
    "back": "continue the discussion with your note",
    "choose": "choose one of the proposals",
    "reject": "reject the decision, with your reason",
}


class KnightsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.knights]`; `pending_blocks` says whether any open issue blocks or only marked ones."""

    rounds: int = 5
    threshold: float = 9
    warn_after: int = 3
    pending_blocks: Literal["marked", "any"] = "marked"


def _plan_knights_rounds(settings: KnightsSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of the knights: one response is likely, more are held while they disagree."""
    unlikely = msgspec.structs.replace(RESPOND, likely=False)
    more = max(0, settings.rounds - 2) + FURTHER_ROUNDS * (MAX_SITTINGS - 1)
    return (SPEAK, *[RESPOND] * (settings.rounds > 1), *[unlikely] * more)


async def _hold_knights_meeting(table: Table) -> Decision:
    """Hold a meeting of the knights."""
    settings = msgspec.convert(table.charter.settings, KnightsSettings)
    rounds = await _hold_rounds(table, settings, (), max(1, settings.rounds))
    sitting = 1
    while rounds[-1].quorate:
        accord = rule.rule_knights_accord(rounds, settings.threshold, settings.pending_blocks)
        lead = rule.decide_knights_lead(accord, table.charter.seats, table.charter.question)
        decision = rule.decide_knights(accord, lead, "later")
        checked_decision = await table.check_decrees(decision)
        if accord.ruling.reached and checked_decision.outcome is not Outcome.REACHED:
            return checked_decision
        choice = await _ask_for_choice(table, accord, decision, sitting)
        if choice != "back":
            proposal = (
                await ask_meeting_choice_gate(table, accord.ruling.why, accord.proposals())
                if choice == "choose"
                else ""
            )
            return rule.decide_knights(
                accord, lead, "later" if choice == "choose" and not proposal else choice, proposal
            )
        rounds = await _hold_rounds(table, settings, rounds, len(rounds) + FURTHER_ROUNDS)
        sitting += 1
    return decide_without_quorum(rounds[-1])


async def _hold_rounds(
    table: Table, settings: KnightsSettings, before: Sequence[Round], last_round: int
) -> tuple[Round, ...]:
    """Hold rounds until they agree, the last one is over, a limit is reached, or the person stops them."""
    rounds = list(before)
    while len(rounds) < last_round:
        name = f"knights/{len(rounds) + 1}-{'respond' if rounds else 'speak'}"
        if rounds:
            if not await table.may_open(name):
                break
            await fulfill_seat_requests_in_meeting(table, rounds[-1])
        rounds.append(await prove_meeting_claims(table, await _ask_round(table, name, rounds), rounds))
        accord = rule.rule_knights_accord(rounds, settings.threshold, settings.pending_blocks)
        if accord.settled or not rounds[-1].quorate:
            break
        warned = len(rounds) == settings.warn_after < last_round and not before
        if warned and await _ask_to_continue(table, accord, last_round) == "stop":
            break
    return tuple(rounds)


async def _ask_round(table: Table, name: str, rounds: Sequence[Round]) -> Round:
    """Hold one round, with agreed points first and open points under their ids."""
    open_points = decide_debate_points(rounds)
    planned = RESPOND if rounds else SPEAK
    options = table.charter.options
    quotes = {"points": "\n".join(open_points.reading()) or "(none)"}
    prompt = Prompt(
        planned.template,
        {"choice": render_meeting_prompt_options("Propose", options)},
        quotes=quotes,
        agreed=open_points.settled(),
    )
    return await table.ask(name, prompt, expect=Expect(planned.codec, options), turns=planned.turns)


async def _ask_to_continue(table: Table, accord: rule.KnightsAccord, last_round: int) -> str:
    """Ask the person before the last rounds whether to go on."""
    rounds_left = last_round - len(accord.rounds)
    status = f"No consensus after {len(accord.rounds)} rounds: {describe_reasons(accord.ruling.why)}"
    question = " ".join(
        (status, f"Scores: {accord.scores}.", *accord.blocking(), f"Continue for up to {rounds_left} more rounds?")
    )
    details = {"continue": f"up to {rounds_left} more rounds", "stop": "end the discussion and choose yourself"}
    return await table.gate(Gate("warning", question, ("continue", "stop"), default="continue", details=details))


async def _ask_for_choice(table: Table, accord: rule.KnightsAccord, decision: Decision, sitting: int) -> str:
    """Ask the person what happens with the decision; without consensus there is nothing to apply or reject."""
    unavailable = () if accord.ruling.reached else ("apply", "myself", "reject")
    unavailable = unavailable if sitting < MAX_SITTINGS else (*unavailable, "back")
    details = {option: meaning for option, meaning in CHOICES.items() if option not in unavailable}
    id = "decide" if sitting == 1 else f"decide-{sitting}"
    proposed = [f"It proposes: {end_text_as_sentence(decision.position)}"] if decision.position else []
    question = " ".join((decision_sentence(decision), *proposed, *accord.blocking(), "What next?"))
    return await table.gate(Gate(id, question, tuple(details), "later", details, kind="decide"))


MEETING = Meeting(
    "knights",
    1,
    _hold_knights_meeting,
    KnightsSettings,
    _plan_knights_rounds,
    ("system", "speak", "respond"),
    "Seats speak in turn and score their agreement until all agree; then you choose.",
    gates=("warning", "decide", "choose"),
    minimum_seats=2,
    shows_project=True,
)
