"""Sentences about a change on its way to the workspace: what prevents it, the questions about it, and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from roundtable.core import reasons as why
from roundtable.core.candidate_reasons import FailedCheck
from roundtable.core.effects import ChangePlanned, ChangeRehearsed
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines, pluralize
from roundtable.core.values import Decision
from roundtable.report.check_words import check_finding_sentence, failed_check_sentence, refused_file_sentence

NO_CHECKS_TO_RUN = "There are no checks here to run."
_SHOW_AGAIN = "To see the change again, run `roundtable apply` with this session."
_SUBJECT_LENGTH = 72
_REMEDIES = {
    "commit": "The change was drafted with these uncommitted edits. Commit them, then run: roundtable apply {session}",
    "stash": "The change was drafted without these uncommitted edits. Stash them, then run: roundtable apply {session}",
    "request_again": "These files changed after the change was drafted. Ask for the change again.",
}


def rehearsal_reason_sentence(reason: why.RehearsalReason) -> str:
    """Why a change cannot be written, or why the person is asked about it again."""
    match reason:
        case why.ChangeEmpty():
            return "The draft changes nothing."
        case why.FilesRefused():
            refused = " ".join(map(refused_file_sentence, reason.refused))
            remedy = _REMEDIES[reason.remedy].format(session=reason.session) if reason.remedy else ""
            return f"{refused} {remedy}".strip()
        case why.HunksLost():
            lost = _join_lines(reason.hunks)
            return f"{'These hunks were' if len(reason.hunks) > 1 else 'This hunk was'} lost in the merge: {lost}."
        case why.ChecksBroken(passed_before="repair"):
            return f"Since its repair, the change breaks what passed before. {_failed_checks_text(reason.checks)}"
        case why.ChecksBroken():
            broken = "a check" if len(reason.checks) == 1 else "checks"
            return f"The change breaks {broken} that passed before. {_failed_checks_text(reason.checks)}"
        case why.NewTestsFailed():
            finding = check_finding_sentence(reason.finding) if reason.finding else ""
            return " ".join(filter(None, ("The tests that the change adds fail.", finding, reason.output)))
        case _:
            return _retry_reason_sentence(reason)


def _retry_reason_sentence(
    reason: why.UncommittedFilesNeeded
    | why.SelectionWeaker
    | why.HunksNotNamed
    | why.ApprovalsMissing
    | why.WorkshopStepFailed
    | why.NotYetWritten
    | why.ChoiceRepeated
    | why.DraftRepaired,
) -> str:
    match reason:
        case why.UncommittedFilesNeeded():
            uncommitted = "this uncommitted file" if len(reason.files) == 1 else "these uncommitted files"
            return f"A check fails on the committed files but passes with {uncommitted}: {_join_lines(reason.files)}."
        case why.SelectionWeaker():
            fails, passes = ("fails", "passes") if len(reason.checks) == 1 else ("fail", "pass")
            checks = _join_lines(reason.checks)
            return (
                f"{checks} {fails} with the hunks you selected, as before the change, and {passes} with the whole "
                "change. To write your selection anyway, choose the same hunks again."
            )
        case why.HunksNotNamed():
            return "The answer `some` does not say which hunks."
        case why.ApprovalsMissing():
            approvals = pluralize(reason.needed, "approval")
            share = f"The change needs {approvals} from seats that did not write it, and got {reason.approved}."
            objections = [
                f"{seat} asks for changes: {end_text_as_sentence(join_text_lines(words))}"
                for seat, words in reason.objections.items()
            ]
            return " ".join((share, *objections))
        case why.WorkshopStepFailed():
            return f"{end_text_as_sentence(reason.fault.message)} {reason.fault.help}".strip()
        case why.NotYetWritten():
            return "Nothing has been written yet."
        case why.ChoiceRepeated():
            return "Choose again."
        case why.DraftRepaired():
            return f"{reason.seat} has repaired it."
        case _:
            assert_never(reason)


def change_write_reason_sentence(reason: why.WriteReason) -> str:
    """Whether a change was written, and what is to be known about it."""
    match reason:
        case why.ChangeNotWritten():
            return "Nothing was written."
        case why.ChangeDeclined():
            return f"The person said no, so nothing was written. {_SHOW_AGAIN}"
        case why.ChangeUnapproved():
            return f"Nothing was written: {_missing_approval(reason)}. {_SHOW_AGAIN}"
        case why.DryRunEnded():
            return f"This was a dry run: {pluralize(reason.hunks, 'hunk')} shown, nothing written."
        case why.WriteFailed():
            fault = f"{end_text_as_sentence(reason.fault.message)} {reason.fault.help}".strip()
            return f"The change was approved and could not be written. {fault}"
        case why.ChangeWritten():
            return _written_sentence(reason)
        case why.NoChecksRun():
            return NO_CHECKS_TO_RUN
        case why.HunksEdited():
            left = f"left out {_join_lines(reason.rejected)}" if reason.rejected else ""
            rewrote = f"rewrote {_join_lines(reason.rewritten)}" if reason.rewritten else ""
            return f"The person {' and '.join(filter(None, (left, rewrote)))}."
        case why.FilesSkipped():
            return f"Files that changed during the write were not written: {_join_lines(reason.files)}."
        case _:
            return change_write_remark_sentence(reason)


def change_write_remark_sentence(remark: why.WriteRemark) -> str:
    """Return a sentence about a step of writing a change that failed or was done in another way."""
    match remark:
        case why.FilesPending():
            problem = f"{join_text_lines(remark.path) or 'A file'} cannot be written: {remark.problem}"
            return f"Some files could not be written ({problem}). The next command in this workspace writes them."
        case why.CleanupPending():
            return (
                "The files were written, but git's index or the journal was not updated. "
                "The next command in this workspace updates it."
            )
        case why.CommitStepsSkipped():
            hooks = f"hooks did not run ({', '.join(remark.hooks)})" if remark.hooks else ""
            unsigned = "it is not signed although commit.gpgSign is set" if remark.unsigned else ""
            skipped = " and ".join(filter(None, (hooks, unsigned)))
            return f"The commit was made without `git commit`: {skipped}."
        case why.Said():
            return end_text_as_sentence(remark.text)
        case _:
            assert_never(remark)


def _missing_approval(reason: why.ChangeUnapproved) -> str:
    if reason.missing == "phrase":
        return "its dangers were not confirmed with the exact phrase"
    tests = f" that alters existing tests ({_join_lines(reason.tests)})" if reason.tests else ""
    return f"nobody approved a change{tests}" if tests else "nobody approved it"


def _written_sentence(reason: why.ChangeWritten) -> str:
    where = f" on the branch {reason.branch}" if reason.branch else ""
    commit = f" as commit {reason.commit[:12]}{where}" if reason.commit else where
    failing = f", of which {_join_lines(reason.failing)} failed, as before" if reason.failing else ""
    checked = f" after {pluralize(reason.checks, 'check')} on the merged tree{failing}" if reason.checks else ""
    undo = "It has since been undone." if reason.undone else f"To undo it: roundtable undo {reason.undo}."
    return f"Written{commit}{checked}: {_join_lines(reason.files)}. {undo}"


def _failed_checks_text(checks: Iterable[FailedCheck]) -> str:
    return " ".join(map(failed_check_sentence, checks))


def _join_lines(texts: Iterable[str]) -> str:
    return join_names_as_text([join_text_lines(text) for text in texts])


def change_approval_sentence(planned: ChangePlanned, seats: Sequence[str], preface: str = "", branch: str = "") -> str:
    """The question whether a change of these seats may be written; first the preface."""
    paths = list(dict.fromkeys(hunk.path for hunk in planned.hunks))
    wants = f"{join_names_as_text(seats)} {'wants' if len(seats) == 1 else 'want'} to change"
    change = f"{wants} {pluralize(len(planned.hunks), 'hunk')} in {_join_lines(paths)}."
    tests = f"It changes existing tests: {_join_lines(planned.tests)}." if planned.tests else ""
    question = f"Commit it to the branch {join_text_lines(branch)}?" if branch else "Write it to your workspace?"
    return " ".join(filter(None, (preface, change, tests, question)))


def dangerous_change_sentence(rehearsed: ChangeRehearsed) -> str:
    """The question for which the person must type a phrase."""
    losses = " ".join(end_text_as_sentence(join_text_lines(loss)) for loss in rehearsed.destroys)
    return f"This change needs your confirmation: {losses} To allow it, confirm with the words: {rehearsed.phrase}"


def render_commit_message_of_change(question: str, decision: Decision, body: str = "") -> str:
    """The message of a commit: the decision, or the task if the decision only repeats it; then the body."""
    task = join_text_lines(question)
    line = task if decision.task_only else join_text_lines(decision.position) or task
    subject = (line if len(line) <= _SUBJECT_LENGTH else f"{line[: _SUBJECT_LENGTH - 1]}…").rstrip(".")
    return "\n\n".join(filter(None, (subject, body)))
