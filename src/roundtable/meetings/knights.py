"""The knights: they speak in turn, each hearing who spoke before, and score how far the table agrees.

1. By priority in the first round, in an order drawn by lot from the second on. Each turn ends with a score out of
   ten, the points agreed with and the issues that are open.
2. After every round the scores of that round decide: all at the threshold and nothing blocking is consensus, in the
   first round only where the proposals do not differ. Before the last rounds the person is warned and may stop.
3. In the end the person chooses: apply, do it myself, later, send them back, choose one proposal, reject.
   Code presides, no seat does; and nothing is carried out without a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import knights as rule
from roundtable.core.decide.points import collect_debate_points
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.text.wording import end_sentence
from roundtable.core.values import Decision, Expect, Gate, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    APPLY_HINT,
    ask_person_to_choose,
    prove_round_claims,
    render_options,
    serve_seat_requests,
)
from roundtable.report.reasons import decision_sentence, reasons_text

TURNS = Turns(concurrency="sequential", visibility="same_round", signed=True, order="priority")
SPEAK = PlannedRound("speak", "score-json", TURNS)
RESPOND = PlannedRound("respond", "score-json", msgspec.structs.replace(TURNS, order="shuffle"))

MAX_SITTINGS = 3
FURTHER_ROUNDS = 2
"""How often they can be sent back, and for how many rounds each time."""

CHOICES = {
    "apply": f"note that it is to be carried out ({APPLY_HINT})",
    "myself": "carry it out myself",
    "later": "decide later",
    "back": "send them back, with what I say",
    "choose": "choose one of their proposals",
    "reject": "reject it, and say why",
}


class KnightsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `[meetings.knights]` may set; `pending_blocks` says whether any open issue blocks, or only a marked one."""

    rounds: int = 5
    threshold: float = 9
    warn_after: int = 3
    pending_blocks: Literal["marked", "any"] = "marked"


def plan_knights_rounds(settings: KnightsSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """One round of answers is to be expected, the others only where the knights go on disagreeing."""
    unlikely = msgspec.structs.replace(RESPOND, likely=False)
    more = max(0, settings.rounds - 2) + FURTHER_ROUNDS * (MAX_SITTINGS - 1)
    return (SPEAK, *[RESPOND] * (settings.rounds > 1), *[unlikely] * more)


async def hold_knights_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, KnightsSettings)
    rounds = await _argued(table, settings, (), max(1, settings.rounds))
    sitting = 1
    while rounds[-1].quorate:
        accord = rule.rule_knights_accord(rounds, settings.threshold, settings.pending_blocks)
        lead = rule.choose_knights_lead(accord, table.charter.seats, table.charter.question)
        decision = rule.decide_knights(accord, lead, "later")
        heeded = await table.check_decrees(decision)
        if accord.ruling.reached and heeded.outcome is not Outcome.REACHED:
            return heeded
        choice = await _persons_choice(table, accord, decision, sitting)
        if choice != "back":
            taken = (
                await ask_person_to_choose(table, accord.ruling.why, accord.proposals()) if choice == "choose" else ""
            )
            return rule.decide_knights(accord, lead, "later" if choice == "choose" and not taken else choice, taken)
        rounds = await _argued(table, settings, rounds, len(rounds) + FURTHER_ROUNDS)
        sitting += 1
    return decide_without_quorum(rounds[-1])


async def _argued(table: Table, settings: KnightsSettings, before: Sequence[Round], upto: int) -> tuple[Round, ...]:
    """Rounds until they agree, the last one is over, a limit is met, or the person stops them."""
    rounds = list(before)
    while len(rounds) < upto:
        name = f"knights/{len(rounds) + 1}-{'respond' if rounds else 'speak'}"
        if rounds:
            if not await table.may_open(name):
                break
            await serve_seat_requests(table, rounds[-1])
        rounds.append(await prove_round_claims(table, await _round(table, name, rounds), rounds))
        accord = rule.rule_knights_accord(rounds, settings.threshold, settings.pending_blocks)
        if accord.settled or not rounds[-1].quorate:
            break
        warned = len(rounds) == settings.warn_after < upto and not before
        if warned and await _warning(table, accord, upto) == "stop":
            break
    return tuple(rounds)


async def _round(table: Table, name: str, rounds: Sequence[Round]) -> Round:
    """One turn each, with what is agreed at its head and the open points under their ids."""
    made = collect_debate_points(rounds)
    planned = RESPOND if rounds else SPEAK
    options = table.charter.options
    quotes = {"points": "\n".join(made.reading()) or "(none)"}
    prompt = Prompt(
        planned.template, {"choice": render_options("Propose", options)}, quotes=quotes, agreed=made.settled()
    )
    return await table.ask(name, prompt, expect=Expect(planned.codec, options), turns=planned.turns)


async def _warning(table: Table, accord: rule.KnightsAccord, upto: int) -> str:
    """The person is told before the end, not only at it."""
    left = upto - len(accord.rounds)
    head = f"No consensus after {len(accord.rounds)} rounds: {reasons_text(accord.ruling.why)}"
    question = " ".join((head, f"Scores: {accord.scores}.", *accord.blocking(), f"Go on for up to {left} more?"))
    details = {"continue": f"up to {left} more rounds", "stop": "end the discussion and choose yourself"}
    return await table.gate(Gate("warning", question, ("continue", "stop"), default="continue", details=details))


async def _persons_choice(table: Table, accord: rule.KnightsAccord, decision: Decision, sitting: int) -> str:
    """What becomes of it. Without a consensus there is nothing to apply or to reject, and the person decides."""
    barred = () if accord.ruling.reached else ("apply", "myself", "reject")
    barred = barred if sitting < MAX_SITTINGS else (*barred, "back")
    details = {option: meaning for option, meaning in CHOICES.items() if option not in barred}
    id = "decide" if sitting == 1 else f"decide-{sitting}"
    proposed = [f"It proposes: {end_sentence(decision.position)}"] if decision.position else []
    question = " ".join((decision_sentence(decision), *proposed, *accord.blocking(), "What next?"))
    return await table.gate(Gate(id, question, tuple(details), "later", details))


MEETING = Meeting(
    "knights",
    1,
    hold_knights_meeting,
    KnightsSettings,
    plan_knights_rounds,
    ("system", "speak", "respond"),
    "They speak in turn and score the table until all agree; then you choose.",
    gates=("warning", "decide", "choose"),
    minimum_seats=2,
    shows_project=True,
)
