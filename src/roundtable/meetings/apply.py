"""The apply meeting: one seat carries out what a meeting decided, the others advise, and a person approves twice.

1. The lead writes a plan; the person decides whether to continue.
2. The lead writes the change, which is run in a sandbox. If it fails, the lead sees why and fixes it. If only a test
   that proves the change is missing, the lead is asked for that test alone.
3. The change is carried out like every change: shown, approved, rehearsed, written.

The draft of a build that was not approved yet needs neither plan nor rounds: it is carried out as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import trial_outcome as rule
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.ports import Table
from roundtable.core.reasons import DraftTakenUnchanged, Said, StoppedAfterPlan
from roundtable.core.values import Decision, Gate, Outcome, Prompt, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound, RetryCount
from roundtable.meetings.try_candidates import (
    EVIDENCE_ROUND,
    FIX_ROUND,
    RESTART_ROUND,
    WHOLE_FILES_CODEC,
    StepFailed,
    meeting_changes_reply_format,
    try_and_fix_candidates_in_meeting,
)
from roundtable.meetings.write_change import WRITE_GATES, WriteProgress, write_change_in_meeting

STAGE = "apply"
PLAN = PlannedRound("plan", "free", Turns(visibility="none"))
APPLY_PLAN_CHOICES = {
    "continue": "the seat writes the change, which is run and shown to you; your files are not changed yet",
    "stop": "end here; nothing is written",
}
WRITE = PlannedRound("write", WHOLE_FILES_CODEC, Turns(visibility="own", at_bench=True))


class ApplySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a failing change is fixed, and settings that are filled in when the meeting is opened.

    Those from `of` on come from the session whose decision is carried out.
    """

    mends: RetryCount = 1
    repairs: RetryCount = 2
    dry_run: bool = False
    branch: str = ""
    of: str = ""
    position: str = ""
    task_only: bool = False
    draft: str = ""
    by: str = ""
    wrote: str = ""
    body: str = ""
    doubt: str = ""


def _plan_apply_rounds(settings: ApplySettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of an apply meeting: plan and change, or none if there is a draft already."""
    return () if settings.draft else (PLAN, WRITE, *[EVIDENCE_ROUND, FIX_ROUND, RESTART_ROUND] * settings.mends)


async def _hold_apply_meeting(table: Table) -> Decision:
    """Hold an apply meeting."""
    settings = msgspec.convert(table.charter.settings, ApplySettings)
    lead = settings.by or table.seats[0].name
    progress = WriteProgress(
        STAGE,
        lead,
        settings.repairs,
        settings.dry_run,
        settings.branch,
        rounds_held=settings.mends + 2,
        body=settings.body,
    )
    try:
        if settings.draft:
            progress.preface = (Said(settings.doubt),) if settings.doubt else ()
            how = (DraftTakenUnchanged(lead),)
            decided = Decision(Outcome.REACHED, how, author=lead, notices=progress.preface)
            return await write_change_in_meeting(table, progress, _with_position(decided, settings), settings.draft)
        return await _plan_and_write(table, settings, progress)
    except StepFailed as stop:
        return rule.failed_step_decision(stop.fault)


async def _plan_and_write(table: Table, settings: ApplySettings, progress: WriteProgress) -> Decision:
    """Let the lead plan and write the change, run it, and carry it out."""
    lead = (progress.seat,)
    drafted = await table.ask("apply/1-plan", Prompt(PLAN.template), seats=lead, turns=PLAN.turns)
    if not drafted.moves:
        return decide_without_quorum(drafted)
    if await table.gate(_plan_gate(progress.seat)) == "stop":
        return Decision(Outcome.REJECTED, (StoppedAfterPlan(),))
    prompt = Prompt(WRITE.template)
    written = await table.ask(
        "apply/2-write", prompt, expect=meeting_changes_reply_format(table), seats=lead, turns=WRITE.turns
    )
    if not written.moves:
        return decide_without_quorum(written)
    restart, evidence = (
        Prompt(planned.template, quotes={"plan": drafted.moves[0].text}) for planned in (RESTART_ROUND, EVIDENCE_ROUND)
    )
    rounds, result = await try_and_fix_candidates_in_meeting(
        table, STAGE, 2, written, settings.mends, restart, evidence
    )
    if not rule.decide_best_candidates(result) and not rule.decide_candidate_failing_only_original_tests(result):
        return rule.decide_no_candidate_passed(result, rounds)
    progress.preface = rule.decide_candidate_warnings(result, progress.seat)
    decision = rule.decide_candidate_chosen(result, rounds, progress.seat, table.charter.question)
    return await write_change_in_meeting(
        table, progress, _with_position(decision, settings), result.candidates[0].draft
    )


def _plan_gate(lead: str) -> Gate:
    """The gate after the plan; approving it writes nothing yet."""
    question = (
        f"{lead} has drafted a plan. Shall {lead} write the change? You will see the change before it is applied."
    )
    return Gate("plan", question, tuple(APPLY_PLAN_CHOICES), "continue", APPLY_PLAN_CHOICES)


def _with_position(decision: Decision, settings: ApplySettings) -> Decision:
    """The decision with the position of the session that is carried out."""
    if not settings.position:
        return decision
    return msgspec.structs.replace(decision, position=settings.position, task_only=settings.task_only)


MEETING = Meeting(
    "apply",
    5,
    _hold_apply_meeting,
    ApplySettings,
    _plan_apply_rounds,
    ("system", "plan", "write", "evidence", "mend", "anew", "about", "repair"),
    "One seat carries out a decision: it plans and drafts the change, and you approve before anything is written.",
    gates=("plan", *WRITE_GATES),
    advance_answers={"plan": tuple(APPLY_PLAN_CHOICES), **WRITE_GATES},
    shows_project=True,
    writes_files=True,
    filled_settings=("dry_run", "branch", "of", "position", "task_only", "draft", "by", "wrote", "body", "doubt"),
)
