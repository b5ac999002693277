"""Brings a draft into the workspace: plans it, rehearses it in a scratch tree, and writes it once a person approved it.

Also validates hunks that a person edited.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from roundtable.core.candidate_reasons import UncommittedTestsSkipped
from roundtable.core.change_history import decode_session_hunk_choice, newest_session_change_plan, session_draft_authors
from roundtable.core.changeset import Changeset, DraftFile, HunkChoice
from roundtable.core.effects import (
    ApplyChange,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckOutcome,
    PlanChange,
    RehearseChange,
)
from roundtable.core.events import AnswerSource, EffectStarted, GateAnswered, GateOpened, Recorded
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Sandbox, Store
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.session import Session
from roundtable.core.text.file_names import is_test_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Digest, compute_digest
from roundtable.report.refusals import refusal_sentence, refusal_sentences
from roundtable.workshop.edit.apply_draft import find_journaled_change, write_draft_to_workspace
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from roundtable.workshop.edit.executed_files import find_unrequested_edits_of_executed_files
from roundtable.workshop.edit.hunks import apply_accepted_hunks, split_edits_into_hunks
from roundtable.workshop.edit.lost_tests import find_edits_changing_tests
from roundtable.workshop.edit.rehearsal import (
    create_edit_rehearsal_tree,
    find_lost_hunks,
    list_changed_files_outside_edit_draft,
)
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.edit.validation import find_destructive_edits, validate_edited_files
from roundtable.workshop.identity import create_temp_folder_for_process
from roundtable.workshop.repo.commits import CommitMessage, Repository, check_git_repository_writable
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent
from roundtable.workshop.sandbox.output_lines import LineCallback
from roundtable.workshop.trial.check_files import trial_check_file_label
from roundtable.workshop.trial.proposed_change import read_trial_test_sources
from roundtable.workshop.trial.task_examples import TaskExample, extract_trial_examples_from_task
from roundtable.workshop.trial.task_word_guesses import (
    collect_trial_task_words,
    find_decision_carried_out_in_trial,
    guess_trial_allows_test_changes,
    is_trial_file_in_task_words,
)
from roundtable.workshop.trial.trial import (
    CandidateTrial,
    TreeBuilder,
    render_trial_example_test_file,
    trial_request_origin,
)
from roundtable.workshop.trial.trial_results import BASELINE
from roundtable.workshop.trial.verdicts import mark_unrunnable_trial_tests_failed, summarize_trial_of_own_tests

_DRAFT = "draft"


class ApprovalMissing(Exception):
    """The record does not contain the approval for this change; the message says what is missing."""


class ChangeApplier:
    """Plans, rehearses and writes drafts in one workspace."""

    def __init__(
        self, drafts: DraftStore, trial: CandidateTrial, workspace: Path, redactor: Redactor, journals: Path
    ) -> None:
        self._drafts = drafts
        self._trial = trial
        self._workspace = workspace
        self._redactor = redactor
        self._journals = journals

    async def plan(self, session: Session, effect: PlanChange) -> ChangePlanned:
        """Return the hunks of a draft, with refusals, dangers and changed tests at present."""
        files = await self._drafts.load_files(effect.draft)
        asked = await self._request_words(session)
        wanted = await asyncio.to_thread(_find_requested_files, files, "" if session.charter.has_stages else asked)
        hunks = tuple(
            hunk if hunk.path in wanted else msgspec.structs.replace(hunk, asked_by="")
            for hunk in await asyncio.to_thread(split_edits_into_hunks, files)
        )
        changed = (
            {}
            if guess_trial_allows_test_changes(session)
            else await asyncio.to_thread(find_edits_changing_tests, files)
        )
        check_files = await asyncio.to_thread(self._trial.find_changed_check_files, session, files)
        tests = (
            *(test for names in changed.values() for test in names),
            *(trial_check_file_label(file) for file in check_files if file.path not in changed),
        )
        refused = await asyncio.to_thread(self._find_refusals, files)
        dangers = await self._find_dangers(session, files)
        unasked = tuple(hunk.id for hunk in hunks if not hunk.asked_by)
        return ChangePlanned(hunks, refused, dangers, _confirmation_phrase(files) if dangers else "", unasked, tests)

    async def _request_words(self, session: Session) -> str:
        """Return the text that asked for the change."""
        item = find_decision_carried_out_in_trial(session)
        return collect_trial_task_words(session, await self._drafts.load_text(item.digest) if item else "")

    async def _find_dangers(self, session: Session, files: Sequence[DraftFile]) -> tuple[str, ...]:
        """Return what a person must confirm on its own: permanent losses, and files that other programs execute.

        Only the person's own words can name such a file beforehand, not a decision or a plan.
        """
        check_files = await asyncio.to_thread(self._trial.find_changed_check_files, session, files)
        lost = await asyncio.to_thread(find_destructive_edits, files, self._workspace)
        question = session.charter.question
        return (*lost, *find_unrequested_edits_of_executed_files(files, question, [file.path for file in check_files]))

    def _find_refusals(self, files: Sequence[DraftFile]) -> tuple[Refusal, ...]:
        """Return refusals if a draft no longer fits, is invalid, or touches uncommitted work."""
        drafting = apply_changeset_in_memory(Changeset(()), self._workspace, self._redactor.finds, files)
        return (*drafting.refused, *validate_edited_files(files), *_find_repository_refusals(files, self._workspace))

    async def rehearse(
        self, session: Session, effect: RehearseChange, sandbox: Sandbox, tell: LineCallback
    ) -> ChangeRehearsed:
        """Run the checks and the examples of the task on the chosen hunks, in a scratch tree that equals the commit."""
        examples = extract_trial_examples_from_task(session.charter.question)
        planned = await self._drafts.load_files(effect.draft)
        files = await asyncio.to_thread(_apply_choice, planned, effect.choice)
        if isinstance(files, Refusal):
            return ChangeRehearsed("", refused=(files,))
        refused = await asyncio.to_thread(self._find_refusals, files)
        if refused or not files:
            return ChangeRehearsed("", refused=refused or (Refusal.of("", RefusalCode.NO_HUNK_APPROVED),))
        lost: list[str] = []

        def build_tree_and_compare(workspace: Path, into: Path, files: Sequence[DraftFile]) -> None:
            create_edit_rehearsal_tree(workspace, into, files)
            lost.extend(find_lost_hunks(into, files))

        run = await self._run_checks(examples, files, sandbox, tell, build_tree_and_compare)
        other_files = await asyncio.to_thread(list_changed_files_outside_edit_draft, self._workspace, files)
        dangers = await self._find_dangers(session, files)
        return msgspec.structs.replace(
            run,
            draft=await self._drafts.save(files) if effect.choice else effect.draft,
            lost=tuple(lost),
            destroys=dangers,
            phrase=_confirmation_phrase(files) if dangers else "",
            leans=await self._find_needed_uncommitted_files(other_files, examples, files, run.checks, sandbox, tell),
            unrun=(*run.unrun, *_uncommitted_tests_reason(other_files)),
        )

    async def _run_checks(
        self,
        examples: Sequence[TaskExample],
        files: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
        build_tree: TreeBuilder | None = None,
    ) -> ChangeRehearsed:
        """Run the checks and the examples of the task with and without a draft; its Python tests run with it."""
        tests = {path: text for path, text in read_trial_test_sources(files).items() if path.endswith(".py")}
        asked = render_trial_example_test_file(examples, (files,))
        trials = await self._trial.run_drafts(
            {_DRAFT: files}, sandbox, tell, {_DRAFT: tests}, asked, build_tree=build_tree
        )
        checks = (
            *trials.informative_checks(_DRAFT),
            *summarize_trial_of_own_tests(trials.tests.get(_DRAFT) or mark_unrunnable_trial_tests_failed(tests)),
        )
        before = trials.checks.get(BASELINE, ())
        unrun = self._trial.sanitize_reasons(trials.list_unrun_reasons((_DRAFT,)))
        return ChangeRehearsed(
            "",
            self._trial.sanitize_outcomes(checks),
            self._trial.sanitize_outcomes(before),
            unrun=unrun,
            unenforced=sandbox.unenforced,
        )

    async def _find_needed_uncommitted_files(
        self,
        other_files: tuple[str, ...],
        examples: Sequence[TaskExample],
        files: Sequence[DraftFile],
        checks: Sequence[CheckOutcome],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[str, ...]:
        """Return the other uncommitted files if a check that fails without them passes in the workspace."""
        failed = {outcome.name for outcome in checks if not outcome.passed}
        if not failed or not other_files:
            return ()
        results = await self._run_checks(examples, files, sandbox, tell)
        return other_files if any(outcome.passed and outcome.name in failed for outcome in results.checks) else ()

    async def apply(
        self, key: str, session: Session, records: Sequence[Recorded], effect: ApplyChange
    ) -> ChangeApplied | Fault:
        """Write a draft if the record contains a person's approval of exactly this draft."""
        files = await self._drafts.load_files(effect.draft)
        try:
            answer = await self._find_approval(session, _find_planned_draft(records, effect.gate), effect, files)
        except ApprovalMissing as missing:
            return Fault.of(FaultKind.PERMISSION, str(missing), help="Nothing was written.")
        rehearsals = (
            result
            for result in session.results.values()
            if isinstance(result, ChangeRehearsed) and result.draft == effect.draft
        )
        checks = next((rehearsed.checks for rehearsed in rehearsals), ())
        person = f"{session.charter.owner} (in advance)" if answer.source is AnswerSource.ADVANCE else answer.by
        commit = CommitMessage(
            effect.message,
            session.id,
            trial_request_origin(session),
            _name_producers(session, effect.draft, decode_session_hunk_choice(answer), person),
            person,
            {check.name: "passed" if check.passed else "failed" for check in checks},
        )
        outcome = await asyncio.to_thread(
            write_draft_to_workspace,
            self._workspace,
            self._journals,
            files,
            key=key,
            commit=commit,
            branch=effect.branch,
        )
        if isinstance(outcome, ChangeApplied):
            return outcome
        return Fault.of(FaultKind.REFUSED, refusal_sentences(outcome), help="Nothing was written.")

    @staticmethod
    async def check_choice(store: Store, draft: Digest, choice: HunkChoice) -> tuple[str, ...]:
        """Return a sentence for each reason why the chosen hunks of a draft cannot be written."""
        remaining = apply_accepted_hunks(await DraftStore(store).load_files(draft), choice)
        if isinstance(remaining, Refusal):
            return (refusal_sentence(remaining),)
        return tuple(map(refusal_sentence, await asyncio.to_thread(validate_edited_files, remaining)))

    async def recover(self, key: str) -> ChangeApplied | None:
        """Return what an interrupted step wrote, according to the journal."""
        return await asyncio.to_thread(find_journaled_change, self._workspace, self._journals, key)

    async def _find_approval(
        self, session: Session, planned: Digest, effect: ApplyChange, files: Sequence[DraftFile]
    ) -> GateAnswered:
        """Return the approval: an answer at a gate that writes, whose choice applied to the plan yields these files."""
        gate, answer = session.gates.get(effect.gate), session.answers.get(effect.gate)
        if gate is None or not gate.writes or answer is None or answer.option not in ("all", "some"):
            raise ApprovalMissing(f"The change was not approved at gate {effect.gate}.")
        choice = answer.text if answer.option == "some" else ""
        if answer.option == "some" and not choice:
            raise ApprovalMissing("The answer does not say which hunks are approved.")
        if not planned:
            raise ApprovalMissing("No plan was shown before the answer.")
        approved_files = _apply_choice(await self._drafts.load_files(planned), choice)
        if isinstance(approved_files, Refusal) or approved_files != tuple(files):
            raise ApprovalMissing("The files to write differ from the approved ones.")
        dangers = await self._find_dangers(session, files)
        if dangers and not _is_danger_confirmed(session, effect.draft):
            raise ApprovalMissing(f"Nobody confirmed this: {' '.join(dangers)}")
        return answer


def _find_requested_files(files: Sequence[DraftFile], words: str) -> set[str]:
    """Return the paths that the words mention and the tests that mention those; all paths if there are no words."""
    asked = {file.path for file in files if not words or is_trial_file_in_task_words(words, file)}
    modules = {Path(path).stem for path in asked}
    return asked | {
        path
        for path, text in read_trial_test_sources(files).items()
        if not modules.isdisjoint(re.findall(r"\w+", text))
    }


def _find_planned_draft(records: Sequence[Recorded], gate: str) -> Digest:
    """Return the draft of the last plan that was shown before a gate opened."""
    draft = ""
    for fact in records:
        match fact.event:
            case EffectStarted(effect=PlanChange(shown)):
                draft = shown
            case GateOpened(gate=opened) if opened.id == gate:
                return draft
            case _:
                pass
    return ""


def _is_danger_confirmed(session: Session, draft: Digest) -> bool:
    """Whether the confirmation phrase of this draft was typed at a gate that writes."""
    plans = [
        result.phrase
        for result in session.results.values()
        if isinstance(result, ChangeRehearsed) and result.draft == draft
    ]
    answers = [
        answered.text.strip()
        for id, answered in session.answers.items()
        if session.gates[id].writes and answered.option == "confirm"
    ]
    return any(phrase and phrase in answers for phrase in plans)


def _apply_choice(files: Sequence[DraftFile], choice: str) -> tuple[DraftFile, ...] | Refusal:
    """Return the files that remain of a draft after a person's choice of hunks."""
    if not choice:
        return tuple(files)
    try:
        chosen = msgspec.json.decode(choice, type=HunkChoice)
    except msgspec.MsgspecError:
        return Refusal.of("", RefusalCode.CHOICE_UNREADABLE)
    return apply_accepted_hunks(files, chosen)


def _find_repository_refusals(files: Sequence[DraftFile], workspace: Path) -> Sequence[Refusal]:
    """Return the refusals of the repository; git reads contents from files, so a temporary folder holds them."""
    repository = Repository.open(workspace)
    if repository is None:
        problem = check_git_repository_writable(workspace, files[0].path) if files else None
        return [problem] if problem else []
    modes = {file.path: 0o755 if file.executable else 0o644 for file in files}
    planned = {file.path: None if file.after is None else FileContent(file.after, modes[file.path]) for file in files}
    with ConfinedFolder.open(workspace) as tree, create_temp_folder_for_process() as folder:
        current = {path: tree.read(path) for file in files for path in (file.was, file.path) if path}

        def place(data: bytes) -> Path:
            path = Path(folder) / compute_digest(data).removeprefix("sha256:")
            path.write_bytes(data)
            return path

        return repository.find_refusals(current, planned, place)


def _uncommitted_tests_reason(other_files: Sequence[str]) -> tuple[UncommittedTestsSkipped, ...]:
    """Return the uncommitted tests, which did not run on the files of the commit."""
    tests = tuple(filter(is_test_file_name, other_files))
    return (UncommittedTestsSkipped(tests),) if tests else ()


def _confirmation_phrase(files: Sequence[DraftFile]) -> str:
    """Return the phrase that a person types to allow a dangerous change, with the number of files in the plan."""
    deleted = [file for file in files if file.after is None]
    return f"delete {pluralize(len(deleted), 'file')}" if deleted else f"write {pluralize(len(files), 'file')} anyway"


def _name_producers(session: Session, draft: Digest, choice: HunkChoice, person: str) -> tuple[str, ...]:
    """Return the authors: the seats of the draft or the seat that implements it, and the person for edited hunks."""
    plan = newest_session_change_plan(session)
    kept = {hunk.id for hunk in plan[1].hunks} - set(choice.rejected) if plan else set[str]()
    if kept and kept <= choice.edited.keys():
        return (person,)
    authors = session_draft_authors(session, draft)
    executing = str(session.charter.settings.get("by", ""))
    seats = (*authors.seats, *(contribution.seat for contribution in authors.took)) or (executing,)
    return tuple(filter(None, dict.fromkeys((*seats, person if choice.edited else ""))))
