"""Runs what the seats wrote: a scratch tree for each, in the sandbox, beside the tree without any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from roundtable.app.bench.drafts import Drafts
from roundtable.app.own_checks import Commands, own_checks
from roundtable.core.changes import Refusal, RefusalKind
from roundtable.core.codecs.changes import changes_of
from roundtable.core.codecs.unreadable import Unreadable
from roundtable.core.effects import Candidate, CandidatesTried, CheckOutcome, TryCandidates
from roundtable.core.ports import Sandbox
from roundtable.core.redaction import Redactor
from roundtable.core.rules.executed import executed
from roundtable.core.session import Session
from roundtable.core.values import Move
from roundtable.core.views import clean
from roundtable.workshop.drafting import Written, drafted
from roundtable.workshop.examples import examples_of, unittest_of
from roundtable.workshop.lost_tests import is_test_file
from roundtable.workshop.telling import module_of
from roundtable.workshop.trees import made_tree
from roundtable.workshop.trials import BEFORE, Tell, Trials, tried
from roundtable.workshop.validating import objections

OWN_TESTS = "its own tests"


class Wish(msgspec.Struct, frozen=True):
    """What a seat's words come to on the workspace, and what of them was refused."""

    seat: str
    files: tuple[Written, ...]
    refused: tuple[Refusal, ...]


class Trying:
    """Candidates and drafts of one workspace, tried in one sandbox."""

    def __init__(
        self, drafts: Drafts, workspace: Path, redactor: Redactor, listed: Mapping[str, Sequence[str]]
    ) -> None:
        self._drafts = drafts
        self._workspace = workspace
        self._redactor = redactor
        self._listed = listed

    def wish(self, move: Move, asked_by: str, over: Sequence[Written] = ()) -> Wish:
        """Read a seat's words and carry them out on paper."""

        try:
            changes = changes_of(move.text, move.seat, asked_by)
        except Unreadable as error:
            return Wish(move.seat, (), (Refusal("", RefusalKind.NOT_FOUND, error.message),))
        drafting = drafted(changes, self._workspace, over, self._redactor.finds)
        return Wish(move.seat, drafting.files, (*drafting.refused, *objections(drafting.files, self._workspace)))

    async def candidates(
        self, session: Session, effect: TryCandidates, sandbox: Sandbox, tell: Tell
    ) -> CandidatesTried:
        """Try what each of these seats wrote last in these rounds."""
        moves = {move.seat: move for name in effect.rounds for move in session.rounds[name].moves()}
        asked_by = asker(session)
        wishes = [await asyncio.to_thread(self.wish, moves[seat], asked_by) for seat in effect.seats if seat in moves]
        ready = {it.seat: it.files for it in wishes if it.files and not it.refused}
        examples = _examples(session.charter.question, ready)
        trials = await self.ran(ready, sandbox, tell, examples=examples)
        decided = executed(trials.ran(), trials.before, trials.authors)
        found = {it.seat: await self._candidate(it, trials, decided.clusters) for it in wishes}
        order = [*decided.order, *(seat for seat in found if seat not in decided.order)]
        return CandidatesTried(
            tuple(found[seat] for seat in order), decided.best, decided.how, trials.checks.get(BEFORE, ()), sandbox.name
        )

    async def _candidate(self, wish: Wish, trials: Trials, clusters: Sequence[Sequence[str]]) -> Candidate:
        """Where a workspace has no checks of its own, what a seat tests its own work with is the check of it."""
        cluster = next((number for number, seats in enumerate(clusters, 1) if wish.seat in seats), 0)
        tests = trials.tests.get(wish.seat, {})
        checks = self.clean(trials.checks.get(wish.seat, ()))
        own = [passed for test, passed in tests.items() if trials.authors.get(test) == wish.seat]
        if cluster and own and not self.checks():
            checks = (*checks, CheckOutcome(OWN_TESTS, (), 0 if all(own) else 1))
        return Candidate(
            wish.seat,
            await self._drafts.keep(wish.files, wish.refused),
            tuple(it.path for it in wish.files),
            wish.refused,
            checks,
            tests,
            cluster,
        )

    async def ran(
        self,
        drafts: Mapping[str, Sequence[Written]],
        sandbox: Sandbox,
        tell: Tell,
        *,
        tested: bool = True,
        examples: Mapping[str, str] = {},
    ) -> Trials:
        """Run the checks, and each draft's tests, on the workspace with each of these drafts and with none."""
        with TemporaryDirectory(prefix="roundtable-") as folder:
            trees = {BEFORE: Path(folder) / "before"}
            trees |= {name: Path(folder) / str(number) for number, name in enumerate(drafts)}
            for name, tree in trees.items():
                await asyncio.to_thread(made_tree, self._workspace, tree, drafts.get(name, ()))
            checks = await asyncio.to_thread(self.checks)
            tests = {name: _tests(files) for name, files in drafts.items()} if tested else {}
            return await tried(sandbox, trees, checks, tests, tell=tell, examples=examples)

    def checks(self) -> Commands:
        """The workspace's own checks."""
        return own_checks(self._listed, self._workspace)

    def clean(self, outcomes: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
        """What checks said, fit for the record."""
        return tuple(
            msgspec.structs.replace(it, output=self._redactor.redact(clean(it.output)).strip("\n")) for it in outcomes
        )


def asker(session: Session) -> str:
    """What asks for a change: the decision that is carried out, or the task itself."""
    return str(session.charter.settings.get("of", "")) or session.charter.slug


def _examples(task: str, drafts: Mapping[str, Sequence[Written]]) -> dict[str, str]:
    """The examples in the person's own words as a test file, where somebody wrote Python they could be about."""
    found = examples_of(task)
    paths = {it.path for files in drafts.values() for it in files if it.after is not None and not is_test_file(it.path)}
    modules = [module for path in sorted(paths) if (module := module_of(path))]
    return {"test_examples_of_the_task.py": unittest_of(found, modules)} if found and modules else {}


def _tests(files: Sequence[Written]) -> dict[str, str]:
    return {it.path: it.after.decode() for it in files if it.after is not None and is_test_file(it.path)}
