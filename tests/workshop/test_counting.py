"""A check that ends well has passed only if it ran what it ran before."""

from __future__ import annotations

import pytest

from roundtable.core.effects import CheckOutcome
from roundtable.workshop.counting import how_many_ran, no_fewer, says_nothing


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
def test_the_closing_line_of_a_run_tells_how_many_tests_it_ran(said: str, count: int | None) -> None:
    assert how_many_ran(said) == count


@pytest.mark.parametrize("said", ["", "Ran 1 test in 0.1s\n\nOK\n", "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n"])
def test_a_check_that_ran_fewer_tests_than_before_did_not_pass(said: str) -> None:
    before = [CheckOutcome("tests", (), 1, "Ran 2 tests in 0.1s\n\nFAILED (failures=1)\n")]
    (judged,) = no_fewer([CheckOutcome("tests", (), 0, said)], before)
    assert not judged.passed
    assert judged.output.endswith("of the 2 tests that it ran before.")


def test_as_many_tests_or_more_and_checks_that_count_nothing_stand_as_they_are() -> None:
    before = [CheckOutcome("tests", (), 1, "1 failed in 0.1s\n"), CheckOutcome("lint", (), 0, "fine\n")]
    found = (
        CheckOutcome("tests", (), 0, "2 passed in 0.1s\n"),
        CheckOutcome("lint", (), 0, ""),
        CheckOutcome("new", (), 0, ""),
    )
    assert no_fewer(found, before) == found


def outcome(code: int, said: str) -> CheckOutcome:
    return CheckOutcome("tests", (), code, said)


@pytest.mark.parametrize(
    ("bare", "after"),
    [
        (outcome(1, "/tmp/x/0/p: No module named pytest\n"), outcome(1, "/tmp/x/1/p: No module named pytest\n")),
        (outcome(2, "a.py:3: unused import, in 0.12s\n"), outcome(2, "a.py:5: unused import, in 0.31s\n")),
        (outcome(0, "Ran 0 tests in 0.0s\n\nOK\n"), outcome(0, "Ran 0 tests in 0.0s\n\nOK\n")),
    ],
    ids=["it cannot run", "it found the same before", "it ran nothing"],
)
def test_a_check_that_would_say_the_same_without_a_change_says_nothing_of_it(
    bare: CheckOutcome, after: CheckOutcome
) -> None:
    assert says_nothing(after, bare).startswith("The check tests ")


@pytest.mark.parametrize(
    ("bare", "after"),
    [
        (
            outcome(1, "Ran 1 test in 0.1s\n\nFAILED (failures=1)\n"),
            outcome(1, "Ran 1 test in 0.1s\n\nFAILED (failures=1)\n"),
        ),
        (
            outcome(2, "E ImportError: cannot import triple\n1 error in 0.1s\n"),
            outcome(2, "E ImportError: cannot import triple\n1 error in 0.1s\n"),
        ),
        (outcome(1, "a.py: unused import\n"), outcome(1, "a.py: unused import\nb.py: unused import\n")),
        (outcome(1, "No module named calc\n"), outcome(0, "fine\n")),
        (outcome(0, "fine\n"), outcome(1, "No module named calc\n")),
    ],
    ids=["a test still fails", "a test still finds nothing to import", "it found more", "it was mended", "it broke"],
)
def test_a_check_that_came_to_its_tests_or_says_something_else_is_heard(
    bare: CheckOutcome, after: CheckOutcome
) -> None:
    assert says_nothing(after, bare) == ""
