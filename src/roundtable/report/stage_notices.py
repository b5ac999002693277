"""Sentences for what a stage notices: missing seats, judges, unread files and findings that are not fixed."""

from __future__ import annotations

from typing import assert_never

from roundtable.core import reasons as why
from roundtable.core.reasons import FindingRepair, RepairCause
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines, pluralize
from roundtable.report.refusals import refusal_sentence

NO_JUDGE_ASKED = "No judge was asked: the limits of the session were reached"
_OWN_ANSWER_CAUSES = {
    "named": "because you named it as judge",
    "no_other_answered": "because no other judge answered",
    "no_other_can": "because no other seat can judge",
    "all_answered": "because every seat had answered",
}
_REPAIR_CAUSES = {
    RepairCause.PLACE_UNKNOWN: "the finding names no file of the project",
    RepairCause.LIMIT_REACHED: "the limits of the session were reached",
    RepairCause.SEAT_MISSING: "the seat that should fix it did not answer",
    RepairCause.NOTHING_CHANGED: "the seat that should fix it changed nothing",
    RepairCause.STILL_SHOWN: "a program still reproduces it",
    RepairCause.NO_LONGER_SHOWN: "the program that proved it no longer reproduces it",
}
_MAX_NAMED = 5
_MAX_FAULT_LENGTH = 100


def notice_reason_sentence(reason: why.NoticeReason) -> str:
    """A notice of a stage for people."""
    match reason:
        case why.StageNotHeld():
            return "No seat was asked: the limits of the session were reached."
        case why.SeatMissing():
            return f"{reason.seat} did not answer in {reason.round}: {end_text_as_sentence(reason.fault.message)}"
        case why.JudgesMissing():
            return f"{join_names_as_text(reason.seats)} did not answer as judge."
        case why.JudgeNotAsked():
            return f"{NO_JUDGE_ASKED}."
        case why.JudgedOwnAnswer():
            answer = "only its own answer" if reason.alone else "its own answer among the others, without names"
            return f"{reason.judge} judged {answer}, {_OWN_ANSWER_CAUSES[reason.because]}."
        case why.FilesUnshown():
            shown = f"{reason.shown} of {pluralize(reason.total, 'file')} of the project were shown"
            return f"Only {shown} to the seats; the others do not fit into their context windows."
        case why.FilesUnusable():
            return _unusable_files_sentence(reason)
        case why.NothingWritten():
            return "No seat wrote any files."
        case why.NoFilesChosen():
            return "No files were chosen, because the seats did not agree."
        case _:
            return _review_notice_sentence(reason)


def _review_notice_sentence(
    reason: why.NothingToReview
    | why.PartsUnreviewedBySeat
    | why.PartsUnreviewed
    | why.FixesNotRun
    | why.FindingsUnfixed,
) -> str:
    match reason:
        case why.NothingToReview():
            return "There is no code to review."
        case why.PartsUnreviewedBySeat():
            parts = (
                f"{'part' if len(reason.parts) == 1 else 'parts'} {join_names_as_text(list(map(str, reason.parts)))}"
            )
            return f"{reason.seat} did not review {parts} of {reason.total}."
        case why.PartsUnreviewed():
            return f"{reason.parts} of {reason.total} parts were not reviewed: the limits of the session were reached."
        case why.FixesNotRun():
            return f"Fixes could not be run: {reason.message}"
        case why.FindingsUnfixed():
            return _unfixed_findings_sentence(reason)
        case _:
            assert_never(reason)


def _unusable_files_sentence(reason: why.FilesUnusable) -> str:
    messages = [reason.messages[name].rstrip(".") for name in sorted(reason.messages)]
    more = f"; and {len(messages) - _MAX_NAMED} more" if len(messages) > _MAX_NAMED else ""
    return f"Not {reason.action}: {'; '.join(messages[:_MAX_NAMED])}{more}."


def _unfixed_findings_sentence(reason: why.FindingsUnfixed) -> str:
    named = [_unfixed_finding(id, repair) for id, repair in reason.findings.items()]
    named += [join_text_lines(text)[:_MAX_FAULT_LENGTH].rstrip(".") for text in reason.others]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    subject = f"{pluralize(len(named), 'critical finding')} {'is' if len(named) == 1 else 'are'} not fixed"
    return f"{subject}: {', '.join(named[:_MAX_NAMED])}{more}."


def _unfixed_finding(id: str, repair: FindingRepair) -> str:
    cause = _repair_cause(repair).rstrip(".")
    return f"{id} ({cause})" if cause else id


def finding_repair_sentence(repair: FindingRepair) -> str:
    """Whether a finding was fixed, and why."""
    state, cause = "Fixed" if repair.fixed else "Not fixed", _repair_cause(repair)
    return f"{state}: {end_text_as_sentence(cause)}" if cause else f"{state}."


def _repair_cause(repair: FindingRepair) -> str:
    """Why a finding is fixed or not, as the rest of a sentence; empty if that is not known."""
    match repair.cause:
        case None:
            return ""
        case RepairCause.REFUSED:
            return refusal_sentence(repair.refusal) if repair.refusal else ""
        case RepairCause.BROKE_CHECKS:
            return f"the fix was discarded because it broke {join_names_as_text(repair.checks)}"
        case cause:
            return _REPAIR_CAUSES[cause]
