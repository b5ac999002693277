"""The execution stage: it runs the program; failures are analysed, fixed and, with the person's yes, run again.

1. The project is run in the sandbox as its own files define. If it fails for want of an install step, the person is
   asked whether that may run.
2. If it fails, all seats get its output and write a fix; a judge chooses, as in every stage of files.
3. The person says whether the fixed program is run again, a limited number of times.

Each run with its fix is a lap of its own, `stage/1` and so on, so that seats see the last run only.
"""

from __future__ import annotations

import msgspec

from roundtable.core.candidate_reasons import LastFixNotRun, RunRemark, RunStopped
from roundtable.core.decide.program_run import decide_reason_for_failed_program_runs
from roundtable.core.effects import ChangePlanned, PlanChange, ProjectRan, RunProject
from roundtable.core.reasons import Reason, Reasons
from roundtable.core.stage_address import StageAddress, StageQuestion
from roundtable.core.stages import Contribution, StageEnd, StageEnding
from roundtable.core.values import Digest, Gate
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.files_stage import hold_files_stage
from roundtable.meetings.try_candidates import perform_required_meeting_step
from roundtable.report.run_words import (
    install_step_question_sentence,
    program_rerun_question_sentence,
    render_project_run_summary,
)

RERUN_GATE = "rerun"
"""The gate id under which running a fixed program again can be answered in advance."""

YES, NO, SHOW = "yes", "no", "show"
INSTALL_CHOICES = {YES: "run its install step, with network access", NO: "do not run it"}
RERUN_CHOICES = {YES: "run it with the fix", NO: "do not run it again", SHOW: "show the fix first"}


class ExecutionProgress(msgspec.Struct):
    """The project during the stage, and which install steps the person has allowed or refused."""

    address: StageAddress
    draft: Digest
    run: int = 1
    allowed: tuple[str, ...] = ()
    refused: tuple[tuple[str, ...], ...] = ()
    judge: str = ""
    base: str = ""
    took: tuple[Contribution, ...] = ()
    notices: Reasons = ()
    own_words: bool = False

    def apply_fix(self, fixes: StageEnd) -> None:
        """Continue with a fix; an allowed install step was allowed for the files as they were."""
        self.allowed = self.allowed if fixes.draft == self.draft else ()
        self.draft, self.base = fixes.draft, fixes.base
        self.took += fixes.took

    def gate(self, what: StageQuestion) -> str:
        """The id of a gate, numbered from the second run on."""
        return self.address.question_gate(what, self.run)


async def hold_execution_stage(context: StageContext) -> StageEnd:
    """Hold an execution stage."""
    progress = ExecutionProgress(context.address, context.draft)
    while True:
        lap = _lap_context(context, progress)
        result = await _run_program(lap, progress)
        if result.passed:
            return _end(context, progress, "ran", render_project_run_summary(result), *map(RunRemark, result.notes))
        if result.stopped:
            return _end(context, progress, "chosen", render_project_run_summary(result), RunStopped())
        if not await _fix_program(lap, progress, result):
            return _end(
                context,
                progress,
                "failed",
                render_project_run_summary(result),
                decide_reason_for_failed_program_runs(result, progress.run),
            )
        progress.run += 1


async def _fix_program(lap: StageContext, progress: ExecutionProgress, result: ProjectRan) -> bool:
    """Let the seats fix the program; returns whether the person wants it to be run again."""
    if progress.run > lap.settings.runs:
        return False
    fixes = await hold_files_stage(lap, "analyse")
    progress.judge, progress.own_words, progress.notices = fixes.judge, fixes.own_words, fixes.notices
    if fixes.how == "failed":
        return False
    progress.apply_fix(fixes)
    again = await _ask_to_rerun(lap, progress, result, fixes)
    progress.notices += () if again else (LastFixNotRun(),)
    return again


def _lap_context(context: StageContext, progress: ExecutionProgress) -> StageContext:
    """The stage context of this run: the project as fixed, with steps and rounds of its own."""
    now = context.end(how="failed", draft=progress.draft)
    return msgspec.structs.replace(context, lap=progress.run, before=(*context.before, now))


async def _run_program(lap: StageContext, progress: ExecutionProgress) -> ProjectRan:
    """Run the project, with its install step if the person allows that."""
    table = lap.table
    result = await perform_required_meeting_step(
        table, lap.address.step("run"), RunProject(progress.draft, progress.allowed), ProjectRan
    )
    wants = result.wants_install
    if result.passed or result.stopped or not wants or wants in progress.refused:
        return result
    gate = Gate(
        progress.gate("install"),
        install_step_question_sentence(wants),
        tuple(INSTALL_CHOICES),
        NO,
        INSTALL_CHOICES,
        writes=True,
    )
    if await table.gate(gate) == NO:
        progress.refused += (wants,)
        return result
    progress.allowed = wants
    return await perform_required_meeting_step(
        table, lap.address.step("run-installed"), RunProject(progress.draft, wants), ProjectRan
    )


async def _ask_to_rerun(lap: StageContext, progress: ExecutionProgress, result: ProjectRan, fixes: StageEnd) -> bool:
    """Ask the person whether to run the fixed program; they can see the fix first."""
    question = program_rerun_question_sentence(result, fixes.took)
    gate = Gate(progress.gate("rerun"), question, tuple(RERUN_CHOICES), NO, RERUN_CHOICES, again_of=RERUN_GATE)
    answer = await lap.table.gate(gate)
    if answer == SHOW:
        await perform_required_meeting_step(
            lap.table, lap.address.step("shown"), PlanChange(progress.draft), ChangePlanned
        )
        sure = {option: RERUN_CHOICES[option] for option in (YES, NO)}
        answer = await lap.table.gate(Gate(progress.gate("rerun-shown"), question, tuple(sure), NO, sure))
    return answer == YES


def _end(context: StageContext, progress: ExecutionProgress, how: StageEnding, text: str, *notices: Reason) -> StageEnd:
    return context.end(
        how=how,
        text=text,
        draft=progress.draft,
        judge=progress.judge,
        base=progress.base,
        took=progress.took,
        notices=(*progress.notices, *notices),
        own_words=progress.own_words,
    )
