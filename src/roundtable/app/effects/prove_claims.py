"""Has the claims of a meeting run: their programs in the sandbox, on copies of the tree they speak of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.app.parts import FindSandbox
from roundtable.core.changeset import DraftFile
from roundtable.core.decide.findings import parse_code_place
from roundtable.core.effects import ClaimsProven, Proof, ProveClaims
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Sandbox, Store
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.verdict import Claim, Verdict
from roundtable.workshop.edit.draft import DraftResult, draft_changeset
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.scratch_trees import (
    copy_files_to_tree,
    create_scratch_tree,
    create_trees_concurrently,
    export_commit_files,
    list_tree_files,
    open_scratch_folder,
)
from roundtable.workshop.sandbox import RunResult
from roundtable.workshop.trial.listed_checks import sanitize_check_outcome
from roundtable.workshop.trial.proofs import (
    ProofInterpreter,
    choose_proof_interpreters,
    explain_missing_location,
    read_proof_verdict,
    run_proof_program,
)
from roundtable.workshop.trial.workspace_mount import WorkspaceMount, find_tree_dependencies

MAX_PROOFS = 16
"""Programs of one step; who wrote more is told that the rest was left."""


class ProofTrees(NamedTuple):
    """The tree the claims speak of, the one before the change, and what is lent to both; or why there is none."""

    now: Path
    before: Path | None = None
    lacking: str = ""
    lent: dict[str, str] = {}


class ClaimProver:
    """The proofs of one workspace."""

    def __init__(
        self, store: Store, workspace: Path, redactor: Redactor, find_sandbox: FindSandbox, copy: Sequence[str] = ()
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._redactor = redactor
        self._find_sandbox = find_sandbox
        self._copy = copy

    async def prove(self, session: Session, effect: ProveClaims) -> ClaimsProven:
        """Run what the seats claimed in these rounds. Where that cannot be done, every proof says why."""
        said = _said(session, effect.rounds)
        patch = (await self._store.fetch(effect.patch)).decode(errors="replace") if effect.patch else ""
        sandbox = await self._find_sandbox()
        async with open_scratch_folder() as folder:
            trees = await self._trees(folder, effect, patch)
            nowhere = await asyncio.to_thread(_nowhere, trees, [verdict for _, verdict in said])
            lacking = sandbox if isinstance(sandbox, str) else trees.lacking
            if isinstance(sandbox, str) or lacking:
                proofs = [Proof(claim.text, seat, None, claim.program, why=lacking) for seat, claim in _claims(said)]
                return ClaimsProven(tuple(proofs), nowhere)
            known = await asyncio.to_thread(choose_proof_interpreters, self._workspace)
            bench = _Bench(WorkspaceMount(sandbox, self._workspace, trees.lent), trees, known, self._redactor)
            proofs = [await bench.proof(seat, claim) for seat, claim in _claims(said)]
        return ClaimsProven(tuple(proofs), nowhere, sandbox.name)

    async def _trees(self, folder: Path, effect: ProveClaims, patch: str) -> ProofTrees:
        now, before = folder / "now", folder / "before"
        for each in (now, before):
            each.mkdir()
        try:
            names = () if effect.tip else await asyncio.to_thread(list_tree_files, self._workspace)
            draft = DraftResult(await DraftStore(self._store).load_files(effect.draft))
            if patch:
                draft = await asyncio.to_thread(
                    draft_changeset, parse_file_changes(patch), self._workspace, self._redactor.finds
                )
            makers = [partial(self._made, now, effect.tip, draft.files, names)]
            if effect.base or patch:
                makers.append(partial(self._made, before, effect.base, (), names))
            await create_trees_concurrently(makers)
            more = await asyncio.to_thread(find_tree_dependencies, self._workspace, self._copy)
            await create_trees_concurrently(
                [partial(copy_files_to_tree, self._workspace, it, more.copied) for it in (now, before)]
            )
        except RoundtableError as error:
            return ProofTrees(now, lacking=error.message)
        lacking = f"The patch does not fit here: {draft.refused[0].sentence}" if draft.refused else ""
        return ProofTrees(now, before if effect.base or patch else None, lacking, more.lent)

    def _made(self, into: Path, commit: str, files: Sequence[DraftFile], names: Sequence[str]) -> None:
        if commit:
            export_commit_files(self._workspace, commit, into)
        else:
            create_scratch_tree(self._workspace, into, files, names)


class _Bench:
    """Runs each program once on each tree, whoever wrote it and however often."""

    def __init__(
        self, sandbox: Sandbox, trees: ProofTrees, known: dict[str, ProofInterpreter], redactor: Redactor
    ) -> None:
        self._sandbox = sandbox
        self._trees = trees
        self._known = known
        self._redactor = redactor
        self._ran: dict[tuple[str, str], Proof] = {}

    async def proof(self, seat: str, claim: Claim) -> Proof:
        """What a claim comes to; the control on the tree before the change is only for what was shown."""
        program = (claim.language, claim.program)
        if program not in self._ran:
            if len(self._ran) == MAX_PROOFS:
                return Proof(
                    claim.text, seat, None, claim.program, why=f"No more than {MAX_PROOFS} programs are run at a time."
                )
            self._ran[program] = await self._run(claim)
        return msgspec.structs.replace(self._ran[program], claim=claim.text, seat=seat)

    async def _run(self, claim: Claim) -> Proof:
        interpreter = self._known.get(claim.language)
        if interpreter is None:
            why = f"Programs in {sanitize_line(claim.language, 40)} are not run, only in {' and '.join(self._known)}."
            return Proof("", "", None, claim.program, why=why)
        ran = await run_proof_program(self._sandbox, interpreter, claim.program, self._trees.now)
        held, before = read_proof_verdict(ran), None
        if held and self._trees.before is not None:
            before = read_proof_verdict(
                await run_proof_program(self._sandbox, interpreter, claim.program, self._trees.before)
            )
        outcome = sanitize_check_outcome(
            ran.as_check(claim.language, (*interpreter.argv, interpreter.file)), self._redactor
        )
        return Proof("", "", held, claim.program, outcome, "" if held is not None else _why(ran), before)


def _why(ran: RunResult) -> str:
    return ran.stopped or f"It ended with exit code {ran.code}, which says nothing."


def _said(session: Session, rounds: Sequence[str]) -> list[tuple[str, Verdict]]:
    moves = [move for name in rounds for move in session.rounds[name].moves()]
    return [(move.seat, move.verdict) for move in moves if move.verdict.counts]


def _claims(said: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Claim]]:
    """The claims of all seats, everybody's first one first, so that nobody's many keep another's from being run."""
    found = [(place, seat, claim) for seat, verdict in said for place, claim in enumerate(verdict.claims)]
    return [(seat, claim) for _, seat, claim in sorted(found, key=lambda it: it[0])]


def _nowhere(trees: ProofTrees, said: Sequence[Verdict]) -> dict[str, str]:
    """The places that issues name and that are in neither tree, with why."""
    found: dict[str, str] = {}
    if trees.lacking:
        return found
    here = [tree for tree in (trees.now, trees.before) if tree is not None]
    for location in {issue.location for verdict in said for issue in verdict.issues if issue.location}:
        place = parse_code_place(location)
        if why := explain_missing_location(here, place.path, place.last):
            found[location] = sanitize_line(why, 200)
    return dict(sorted(found.items()))
