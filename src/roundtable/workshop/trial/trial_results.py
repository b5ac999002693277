"""The results of a trial: checks, each other's tests, and outputs for distinguishing inputs."""

from __future__ import annotations

from collections.abc import Iterable

from roundtable.core.candidate_reasons import ArgumentsMutated, CallBroken, CallOutcome, CheckFlaky, UnrunReason
from roundtable.core.decide.candidate_ranking import CandidateRun
from roundtable.core.effects import CheckOutcome
from roundtable.core.values import Value
from roundtable.workshop.trial.test_counts import find_uninformative_trial_check_reason

BASELINE = ""
"""The name of the tree without any candidate."""


class TrialResults(Value, frozen=True):
    """The results of a trial, by candidate and for the baseline tree; `authors` says who wrote each test.

    `candidate_checks` are checks that a candidate brings itself where the repository has none.
    `side_effects` are calls with which a candidate, unlike the code before it, mutates its arguments.
    `regressions` are calls that returned a value before and raise a likely unintended error now.
    `counted_examples` is the number of examples in the task that failed before. `flaky_checks` are, by tree, the checks
    with another result when they were repeated. `unrun_reasons` say why checks could not run.
    """

    checks: dict[str, tuple[CheckOutcome, ...]] = {}
    candidate_checks: dict[str, tuple[CheckOutcome, ...]] = {}
    tests: dict[str, dict[str, bool]] = {}
    outputs: dict[str, dict[str, CallOutcome]] = {}
    side_effects: dict[str, tuple[ArgumentsMutated, ...]] = {}
    regressions: dict[str, tuple[CallBroken, ...]] = {}
    authors: dict[str, str] = {}
    counted_examples: int = 0
    flaky_checks: dict[str, tuple[str, ...]] = {}
    unrun_reasons: tuple[UnrunReason, ...] = ()

    @property
    def baseline(self) -> dict[str, bool]:
        """Whether each check passed without any candidate."""
        return {check.name: check.passed for check in self.checks.get(BASELINE, ())}

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates that were run."""
        return tuple(candidate for candidate in self.checks if candidate != BASELINE)

    def informative_checks(self, candidate: str) -> tuple[CheckOutcome, ...]:
        """Return the checks that say something about a candidate."""
        uninformative = self._uninformative(candidate)
        return tuple(outcome for outcome in self._outcomes(candidate) if outcome.name not in uninformative)

    def list_unrun_reasons(self, candidates: Iterable[str]) -> tuple[UnrunReason, ...]:
        """Return why checks could not run, or say nothing about these candidates."""
        return tuple(
            dict.fromkeys(
                (
                    *self.unrun_reasons,
                    *(reason for candidate in candidates for reason in self._uninformative(candidate).values()),
                )
            )
        )

    def _uninformative(self, candidate: str) -> dict[str, UnrunReason]:
        baseline = {check.name: check for check in self.checks.get(BASELINE, ())}
        outcomes = self._outcomes(candidate)
        reasons = {
            outcome.name: reason
            for outcome in outcomes
            if (reason := find_uninformative_trial_check_reason(outcome, baseline.get(outcome.name)))
        }
        return reasons | {name: CheckFlaky(name) for name in self._flaky_check_names(candidate)}

    def _outcomes(self, candidate: str) -> tuple[CheckOutcome, ...]:
        return (*self.checks.get(candidate, ()), *self.candidate_checks.get(candidate, ()))

    def fixed_checks(self, checks: Iterable[CheckOutcome]) -> set[str]:
        """Return the names of those checks that pass and failed before."""
        return {check.name for check in checks if check.passed and self.baseline.get(check.name) is False}

    def evidence_authors(self, candidate: str) -> tuple[str, ...]:
        """Return whose tests show what a candidate does: they fail on the baseline, pass with it, and are reliable.

        If their author's own code fails any of them, either may be wrong. Such tests are reliable only if the
        candidate passes all of them, and the author's code breaks a check or two authors independently agree.
        """
        passed, baseline = self.tests.get(candidate, {}), self.tests.get(BASELINE, {})
        authors = dict.fromkeys(
            self.authors[test] for test, passes in passed.items() if passes and not baseline.get(test, False)
        )
        passed_completely = [author for author in authors if self._passes_tests_of(candidate, author)]
        return tuple(
            author
            for author in authors
            if author == candidate
            or self._passes_tests_of(author, author)
            or (author in passed_completely and (self._breaks_check(author) or len(passed_completely) > 1))
        )

    def has_own_evidence(self, candidate: str) -> bool:
        """Tell whether its own tests show what a candidate does, and it passes all of them."""
        return candidate in self.evidence_authors(candidate) and self._passes_tests_of(candidate, candidate)

    def other_authors_verdicts(self, candidate: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the other authors whose tests all support a candidate, and those whose tests it fails.

        Authors that fail their own tests are ignored, and so are those whose tests pass without any change.
        """
        baseline = self.tests.get(BASELINE, {})
        authors = dict.fromkeys(
            test_author for test, test_author in self.authors.items() if not baseline.get(test, False)
        )
        reliable = [author for author in authors if author != candidate and self._passes_tests_of(author, author)]
        against = tuple(author for author in reliable if not self._passes_tests_of(candidate, author))
        return tuple(
            author for author in self.evidence_authors(candidate) if author in reliable and author not in against
        ), against

    def _passes_tests_of(self, candidate: str, author: str) -> bool:
        """Tell whether a candidate passes all tests of an author. An author without a candidate passes its own."""
        passed = self.tests.get(candidate)
        return passed is None or all(
            passed.get(test, False) for test, test_author in self.authors.items() if test_author == author
        )

    def fails_on_all_candidates(self, test: str) -> bool:
        """Tell whether a test fails with every candidate, so that the test itself is probably wrong."""
        return not any(seen.get(test, False) for name, seen in self.tests.items() if name != BASELINE)

    def list_breaking_candidates(self) -> tuple[str, ...]:
        """Return the candidates that break a check that passed before."""
        return tuple(filter(self._breaks_check, self.candidates))

    def _breaks_check(self, candidate: str) -> bool:
        return any(
            not check.passed and self.baseline.get(check.name, False) for check in self._steady_checks(candidate)
        )

    def _steady_checks(self, candidate: str) -> list[CheckOutcome]:
        flaky = self._flaky_check_names(candidate)
        return [check for check in self.checks.get(candidate, ()) if check.name not in flaky]

    def _flaky_check_names(self, candidate: str) -> tuple[str, ...]:
        """Return the checks that are flaky with a candidate or were before it."""
        return (*self.flaky_checks.get(BASELINE, ()), *self.flaky_checks.get(candidate, ()))

    def ranking_inputs(self) -> tuple[CandidateRun, ...]:
        """Return the results as the ranking rule reads them."""
        return tuple(
            CandidateRun(
                name,
                {check.name: check.passed for check in self._steady_checks(name)},
                self.tests.get(name, {}),
                self.outputs.get(name, {}),
            )
            for name in self.candidates
        )
