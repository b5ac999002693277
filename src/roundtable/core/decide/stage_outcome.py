"""The decision of a meeting in stages: stopped, finished, not written, or handed over as a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.effects import ProjectDelivered, ProjectListed
from roundtable.core.faults import Fault
from roundtable.core.reasons import (
    FilesUnshown,
    FilesUnusable,
    HandoverFailed,
    JudgeReadOwnWords,
    LastRunFailed,
    ProjectHandedOver,
    ProjectNotWritten,
    Reason,
    Reasons,
    SeatMissing,
    StageFailed,
    StageNotice,
    StagesHeld,
    StagesStopped,
)
from roundtable.core.stages import Stage, StageEnd
from roundtable.core.values import Charter, Decision, NextStep, Outcome, Round


def decision_reasons_for_unshown_files(listed: ProjectListed) -> Iterator[Reason]:
    """Yield a notice if seats were not shown all files of a project, and one if files could not be used."""
    if listed.left:
        yield FilesUnshown(len(listed.items), len(listed.items) + len(listed.left))
    if listed.refused:
        yield FilesUnusable("read", dict(listed.refused))


def decide_missing_seat_notices(rounds: Sequence[Round]) -> tuple[SeatMissing, ...]:
    """Return a notice for each seat that did not answer in one of these rounds."""
    return tuple(SeatMissing(absence.seat, round.name, absence.fault) for round in rounds for absence in round.missing)


def decide_stages_stopped(ends: Sequence[StageEnd], answer: str, *, answered: bool) -> Decision:
    """Return the decision of a session that stopped after a stage, by the person or by default."""
    last_stage = ends[-1].stage
    if answer == NextStep.BACK:
        return Decision(Outcome.CANCELLED, (StagesStopped(last_stage, "back"),), next_step=NextStep.BACK)
    stopped = StagesStopped(last_stage, "person" if answered else "nobody")
    return Decision(Outcome.CANCELLED, (stopped,), next_step=NextStep.STOP)


def decide_last_run_failure(charter: Charter, ends: Sequence[StageEnd]) -> LastRunFailed | None:
    """Return the failure of the last run of a project; None if it passed or was not planned, or no files exist."""
    runs = {stage.name for stage in Stage.list_of(charter) if stage.kind == "run"}
    last = next((end for end in reversed(ends) if end.stage in runs and end.how != "skipped"), None)
    if last is None or last.how != "failed" or not StageEnd.latest_draft(ends):
        return None
    return LastRunFailed(ran=bool(last.text))


def decide_project_finished(charter: Charter, ends: Sequence[StageEnd], where: Reasons = ()) -> Decision:
    """Return the decision of finished stages with their texts; `where` are reasons about where it was written."""
    failed = [end for end in ends if end.how == "failed"]
    started = [end for end in ends if end.how != "skipped"]
    self_judged = tuple(end.stage for end in ends if end.own_words)
    how = (
        StagesHeld(tuple(end.stage for end in started if end.held)),
        *((JudgeReadOwnWords(self_judged),) if self_judged else ()),
        *where,
    )
    run_failure = decide_last_run_failure(charter, ends)
    notices = (
        *((run_failure,) if run_failure else ()),
        *(StageFailed(end.stage) for end in failed),
        *(StageNotice(end.stage, notice) for end in ends for notice in end.notices),
    )
    outcome = Outcome.DEADLOCK if len(failed) == len(started) else Outcome.REACHED
    text = "\n\n".join(f"{end.id} {end.stage}\n{end.text}" for end in ends if end.text)
    next_step = NextStep.LATER if outcome is Outcome.REACHED and StageEnd.latest_draft(ends) else ""
    return Decision(outcome, how, text=text, notices=notices, next_step=next_step)


def decide_project_not_written(charter: Charter, ends: Sequence[StageEnd]) -> Decision:
    """Return the decision of a finished project that was not written."""
    return decide_project_finished(charter, ends, (ProjectNotWritten(),))


def decision_on_extended_project(decision: Decision) -> Decision:
    """Return the decision of an extended project: reached unless the person rejected the change."""
    awaits_approval = decision.next_step == NextStep.LATER
    return msgspec.structs.replace(decision, outcome=Outcome.REACHED) if awaits_approval else decision


def decide_project_handed_over(
    charter: Charter, ends: Sequence[StageEnd], delivery: ProjectDelivered | Fault
) -> Decision:
    """Return the decision of a finished project after delivery, or after a failed delivery."""
    if isinstance(delivery, Fault):
        return decide_project_finished(charter, ends, (HandoverFailed(delivery),))
    handed_over = ProjectHandedOver(len(delivery.files), delivery.path, delivery.commit)
    decision = decide_project_finished(charter, ends, (handed_over,))
    return msgspec.structs.replace(decision, next_step=NextStep.DELIVERED)
