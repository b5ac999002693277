"""How many tests a check ran: a check that passes with fewer tests than before has shown nothing.

Only the closing lines of unittest and pytest are known. A program that prints such a line and exits is not
detected, nor is a change that removes one of several commands of a check: people see both in the diff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.candidate_reasons import (
    CheckFailsUnchanged,
    CheckNotStarted,
    CheckRanNoTests,
    FewerTestsRun,
    UnrunReason,
)
from roundtable.core.effects import CheckOutcome
from roundtable.workshop.trial.interpreter import is_isolated_trial_test_command

_UNITTEST_SUMMARY = re.compile(r"^Ran (\d+) tests? in .*\s+(?:OK|FAILED|NO TESTS RAN)(?:.*\bskipped=(\d+))?", re.M)
_PYTEST_SUMMARY = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in [\d.]+s", re.M)
_NOT_STARTED_EXIT_CODES = (126, 127)
_MISSING_DEPENDENCY = re.compile(
    r"[^\n]*python[\d.]*: No module named [\w.]+|ImportError while loading conftest\b.*\bNo module named\b.*"
    r"|(?:> [^\n]*\n|\s)*node:internal/modules/.*\bCannot find (?:module|package) '[^./'][^']*'.*"
    r"|error: rustup could not choose a version of .*|error: no (?:override and no )?default toolchain .*"
    r"|(?:\s*Updating [^\n]*\n|\s*warning: spurious [^\n]*\n)*error: failed to get `[^`]*` as a dependency of .*",
    re.S,
)
"""The whole output of Python, pytest or Node without a required module, and of Rust without toolchain or dependency."""
_VOLATILE_TEXT = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b|(?:/[\w.@+-]+)+")
_PYTEST_COUNTS = re.compile(r"(\d+) (?:passed|failed|xfailed|xpassed)\b")


def parse_trial_test_count(output: str) -> int | None:
    """Return how many tests ran and were not skipped, by the last summary line; None without one."""
    counts = [(match.start(), int(match[1]) - int(match[2] or 0)) for match in _UNITTEST_SUMMARY.finditer(output)]
    counts += [
        (match.start(), sum(map(int, _PYTEST_COUNTS.findall(match[1])))) for match in _PYTEST_SUMMARY.finditer(output)
    ]
    return max(counts)[1] if counts else None


def fail_trial_checks_with_fewer_tests(
    outcomes: Sequence[CheckOutcome], baseline: Sequence[CheckOutcome]
) -> tuple[CheckOutcome, ...]:
    """Return the checks of a candidate; those that ran fewer tests than on the baseline tree fail."""
    counts = {
        outcome.name: count for outcome in baseline if (count := parse_trial_test_count(outcome.output)) is not None
    }
    return tuple(
        _fail_if_fewer(outcome, counts[outcome.name]) if outcome.passed and outcome.name in counts else outcome
        for outcome in outcomes
    )


def find_uninformative_trial_check_reason(outcome: CheckOutcome, baseline: CheckOutcome | None) -> UnrunReason | None:
    """Return why a check says nothing about a candidate; None if it says something.

    It ran no test, or it could not start, here and on the baseline tree (if it was run there) for the same reason.
    """
    if outcome.passed:
        count = parse_trial_test_count(outcome.output)
        uncounted = count is None and is_isolated_trial_test_command(outcome.argv)
        return CheckRanNoTests(outcome.name) if count == 0 or uncounted else None
    if baseline is None and _did_not_start(outcome):
        return CheckNotStarted(outcome.name, outcome.failure_line)
    if (
        baseline is None
        or not all(map(_did_not_start, (outcome, baseline)))
        or _stable_result(baseline) != _stable_result(outcome)
    ):
        return None
    return CheckFailsUnchanged(outcome.name, outcome.failure_line)


def _did_not_start(outcome: CheckOutcome) -> bool:
    """Tell whether the output shows that a check did not start. A failure alone does not show it."""
    if parse_trial_test_count(outcome.output) is not None:
        return False
    return outcome.code in _NOT_STARTED_EXIT_CODES or _MISSING_DEPENDENCY.fullmatch(outcome.output.strip()) is not None


def _stable_result(outcome: CheckOutcome) -> tuple[int | None, str]:
    """Return exit code and output without text that differs each time: addresses, times and folders."""
    return outcome.code, _VOLATILE_TEXT.sub("#", outcome.output)


def _fail_if_fewer(outcome: CheckOutcome, expected: int) -> CheckOutcome:
    count = parse_trial_test_count(outcome.output)
    if count is not None and count >= expected:
        return outcome
    return msgspec.structs.replace(outcome, code=1, finding=FewerTestsRun(count or 0, expected))
