"""The SDLC meeting: seven stages from an idea to a running program, with the person's yes between them.

1. Each kind of stage is held in its own way: a text to agree on, files, a review, a program to run. Every stage gets
   the results of earlier ones word for word, and the current files of the project.
2. After each stage the person continues, repeats it with new instructions, goes back to an earlier stage, skips the
   next one, or ends the meeting. Without a person, the meeting ends after the first stage.
3. At the end the project is delivered in the form the person chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.decide import stage_outcome as rule
from roundtable.core.effects import EndStage, StageEnded
from roundtable.core.ports import Table
from roundtable.core.reasons import WorkshopStepFailed
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import SdlcSettings, Stage, StageEnd
from roundtable.core.values import SDLC_MEETING, STAGES_GATE, Decision, Gate, NextStep
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.delivery import DELIVER, HANDOVER_FORMS, hold_delivery_after_stages
from roundtable.meetings.stages.discussion_stage import hold_discussion_stage
from roundtable.meetings.stages.execution_stage import RERUN_GATE, hold_execution_stage
from roundtable.meetings.stages.files_stage import hold_files_stage
from roundtable.meetings.stages.review_stage import hold_review_stage
from roundtable.meetings.stages.stage_rounds import plan_rounds_of_sdlc_stages
from roundtable.meetings.try_candidates import StepFailed, perform_required_meeting_step
from roundtable.meetings.write_change import WRITE_GATES
from roundtable.report.stage_words import stage_gate_sentence

STAGE_RUNNERS = {
    "discussion": hold_discussion_stage,
    "files": hold_files_stage,
    "review": hold_review_stage,
    "run": hold_execution_stage,
}
STAGE_PROMPTS = (
    "system",
    "draft",
    "discuss",
    "judge",
    "about",
    "repair",
    "chunk",
    "findings-judge",
    "look",
    "fix",
    "write",
    "rewrite",
    "judge-files",
    "refine",
    "analyse",
)
MAX_STAGE_ATTEMPTS = 5
"""How often one stage can be held before the person has to continue or end the meeting."""

AFTER_STAGE_CHOICES = {
    "continue": "go on to the next stage",
    "retry": "repeat this stage; say what should be different",
    "back": "go back to an earlier stage in a new session: say which, and what should be different",
    "skip": "continue and skip the next stage",
    "complete": "end here with the result so far",
    "stop": "stop here without a result",
}


def _plan_sdlc_rounds(settings: SdlcSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """All rounds that the stages may hold."""
    return plan_rounds_of_sdlc_stages(settings.enabled_stages, settings.runs, existing=settings.existing)


async def _hold_sdlc_meeting(table: Table) -> Decision:
    """Hold the stages one after the other."""
    stages, ends = SdlcSettings.of(table.charter).enabled_stages, list[StageEnd]()
    skipped = False
    for index, stage in enumerate(stages):
        if skipped:
            ends.append(
                await _record_stage_end(
                    table, stage.name, StageContext(table, stage, index, 1, tuple(ends)).end(how="skipped")
                )
            )
            skipped = False
            continue
        end, answer = await _hold_stage(table, stage, index, tuple(ends), last=index == len(stages) - 1)
        ends.append(end)
        if answer in ("stop", "back"):
            gate = StageAddress(end.stage, end.attempt).gate_after
            return rule.decide_stages_stopped(ends, answer, answered=not table.answered_by_default(gate))
        if answer == "complete":
            break
        skipped = answer == "skip"
    return await hold_delivery_after_stages(table, ends)


async def _hold_stage(
    table: Table, stage: Stage, index: int, before: tuple[StageEnd, ...], *, last: bool
) -> tuple[StageEnd, str]:
    """Hold a stage until the person accepts it; returns its result and the person's answer."""
    instructions = stage.instructions
    for attempt in range(1, MAX_STAGE_ATTEMPTS + 1):
        context = StageContext(table, stage, index, attempt, before, instructions)
        try:
            end = await STAGE_RUNNERS[stage.kind](context)
        except StepFailed as stop:
            end = context.end(how="failed", notices=(WorkshopStepFailed(stop.fault),))
        end = await _record_stage_end(table, context.name, end)
        gate = context.address.gate_after
        unavailable = {"retry"} if attempt == MAX_STAGE_ATTEMPTS else set[str]()
        unavailable |= {"skip"} if last else set[str]()
        details = {option: meaning for option, meaning in AFTER_STAGE_CHOICES.items() if option not in unavailable}
        details |= {"continue": "take this as the result"} if last else {}
        question = stage_gate_sentence(stage, end, last=last)
        answer = await table.gate(Gate(gate, question, tuple(details), "stop", details, again_of=STAGES_GATE))
        if answer != "retry":
            return end, answer
        instructions = "\n".join(filter(None, (instructions, table.answer_text(gate))))
    raise AssertionError("the last attempt has no retry among its options")


async def _record_stage_end(table: Table, name: str, end: StageEnd) -> StageEnd:
    return (await perform_required_meeting_step(table, f"{name}/end", EndStage(end), StageEnded)).end


MEETING = Meeting(
    SDLC_MEETING,
    4,
    _hold_sdlc_meeting,
    SdlcSettings,
    _plan_sdlc_rounds,
    STAGE_PROMPTS,
    "Seven stages from an idea to a running program, with your approval between them.",
    gates=(STAGES_GATE, RERUN_GATE, DELIVER, *WRITE_GATES),
    advance_answers={
        STAGES_GATE: ("continue",),
        RERUN_GATE: ("yes", "no"),
        DELIVER: (*HANDOVER_FORMS, NextStep.LATER),
        **WRITE_GATES,
    },
    writes_files=True,
    filled_settings=("stages", "existing", "into"),
)
