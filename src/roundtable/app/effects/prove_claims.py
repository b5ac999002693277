"""Proves or refutes claims by running their programs in the sandbox, on copies of the tree they are about."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.app.parts import FindSandbox
from roundtable.core.changeset import DraftFile
from roundtable.core.decide.findings import CodePlace
from roundtable.core.effects import ClaimsProven, Proof, ProveClaims
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Sandbox, Store
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.verdict import Claim, Verdict
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.draft import DraftResult, apply_changeset_in_memory
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.scratch_trees import (
    copy_working_tree_files,
    create_scratch_working_tree,
    create_working_trees_concurrently,
    export_git_commit_files,
    list_working_tree_files,
    open_scratch_working_trees,
)
from roundtable.workshop.sandbox import RunResult
from roundtable.workshop.trial.listed_checks import sanitize_trial_check_outcome
from roundtable.workshop.trial.proofs import (
    ProofInterpreter,
    check_trial_proof_location,
    choose_trial_proof_interpreters,
    read_trial_proof_exit_code,
    run_trial_proof_program,
)
from roundtable.workshop.trial.workspace_mount import WorkspaceMount, find_trial_tree_dependencies

MAX_PROOFS = 16
"""The number of programs that one step runs; the proofs of further ones say that they were not run."""


class ProofTrees(NamedTuple):
    """The tree the claims are about, the tree before the change, and dependencies mounted into both; or why not."""

    now: Path
    before: Path | None = None
    problem: str = ""
    mounted: dict[str, str] = {}


class ClaimProver:
    """Proves the claims of sessions in one workspace."""

    def __init__(
        self, store: Store, workspace: Path, redactor: Redactor, find_sandbox: FindSandbox, copy: Sequence[str] = ()
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._redactor = redactor
        self._find_sandbox = find_sandbox
        self._copy = copy

    async def prove(self, session: Session, effect: ProveClaims) -> ClaimsProven:
        """Run the claims of these rounds. If programs cannot run, every proof says why."""
        verdicts = _list_verdicts(session, effect.rounds)
        patch = (await self._store.fetch(effect.patch)).decode(errors="replace") if effect.patch else ""
        sandbox = await self._find_sandbox()
        async with open_scratch_working_trees() as folder:
            trees = await self._trees(folder, effect, patch)
            missing = await asyncio.to_thread(_find_missing_locations, trees, [verdict for _, verdict in verdicts])
            problem = sandbox if isinstance(sandbox, str) else trees.problem
            if isinstance(sandbox, str) or problem:
                proofs = [
                    Proof(claim.text, seat, None, claim.program, why=problem) for seat, claim in _list_claims(verdicts)
                ]
                return ClaimsProven(tuple(proofs), missing)
            interpreters = await asyncio.to_thread(choose_trial_proof_interpreters, self._workspace)
            runner = _ProofRunner(
                WorkspaceMount(sandbox, self._workspace, trees.mounted), trees, interpreters, self._redactor
            )
            proofs = [await runner.proof(seat, claim) for seat, claim in _list_claims(verdicts)]
        return ClaimsProven(tuple(proofs), missing, sandbox.name)

    async def _trees(self, folder: Path, effect: ProveClaims, patch: str) -> ProofTrees:
        now, before = folder / "now", folder / "before"
        for each in (now, before):
            each.mkdir()
        try:
            names = () if effect.tip else await asyncio.to_thread(list_working_tree_files, self._workspace)
            draft = DraftResult(await DraftStore(self._store).load_files(effect.draft))
            if patch:
                draft = await asyncio.to_thread(
                    apply_changeset_in_memory, parse_reply_file_changes(patch), self._workspace, self._redactor.finds
                )
            makers = [partial(self._build_tree, now, effect.tip, draft.files, names)]
            if effect.base or patch:
                makers.append(partial(self._build_tree, before, effect.base, (), names))
            await create_working_trees_concurrently(makers)
            dependencies = await asyncio.to_thread(find_trial_tree_dependencies, self._workspace, self._copy)
            await create_working_trees_concurrently(
                [partial(copy_working_tree_files, self._workspace, tree, dependencies.copied) for tree in (now, before)]
            )
        except RoundtableError as error:
            return ProofTrees(now, problem=error.message)
        problem = f"The patch does not apply here: {refusal_sentence(draft.refused[0])}" if draft.refused else ""
        return ProofTrees(now, before if effect.base or patch else None, problem, dependencies.lent)

    def _build_tree(self, into: Path, commit: str, files: Sequence[DraftFile], names: Sequence[str]) -> None:
        if commit:
            export_git_commit_files(self._workspace, commit, into)
        else:
            create_scratch_working_tree(self._workspace, into, files, names)


class _ProofRunner:
    """Runs each program at most once on each tree, also if several seats wrote it."""

    def __init__(
        self, sandbox: Sandbox, trees: ProofTrees, interpreters: dict[str, ProofInterpreter], redactor: Redactor
    ) -> None:
        self._sandbox = sandbox
        self._trees = trees
        self._interpreters = interpreters
        self._redactor = redactor
        self._ran: dict[tuple[str, str], Proof] = {}

    async def proof(self, seat: str, claim: Claim) -> Proof:
        """Return the proof of a claim. A program that proves it is also run on the tree before the change."""
        program = (claim.language, claim.program)
        if program not in self._ran:
            if len(self._ran) == MAX_PROOFS:
                return Proof(
                    claim.text,
                    seat,
                    None,
                    claim.program,
                    why=f"This program was not run: one step runs at most {MAX_PROOFS} programs.",
                )
            self._ran[program] = await self._run(claim)
        return msgspec.structs.replace(self._ran[program], claim=claim.text, seat=seat)

    async def _run(self, claim: Claim) -> Proof:
        interpreter = self._interpreters.get(claim.language)
        if interpreter is None:
            supported = ", ".join(self._interpreters)
            why = (
                f"Programs in {sanitize_line(claim.language, 40)} are not supported. Supported languages: {supported}."
            )
            return Proof("", "", None, claim.program, why=why)
        ran = await run_trial_proof_program(self._sandbox, interpreter, claim.program, self._trees.now)
        held, before = read_trial_proof_exit_code(ran), None
        if held and self._trees.before is not None:
            before = read_trial_proof_exit_code(
                await run_trial_proof_program(self._sandbox, interpreter, claim.program, self._trees.before)
            )
        outcome = sanitize_trial_check_outcome(
            ran.as_check(claim.language, (*interpreter.argv, interpreter.file)), self._redactor
        )
        return Proof("", "", held, claim.program, outcome, "" if held is not None else _explain_no_verdict(ran), before)


def _explain_no_verdict(ran: RunResult) -> str:
    return ran.stopped or f"The program ended with exit code {ran.code}, which neither proves nor refutes the claim."


def _list_verdicts(session: Session, rounds: Sequence[str]) -> list[tuple[str, Verdict]]:
    moves = [move for name in rounds for move in session.rounds[name].moves()]
    return [(move.seat, move.verdict) for move in moves if move.verdict.counts]


def _list_claims(verdicts: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Claim]]:
    """Return the claims of all seats: all first claims, then all second ones, so that each seat gets its turn."""
    claims = [(place, seat, claim) for seat, verdict in verdicts for place, claim in enumerate(verdict.claims)]
    return [(seat, claim) for _, seat, claim in sorted(claims, key=lambda entry: entry[0])]


def _find_missing_locations(trees: ProofTrees, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the locations named by issues that are in neither tree, with the reason."""
    sources: dict[str, str] = {}
    if trees.problem:
        return sources
    here = [tree for tree in (trees.now, trees.before) if tree is not None]
    for location in {issue.location for verdict in verdicts for issue in verdict.issues if issue.location}:
        place = CodePlace.parse(location)
        if why := check_trial_proof_location(here, place.path, place.last):
            sources[location] = sanitize_line(why, 200)
    return dict(sorted(sources.items()))
