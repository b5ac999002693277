"""What running candidates showed: the checks, each other's tests, and what comes out for telling inputs."""

from __future__ import annotations

from collections.abc import Iterable

from roundtable.core.decide.candidate_ranking import CandidateRun
from roundtable.core.effects import CheckOutcome
from roundtable.core.values import Value
from roundtable.workshop.trial.test_counts import explain_uninformative_check

BASELINE = ""
"""The name of the tree that has no candidate on it."""

EXAMPLES_CHECK = "the examples in the task"

_UNSTEADY = "The check {} ended in two ways on the very same files, so it says nothing of a change."


class TrialResults(Value, frozen=True):
    """What running them showed, by candidate and on the bare tree; `authors` says who wrote each test.

    `brought` are the checks that a candidate brings for itself, where there were none. `in_place` are the calls with
    which a candidate, and nothing before it, changes what it is given besides coming to something. `slips` are, a
    sentence each, those that came to something before it and now end in an error that is hardly meant. `examples` is
    how many of the task's count, which are those that did not hold before. `unsteady` are
    the checks, by tree, that ended otherwise when they were run there again. `unrun` says which checks could not be run
    at all, a sentence each.
    """

    checks: dict[str, tuple[CheckOutcome, ...]] = {}
    candidate_checks: dict[str, tuple[CheckOutcome, ...]] = {}
    tests: dict[str, dict[str, bool]] = {}
    outputs: dict[str, dict[str, str]] = {}
    side_effects: dict[str, tuple[str, ...]] = {}
    regressions: dict[str, tuple[str, ...]] = {}
    authors: dict[str, str] = {}
    counted_examples: int = 0
    flaky_checks: dict[str, tuple[str, ...]] = {}
    unrun_reasons: tuple[str, ...] = ()

    @property
    def baseline(self) -> dict[str, bool]:
        """How the checks ended without any candidate."""
        return {check.name: check.passed for check in self.checks.get(BASELINE, ())}

    @property
    def candidates(self) -> tuple[str, ...]:
        """Those that were run."""
        return tuple(candidate for candidate in self.checks if candidate != BASELINE)

    def informative_checks(self, candidate: str) -> tuple[CheckOutcome, ...]:
        """The checks that tell something of a candidate."""
        silent = self._silent(candidate)
        return tuple(outcome for outcome in self._outcomes(candidate) if outcome.name not in silent)

    def explain_uninformative_checks(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Which checks tell nothing of these candidates and why, a sentence each."""
        return tuple(
            dict.fromkeys(
                (*self.unrun_reasons, *(why for candidate in candidates for why in self._silent(candidate).values()))
            )
        )

    def _silent(self, candidate: str) -> dict[str, str]:
        bare = {check.name: check for check in self.checks.get(BASELINE, ())}
        outcomes = self._outcomes(candidate)
        silent = {
            outcome.name: why
            for outcome in outcomes
            if (why := explain_uninformative_check(outcome, bare.get(outcome.name)))
        }
        return silent | {name: _UNSTEADY.format(name) for name in self._unsteady(candidate)}

    def _outcomes(self, candidate: str) -> tuple[CheckOutcome, ...]:
        return (*self.checks.get(candidate, ()), *self.candidate_checks.get(candidate, ()))

    def fixed_checks(self, checks: Iterable[CheckOutcome]) -> set[str]:
        """Those of the checks that pass and did not before."""
        return {check.name for check in checks if check.passed and self.baseline.get(check.name) is False}

    def evidence_authors(self, candidate: str) -> tuple[str, ...]:
        """Whose tests show what a candidate is for: they fail on the bare tree, pass with it, and can be relied on.

        Where their author's own code fails any of them, one of the two is wrong, and nobody knows which. Such tests
        are relied on only as a whole, if the candidate passes all of them, and only if that code breaks what held
        before and says nothing, or if two who wrote apart say the same.
        """
        passed, bare = self.tests.get(candidate, {}), self.tests.get(BASELINE, {})
        authors = dict.fromkeys(
            self.authors[test] for test, held in passed.items() if held and not bare.get(test, False)
        )
        whole = [author for author in authors if self._passes(candidate, author)]
        return tuple(
            author
            for author in authors
            if author == candidate
            or self._passes(author, author)
            or (author in whole and (self._breaks(author) or len(whole) > 1))
        )

    def has_own_evidence(self, candidate: str) -> bool:
        """Whether its own tests show what it is for, and it passes all of them."""
        return candidate in self.evidence_authors(candidate) and self._passes(candidate, candidate)

    def other_authors_verdicts(self, candidate: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who of the others bear a candidate out with all their tests, and whose it fails.

        Who contradicts itself is not heard, and whose tests pass without any change says nothing.
        """
        bare = self.tests.get(BASELINE, {})
        authors = dict.fromkeys(by for test, by in self.authors.items() if not bare.get(test, False))
        heard = [author for author in authors if author != candidate and self._passes(author, author)]
        against = tuple(author for author in heard if not self._passes(candidate, author))
        return tuple(
            author for author in self.evidence_authors(candidate) if author in heard and author not in against
        ), against

    def _passes(self, candidate: str, author: str) -> bool:
        """Whether a candidate passes all tests of an author; who has no candidate passes its own."""
        passed = self.tests.get(candidate)
        return passed is None or all(passed.get(test, False) for test, by in self.authors.items() if by == author)

    def fails_on_all_candidates(self, test: str) -> bool:
        """Whether a test fails with every candidate, so that it is wrong by all accounts but its author's."""
        return not any(seen.get(test, False) for name, seen in self.tests.items() if name != BASELINE)

    def list_breaking_candidates(self) -> tuple[str, ...]:
        """The candidates that break a check that passed without them."""
        return tuple(filter(self._breaks, self.candidates))

    def _breaks(self, candidate: str) -> bool:
        return any(not check.passed and self.baseline.get(check.name, False) for check in self._steady(candidate))

    def _steady(self, candidate: str) -> list[CheckOutcome]:
        unsteady = self._unsteady(candidate)
        return [check for check in self.checks.get(candidate, ()) if check.name not in unsteady]

    def _unsteady(self, candidate: str) -> tuple[str, ...]:
        """The checks that show nothing of a candidate: whose end is chance with it, or was before it."""
        return (*self.flaky_checks.get(BASELINE, ()), *self.flaky_checks.get(candidate, ()))

    def ranking_inputs(self) -> tuple[CandidateRun, ...]:
        """The same as the rule reads it."""
        return tuple(
            CandidateRun(
                name,
                {check.name: check.passed for check in self._steady(name)},
                self.tests.get(name, {}),
                self.outputs.get(name, {}),
            )
            for name in self.candidates
        )
