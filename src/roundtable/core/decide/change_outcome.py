"""The outcome of a change on its way to the workspace, from its rehearsal and from the person's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from roundtable.core.candidate_reasons import FailedCheck
from roundtable.core.changeset import HunkChoice
from roundtable.core.decide.trial_outcome import decide_failed_check_reason_field, decision_position_for_changed_files
from roundtable.core.effects import ChangeApplied, ChangePlanned, ChangeRehearsed, CheckOutcome
from roundtable.core.faults import Fault
from roundtable.core.reasons import (
    ApprovalsMissing,
    ChangeDeclined,
    ChangeEmpty,
    ChangeNotWritten,
    ChangeUnapproved,
    ChangeWritten,
    ChecksBroken,
    DryRunEnded,
    FilesRefused,
    FilesSkipped,
    HunksEdited,
    HunksLost,
    NewTestsFailed,
    NoChecksRun,
    Reason,
    Reasons,
    SelectionWeaker,
    UncommittedFilesNeeded,
    WriteFailed,
    distinct_reasons,
)
from roundtable.core.refusals import RefusalKind
from roundtable.core.values import Decision, NextStep, Outcome

_MAX_TEST_OUTPUT = 1_500


def decide_reason_for_unwritable_plan(planned: ChangePlanned, session: str) -> FilesRefused | ChangeEmpty | None:
    """The reason why the plan of a session cannot be written, with what the person can do about it, if any."""
    if not planned.refused:
        return None if planned.hunks else ChangeEmpty()
    kinds = {refusal.kind for refusal in planned.refused}
    remedy = ""
    if kinds == {RefusalKind.UNCOMMITTED}:
        remedy = "commit"
    elif kinds == {RefusalKind.UNCOMMITTED, RefusalKind.STALE}:
        remedy = "stash"
    elif kinds == {RefusalKind.STALE}:
        remedy = "request_again"
    return FilesRefused(planned.refused, remedy, session)


def decide_rehearsal_problems(rehearsed: ChangeRehearsed, required: Collection[str] = ()) -> Reasons:
    """The problems that a rehearsal found; `required` are the checks that passed before the draft was repaired."""
    problems: list[Reason] = [FilesRefused(rehearsed.refused)] if rehearsed.refused else []
    problems += [HunksLost(rehearsed.lost)] if rehearsed.lost else []
    ran_before = {check.name for check in rehearsed.before}
    broken = [check for check in rehearsed.checks if check.name in rehearsed.broken_checks]
    old = [check for check in broken if check.name in ran_before]
    problems += [ChecksBroken(_failed_checks(old))] if old else []
    problems += [
        NewTestsFailed(check.output[-_MAX_TEST_OUTPUT:], check.finding)
        for check in broken
        if check.name not in ran_before
    ]
    lost = [check for check in rehearsed.checks if not check.passed and check.name in required and check not in broken]
    problems += [ChecksBroken(_failed_checks(lost), "repair")] if lost else []
    problems += [UncommittedFilesNeeded(rehearsed.leans)] if broken and rehearsed.leans else []
    return tuple(problems)


def decide_reason_for_weaker_selection(part: ChangeRehearsed, whole: ChangeRehearsed) -> SelectionWeaker | None:
    """The checks that fail with the selected hunks and pass with the whole change, if any."""
    passed = {check.name for check in whole.checks if check.passed}
    names = tuple(check.name for check in part.checks if not check.passed and check.name in passed)
    return SelectionWeaker(names) if names else None


def decide_missing_approvals(approved: int, needed: int, objections: Mapping[str, str]) -> ApprovalsMissing | None:
    """The approvals that a change lacks, if any; every objection counts against it."""
    return None if approved >= needed and not objections else ApprovalsMissing(approved, needed, dict(objections))


def decide_reason_for_edited_hunks(choice: str) -> HunksEdited | None:
    """The hunks that the person left out or rewrote, by their answer at the gate."""
    edits = msgspec.json.decode(choice, type=HunkChoice) if choice else HunkChoice()
    return HunksEdited(tuple(edits.rejected), tuple(edits.edited)) if edits.rejected or edits.edited else None


def _failed_checks(checks: Iterable[CheckOutcome]) -> tuple[FailedCheck, ...]:
    return tuple(map(decide_failed_check_reason_field, checks))


def decision_on_unwritable_change(decision: Decision, *reasons: Reason) -> Decision:
    """The decision when the change cannot be written for these reasons."""
    return _stop_decision(decision, Outcome.DEADLOCK, ChangeNotWritten(), *reasons)


def decide_change_declined(
    decision: Decision, planned: ChangePlanned, problem: Reasons = (), *, answered: bool
) -> Decision:
    """The decision when the person said no, or nobody answered; `problem` is why an earlier yes had no effect."""
    if answered:
        return _stop_decision(decision, Outcome.REJECTED, ChangeDeclined())
    if problem:
        return decision_on_unwritable_change(decision, *problem)
    return decide_change_unapproved(decision, ChangeUnapproved("answer", planned.tests))


def decide_change_unapproved(decision: Decision, reason: ChangeUnapproved) -> Decision:
    """The decision when a clear approval is missing; it can still be given later."""
    return msgspec.structs.replace(_stop_decision(decision, Outcome.DEADLOCK, reason), next_step=NextStep.LATER)


def decision_on_plan_without_change(decision: Decision, planned: ChangePlanned) -> Decision:
    """The decision when only a plan was requested."""
    how = (*decision.how, DryRunEnded(len(planned.hunks)))
    return msgspec.structs.replace(decision, how=how, next_step=NextStep.LATER)


def decision_after_failed_write(decision: Decision, fault: Fault) -> Decision:
    """The decision when the approved change could not be written."""
    return _stop_decision(decision, Outcome.DEADLOCK, WriteFailed(fault))


def decide_change_applied(
    decision: Decision, applied: ChangeApplied, rehearsed: ChangeRehearsed, question: str = "", choice: str = ""
) -> Decision:
    """The decision when the change was written.

    If the person edited the change, the decision no longer repeats what running the seat's candidate showed.
    """
    failing = tuple(check.name for check in rehearsed.checks if not check.passed)
    edited = decide_reason_for_edited_hunks(choice)
    written = ChangeWritten(
        applied.files,
        applied.undo,
        applied.commit,
        applied.branch,
        len(rehearsed.checks),
        failing,
        undone=bool(applied.undone),
    )
    remarks: tuple[Reason | None, ...] = (
        None if rehearsed.checks or rehearsed.unrun else NoChecksRun(),
        *applied.remarks,
        UncommittedFilesNeeded(rehearsed.leans) if rehearsed.leans else None,
        edited,
    )
    notices: list[Reason] = [*decision.notices, *rehearsed.unrun]
    notices += [FilesSkipped(applied.left)] if applied.left else []
    position = decision.position
    if edited and decision.task_only:
        position = decision_position_for_changed_files(question, decision.author, applied.files)
    return msgspec.structs.replace(
        decision,
        how=(written, *filter(None, remarks), *(() if edited else decision.how)),
        position=position,
        notices=distinct_reasons(notices),
        next_step=NextStep.APPLIED,
    )


def _stop_decision(decision: Decision, outcome: Outcome, *reasons: Reason) -> Decision:
    return msgspec.structs.replace(decision, outcome=outcome, how=(*decision.how, *reasons))
