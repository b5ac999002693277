"""The code-red: something is broken, and several doctors look for the root cause.

1. Triage: each doctor says briefly where it would look, and which files and checks it needs.
2. Blind diagnosis: each doctor sees those and names the root cause alone, so that nobody follows the first guess.
3. Convergence: the doctors compare their causes, unsigned, with the requested files and checks in between, until two of
   them are sure of the same cause, no doctor changes its mind, or a limit is reached.
4. The person chooses: fix it now, only report it, or log it for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roundtable.core.decide import code_red as rule
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.text.wording import end_text_as_sentence
from roundtable.core.values import Decision, Expect, Gate, NextStep, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import APPLY_HINT, fulfill_seat_requests_in_meeting, prove_meeting_claims
from roundtable.report.reasons import decision_sentence

TRIAGE = PlannedRound("triage", "triage", Turns(visibility="none"))
BLIND = PlannedRound("blind", "diagnosis-json", Turns(visibility="own"))
CONVERGE = PlannedRound("converge", "diagnosis-json", Turns(visibility="previous_rounds"))

CHOICES = {
    "fix": f"mark it to be fixed ({APPLY_HINT})",
    "report": "only report it",
    "log": "write it into the error log for later",
}


class CodeRedSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `[meetings.code-red]`; `confidence` is out of ten."""

    rounds: int = 3
    doctors: Annotated[int, msgspec.Meta(ge=1)] = 2
    confidence: float = 8
    similarity: float = 0.7


def _plan_code_red_rounds(settings: CodeRedSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a code-red: one convergence is likely, more are held while diagnoses change."""
    more = [msgspec.structs.replace(CONVERGE, likely=False)] * (settings.rounds - 1)
    return (TRIAGE, BLIND, *[CONVERGE] * (settings.rounds > 0), *more)


async def _hold_code_red_meeting(table: Table) -> Decision:
    """Hold a code-red."""
    settings = msgspec.convert(table.charter.settings, CodeRedSettings)
    criteria = rule.RootCauseCriteria(settings.doctors, settings.confidence, settings.similarity)
    triage = await _ask_doctors(table, "code-red/1-triage", TRIAGE)
    await fulfill_seat_requests_in_meeting(table, triage)
    blind = await _ask_doctors(table, "code-red/2-blind", BLIND)
    if not blind.quorate:
        return decide_without_quorum(blind)

    rounds = [blind]
    for number in range(3, settings.rounds + 3):
        name = f"code-red/{number}-converge"
        if rule.is_diagnosis_decided_or_stalled(rounds, criteria) or not await table.may_open(name):
            break
        await fulfill_seat_requests_in_meeting(table, rounds[-1])
        rounds.append(
            await _ask_doctors(table, name, CONVERGE, rule.list_diagnoses_to_decide(rounds[-1], table.labels))
        )
    return await _ask_for_outcome(table, await table.check_decrees(rule.decide_code_red(rounds, criteria)))


async def _ask_doctors(table: Table, name: str, planned: PlannedRound, findings: Sequence[str] = ()) -> Round:
    prompt = Prompt(planned.template, lists={"findings": tuple(findings)} if findings else {})
    return await prove_meeting_claims(
        table, await table.ask(name, prompt, expect=Expect(planned.codec), turns=planned.turns)
    )


async def _ask_for_outcome(table: Table, decision: Decision) -> Decision:
    """Ask the person what to do with the diagnosis; without a cause, a fix is not offered."""
    details = {option: meaning for option, meaning in CHOICES.items() if option != "fix" or decision.winner}
    finding = (
        f"Root cause: {end_text_as_sentence(decision.position)}" if decision.winner else "No root cause was found."
    )
    question = f"{finding} {decision_sentence(decision)} What next?"
    choice = await table.gate(Gate("outcome", question, tuple(details), default="report", details=details))
    return msgspec.structs.replace(decision, next_step=NextStep.APPLY if choice == "fix" else choice)


MEETING = Meeting(
    "code-red",
    1,
    _hold_code_red_meeting,
    CodeRedSettings,
    _plan_code_red_rounds,
    ("system", "triage", "blind", "converge"),
    "Seats act as doctors and look for one root cause: triage, blind diagnosis, convergence; then you choose.",
    gates=("outcome",),
    minimum_seats=2,
    shows_project=True,
)
