"""Delivery of a finished project: as a folder, a git repository or a zip file, as the person chooses.

A project that extends existing files is written like every change: shown hunk by hunk, approved, rehearsed, written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.decide import stage_outcome as rule
from roundtable.core.decide.change_outcome import decision_on_unwritable_change
from roundtable.core.decide.stage_outcome import decide_last_run_failure, decide_project_finished
from roundtable.core.effects import DeliverProject, ProjectDelivered
from roundtable.core.faults import Fault
from roundtable.core.handover import HandoverForm, session_project_handover_path
from roundtable.core.ports import Table
from roundtable.core.reasons import WorkshopStepFailed
from roundtable.core.stage_history import session_stage_contributors
from roundtable.core.stages import SdlcSettings, StageEnd
from roundtable.core.values import Decision, Digest, Gate, NextStep, Outcome
from roundtable.meetings.try_candidates import StepFailed
from roundtable.meetings.write_change import WriteProgress, write_change_in_meeting
from roundtable.report.reasons import reason_sentence
from roundtable.report.stage_words import describe_stage_history

DELIVER = "deliver"
HANDOVER_FORMS: Mapping[HandoverForm, str] = {
    "folder": "as a plain folder",
    "git": "as a git repository with a commit for each stage",
    "zip": "as a zip file",
}


async def hold_delivery_after_stages(table: Table, ends: Sequence[StageEnd]) -> Decision:
    """Ask how to deliver the project, and deliver it; a result without files needs no delivery."""
    charter, draft = table.charter, StageEnd.latest_draft(ends)
    decision = decide_project_finished(charter, ends)
    if not draft or decision.outcome is not Outcome.REACHED:
        return decision
    if SdlcSettings.of(charter).existing:
        return await _write_to_project(table, ends, decision, draft)
    details = {form: f"{how}: {session_project_handover_path(charter, form)}" for form, how in HANDOVER_FORMS.items()}
    details |= {NextStep.LATER: "write nothing now; `roundtable project` with this session delivers it at any time"}
    failure = decide_last_run_failure(charter, ends)
    state = reason_sentence(failure) if failure else "The project is finished."
    question = f"{state} In which form should it be delivered?"
    form = await table.gate(Gate(DELIVER, question, tuple(details), NextStep.LATER, details, writes=True))
    if form not in ("folder", "git", "zip"):
        return rule.decide_project_not_written(charter, ends)
    effect = DeliverProject(draft, form, session_project_handover_path(charter, form), DELIVER)
    delivered = await table.do(f"{DELIVER}/hand-over", effect)
    assert isinstance(delivered, ProjectDelivered | Fault)
    return rule.decide_project_handed_over(charter, ends, delivered)


async def _write_to_project(table: Table, ends: Sequence[StageEnd], decision: Decision, draft: Digest) -> Decision:
    """Write the change to the person's own project, as far as they allow."""
    bases = [end.base for end in ends if end.base]
    progress = WriteProgress(
        DELIVER,
        bases[-1] if bases else table.charter.seats[0].name,
        preface=tuple(filter(None, [decide_last_run_failure(table.charter, ends)])),
        after_stages=True,
        authors=session_stage_contributors(*ends),
        body=describe_stage_history(ends),
    )
    decision = msgspec.structs.replace(decision, next_step="")
    try:
        return rule.decision_on_extended_project(await write_change_in_meeting(table, progress, decision, draft))
    except StepFailed as stop:
        return decision_on_unwritable_change(decision, WorkshopStepFailed(stop.fault))
