"""A check that succeeds has passed only if it still runs as many tests as before."""

from __future__ import annotations

import pytest

from roundtable.core.candidate_reasons import CheckNotStarted, FewerTestsRun
from roundtable.core.effects import CheckOutcome
from roundtable.workshop.trial.test_counts import (
    fail_trial_checks_with_fewer_tests,
    find_uninformative_trial_check_reason,
    parse_trial_test_count,
)


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("..\n------\nRan 2 tests in 0.001s\n\nOK\n", 2),
        ("Ran 1 test in 0.001s\n\nOK (skipped=1)\n", 0),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, skipped=2)\n", 3),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 0),
        ("===== 1 failed, 3 passed, 2 skipped, 1 warning in 0.12s =====\n", 4),
        ("4 passed, 2 subtests passed in 61.02s (0:01:01)\n", 4),
        ("no tests ran in 0.01s\n", 0),
        ("1 error in 0.05s\n", 0),
        ("Ran 9 tests in 1s\n\nOK\nthen\n3 passed in 1.00s\n", 3),
        ("all is well\n", None),
        ("Ran 2 tests, I swear\n", None),
    ],
)
def test_the_summary_line_gives_the_number_of_tests(said: str, count: int | None) -> None:
    assert parse_trial_test_count(said) == count


@pytest.mark.parametrize("said", ["", "Ran 1 test in 0.1s\n\nOK\n", "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n"])
def test_a_check_that_ran_fewer_tests_fails(said: str) -> None:
    before = [CheckOutcome("tests", (), 1, "Ran 2 tests in 0.1s\n\nFAILED (failures=1)\n")]
    (judged,) = fail_trial_checks_with_fewer_tests([CheckOutcome("tests", (), 0, said)], before)
    assert not judged.passed
    assert isinstance(judged.finding, FewerTestsRun)
    assert judged.finding.before == 2


def test_checks_without_lost_tests_are_unchanged() -> None:
    before = [CheckOutcome("tests", (), 1, "1 failed in 0.1s\n"), CheckOutcome("lint", (), 0, "fine\n")]
    outcomes = (
        CheckOutcome("tests", (), 0, "2 passed in 0.1s\n"),
        CheckOutcome("lint", (), 0, ""),
        CheckOutcome("new", (), 0, ""),
    )
    assert fail_trial_checks_with_fewer_tests(outcomes, before) == outcomes


def outcome(code: int, output: str) -> CheckOutcome:
    return CheckOutcome("tests", (), code, output)


CONFTEST = """ImportError while loading conftest '/tmp/{}/conftest.py'.
conftest.py:1: in <module>
    import django
E   ModuleNotFoundError: No module named 'django'
"""


NODE = """
> p@1.0.0 test
> node test.js

node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '{1}'
Require stack:
- /tmp/{0}/test.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)

Node.js v20.20.2
"""
RUSTUP = "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly.\n"
CARGO = "    Updating crates.io index\nerror: failed to get `serde` as a dependency of package `r v0.1.0 (/tmp/{})`\n"


@pytest.mark.parametrize(
    ("bare", "after"),
    [
        (
            outcome(1, "/tmp/x/0/python3.11: No module named pytest\n"),
            outcome(1, "/tmp/x/1/python3.11: No module named pytest\n"),
        ),
        (outcome(127, "check: there is no program checker\n"), outcome(127, "check: there is no program checker\n")),
        (outcome(126, "cannot run /a/0/check.sh after 0.12s\n"), outcome(126, "cannot run /a/1/check.sh after 3ms\n")),
        (outcome(4, CONFTEST.format("x/0")), outcome(4, CONFTEST.format("x/1"))),
        (outcome(1, NODE.format("x/0", "leftish")), outcome(1, NODE.format("x/1", "leftish"))),
        (outcome(1, RUSTUP), outcome(1, RUSTUP)),
        (outcome(101, CARGO.format("x/0")), outcome(101, CARGO.format("x/1"))),
        (outcome(0, "Ran 0 tests in 0.0s\n\nOK\n"), outcome(0, "Ran 0 tests in 0.0s\n\nOK\n")),
    ],
    ids=[
        "no such module",
        "no such program",
        "not executable",
        "conftest fails",
        "no package",
        "no toolchain",
        "no crate",
        "it ran nothing",
    ],
)
def test_a_check_that_never_starts_says_nothing_about_a_change(bare: CheckOutcome, after: CheckOutcome) -> None:
    assert find_uninformative_trial_check_reason(after, bare) is not None


def test_a_new_check_that_cannot_start_says_nothing_about_a_change() -> None:
    reason = find_uninformative_trial_check_reason(outcome(127, "sh: 1: jest: not found\n"), None)
    assert reason == CheckNotStarted("tests", "sh: 1: jest: not found")


ONE_FAILED = outcome(1, "Ran 1 test in 0.1s\n\nFAILED (failures=1)\n")
UNITTEST_IMPORT = outcome(2, "E ImportError: cannot import triple\n1 error in 0.1s\n")


@pytest.mark.parametrize(
    ("bare", "after"),
    [
        (ONE_FAILED, ONE_FAILED),
        (UNITTEST_IMPORT, UNITTEST_IMPORT),
        (outcome(1, "want 4, got 2\n"), outcome(1, "want 4, got 2\n")),
        (outcome(1, "want 4, got 2\n"), outcome(1, "want 4, got 3\n")),
        (outcome(2, "a.py:3: unused import\n"), outcome(2, "a.py:3: unused import\n")),
        (outcome(1, "a.py: unused import\n"), outcome(1, "a.py: unused import\nb.py: unused import\n")),
        (
            outcome(1, "Traceback:\nModuleNotFoundError: No module named 'calc'\n"),
            outcome(1, "Traceback:\nModuleNotFoundError: No module named 'calc'\n"),
        ),
        (outcome(1, NODE.format("x/0", "./calc")), outcome(1, NODE.format("x/1", "./calc"))),
        (outcome(1, f"ok 1\n{NODE}"), outcome(1, f"ok 1\n{NODE}")),
        (outcome(127, "line 3: calc: not found\n"), outcome(127, "line 4: calc: not found\n")),
        (outcome(1, "python: No module named calc\n"), outcome(0, "fine\n")),
        (outcome(0, "fine\n"), outcome(1, "python: No module named calc\n")),
        (outcome(127, "nothing there\n"), outcome(1, "nothing there\n")),
    ],
    ids=[
        "a test still fails",
        "a test still finds nothing to import",
        "a value is still wrong",
        "a value is wrong in another way",
        "it found the same before",
        "it found more",
        "what it runs imports nothing",
        "a file of the project is not there",
        "it had begun",
        "it came further",
        "it was mended",
        "it broke",
        "it ended otherwise",
    ],
)
def test_a_check_that_started_always_counts(bare: CheckOutcome, after: CheckOutcome) -> None:
    assert find_uninformative_trial_check_reason(after, bare) is None
