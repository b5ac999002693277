"""Runs what the seats wrote: a scratch tree for each, in the sandbox, beside the tree without any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from roundtable.app.bench.drafts import Drafts
from roundtable.app.checks import recordable
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
from roundtable.workshop.drafting import Written, drafted
from roundtable.workshop.examples import examples_of, unittest_of
from roundtable.workshop.lost_tests import is_test_file
from roundtable.workshop.structure.languages import language_of
from roundtable.workshop.telling import module_of
from roundtable.workshop.trees import made_tree, names_for_trees, scratch, side_by_side
from roundtable.workshop.trials import BEFORE, EXAMPLES, Tell, Trials, tried
from roundtable.workshop.validating import objections

OWN_TESTS = "its own tests"
EVIDENCE = "evidence"
NO_EVIDENCE = (
    "Nothing that was run shows that this does what the task asks: no test fails without it and passes with it. "
    "Write such a test, in a file of its own, or mend the one you wrote."
)

Made = Callable[[Path, Path, Sequence[Written]], None]
"""Makes the tree that a draft of a workspace is run on."""


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

    def wish(self, move: Move, asked_by: str, over: Sequence[Written] = (), scope: Sequence[str] = ()) -> Wish:
        """Read a seat's words and carry them out on paper."""
        try:
            changes = changes_of(move.text, move.seat, asked_by, scope)
        except Unreadable as error:
            return Wish(move.seat, (), (Refusal("", RefusalKind.NOT_FOUND, error.message),))
        drafting = drafted(changes, self._workspace, over, self._redactor.finds)
        return Wish(move.seat, drafting.files, (*drafting.refused, *objections(drafting.files)))

    async def candidates(
        self, session: Session, effect: TryCandidates, sandbox: Sandbox, tell: Tell
    ) -> CandidatesTried:
        """Try what each of these seats wrote last in these rounds."""
        moves = {move.seat: move for name in effect.rounds for move in session.rounds[name].moves()}
        asked_by = asker(session)
        wishes = [await asyncio.to_thread(self.wish, moves[seat], asked_by) for seat in effect.seats if seat in moves]
        ready = {it.seat: it.files for it in wishes if it.files and not it.refused}
        examples = _examples(session.charter.question, ready)
        code = {seat: [it for it in files if not _is_new_test(it)] for seat, files in ready.items()}
        tests = {seat: tests_of(files) for seat, files in ready.items()}
        trials = await self.ran(code, sandbox, tell, tests, examples)
        decided = executed(trials.ran(), trials.before, trials.authors)
        found = {it.seat: await self._candidate(it, trials, decided.clusters) for it in wishes}
        order = [*decided.order, *(seat for seat in found if seat not in decided.order)]
        return CandidatesTried(tuple(found[seat] for seat in order), decided.best, decided.how, sandbox.name)

    async def _candidate(self, wish: Wish, trials: Trials, clusters: Sequence[Sequence[str]]) -> Candidate:
        """The new tests of a seat are a check of its own work too: where its code fails them, one of the two is wrong.

        The person's own examples stand above them: code that does what those say goes without the tests it fails.
        Where the repository has checks, something must show what a change of code is for: one that passes them and
        does nothing passes them too.
        """
        cluster = next((number for number, seats in enumerate(clusters, 1) if wish.seat in seats), 0)
        tests = trials.tests.get(wish.seat, {})
        checks = self.clean(trials.checks.get(wish.seat, ()))
        own = {test: passed for test, passed in tests.items() if trials.authors.get(test) == wish.seat}
        failed = [test for test, passed in own.items() if not passed]
        files, without = wish.files, ()
        if failed and _held(checks, EXAMPLES):
            files = tuple(it for it in wish.files if not _is_new_test(it))
            without = tuple(it.path for it in wish.files if _is_new_test(it))
        else:
            checks = (*checks, *own_tests(own))
        mended = any(it.passed and trials.before.get(it.name) is False for it in checks)
        if trials.before and cluster and _is_code(wish.files) and not (mended or trials.shows(wish.seat)):
            checks = (*checks, CheckOutcome(EVIDENCE, (), 1, NO_EVIDENCE))
        return Candidate(
            wish.seat,
            await self._drafts.keep(files),
            tuple(it.path for it in files),
            wish.refused,
            checks,
            tests,
            cluster,
            without,
        )

    async def ran(
        self,
        drafts: Mapping[str, Sequence[Written]],
        sandbox: Sandbox,
        tell: Tell,
        tests: Mapping[str, Mapping[str, str]] = {},
        examples: Mapping[str, str] = {},
        *,
        made: Made | None = None,
    ) -> Trials:
        """Run the checks, and these tests and examples, on the workspace with each of these drafts and with none."""
        make = made or partial(made_tree, names=await asyncio.to_thread(names_for_trees, self._workspace))
        async with scratch() as folder:
            trees = {BEFORE: folder / "before"} | {name: folder / str(number) for number, name in enumerate(drafts)}
            await side_by_side(
                [partial(make, self._workspace, tree, drafts.get(name, ())) for name, tree in trees.items()]
            )
            checks = await asyncio.to_thread(self.checks)
            return await tried(sandbox, trees, checks, tests, tell=tell, examples=examples)

    def checks(self) -> Commands:
        """The workspace's own checks."""
        return own_checks(self._listed, self._workspace)

    def clean(self, outcomes: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
        """What checks said, fit for the record."""
        return tuple(msgspec.structs.replace(it, output=recordable(it.output, self._redactor)) for it in outcomes)


def asker(session: Session) -> str:
    """What asks for a change: the decision that is carried out, or the task itself."""
    return str(session.charter.settings.get("of", "")) or session.charter.slug


def _examples(task: str, drafts: Mapping[str, Sequence[Written]]) -> dict[str, str]:
    """The examples in the person's own words as a test file, where somebody wrote Python they could be about."""
    found = examples_of(task)
    paths = {it.path for files in drafts.values() for it in files if it.after is not None and not is_test_file(it.path)}
    modules = [module for path in sorted(paths) if (module := module_of(path))]
    return {"test_examples_of_the_task.py": unittest_of(found, modules)} if found and modules else {}


def _held(checks: Sequence[CheckOutcome], name: str) -> bool:
    return any(it.name == name and it.passed for it in checks)


def _is_code(files: Sequence[Written]) -> bool:
    """Whether any of them, tests aside, is in a language that programs are written in."""
    return any(language_of(it.path) is not None and not is_test_file(it.path) for it in files)


def _is_new_test(file: Written) -> bool:
    return file.before is None and is_test_file(file.path)


def own_tests(passed: Mapping[str, bool]) -> tuple[CheckOutcome, ...]:
    """The tests that come with a change, as one check of it; none where there are none."""
    failed = [f"{name} failed" for name, sound in passed.items() if not sound]
    return (CheckOutcome(OWN_TESTS, (), 1 if failed else 0, "\n".join(failed)),) if passed else ()


def tests_of(files: Sequence[Written]) -> dict[str, str]:
    """The files of tests among these, by their text; what is no text in UTF-8 is none."""
    found: dict[str, str] = {}
    for it in files:
        if it.after is not None and is_test_file(it.path):
            with suppress(UnicodeDecodeError):
                found[it.path] = it.after.decode()
    return found
