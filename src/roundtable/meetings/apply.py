"""Applying: one seat carries out what a meeting decided; the others only advise, and a person says yes twice.

1. The lead drafts a plan. Whether it goes on is the person's to say.
2. It writes the change, which is run in a sandbox; if it fails, it mends it, knowing why. If nothing is missing but a
   test that shows it, it is asked for that alone.
3. The change is carried out as every change is: shown, approved, rehearsed, written.

What a build decided and nobody approved yet needs no words: its draft is carried out as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import trial_outcome as rule
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Decision, Gate, Outcome, Prompt, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound, RetryCount
from roundtable.meetings.try_candidates import (
    EVIDENCE_ROUND,
    FIX_ROUND,
    RESTART_ROUND,
    WHOLE_FILES_CODEC,
    StepFailed,
    expect_changes,
    try_and_fix_candidates,
)
from roundtable.meetings.write_change import WRITE_GATES, ChangeProgress, carry_out_change

STAGE = "apply"
PLAN = PlannedRound("plan", "free", Turns(visibility="none"))
APPLY_PLAN_CHOICES = {
    "continue": "the seat writes the change, which is run and shown to you; your files stay as they are until then",
    "stop": "end it here, with nothing written",
}
WRITE = PlannedRound("write", WHOLE_FILES_CODEC, Turns(visibility="own", at_bench=True))


class ApplySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often what fails may be mended; the rest is filled in, all from `of` on from the session it carries out."""

    mends: RetryCount = 1
    repairs: RetryCount = 2
    dry_run: bool = False
    branch: str = ""
    of: str = ""
    position: str = ""
    draft: str = ""
    by: str = ""
    wrote: str = ""
    body: str = ""
    doubt: str = ""


def plan_apply_rounds(settings: ApplySettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """A plan and the change, unless there is a draft already."""
    return () if settings.draft else (PLAN, WRITE, *[EVIDENCE_ROUND, FIX_ROUND, RESTART_ROUND] * settings.mends)


async def hold_apply_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    settings = msgspec.convert(table.charter.settings, ApplySettings)
    lead = settings.by or table.seats[0].name
    course = ChangeProgress(
        STAGE,
        lead,
        settings.repairs,
        settings.dry_run,
        settings.branch,
        rounds=settings.mends + 2,
        body=settings.body,
    )
    try:
        if settings.draft:
            how, course.before = Said(f"{lead}'s draft is taken as it was."), settings.doubt
            notices = (Said(settings.doubt),) if settings.doubt else ()
            decided = Decision(Outcome.REACHED, (how,), author=lead, notices=notices)
            return await carry_out_change(table, course, _of(decided, settings.position), settings.draft)
        return await _by_lead(table, settings, course)
    except StepFailed as stop:
        return rule.decide_step_failed(stop.fault)


async def _by_lead(table: Table, settings: ApplySettings, course: ChangeProgress) -> Decision:
    """Plan, write, run; then what every change goes through."""
    lead = (course.seat,)
    drafted = await table.ask("apply/1-plan", Prompt(PLAN.template), seats=lead, turns=PLAN.turns)
    if not drafted.moves:
        return decide_without_quorum(drafted)
    if await table.gate(_go_on(course.seat)) == "stop":
        return Decision(Outcome.REJECTED, (Said("The person stopped it after the plan; nothing was written."),))
    prompt = Prompt(WRITE.template)
    written = await table.ask("apply/2-write", prompt, expect=expect_changes(table), seats=lead, turns=WRITE.turns)
    if not written.moves:
        return decide_without_quorum(written)
    anew, evidence = (
        Prompt(it.template, quotes={"plan": drafted.moves[0].text}) for it in (RESTART_ROUND, EVIDENCE_ROUND)
    )
    rounds, result = await try_and_fix_candidates(table, STAGE, 2, written, settings.mends, anew, evidence)
    if not rule.equally_good_candidates(result) and not rule.contested_candidates(result):
        return rule.decide_no_candidate_passed(result, rounds)
    course.before = rule.candidate_warning(result, course.seat)
    decision = rule.decide_candidate_chosen(result, rounds, course.seat, table.charter.question)
    return await carry_out_change(table, course, _of(decision, settings.position), result.candidates[0].draft)


def _go_on(lead: str) -> Gate:
    """The plan is the first thing a person says yes or no to; nothing is written by saying yes to it."""
    question = f"{lead} has drafted a plan. Shall it write the change? You will see it before anything is applied."
    return Gate("plan", question, tuple(APPLY_PLAN_CHOICES), "continue", APPLY_PLAN_CHOICES)


def _of(decision: Decision, position: str) -> Decision:
    return msgspec.structs.replace(decision, position=position or decision.position)


MEETING = Meeting(
    "apply",
    5,
    hold_apply_meeting,
    ApplySettings,
    plan_apply_rounds,
    ("system", "plan", "write", "evidence", "mend", "anew", "about", "repair"),
    "One seat carries out what was decided: a plan, the change, and your yes before it is written.",
    gates=("plan", *WRITE_GATES),
    advance_answers={"plan": tuple(APPLY_PLAN_CHOICES), **WRITE_GATES},
    shows_project=True,
    writes_files=True,
    filled_settings=("dry_run", "branch", "of", "position", "draft", "by", "wrote", "body", "doubt"),
)
