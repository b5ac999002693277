"""Seven stages from an idea to a running program, with a person's yes between them.

1. Each stage is held in its own way: words that are agreed on, files, a review, a program that is run. Every one gets
   what the earlier ones agreed on word for word, and the project's files as they stand.
2. After each, the person goes on, sends it back with new instructions, goes back to an earlier stage, skips the next
   or ends it here. Nobody's yes is taken for granted: with nobody there, it ends after the first stage.
3. In the end the project is handed over, as the person likes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.decide import stage_outcome as rule
from roundtable.core.decide.stage_outcome import FORMS
from roundtable.core.effects import EndStage, StageEnded
from roundtable.core.ports import Table
from roundtable.core.stages import (
    AFTER,
    MEETING,
    Settings,
    Stage,
    StageEnd,
    attempt_name,
    gate_after,
    settings_of,
    stages_of,
)
from roundtable.core.values import Decision, Gate, NextStep
from roundtable.meetings.meeting import PlannedRound, Protocol
from roundtable.meetings.stages.context import Setting
from roundtable.meetings.stages.delivery import DELIVER, delivered
from roundtable.meetings.stages.discussion_stage import discussed
from roundtable.meetings.stages.execution_stage import RERUN, ran
from roundtable.meetings.stages.files_stage import written
from roundtable.meetings.stages.review_stage import reviewed
from roundtable.meetings.stages.stage_rounds import planned
from roundtable.meetings.try_candidates import NotDone, done
from roundtable.meetings.write_change import GATES

HELD = {"discussion": discussed, "files": written, "review": reviewed, "run": ran}
MOST_ATTEMPTS = 5
"""How often one stage can be sent back before the person has to go on or end it."""

GO_ON = {
    "continue": "go on to the next stage",
    "retry": "hold this stage again; say what is to be different",
    "back": "go back to an earlier stage on a line of its own: say which, and what is to be different",
    "skip": "go on, and leave the next stage out",
    "complete": "end it here; what there is, is the result",
    "stop": "stop here without a result",
}


def plan(settings: Settings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """All rounds that its stages may come to."""
    return planned(stages_of(settings), settings.runs, existing=settings.existing)


async def sdlc(table: Table) -> Decision:
    """Hold the meeting."""
    stages, ends = stages_of(settings_of(table.charter)), list[StageEnd]()
    skipped = False
    for index, stage in enumerate(stages):
        if skipped:
            ends.append(
                await _ended(table, stage.name, Setting(table, stage, index, 1, tuple(ends)).end(how="skipped"))
            )
            skipped = False
            continue
        end, answer = await _held(table, stage, index, tuple(ends), last=index == len(stages) - 1)
        ends.append(end)
        if answer in ("stop", "back"):
            gate = gate_after(attempt_name(end.stage, end.attempt))
            return rule.left(ends, answer, answered=not table.by_default(gate))
        if answer == "complete":
            break
        skipped = answer == "skip"
    return await delivered(table, ends)


async def _held(
    table: Table, stage: Stage, index: int, before: tuple[StageEnd, ...], *, last: bool
) -> tuple[StageEnd, str]:
    """Hold a stage until the person is content with it; returns what it came to and what they said."""
    instructions = stage.instructions
    for attempt in range(1, MOST_ATTEMPTS + 1):
        setting = Setting(table, stage, index, attempt, before, instructions)
        try:
            end = await HELD[stage.kind](setting)
        except NotDone as stop:
            end = setting.end(how="failed", notices=(f"{stop.fault.message} {stop.fault.help}".strip(),))
        end = await _ended(table, setting.name, end)
        gate = gate_after(setting.name)
        barred = {"retry"} if attempt == MOST_ATTEMPTS else set[str]()
        barred |= {"skip"} if last else set[str]()
        details = {option: meaning for option, meaning in GO_ON.items() if option not in barred}
        details |= {"continue": "take this as the result"} if last else {}
        question = rule.after(stage, end, last=last)
        answer = await table.gate(Gate(gate, question, tuple(details), "stop", details, again_of=AFTER))
        if answer != "retry":
            return end, answer
        instructions = "\n".join(filter(None, (instructions, table.words(gate))))
    raise AssertionError("the last attempt has no retry among its options")


async def _ended(table: Table, name: str, end: StageEnd) -> StageEnd:
    return (await done(table, f"{name}/end", EndStage(end), StageEnded)).end


PROTOCOL = Protocol(
    MEETING,
    4,
    sdlc,
    Settings,
    plan,
    rule.PROMPTS,
    "Seven stages from an idea to a running program, with your yes between them.",
    gates=(AFTER, RERUN, DELIVER, *GATES),
    answers={AFTER: ("continue",), RERUN: ("yes", "no"), DELIVER: (*FORMS, NextStep.LATER), **GATES},
    writes=True,
    filled=("stages", "existing", "into"),
)
