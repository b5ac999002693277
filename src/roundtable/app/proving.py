"""Has the claims of a meeting run: their programs in the sandbox, on copies of the tree they speak of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from roundtable.core.codecs.changes import changes_of
from roundtable.core.effects import CheckOutcome, ClaimsProven, Proof, ProveClaims
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Sandbox, Store
from roundtable.core.redaction import Redactor
from roundtable.core.rules.findings import place_of
from roundtable.core.sandbox import Bounds
from roundtable.core.session import Session
from roundtable.core.verdict import Claim, Verdict
from roundtable.core.views import clean, one_line
from roundtable.workshop.drafting import drafted
from roundtable.workshop.proofs import BOUNDS, Interpreter, interpreters, missing_place, run_proof, says
from roundtable.workshop.revisions import checked_out
from roundtable.workshop.sandbox import Ended
from roundtable.workshop.trees import made_tree

MOST = 16
"""Programs of one step; who wrote more is told that the rest was left."""

FindSandbox = Callable[[], Awaitable[Sandbox | str]]


class Trees(NamedTuple):
    """The tree the claims speak of and the one before the change; or in one sentence why there is none."""

    now: Path
    before: Path | None = None
    lacking: str = ""


class Proving:
    """The proofs of one workspace."""

    def __init__(
        self, store: Store, workspace: Path, redactor: Redactor, find: FindSandbox, bounds: Bounds = BOUNDS
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._redactor = redactor
        self._find = find
        self._bounds = bounds

    async def prove(self, session: Session, effect: ProveClaims) -> ClaimsProven:
        """Run what the seats claimed in these rounds. Where that cannot be done, every proof says why."""
        said = _said(session, effect.rounds)
        patch = (await self._store.fetch(effect.patch)).decode(errors="replace") if effect.patch else ""
        sandbox = await self._find()
        with TemporaryDirectory(prefix="roundtable-") as folder:
            trees = await asyncio.to_thread(self._trees, Path(folder), effect, patch)
            nowhere = await asyncio.to_thread(_nowhere, trees, [verdict for _, verdict in said])
            lacking = sandbox if isinstance(sandbox, str) else trees.lacking
            if isinstance(sandbox, str) or lacking:
                proofs = [Proof(claim.text, seat, None, claim.program, why=lacking) for seat, claim in _claims(said)]
                return ClaimsProven(tuple(proofs), nowhere)
            bench = _Bench(sandbox, trees, interpreters(self._workspace), self._bounds, self._redactor)
            proofs = [await bench.proof(seat, claim) for seat, claim in _claims(said)]
        return ClaimsProven(tuple(proofs), nowhere, sandbox.name)

    def _trees(self, folder: Path, effect: ProveClaims, patch: str) -> Trees:
        now, before = folder / "now", folder / "before"
        for each in (now, before):
            each.mkdir()
        try:
            if effect.base:
                checked_out(self._workspace, effect.base, before)
            if effect.tip:
                checked_out(self._workspace, effect.tip, now)
            elif patch:
                made_tree(self._workspace, before, ())
                draft = drafted(changes_of(patch), self._workspace)
                made_tree(self._workspace, now, draft.files)
                if draft.refused:
                    return Trees(now, before, f"The patch does not fit here: {draft.refused[0].sentence}")
            else:
                made_tree(self._workspace, now, ())
        except RoundtableError as error:
            return Trees(now, lacking=error.message)
        return Trees(now, before if effect.base or patch else None)


class _Bench:
    """Runs each program once on each tree, whoever wrote it and however often."""

    def __init__(
        self,
        sandbox: Sandbox,
        trees: Trees,
        known: dict[str, Interpreter],
        bounds: Bounds,
        redactor: Redactor,
    ) -> None:
        self._sandbox = sandbox
        self._trees = trees
        self._known = known
        self._bounds = bounds
        self._redactor = redactor
        self._ran: dict[tuple[str, str], Proof] = {}

    async def proof(self, seat: str, claim: Claim) -> Proof:
        """What a claim comes to; the control on the tree before the change is only for what was shown."""
        program = (claim.language, claim.program)
        if program not in self._ran:
            if len(self._ran) == MOST:
                return Proof(
                    claim.text, seat, None, claim.program, why=f"No more than {MOST} programs are run at a time."
                )
            self._ran[program] = await self._run(claim)
        return msgspec.structs.replace(self._ran[program], claim=claim.text, seat=seat)

    async def _run(self, claim: Claim) -> Proof:
        interpreter = self._known.get(claim.language)
        if interpreter is None:
            why = f"Programs in {one_line(claim.language, 40)} are not run, only in {' and '.join(self._known)}."
            return Proof("", "", None, claim.program, why=why)
        ran = await run_proof(self._sandbox, interpreter, claim.program, self._trees.now, self._bounds)
        held, before = says(ran), None
        if held and self._trees.before is not None:
            before = says(await run_proof(self._sandbox, interpreter, claim.program, self._trees.before, self._bounds))
        outcome = self._outcome(claim, interpreter, ran)
        return Proof("", "", held, claim.program, outcome, "" if held is not None else _why(ran), before)

    def _outcome(self, claim: Claim, interpreter: Interpreter, ran: Ended) -> CheckOutcome:
        said = self._redactor.redact(clean(ran.output.decode(errors="replace"))).strip("\n")
        argv = (*interpreter.argv, interpreter.file)
        return CheckOutcome(claim.language, argv, ran.code, said, round(ran.seconds, 3), ran.limit)


def _why(ran: Ended) -> str:
    return ran.stopped or f"It ended with exit code {ran.code}, which says nothing."


def _said(session: Session, rounds: Sequence[str]) -> list[tuple[str, Verdict]]:
    moves = [move for name in rounds for move in session.rounds[name].moves()]
    return [(move.seat, move.verdict) for move in moves if move.verdict.counts]


def _claims(said: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Claim]]:
    """The claims of all seats, everybody's first one first, so that nobody's many keep another's from being run."""
    found = [(place, seat, claim) for seat, verdict in said for place, claim in enumerate(verdict.claims)]
    return [(seat, claim) for _, seat, claim in sorted(found, key=lambda it: it[0])]


def _nowhere(trees: Trees, said: Sequence[Verdict]) -> dict[str, str]:
    """The places that issues name and that are in neither tree, with why."""
    found: dict[str, str] = {}
    if trees.lacking:
        return found
    here = [tree for tree in (trees.now, trees.before) if tree is not None]
    for location in {issue.location for verdict in said for issue in verdict.issues if issue.location}:
        place = place_of(location)
        if why := missing_place(here, place.path, place.last):
            found[location] = one_line(why, 200)
    return dict(sorted(found.items()))
