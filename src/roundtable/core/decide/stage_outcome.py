"""The decision of a meeting in stages, including the handover of a finished project."""

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


def unshown_file_reasons(listed: ProjectListed) -> Iterator[Reason]:
    """The notices about files of a project that seats were not shown."""
    if listed.left:
        yield FilesUnshown(len(listed.items), len(listed.items) + len(listed.left))
    if listed.refused:
        yield FilesUnusable("read", dict(listed.refused))


def missing_seat_reasons(rounds: Sequence[Round]) -> tuple[SeatMissing, ...]:
    """A notice for each seat that did not answer in one of these rounds."""
    return tuple(SeatMissing(absence.seat, round.name, absence.fault) for round in rounds for absence in round.missing)


def decide_stages_stopped(ends: Sequence[StageEnd], answer: str, *, answered: bool) -> Decision:
    """Return the decision of a session that stopped after a stage, by the person or by default."""
    where = ends[-1].stage
    if answer == NextStep.BACK:
        return Decision(Outcome.CANCELLED, (StagesStopped(where, "back"),), next_step=NextStep.BACK)
    stopped = StagesStopped(where, "person" if answered else "nobody")
    return Decision(Outcome.CANCELLED, (stopped,), next_step=NextStep.STOP)


def last_run_failure_reason(charter: Charter, ends: Sequence[StageEnd]) -> LastRunFailed | None:
    """Return that the last run of a finished project failed; None if it succeeded or was not planned."""
    runs = {stage.name for stage in Stage.list_of(charter) if stage.kind == "run"}
    last = next((end for end in reversed(ends) if end.stage in runs and end.how != "skipped"), None)
    if last is None or last.how != "failed" or not StageEnd.latest_draft(ends):
        return None
    return LastRunFailed(ran=bool(last.text))


def decide_project_finished(charter: Charter, ends: Sequence[StageEnd], where: Reasons = ()) -> Decision:
    """Return the decision with the current project as the result; `where` says where it was written."""
    failed = [end for end in ends if end.how == "failed"]
    begun = [end for end in ends if end.how != "skipped"]
    own = tuple(end.stage for end in ends if end.own_words)
    how = (
        StagesHeld(tuple(end.stage for end in begun if end.held)),
        *((JudgeReadOwnWords(own),) if own else ()),
        *where,
    )
    trouble = last_run_failure_reason(charter, ends)
    notices = (
        *((trouble,) if trouble else ()),
        *(StageFailed(end.stage) for end in failed),
        *(StageNotice(end.stage, notice) for end in ends for notice in end.notices),
    )
    outcome = Outcome.DEADLOCK if len(failed) == len(begun) else Outcome.REACHED
    text = "\n\n".join(f"{end.id} {end.stage}\n{end.text}" for end in ends if end.text)
    later = NextStep.LATER if outcome is Outcome.REACHED and StageEnd.latest_draft(ends) else ""
    return Decision(outcome, how, text=text, notices=notices, next_step=later)


def decide_project_not_written(charter: Charter, ends: Sequence[StageEnd]) -> Decision:
    """Return the decision of a finished project that was not written."""
    return decide_project_finished(charter, ends, (ProjectNotWritten(),))


def decision_on_extended_project(decision: Decision) -> Decision:
    """Return the decision of an extended project: reached unless the person rejected the change."""
    waits = decision.next_step == NextStep.LATER
    return msgspec.structs.replace(decision, outcome=Outcome.REACHED) if waits else decision


def decide_project_handed_over(charter: Charter, ends: Sequence[StageEnd], given: ProjectDelivered | Fault) -> Decision:
    """Return the decision of a finished project after delivery, or after a failed delivery."""
    if isinstance(given, Fault):
        return decide_project_finished(charter, ends, (HandoverFailed(given),))
    handed_over = ProjectHandedOver(len(given.files), given.path, given.commit)
    decision = decide_project_finished(charter, ends, (handed_over,))
    return msgspec.structs.replace(decision, next_step=NextStep.DELIVERED)
