"""Delivers a finished project to a new folder or archive: after a recorded approval, or by the person's own command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from roundtable.core.effects import DeliverProject, ProjectDelivered
from roundtable.core.events import Recorded
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.handover import HandoverForm, session_project_handover_path
from roundtable.core.session import Session
from roundtable.core.stage_history import (
    StageAttempt,
    session_attempt_approver,
    session_attempt_checks,
    session_final_stage_attempts,
    session_stage_attempts,
    session_stage_contributors,
)
from roundtable.core.stages import StageEnd
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.report.stage_words import describe_stage_contributions, describe_stage_end
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.project.handover import (
    ProjectVersion,
    edited_project_files,
    hand_over_project,
    read_deliverable_project_files,
)
from roundtable.workshop.repo.commits import CommitMessage

DECISIONS_FOLDER = "docs/decisions"


class ProjectDelivery:
    """Delivers projects from the record."""

    def __init__(self, drafts: DraftStore) -> None:
        self._drafts = drafts

    async def deliver(
        self, session: Session, records: Sequence[Recorded], effect: DeliverProject
    ) -> ProjectDelivered | Fault:
        """Deliver the project if the record contains a person's approval of exactly this form and place."""
        ends = [attempt.end for attempt in session_final_stage_attempts(session_stage_attempts(records))]
        if problem := _find_missing_approval(session, ends, effect):
            return Fault.of(FaultKind.PERMISSION, problem, help="Nothing was written.")
        try:
            return await self.hand_over(session, records, effect.form, Path(effect.into))
        except RoundtableError as error:
            return Fault.of(FaultKind.REFUSED, error.message, help=error.help)

    async def hand_over(
        self, session: Session, records: Sequence[Recorded], form: HandoverForm, into: Path
    ) -> ProjectDelivered:
        """Write the project to a path that must not exist yet."""
        versions = await self._versions(session, records)
        commit = await asyncio.to_thread(hand_over_project, into, form, versions, session.charter.owner)
        return ProjectDelivered(str(into), tuple(sorted(versions[-1].files)), commit)

    async def _versions(self, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
        """Return the project after each stage, and before the first one if it existed already."""
        charter = session.charter
        existing = not charter.starts_without_files
        base = await asyncio.to_thread(read_deliverable_project_files, Path(charter.workspace)) if existing else {}
        base_version = ProjectVersion(base, session.opened_at, CommitMessage("The project as it was found", session.id))
        versions = [base_version] if existing else []
        for attempt in session_final_stage_attempts(session_stage_attempts(records)):
            end, before = attempt.end, versions[-1] if versions else base_version
            files = edited_project_files(base, await self._drafts.load_files(end.draft)) if end.draft else before.files
            documents = {**before.documents, **_render_decision_file(end)}
            versions.append(ProjectVersion(files, attempt.at, _describe_commit(session, attempt), documents))
        return versions


def _find_missing_approval(session: Session, ends: Sequence[StageEnd], effect: DeliverProject) -> str:
    """Return why the record does not approve this delivery; empty if it does."""
    gate, answer = session.gates.get(effect.gate), session.answers.get(effect.gate)
    if gate is None or not gate.writes or answer is None or answer.by_default or answer.option != effect.form:
        return f"The delivery was not approved at gate {effect.gate}."
    if effect.into != session_project_handover_path(session.charter, effect.form):
        return f"The target folder is not the folder that was shown at gate {effect.gate}."
    if effect.draft not in [end.draft for end in ends if end.draft][-1:]:
        return "The files to deliver differ from the result of the last stage."
    return ""


def _render_decision_file(end: StageEnd) -> dict[str, str]:
    """Return the decision of a stage as a file of the repository, by path; the text of the table is quoted in it."""
    if not end.text or end.how == "failed":
        return {}
    summary = "\n".join(f"- {escape_markdown_line(line)}" for line in describe_stage_end(end))
    path = f"{DECISIONS_FOLDER}/{end.id}-{end.stage}.md"
    return {path: f"# {end.id} {end.stage}\n\n{summary}\n\n{quote_markdown(end.text)}\n"}


def _describe_commit(session: Session, attempt: StageAttempt) -> CommitMessage:
    end = attempt.end
    message = "\n\n".join((f"{end.id} {end.stage}", "\n".join(describe_stage_contributions(end))))
    checks = {
        outcome.name: "passed" if outcome.passed else "failed" for outcome in session_attempt_checks(session, attempt)
    }
    return CommitMessage(
        message,
        session.id,
        producers=session_stage_contributors(end),
        approved_by=session_attempt_approver(session, attempt.name),
        checks=checks,
        stage=f"{end.id} {end.stage}",
    )
