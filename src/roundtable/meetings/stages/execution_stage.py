"""A stage that runs the program. What goes wrong is analysed by itself, mended and, with the person's yes, run again.

1. The project is run in the sandbox as its own files say. Where it fails for want of an install step, the person is
   asked whether that may be run.
2. Where it fails, all seats get what it said and write what mends it; a judge chooses, as in every stage of files.
3. The person says whether it is run again with that, a bounded number of times.

Each run and what follows from it is a lap of its own, `stage/1` and so on, so that seats hear of the last run only.
"""

from __future__ import annotations

import msgspec

from roundtable.core.decide import program_run as rule
from roundtable.core.effects import ChangePlanned, PlanChange, ProjectRan, RunProject
from roundtable.core.stages import Contribution, StageEnd, StageEnding, StageQuestion, stage_question_gate_id
from roundtable.core.values import Digest, Gate
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.files_stage import hold_files_stage
from roundtable.meetings.try_candidates import require_effect

RERUN_GATE = "rerun"
"""What is answered ahead to the question whether a mended program is run again."""

YES, NO, SHOW = "yes", "no", "show"
INSTALL_CHOICES = {YES: "run its install step, with a network", NO: "do without it"}
RERUN_CHOICES = {YES: "run it with what was mended", NO: "leave it as it is now", SHOW: "show what was mended first"}


class ExecutionProgress(msgspec.Struct):
    """The project on its way through the stage, and which install steps the person has allowed or refused."""

    stage: str
    draft: Digest
    number: int = 1
    allowed: tuple[str, ...] = ()
    refused: tuple[tuple[str, ...], ...] = ()
    judge: str = ""
    base: str = ""
    took: tuple[Contribution, ...] = ()
    notices: tuple[str, ...] = ()
    own_words: bool = False

    def take(self, fixes: StageEnd) -> None:
        """Go on with what was mended; a yes to an install step was for the files as they were."""
        self.allowed = self.allowed if fixes.draft == self.draft else ()
        self.draft, self.base = fixes.draft, fixes.base
        self.took += fixes.took

    def gate(self, what: StageQuestion) -> str:
        """The name of a question to the person, numbered from the second run on."""
        return stage_question_gate_id(self.stage, what, self.number)


async def hold_execution_stage(setting: StageContext) -> StageEnd:
    """Hold the stage."""
    course = ExecutionProgress(setting.name, setting.draft)
    while True:
        lap = _lap(setting, course)
        result = await _run(lap, course)
        if result.passed:
            return _end(setting, course, "ran", rule.summarize_project_run(result), *result.notes)
        if result.stopped:
            return _end(setting, course, "chosen", rule.summarize_project_run(result), rule.RUN_STOPPED_BY_PERSON)
        if not await _mended(lap, course, result):
            return _end(
                setting,
                course,
                "failed",
                rule.summarize_project_run(result),
                rule.describe_failed_runs(result, course.number),
            )
        course.number += 1


async def _mended(lap: StageContext, course: ExecutionProgress, result: ProjectRan) -> bool:
    """Whether the seats have mended it and the person wants it to be run again."""
    if course.number > lap.settings.runs:
        return False
    fixes = await hold_files_stage(lap, "analyse")
    course.judge, course.own_words, course.notices = fixes.judge, fixes.own_words, fixes.notices
    if fixes.how == "failed":
        return False
    course.take(fixes)
    again = await _again(lap, course, result, fixes)
    course.notices += () if again else (rule.LAST_REPAIR_NOT_RUN,)
    return again


def _lap(setting: StageContext, course: ExecutionProgress) -> StageContext:
    """The stage as it stands before this run: with the project as it was mended, and steps and rounds of its own."""
    stage = msgspec.structs.replace(setting.stage, name=f"{setting.name}/{course.number}")
    now = setting.end(how="failed", draft=course.draft)
    return msgspec.structs.replace(setting, stage=stage, attempt=1, before=(*setting.before, now))


async def _run(lap: StageContext, course: ExecutionProgress) -> ProjectRan:
    """Run it; with its install step where the person allows that."""
    table = lap.table
    result = await require_effect(table, f"{lap.name}/run", RunProject(course.draft, course.allowed), ProjectRan)
    wants = result.wants_install
    if result.passed or result.stopped or not wants or wants in course.refused:
        return result
    gate = Gate(
        course.gate("install"), rule.install_question(wants), tuple(INSTALL_CHOICES), NO, INSTALL_CHOICES, writes=True
    )
    if await table.gate(gate) == NO:
        course.refused += (wants,)
        return result
    course.allowed = wants
    return await require_effect(table, f"{lap.name}/run-installed", RunProject(course.draft, wants), ProjectRan)


async def _again(lap: StageContext, course: ExecutionProgress, result: ProjectRan, fixes: StageEnd) -> bool:
    """Whether the person wants it to be run with what was mended, which they can look at first."""
    question = rule.rerun_question(result, fixes.took)
    gate = Gate(course.gate("rerun"), question, tuple(RERUN_CHOICES), NO, RERUN_CHOICES, again_of=RERUN_GATE)
    answer = await lap.table.gate(gate)
    if answer == SHOW:
        await require_effect(lap.table, f"{lap.name}/shown", PlanChange(course.draft), ChangePlanned)
        sure = {option: RERUN_CHOICES[option] for option in (YES, NO)}
        answer = await lap.table.gate(Gate(course.gate("rerun-shown"), question, tuple(sure), NO, sure))
    return answer == YES


def _end(setting: StageContext, course: ExecutionProgress, how: StageEnding, text: str, *notices: str) -> StageEnd:
    return setting.end(
        how=how,
        text=text,
        draft=course.draft,
        judge=course.judge,
        base=course.base,
        took=course.took,
        notices=(*course.notices, *notices),
        own_words=course.own_words,
    )
