"""Carries a draft to the workspace: held against it, rehearsed beside it, written to it once a person has said yes.

What a person wrote into a change themselves, looked at before it goes any further.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import Changeset, DraftFile, HunkChoice, Refusal, RefusalKind
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
from roundtable.core.file_kinds import is_test_file
from roundtable.core.ports import Sandbox, Store
from roundtable.core.session import Session
from roundtable.core.stages import has_stages
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.wording import join_names, pluralize
from roundtable.core.values import Digest, compute_digest
from roundtable.report.provenance import decode_hunk_choice, trace_draft_authors
from roundtable.report.provenance import newest_plan as shown_last
from roundtable.workshop.edit.apply_draft import apply_draft, find_applied_change
from roundtable.workshop.edit.draft import draft_changeset
from roundtable.workshop.edit.hunks import apply_hunk_choice, split_draft_into_hunks
from roundtable.workshop.edit.lost_tests import find_changed_tests
from roundtable.workshop.edit.rehearsal import create_rehearsal_tree, find_lost_hunks, list_other_uncommitted_files
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.edit.validation import find_destructive_changes, validate_draft
from roundtable.workshop.identity import process_owned_folder
from roundtable.workshop.repo.commits import CommitMessage, Repository, describe_unusable_repository
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent
from roundtable.workshop.sandbox.output_lines import LineCallback
from roundtable.workshop.trial.check_files import describe_check_file
from roundtable.workshop.trial.proposed_change import read_test_sources
from roundtable.workshop.trial.task_examples import TaskExample, parse_task_examples
from roundtable.workshop.trial.task_word_guesses import (
    collect_task_words,
    find_decision_context_item,
    guess_task_changes_tests,
    task_words_mention_file,
)
from roundtable.workshop.trial.trial import CandidateTrial, TreeBuilder, change_request_source, render_example_test_file
from roundtable.workshop.trial.trial_results import BASELINE
from roundtable.workshop.trial.verdicts import mark_unrunnable_tests_failed, summarize_own_tests

_DRAFT = "draft"


class ApprovalMissing(Exception):
    """The record does not hold the yes that this would need; the message says what it lacks."""


class ChangeApplier:
    """The way of a draft into one workspace."""

    def __init__(
        self, drafts: DraftStore, trial: CandidateTrial, workspace: Path, redactor: Redactor, journals: Path
    ) -> None:
        self._drafts = drafts
        self._trial = trial
        self._workspace = workspace
        self._redactor = redactor
        self._journals = journals

    async def plan(self, session: Session, effect: PlanChange) -> ChangePlanned:
        """The hunks, and what stands against them now."""
        files = await self._drafts.load_files(effect.draft)
        asked = await self._request_words(session)
        wanted = await asyncio.to_thread(_asked_for, files, "" if has_stages(session.charter) else asked)
        hunks = tuple(
            it if it.path in wanted else msgspec.structs.replace(it, asked_by="")
            for it in await asyncio.to_thread(split_draft_into_hunks, files)
        )
        changed = {} if guess_task_changes_tests(session) else await asyncio.to_thread(find_changed_tests, files)
        measures = await asyncio.to_thread(self._trial.find_changed_check_files, session, files)
        tests = (
            *(test for names in changed.values() for test in names),
            *(describe_check_file(it) for it in measures if it.path not in changed),
        )
        refused = await asyncio.to_thread(self._find_refusals, files)
        lost = await asyncio.to_thread(find_destructive_changes, files, self._workspace)
        unasked = tuple(it.id for it in hunks if not it.asked_by)
        return ChangePlanned(hunks, refused, lost, _phrase(files) if lost else "", unasked, tests)

    async def _request_words(self, session: Session) -> str:
        """The words in which the change was asked for."""
        told = find_decision_context_item(session)
        return collect_task_words(session, await self._drafts.load_text(told.digest) if told else "")

    def _find_refusals(self, files: Sequence[DraftFile]) -> tuple[Refusal, ...]:
        """What was drafted must still fit, be valid, and touch nothing that is not committed."""
        drafting = draft_changeset(Changeset(()), self._workspace, self._redactor.finds, files)
        return (*drafting.refused, *validate_draft(files), *_uncommitted(files, self._workspace))

    async def rehearse(
        self, session: Session, effect: RehearseChange, sandbox: Sandbox, tell: LineCallback
    ) -> ChangeRehearsed:
        """What was chosen, in a scratch tree that holds what its commit would, under checks and the task's examples."""
        examples = parse_task_examples(session.charter.question)
        planned = await self._drafts.load_files(effect.draft)
        files = await asyncio.to_thread(_taken, planned, effect.choice)
        if isinstance(files, Refusal):
            return ChangeRehearsed("", refused=(files,))
        refused = await asyncio.to_thread(self._find_refusals, files)
        if refused or not files:
            return ChangeRehearsed("", refused=refused or (_nothing(),))
        lost: list[str] = []

        def merged(workspace: Path, into: Path, files: Sequence[DraftFile]) -> None:
            create_rehearsal_tree(workspace, into, files)
            lost.extend(find_lost_hunks(into, files))

        run = await self._run_checks(examples, files, sandbox, tell, merged)
        beside = await asyncio.to_thread(list_other_uncommitted_files, self._workspace, files)
        gone = await asyncio.to_thread(find_destructive_changes, files, self._workspace)
        return msgspec.structs.replace(
            run,
            draft=await self._drafts.save(files) if effect.choice else effect.draft,
            lost=tuple(lost),
            destroys=gone,
            phrase=_phrase(files) if gone else "",
            leans=await self._find_needed_uncommitted_files(beside, examples, files, run.checks, sandbox, tell),
            unrun=(*run.unrun, *_left_untested(beside)),
        )

    async def _run_checks(
        self,
        examples: Sequence[TaskExample],
        files: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
        made: TreeBuilder | None = None,
    ) -> ChangeRehearsed:
        """The workspace's checks and the task's examples with a draft and without; with it, its tests in Python too."""
        tests = {path: text for path, text in read_test_sources(files).items() if path.endswith(".py")}
        asked = render_example_test_file(examples, (files,))
        trials = await self._trial.run_drafts({_DRAFT: files}, sandbox, tell, {_DRAFT: tests}, asked, build_tree=made)
        checks = (
            *trials.informative_checks(_DRAFT),
            *summarize_own_tests(trials.tests.get(_DRAFT) or mark_unrunnable_tests_failed(tests)),
        )
        before = trials.checks.get(BASELINE, ())
        untold = self._trial.sanitize_notes(trials.explain_uninformative_checks((_DRAFT,)))
        return ChangeRehearsed(
            "", self._trial.sanitize_outcomes(checks), self._trial.sanitize_outcomes(before), unrun=untold
        )

    async def _find_needed_uncommitted_files(
        self,
        beside: tuple[str, ...],
        examples: Sequence[TaskExample],
        files: Sequence[DraftFile],
        checks: Sequence[CheckOutcome],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[str, ...]:
        """What else is not committed, if a check that fails without it passes in the workspace as it is."""
        failed = {it.name for it in checks if not it.passed}
        if not failed or not beside:
            return ()
        here = await self._run_checks(examples, files, sandbox, tell)
        return beside if any(it.passed and it.name in failed for it in here.checks) else ()

    async def apply(
        self, key: str, session: Session, records: Sequence[Recorded], effect: ApplyChange
    ) -> ChangeApplied | Fault:
        """Write it, if the record holds a person's yes to just this."""
        files = await self._drafts.load_files(effect.draft)
        try:
            answer = await self._find_approval(session, _planned_for(records, effect.gate), effect, files)
        except ApprovalMissing as lacking:
            return Fault.of(FaultKind.PERMISSION, str(lacking), help="Nothing was written.")
        rehearsals = (
            it for it in session.results.values() if isinstance(it, ChangeRehearsed) and it.draft == effect.draft
        )
        checks = next((it.checks for it in rehearsals), ())
        person = f"{session.charter.owner} (in advance)" if answer.source is AnswerSource.ADVANCE else answer.by
        commit = CommitMessage(
            effect.message,
            session.id,
            change_request_source(session),
            _producers(session, effect.draft, decode_hunk_choice(answer), person),
            person,
            {it.name: "passed" if it.passed else "failed" for it in checks},
        )
        outcome = await asyncio.to_thread(
            apply_draft, self._workspace, self._journals, files, key=key, commit=commit, branch=effect.branch
        )
        if isinstance(outcome, ChangeApplied):
            return outcome
        return Fault.of(FaultKind.REFUSED, " ".join(it.sentence for it in outcome), help="Nothing was written.")

    async def recover(self, key: str) -> ChangeApplied | None:
        """What a step wrote before its process ended, by the journal."""
        return await asyncio.to_thread(find_applied_change, self._workspace, self._journals, key)

    async def _find_approval(
        self, session: Session, planned: Digest, effect: ApplyChange, files: Sequence[DraftFile]
    ) -> GateAnswered:
        """The yes: at a gate that writes, to a plan from which the same files come when the choice is made again."""
        gate, answer = session.gates.get(effect.gate), session.answers.get(effect.gate)
        if gate is None or not gate.writes or answer is None or answer.option not in ("all", "some"):
            raise ApprovalMissing(f"Nobody said yes at the gate {effect.gate}.")
        choice = answer.text if answer.option == "some" else ""
        if answer.option == "some" and not choice:
            raise ApprovalMissing("The answer does not say which hunks were meant.")
        if not planned:
            raise ApprovalMissing("There is no plan that the answer could be about.")
        again = _taken(await self._drafts.load_files(planned), choice)
        if isinstance(again, Refusal) or again != tuple(files):
            raise ApprovalMissing("What would be written is not what was approved.")
        lost = await asyncio.to_thread(find_destructive_changes, files, self._workspace)
        if lost and not _confirmed(session, effect.draft):
            raise ApprovalMissing("Something would be lost for good, and nobody confirmed that.")
        return answer


def _asked_for(files: Sequence[DraftFile], words: str) -> set[str]:
    """The files that somebody asked for, and the tests that speak of those; without words, in stages, all of them."""
    asked = {it.path for it in files if not words or task_words_mention_file(words, it)}
    modules = {Path(path).stem for path in asked}
    return asked | {
        path for path, text in read_test_sources(files).items() if not modules.isdisjoint(re.findall(r"\w+", text))
    }


def _planned_for(records: Sequence[Recorded], gate: str) -> Digest:
    """The draft of the last plan that was shown before a gate was opened."""
    draft = ""
    for it in records:
        match it.event:
            case EffectStarted(effect=PlanChange(shown)):
                draft = shown
            case GateOpened(gate=opened) if opened.id == gate:
                return draft
            case _:
                pass
    return ""


def _confirmed(session: Session, draft: Digest) -> bool:
    """Whether the phrase of this draft's plan was typed at a gate that asks for it."""
    plans = [it.phrase for it in session.results.values() if isinstance(it, ChangeRehearsed) and it.draft == draft]
    said = [
        it.text.strip() for id, it in session.answers.items() if session.gates[id].writes and it.option == "confirm"
    ]
    return any(phrase and phrase in said for phrase in plans)


def _taken(files: Sequence[DraftFile], choice: str) -> tuple[DraftFile, ...] | Refusal:
    """What a person's answer leaves of a draft."""
    if not choice:
        return tuple(files)
    try:
        told = msgspec.json.decode(choice, type=HunkChoice)
    except msgspec.MsgspecError:
        return Refusal("", RefusalKind.CONTRADICTION, "The answer does not say which hunks were meant.")
    return apply_hunk_choice(files, told)


def _uncommitted(files: Sequence[DraftFile], workspace: Path) -> Sequence[Refusal]:
    """What stands against it in the repository; git reads bytes from files, so they lie in a folder meanwhile."""
    repository = Repository.open(workspace)
    if repository is None:
        trouble = describe_unusable_repository(workspace)
        return [Refusal(it.path, RefusalKind.REPOSITORY, trouble) for it in files[:1] if trouble]
    modes = {it.path: 0o755 if it.executable else 0o644 for it in files}
    then = {it.path: None if it.after is None else FileContent(it.after, modes[it.path]) for it in files}
    with ConfinedFolder.open(workspace) as tree, process_owned_folder() as folder:
        now = {path: tree.read(path) for it in files for path in (it.was, it.path) if path}

        def place(data: bytes) -> Path:
            path = Path(folder) / compute_digest(data).removeprefix("sha256:")
            path.write_bytes(data)
            return path

        return repository.find_refusals(now, then, place)


def _left_untested(beside: Sequence[str]) -> tuple[str, ...]:
    """That tests which are not committed were not run on what the commit will hold."""
    tests = join_names([it for it in beside if is_test_file(it)])
    return (f"Not run on what will be committed, since they are not committed: {tests}.",) if tests else ()


def _nothing() -> Refusal:
    return Refusal("", RefusalKind.CONTRADICTION, "Nothing of it was taken.")


def _phrase(files: Sequence[DraftFile]) -> str:
    """What a person types to lose something for good, with the number of files that they see in the plan."""
    deleted = [it for it in files if it.after is None]
    return (
        f"delete {pluralize(len(deleted), 'file')}"
        if deleted
        else f"write {pluralize(len(files), 'file')} all the same"
    )


def _producers(session: Session, draft: Digest, choice: HunkChoice, person: str) -> tuple[str, ...]:
    """Whose work it is: a draft of another session is its executor's, what a person wrote anew is the person's."""
    plan = shown_last(session)
    taken = {it.id for it in plan[1].hunks} - set(choice.rejected) if plan else set[str]()
    if taken and taken <= choice.edited.keys():
        return (person,)
    authors = trace_draft_authors(session, draft)
    executing = str(session.charter.settings.get("by", ""))
    seats = (*authors.seats, *(it.seat for it in authors.took)) or (executing,)
    return tuple(filter(None, dict.fromkeys((*seats, person if choice.edited else ""))))


async def validate_chosen_hunks(store: Store, draft: Digest, choice: HunkChoice) -> tuple[str, ...]:
    """Why what a choice leaves of a draft cannot be written, such as that it would not parse; a sentence each."""
    left = apply_hunk_choice(await DraftStore(store).load_files(draft), choice)
    if isinstance(left, Refusal):
        return (left.sentence,)
    return tuple(it.sentence for it in await asyncio.to_thread(validate_draft, left))
