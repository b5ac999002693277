"""Trials: runs what the seats wrote, each in a scratch tree in the sandbox, next to a tree without any of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from roundtable.core.candidate_reasons import UnrunReason
from roundtable.core.changeset import Changeset, CreateFile, DraftFile, EditFile
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    CheckKind,
    CheckOutcome,
    MergeTried,
    TryCandidates,
    TryMerged,
)
from roundtable.core.ports import Sandbox
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.session import Session
from roundtable.core.text.file_names import is_test_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Move
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from roundtable.workshop.edit.lost_tests import find_edits_changing_tests
from roundtable.workshop.edit.stored_drafts import DraftStore, compare_edit_drafts
from roundtable.workshop.edit.validation import validate_edited_files
from roundtable.workshop.repo.scratch_trees import (
    copy_working_tree_files,
    create_scratch_working_tree,
    create_working_trees_concurrently,
    list_working_tree_files,
    open_scratch_working_trees,
)
from roundtable.workshop.sandbox.output_lines import LineCallback
from roundtable.workshop.symbols.python_code import python_symbol_module_name
from roundtable.workshop.trial.check_files import find_trial_check_files_in_change
from roundtable.workshop.trial.listed_checks import sanitize_trial_check_outcome, sanitize_trial_reason
from roundtable.workshop.trial.proposed_change import (
    ProposedChange,
    collect_trial_tests,
    exclude_forbidden_files_from_trial,
    exclude_new_tests_from_trial,
    exclude_test_files_from_trial,
    is_changed_trial_test_file,
    is_new_trial_test_file,
    is_new_trial_test_module,
    is_trial_test_change,
    read_trial_test_sources,
    replace_tests_for_trial,
    restore_check_files_for_trial,
    revert_unrelated_edits_for_trial,
    suggest_trial_test_path,
    trial_candidate_defines_any,
)
from roundtable.workshop.trial.repository_checks import (
    CheckCommands,
    choose_trial_python,
    find_trial_check_commands_for_tree,
    find_trial_check_commands_of_candidate,
    find_trial_check_commands_of_workspace,
)
from roundtable.workshop.trial.run_candidates import TrialTask, run_candidate_trials, run_trial_checks_of_candidate
from roundtable.workshop.trial.task_examples import (
    TaskExample,
    extract_trial_examples_from_task,
    render_trial_example_unittest,
)
from roundtable.workshop.trial.task_word_guesses import (
    collect_trial_task_words,
    guess_trial_allows_argument_mutation,
    guess_trial_allows_file_change,
    guess_trial_allows_new_errors,
    guess_trial_allows_test_changes,
)
from roundtable.workshop.trial.trial_results import BASELINE, TrialResults
from roundtable.workshop.trial.verdicts import (
    add_trial_check_outcomes,
    add_trial_outcomes_of_original_tests,
    collect_distinguishing_trial_outputs,
    fail_candidate_that_replaces_tools,
    fail_trial_candidate_on_finding,
    fail_uncorroborated_trial_candidates,
    list_seats_passing_trial,
    rank_trial_candidates,
)
from roundtable.workshop.trial.workspace_mount import WorkspaceMount, find_trial_tree_dependencies

TreeBuilder = Callable[[Path, Path, Sequence[DraftFile]], None]
"""Builds the tree that a draft of a workspace is run on."""


class CandidateTrial:
    """Tries candidates and drafts of one workspace in one sandbox."""

    def __init__(
        self,
        drafts: DraftStore,
        workspace: Path,
        redactor: Redactor,
        listed: CheckCommands,
        copy: Sequence[str],
        seconds: float,
    ) -> None:
        self._drafts = drafts
        self._workspace = workspace
        self._redactor = redactor
        self._listed = listed
        self._copy = copy
        self._seconds = seconds

    def read_proposed_change(
        self, session: Session, move: Move, base_draft: Sequence[DraftFile] = (), scope: Sequence[str] = ()
    ) -> ProposedChange:
        """Read the changes in a seat's reply and apply them to a draft in memory."""
        try:
            changes = _with_digests_as_shown(
                parse_reply_file_changes(move.text, move.seat, trial_request_origin(session), scope),
                session,
                move,
                base_draft,
            )
        except UnreadableReply as error:
            refusal = Refusal.of("", RefusalCode.UNREADABLE_REPLY, message=error.message)
            return ProposedChange(move.seat, (), (refusal,))
        drafting = apply_changeset_in_memory(changes, self._workspace, self._redactor.finds, base_draft)
        own = compare_edit_drafts(base_draft, drafting.files)
        return ProposedChange(
            move.seat, drafting.files, (*drafting.refused, *validate_edited_files(own)), own, round=move.round
        )

    async def try_candidates(
        self, session: Session, effect: TryCandidates, sandbox: Sandbox, tell: LineCallback
    ) -> CandidatesTried:
        """Try the last change of each of these seats in these rounds."""
        base_draft = await self._drafts.load_files(effect.over)
        written = await self._read_last_changes(session, effect, base_draft)
        tried = await self._run_and_judge(session, written, collect_trial_tests(written), base_draft, sandbox, tell)
        if not session.charter.has_stages:
            tried = await self._revert_unrelated_edits(session, written, tried, base_draft, sandbox, tell)
            tried = fail_uncorroborated_trial_candidates(session.charter.question, *tried), tried[1]
        changes, trials = tried
        ranking = rank_trial_candidates(changes, trials)
        best = (
            ranking.best if any(change.passes_all_checks for change in changes) else list_seats_passing_trial(changes)
        )
        clusters = ranking.ways if ranking.compared else ()
        candidates = {change.seat: await self._make_candidate(change, trials, clusters) for change in changes}
        order = [*ranking.order, *(seat for seat in candidates if seat not in ranking.order)]
        return CandidatesTried(
            tuple(candidates[seat] for seat in order),
            ranking.best,
            ranking.how,
            sandbox.name,
            collect_distinguishing_trial_outputs(trials, ranking, best),
            self.sanitize_reasons(trials.list_unrun_reasons(trials.candidates)),
            self.sanitize_outcomes(trials.checks.get(BASELINE, ())),
            suggest_trial_test_path(
                [file for change in changes for file in change.own_files], await self._tree_files()
            ),
        )

    async def try_merged(self, session: Session, effect: TryMerged, sandbox: Sandbox, tell: LineCallback) -> MergeTried:
        """Try a merged change like its base candidate, with the tests that the author of the base wrote."""
        base_draft = await self._drafts.load_files(effect.over)
        tests = collect_trial_tests(await self._read_last_changes(session, effect, base_draft))
        files = await self._drafts.load_files(effect.draft)
        own_files = compare_edit_drafts(base_draft, files)
        tests[effect.base] = read_trial_test_sources(own_files) | tests.get(effect.base, {})
        change = ProposedChange(effect.base, files, validate_edited_files(own_files), own_files)
        (change,), trials = await self._run_and_judge(session, [change], tests, base_draft, sandbox, tell)
        return MergeTried(await self._make_candidate(change, trials, ()))

    async def _read_last_changes(
        self, session: Session, effect: TryCandidates | TryMerged, base_draft: Sequence[DraftFile]
    ) -> Sequence[ProposedChange]:
        """Return the last change of each of these seats in these rounds."""
        moves_of_rounds = [move for name in effect.rounds for move in session.rounds[name].moves()]
        moves = {seat: [move for move in moves_of_rounds if move.seat == seat] for seat in effect.seats}
        changes = [
            await asyncio.to_thread(self._read_last_change, session, seat_moves, base_draft)
            for seat_moves in moves.values()
            if seat_moves
        ]
        return (
            list(map(exclude_forbidden_files_from_trial, changes)) if session.charter.starts_without_files else changes
        )

    def _read_last_change(
        self, session: Session, moves: Sequence[Move], base_draft: Sequence[DraftFile]
    ) -> ProposedChange:
        """Return a seat's change: its last reply.

        A reply with only new tests, or to a request for tests, replaces the seat's earlier tests and keeps its code.
        """
        first, *later = moves
        change = self.read_proposed_change(session, first, base_draft)
        tests: tuple[DraftFile, ...] = ()
        for move in later:
            latest = self.read_proposed_change(session, move, base_draft)
            new_tests = tuple(filter(is_new_trial_test_module, latest.own_files))
            if session.rounds[move.round].opened.turns.purpose == "tests" or (
                change.own_files and latest.is_writable and new_tests == latest.own_files
            ):
                tests = new_tests or tests
            else:
                change, tests = latest, () if new_tests else tests
        return replace_tests_for_trial(change, tests) if tests else change

    async def _revert_unrelated_edits(
        self,
        session: Session,
        written: Sequence[ProposedChange],
        tried: tuple[Sequence[ProposedChange], TrialResults],
        base_draft: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[Sequence[ProposedChange], TrialResults]:
        """Try candidates that break a check again without edits that the task does not name.

        First what they removed is restored, then what they changed: a seat that rewrites a file for one function often
        loses another. A narrower change is kept only if it passes everything, or lacks only evidence that was missing
        before too.
        """
        task_names = set(re.findall(r"\w+", collect_trial_task_words(session)))
        accepted: dict[str, ProposedChange] = {}
        for changed in (False, True):
            changes, trials = tried
            broken = {change.seat for change in changes if not change.passes_all_but_evidence}.intersection(
                trials.list_breaking_candidates()
            )
            without_evidence = {change.seat for change in changes if change.lacks_evidence}
            narrowed = [
                await asyncio.to_thread(revert_unrelated_edits_for_trial, change, task_names, changed=changed)
                for change in written
                if change.seat in broken
            ]
            narrower: dict[str, ProposedChange] = {change.seat: change for change in narrowed if change is not None}
            while narrower:
                tell(f"Trying again without edits that the task does not name: {', '.join(narrower)}")
                combined = [{**accepted, **narrower}.get(change.seat, change) for change in written]
                retried = await self._run_and_judge(
                    session, combined, collect_trial_tests(written), base_draft, sandbox, tell
                )
                passing = {
                    change.seat
                    for change in retried[0]
                    if change.passes_all_checks
                    or (
                        change.passes_all_but_evidence
                        and change.seat in without_evidence
                        and (not changed or trial_candidate_defines_any(change, task_names))
                    )
                }
                if passing.issuperset(narrower):
                    accepted, tried = {**accepted, **narrower}, retried
                    break
                narrower = {seat: change for seat, change in narrower.items() if seat in passing}
        return tried

    async def _run_and_judge(
        self,
        session: Session,
        changes: Sequence[ProposedChange],
        tests: Mapping[str, Mapping[str, str]],
        base_draft: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[Sequence[ProposedChange], TrialResults]:
        """Run all changes that can be written, and hold them to everything that a change has to pass."""
        writable = {change.seat: change for change in changes if change.is_writable}
        code = {seat: exclude_new_tests_from_trial(change).files for seat, change in writable.items()}
        examples = render_trial_example_test_file(
            extract_trial_examples_from_task(session.charter.question), [change.files for change in writable.values()]
        )
        trials = await self.run_drafts(
            {BASELINE: base_draft, **code}, sandbox, tell, tests, examples, session.charter.question
        )
        is_staged = session.charter.has_stages
        changes = [
            add_trial_check_outcomes(change, trials, needs_evidence=bool(trials.baseline) and not is_staged)
            for change in changes
        ]
        changes = [fail_candidate_that_replaces_tools(change) for change in changes]
        if not (is_staged or guess_trial_allows_argument_mutation(session)):
            changes = [
                fail_trial_candidate_on_finding(change, CheckKind.SIDE_EFFECTS, trials.side_effects)
                for change in changes
            ]
        if not (is_staged or guess_trial_allows_new_errors(session)):
            changes = [
                fail_trial_candidate_on_finding(change, CheckKind.REGRESSION, trials.regressions) for change in changes
            ]
        changes = await self._exclude_breaking_tests(changes, base_draft, trials, sandbox, tell)
        if not is_staged:
            changes = await self._judge_with_original_tests(session, changes, sandbox, tell)
        return changes, trials

    async def _exclude_breaking_tests(
        self,
        changes: Sequence[ProposedChange],
        base_draft: Sequence[DraftFile],
        trials: TrialResults,
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> list[ProposedChange]:
        """Exclude new tests that break the repository's checks where the code alone does not."""
        with_tests = {
            change.seat: change.files
            for change in changes
            if change.passes_all_but_evidence and any(map(is_new_trial_test_file, change.own_files))
        }
        if not with_tests or not trials.baseline:
            return list(changes)
        repeated = await self.run_drafts({BASELINE: base_draft, **with_tests}, sandbox, tell)
        breaking = {seat for seat in with_tests if not all(check.passed for check in repeated.informative_checks(seat))}
        return [exclude_new_tests_from_trial(change) if change.seat in breaking else change for change in changes]

    async def _judge_with_original_tests(
        self, session: Session, changes: Sequence[ProposedChange], sandbox: Sandbox, tell: LineCallback
    ) -> list[ProposedChange]:
        """Check that what passes also passes the original tests and check files; restore those it need not change."""
        keeps_tests = not guess_trial_allows_test_changes(session)
        check_files = {
            change.seat: await asyncio.to_thread(self.find_changed_check_files, session, change.own_files)
            for change in changes
            if change.passes_all_but_evidence
        }
        restored = {
            change.seat: restore_check_files_for_trial(
                (exclude_test_files_from_trial(change) if keeps_tests else change).files, check_files[change.seat]
            )
            for change in changes
            if change.passes_all_but_evidence
            and (check_files[change.seat] or (keeps_tests and any(map(is_changed_trial_test_file, change.own_files))))
        }
        if not restored:
            return list(changes)
        tell("Repeating the run with the original tests:")
        repeated = await self.run_drafts(restored, sandbox, tell)
        return [
            add_trial_outcomes_of_original_tests(
                change,
                repeated.informative_checks(change.seat),
                find_edits_changing_tests(change.own_files) if keeps_tests else {},
                check_files[change.seat],
            )
            if change.seat in restored
            else change
            for change in changes
        ]

    def find_changed_check_files(self, session: Session, files: Sequence[DraftFile]) -> tuple[DraftFile, ...]:
        """Return the files that change a check although the person did not ask for that.

        In stages there are none: the checks of a project are written with it.
        """
        if session.charter.has_stages:
            return ()
        tests_too = guess_trial_allows_test_changes(session)
        changed = find_trial_check_files_in_change(
            files, find_trial_check_commands_of_workspace(self._listed, self._workspace).commands, self._workspace
        )
        return tuple(
            file
            for file in changed
            if not (guess_trial_allows_file_change(session, file) or (tests_too and is_trial_test_change(file)))
        )

    async def _make_candidate(
        self, change: ProposedChange, trials: TrialResults, clusters: Sequence[Sequence[str]]
    ) -> Candidate:
        return Candidate(
            change.seat,
            await self._drafts.save(change.files) if change.own_files else "",
            tuple(file.path for file in change.own_files),
            change.refused,
            self.sanitize_outcomes(change.checks),
            trials.tests.get(change.seat, {}),
            next((number for number, seats in enumerate(clusters, 1) if change.seat in seats), 0),
            change.excluded_tests,
            change.dropped,
            change.restored,
            change.reverted,
            change.round,
        )

    async def run_drafts(
        self,
        drafts: Mapping[str, Sequence[DraftFile]],
        sandbox: Sandbox,
        tell: LineCallback,
        tests: Mapping[str, Mapping[str, str]] = {},
        examples: Mapping[str, str] = {},
        task: str = "",
        *,
        build_tree: TreeBuilder | None = None,
    ) -> TrialResults:
        """Run the checks, and these tests and examples, on the workspace with each of these drafts.

        The draft named BASELINE is the state before the others; without it, the workspace as it is. If that has no
        checks, the checks that a draft brings itself count.
        """
        builder = build_tree or partial(create_scratch_working_tree, names=await self._tree_files())
        async with open_scratch_working_trees() as folder:
            trees = {name: folder / str(number) for number, name in enumerate({BASELINE: (), **drafts})}
            await create_working_trees_concurrently(
                [partial(builder, self._workspace, tree, drafts.get(name, ())) for name, tree in trees.items()]
            )
            dependencies = await asyncio.to_thread(find_trial_tree_dependencies, self._workspace, self._copy)
            await create_working_trees_concurrently(
                [
                    partial(copy_working_tree_files, self._workspace, tree, dependencies.copied)
                    for tree in trees.values()
                ]
            )
            repository_checks = await asyncio.to_thread(
                find_trial_check_commands_for_tree, self._listed, self._workspace, trees[BASELINE], dependencies.lent
            )
            python = await asyncio.to_thread(choose_trial_python, repository_checks.commands, self._workspace)
            mounted = WorkspaceMount(sandbox, self._workspace, dependencies.lent)
            trials = await run_candidate_trials(
                mounted,
                trees,
                repository_checks.commands,
                tests,
                python,
                tell,
                TrialTask(task, examples),
                self._seconds,
            )
            candidate_checks: dict[str, tuple[CheckOutcome, ...]] = {}
            for name in () if repository_checks.commands else drafts:
                added_tests = tests.get(name, {})
                commands = await asyncio.to_thread(find_trial_check_commands_of_candidate, trees[name], added_tests)
                candidate_checks[name] = await run_trial_checks_of_candidate(
                    mounted, name, trees[name], commands, added_tests, tell, self._seconds
                )
            return msgspec.structs.replace(
                trials,
                candidate_checks=candidate_checks,
                unrun_reasons=(*repository_checks.unrun_reasons, *trials.unrun_reasons),
            )

    async def _tree_files(self) -> Sequence[str]:
        return await asyncio.to_thread(list_working_tree_files, self._workspace)

    def sanitize_reasons(self, reasons: Sequence[UnrunReason]) -> tuple[UnrunReason, ...]:
        """Return reasons that quote checks without secrets and control characters."""
        return tuple(sanitize_trial_reason(reason, self._redactor) for reason in reasons)

    def sanitize_outcomes(self, outcomes: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
        """Return outcomes of checks without secrets and control characters in their output."""
        return tuple(sanitize_trial_check_outcome(outcome, self._redactor) for outcome in outcomes)


def trial_request_origin(session: Session) -> str:
    """Return what asks for a change: the decision that is carried out, or the slug of the task."""
    return str(session.charter.settings.get("of", "")) or session.charter.slug


def _with_digests_as_shown(
    changes: Changeset, session: Session, move: Move, base_draft: Sequence[DraftFile]
) -> Changeset:
    """Return the changes with the digest of each file as it was shown; edits and drafted files need none."""
    opened = session.rounds[move.round].opened
    shown = {
        item.name: item.digest
        for item in (*(context_item for _, context_item in session.context()), *opened.prompt.files)
    }
    for file in base_draft:
        shown.pop(file.path, None)
    return msgspec.structs.replace(
        changes,
        operations=tuple(
            operation
            if isinstance(operation, CreateFile | EditFile) or operation.base
            else msgspec.structs.replace(operation, base=shown.get(operation.path, ""))
            for operation in changes.operations
        ),
    )


def render_trial_example_test_file(
    examples: Sequence[TaskExample], drafts: Iterable[Sequence[DraftFile]]
) -> dict[str, str]:
    """Render the person's examples as a test file, if a draft has Python code that they could be about.

    A call of something other than a module, such as `stack.peek()`, cannot be understood alone.
    """
    paths = {
        file.path for files in drafts for file in files if file.after is not None and not is_test_file_name(file.path)
    }
    modules = [module for path in sorted(paths) if (module := python_symbol_module_name(path))]
    usable = [example for example in examples if example.owner in ("", *modules)]
    return (
        {"test_examples_of_the_task.py": render_trial_example_unittest(usable, modules)} if usable and modules else {}
    )
