"""Runs what the seats wrote: a scratch tree for each, in the sandbox, beside the tree without any of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from roundtable.core.changeset import Changeset, CreateFile, DraftFile, EditFile, Refusal, RefusalKind
from roundtable.core.decide.trial_outcome import REGRESSIONS_CHECK, SIDE_EFFECTS_CHECK, is_tests_round
from roundtable.core.effects import Candidate, CandidatesTried, CheckOutcome, MergeTried, TryCandidates, TryMerged
from roundtable.core.file_kinds import is_test_file
from roundtable.core.ports import Sandbox
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.session import Session
from roundtable.core.stages import has_stages, starts_without_files
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_text
from roundtable.core.values import Move
from roundtable.workshop.edit.draft import draft_changeset
from roundtable.workshop.edit.lost_tests import find_changed_tests
from roundtable.workshop.edit.stored_drafts import DraftStore, diff_drafts
from roundtable.workshop.edit.validation import validate_draft
from roundtable.workshop.repo.scratch_trees import (
    copy_files_to_tree,
    create_scratch_tree,
    create_trees_concurrently,
    list_tree_files,
    open_scratch_folder,
)
from roundtable.workshop.sandbox.output_lines import LineCallback
from roundtable.workshop.trial.check_files import find_changed_check_files
from roundtable.workshop.trial.distinguishing_inputs import python_module_name
from roundtable.workshop.trial.listed_checks import sanitize_check_outcome
from roundtable.workshop.trial.proposed_change import (
    ProposedChange,
    candidate_defines_any,
    collect_tests_by_seat,
    exclude_forbidden_files,
    exclude_new_tests,
    exclude_test_files,
    is_changed_test_file,
    is_new_test_file,
    is_new_test_module,
    is_test_change,
    read_test_sources,
    replace_candidate_tests,
    restore_check_files,
    revert_unrelated_candidate_edits,
    suggest_new_test_path,
)
from roundtable.workshop.trial.repository_checks import (
    CheckCommands,
    choose_test_python,
    find_candidate_checks,
    find_checks_for_tree,
    find_repository_checks,
)
from roundtable.workshop.trial.run_candidates import TrialTask, run_candidate_checks, run_candidate_trials
from roundtable.workshop.trial.task_examples import TaskExample, parse_task_examples, render_examples_as_unittest
from roundtable.workshop.trial.task_word_guesses import (
    collect_task_words,
    guess_task_allows_mutation,
    guess_task_changes_file,
    guess_task_changes_tests,
    guess_task_expects_errors,
)
from roundtable.workshop.trial.trial_results import BASELINE, TrialResults
from roundtable.workshop.trial.verdicts import (
    REGRESSION_MESSAGE,
    SIDE_EFFECT_MESSAGE,
    collect_distinguishing_outputs,
    fail_candidate_on_finding,
    judge_candidate,
    judge_with_original_tests,
    list_eligible_candidates,
    rank_tried_candidates,
    reject_uncorroborated_candidates,
)
from roundtable.workshop.trial.workspace_mount import WorkspaceMount, find_tree_dependencies

TreeBuilder = Callable[[Path, Path, Sequence[DraftFile]], None]
"""Makes the tree that a draft of a workspace is run on."""


class CandidateTrial:
    """Candidates and drafts of one workspace, tried in one sandbox."""

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
        self, session: Session, move: Move, over: Sequence[DraftFile] = (), scope: Sequence[str] = ()
    ) -> ProposedChange:
        """Read a seat's words and carry them out on paper."""
        try:
            changes = _as_shown(
                parse_file_changes(move.text, move.seat, change_request_source(session), scope), session, move, over
            )
        except UnreadableReply as error:
            return ProposedChange(move.seat, (), (Refusal("", RefusalKind.NOT_FOUND, error.message),))
        drafting = draft_changeset(changes, self._workspace, self._redactor.finds, over)
        own = diff_drafts(over, drafting.files)
        return ProposedChange(
            move.seat, drafting.files, (*drafting.refused, *validate_draft(own)), own, round=move.round
        )

    async def try_candidates(
        self, session: Session, effect: TryCandidates, sandbox: Sandbox, tell: LineCallback
    ) -> CandidatesTried:
        """Try what each of these seats wrote last in these rounds."""
        over = await self._drafts.files(effect.over)
        written = await self._wishes(session, effect, over)
        found = await self._tried(session, written, collect_tests_by_seat(written), over, sandbox, tell)
        if not has_stages(session.charter):
            found = await self._with_the_unasked_put_back(session, written, found, over, sandbox, tell)
            found = reject_uncorroborated_candidates(session.charter.question, *found), found[1]
        wishes, trials = found
        decided = rank_tried_candidates(wishes, trials)
        best = decided.best if any(change.passes_all_checks for change in wishes) else list_eligible_candidates(wishes)
        ways = decided.ways if decided.compared else ()
        candidates = {change.seat: await self._candidate(change, trials, ways) for change in wishes}
        order = [*decided.order, *(seat for seat in candidates if seat not in decided.order)]
        return CandidatesTried(
            tuple(candidates[seat] for seat in order),
            decided.best,
            decided.how,
            sandbox.name,
            collect_distinguishing_outputs(trials, decided, best),
            self.sanitize_notes(trials.explain_uninformative_checks(trials.candidates)),
            self.sanitize_outcomes(trials.checks.get(BASELINE, ())),
            suggest_new_test_path([file for change in wishes for file in change.own_files], await self._names()),
        )

    async def try_merged(self, session: Session, effect: TryMerged, sandbox: Sandbox, tell: LineCallback) -> MergeTried:
        """Try what was made of a candidate as that was tried; tests that its author wrote stand as they were."""
        over = await self._drafts.files(effect.over)
        tests = collect_tests_by_seat(await self._wishes(session, effect, over))
        files = await self._drafts.files(effect.draft)
        own = diff_drafts(over, files)
        tests[effect.base] = read_test_sources(own) | tests.get(effect.base, {})
        wish = ProposedChange(effect.base, files, validate_draft(own), own)
        (wish,), trials = await self._tried(session, [wish], tests, over, sandbox, tell)
        return MergeTried(await self._candidate(wish, trials, ()))

    async def _wishes(
        self, session: Session, effect: TryCandidates | TryMerged, over: Sequence[DraftFile]
    ) -> Sequence[ProposedChange]:
        """What each of these seats wrote last in these rounds comes to."""
        said = [move for name in effect.rounds for move in session.rounds[name].moves()]
        moves = {seat: [move for move in said if move.seat == seat] for seat in effect.seats}
        wishes = [
            await asyncio.to_thread(self._last_wish, session, seat_moves, over)
            for seat_moves in moves.values()
            if seat_moves
        ]
        return list(map(exclude_forbidden_files, wishes)) if starts_without_files(session.charter) else wishes

    def _last_wish(self, session: Session, moves: Sequence[Move], over: Sequence[DraftFile]) -> ProposedChange:
        """A seat's change: its last reply. One of new tests only, or to a request for tests, brings those alone.

        They stand in place of the seat's earlier tests, and the code stays.
        """
        first, *later = moves
        wish = self.read_proposed_change(session, first, over)
        tests: tuple[DraftFile, ...] = ()
        for move in later:
            now = self.read_proposed_change(session, move, over)
            new = tuple(filter(is_new_test_module, now.own_files))
            if is_tests_round(move.round) or (wish.own_files and now.is_writable and new == now.own_files):
                tests = new or tests
            else:
                wish, tests = now, () if new else tests
        return replace_candidate_tests(wish, tests) if tests else wish

    async def _with_the_unasked_put_back(
        self,
        session: Session,
        written: Sequence[ProposedChange],
        found: tuple[Sequence[ProposedChange], TrialResults],
        over: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[Sequence[ProposedChange], TrialResults]:
        """Who breaks a check is tried again without what nobody asked for: first with what it lost, then with the rest.

        Who writes a whole file anew for one function forgets another. Only what then passes everything is taken, or all
        but what nothing showed before either.
        """
        asked = set(re.findall(r"\w+", collect_task_words(session)))
        taken: dict[str, ProposedChange] = {}
        for changed in (False, True):
            wishes, trials = found
            broken = {change.seat for change in wishes if not change.passes_all_but_evidence}.intersection(
                trials.list_breaking_candidates()
            )
            unshown = {change.seat for change in wishes if change.lacks_evidence}
            made = [
                await asyncio.to_thread(revert_unrelated_candidate_edits, change, asked, changed=changed)
                for change in written
                if change.seat in broken
            ]
            narrower: dict[str, ProposedChange] = {change.seat: change for change in made if change is not None}
            while narrower:
                tell(f"Again, with what nobody asked to change as it was: {', '.join(narrower)}")
                now = [{**taken, **narrower}.get(change.seat, change) for change in written]
                again = await self._tried(session, now, collect_tests_by_seat(written), over, sandbox, tell)
                hold = {
                    change.seat
                    for change in again[0]
                    if change.passes_all_checks
                    or (
                        change.passes_all_but_evidence
                        and change.seat in unshown
                        and (not changed or candidate_defines_any(change, asked))
                    )
                }
                if hold.issuperset(narrower):
                    taken, found = {**taken, **narrower}, again
                    break
                narrower = {seat: change for seat, change in narrower.items() if seat in hold}
        return found

    async def _tried(
        self,
        session: Session,
        wishes: Sequence[ProposedChange],
        tests: Mapping[str, Mapping[str, str]],
        over: Sequence[DraftFile],
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> tuple[Sequence[ProposedChange], TrialResults]:
        """Run all that can be written of these, and hold it to everything that a change has to pass."""
        ready = {change.seat: change for change in wishes if change.is_writable}
        code = {seat: exclude_new_tests(change).files for seat, change in ready.items()}
        asked = render_example_test_file(
            parse_task_examples(session.charter.question), [change.files for change in ready.values()]
        )
        trials = await self.run_drafts({BASELINE: over, **code}, sandbox, tell, tests, asked, session.charter.question)
        staged = has_stages(session.charter)
        wishes = [
            judge_candidate(change, trials, needs_evidence=bool(trials.baseline) and not staged) for change in wishes
        ]
        if not (staged or guess_task_allows_mutation(session)):
            wishes = [
                fail_candidate_on_finding(change, SIDE_EFFECTS_CHECK, trials.side_effects, SIDE_EFFECT_MESSAGE)
                for change in wishes
            ]
        if not (staged or guess_task_expects_errors(session)):
            wishes = [
                fail_candidate_on_finding(change, REGRESSIONS_CHECK, trials.regressions, REGRESSION_MESSAGE)
                for change in wishes
            ]
        wishes = await self._without_unfit_tests(wishes, over, trials, sandbox, tell)
        if not staged:
            wishes = await self._with_tests_as_they_were(session, wishes, sandbox, tell)
        return wishes, trials

    async def _without_unfit_tests(
        self,
        wishes: Sequence[ProposedChange],
        over: Sequence[DraftFile],
        trials: TrialResults,
        sandbox: Sandbox,
        tell: LineCallback,
    ) -> list[ProposedChange]:
        """New tests that break the repository's own checks, where the code alone does not, are left out."""
        whole = {
            change.seat: change.files
            for change in wishes
            if change.passes_all_but_evidence and any(map(is_new_test_file, change.own_files))
        }
        if not whole or not trials.baseline:
            return list(wishes)
        again = await self.run_drafts({BASELINE: over, **whole}, sandbox, tell)
        unfit = {seat for seat in whole if not all(check.passed for check in again.informative_checks(seat))}
        return [exclude_new_tests(change) if change.seat in unfit else change for change in wishes]

    async def _with_tests_as_they_were(
        self, session: Session, wishes: Sequence[ProposedChange], sandbox: Sandbox, tell: LineCallback
    ) -> list[ProposedChange]:
        """What passes has to pass what it was measured by before, too; where it does, that need not be another."""
        stands = not guess_task_changes_tests(session)
        measures = {
            change.seat: await asyncio.to_thread(self.find_changed_check_files, session, change.own_files)
            for change in wishes
            if change.passes_all_but_evidence
        }
        restored = {
            change.seat: restore_check_files(
                (exclude_test_files(change) if stands else change).files, measures[change.seat]
            )
            for change in wishes
            if change.passes_all_but_evidence
            and (measures[change.seat] or (stands and any(map(is_changed_test_file, change.own_files))))
        }
        if not restored:
            return list(wishes)
        tell("The same with the tests as they were:")
        again = await self.run_drafts(restored, sandbox, tell)
        return [
            judge_with_original_tests(
                change,
                again.informative_checks(change.seat),
                find_changed_tests(change.own_files) if stands else {},
                measures[change.seat],
            )
            if change.seat in restored
            else change
            for change in wishes
        ]

    def find_changed_check_files(self, session: Session, files: Sequence[DraftFile]) -> tuple[DraftFile, ...]:
        """Those of the files that make a check another, without the person having asked for that.

        In stages, what a project is checked by is written with it.
        """
        if has_stages(session.charter):
            return ()
        tests_too = guess_task_changes_tests(session)
        found = find_changed_check_files(
            files, find_repository_checks(self._listed, self._workspace).commands, self._workspace
        )
        return tuple(
            file
            for file in found
            if not (guess_task_changes_file(session, file) or (tests_too and is_test_change(file)))
        )

    async def _candidate(self, wish: ProposedChange, trials: TrialResults, ways: Sequence[Sequence[str]]) -> Candidate:
        return Candidate(
            wish.seat,
            await self._drafts.keep(wish.files) if wish.own_files else "",
            tuple(file.path for file in wish.own_files),
            wish.refused,
            self.sanitize_outcomes(wish.checks),
            trials.tests.get(wish.seat, {}),
            next((number for number, seats in enumerate(ways, 1) if wish.seat in seats), 0),
            wish.excluded_tests,
            wish.dropped,
            wish.restored,
            wish.reverted,
            wish.round,
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
        made: TreeBuilder | None = None,
    ) -> TrialResults:
        """Run the checks, and these tests and examples, on the workspace with each of these drafts.

        The one under `BASELINE` is what there was before any of the others: the workspace as it is, if there is none.
        Where that has no checks, those count that a draft brings for itself.
        """
        make = made or partial(create_scratch_tree, names=await self._names())
        async with open_scratch_folder() as folder:
            trees = {name: folder / str(number) for number, name in enumerate({BASELINE: (), **drafts})}
            await create_trees_concurrently(
                [partial(make, self._workspace, tree, drafts.get(name, ())) for name, tree in trees.items()]
            )
            more = await asyncio.to_thread(find_tree_dependencies, self._workspace, self._copy)
            await create_trees_concurrently(
                [partial(copy_files_to_tree, self._workspace, tree, more.copied) for tree in trees.values()]
            )
            own = await asyncio.to_thread(
                find_checks_for_tree, self._listed, self._workspace, trees[BASELINE], more.lent
            )
            python = await asyncio.to_thread(choose_test_python, own.commands, self._workspace)
            here = WorkspaceMount(sandbox, self._workspace, more.lent)
            trials = await run_candidate_trials(
                here, trees, own.commands, tests, python, tell, TrialTask(task, examples), self._seconds
            )
            brought: dict[str, tuple[CheckOutcome, ...]] = {}
            for name in () if own.commands else drafts:
                laid = tests.get(name, {})
                commands = await asyncio.to_thread(find_candidate_checks, trees[name], laid)
                brought[name] = await run_candidate_checks(here, name, trees[name], commands, laid, tell, self._seconds)
            return msgspec.structs.replace(
                trials, candidate_checks=brought, unrun_reasons=(*own.unrun_reasons, *trials.unrun_reasons)
            )

    async def _names(self) -> Sequence[str]:
        return await asyncio.to_thread(list_tree_files, self._workspace)

    def sanitize_notes(self, said: Sequence[str]) -> tuple[str, ...]:
        """Sentences that quote what checks said, fit for the record."""
        return tuple(self._redactor.redact(sanitize_text(note)) for note in said)

    def sanitize_outcomes(self, outcomes: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
        """What checks said, fit for the record."""
        return tuple(sanitize_check_outcome(outcome, self._redactor) for outcome in outcomes)


def change_request_source(session: Session) -> str:
    """What asks for a change: the decision that is carried out, or the task itself."""
    return str(session.charter.settings.get("of", "")) or session.charter.slug


def _as_shown(changes: Changeset, session: Session, move: Move, over: Sequence[DraftFile]) -> Changeset:
    """The same changes, of files as they were shown; an edit quotes what it rests on, and a draft knows what it did."""
    opened = session.rounds[move.round].opened
    shown = {
        item.name: item.digest
        for item in (*(context_item for _, context_item in session.context()), *opened.prompt.files)
    }
    for file in over:
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


def render_example_test_file(found: Sequence[TaskExample], drafts: Iterable[Sequence[DraftFile]]) -> dict[str, str]:
    """The examples in the person's own words as a test file, where somebody wrote Python they could be about.

    A call of something else than a module's, such as `stack.peek()`, needs what only the words around it say.
    """
    paths = {file.path for files in drafts for file in files if file.after is not None and not is_test_file(file.path)}
    modules = [module for path in sorted(paths) if (module := python_module_name(path))]
    readable = [example for example in found if example.owner in ("", *modules)]
    return (
        {"test_examples_of_the_task.py": render_examples_as_unittest(readable, modules)} if readable and modules else {}
    )
