"""What the words of a task ask for: which files, and whether tests may change."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.events import SessionOpened
from roundtable.core.session import Session
from roundtable.workshop.trial.task_word_guesses import (
    guess_trial_allows_argument_mutation,
    guess_trial_allows_file_change,
    guess_trial_allows_new_errors,
    guess_trial_allows_test_changes,
    is_trial_file_in_task_words,
)
from tests.doors.recorded_change import CHARTER, fold_session

CALC = DraftFile("src/calc.py", b"def double(x):\n    return x\n", b"def double(x):\n    return 2 * x\n")


def asking(words: str) -> Session:
    return fold_session(SessionOpened(msgspec.structs.replace(CHARTER, question=words)))


@pytest.mark.parametrize(
    "words",
    [
        "Mend double() and update its test.",
        "Rename double to twice, and adapt the existing tests.",
        "Change tests/test_calc.py so that it expects 6.",
        "The test is wrong: correct test_double.",
        "Rewrite `test_calc.py`.",
        "It is about changing the unit tests.",
        "Do not change the signature. Update the tests so that they pass a list.",
        "Adapt the test cases for double() when you are done.",
        "Rewrite `tests/data/double.json` with the new values",
        "Correct the spelling in docs, and rename tests/test_calk.py to tests/test_calc.py",
    ],
)
def test_words_that_ask_for_changed_tests(words: str) -> None:
    assert guess_trial_allows_test_changes(asking(words))


@pytest.mark.parametrize(
    "words",
    [
        "Mend double(); test_calc.py fails.",
        "Change double() so that the tests pass.",
        "Fix the failing test.",
        "Make test_double pass.",
        "Add tests for double().",
        "Update double() and run the tests.",
        "Move on until the tests pass.",
        "Change double to pass tests.",
        "Do not change the tests.",
        "Mend double(). Don't edit any tests.",
        "Mend double(). Don’t edit any tests.",
        "Never change a test",
        "Without changing tests, make double work",
        "Mend double() and do not\nchange test_calc.py.",
        "Mend double() with no edits: change no tests, nor rename test_calc.py.",
        "Leave what is there: update the tests of nobody",
        "Keep the tests: moving tests is not wanted",
        "Rename test_mode to dry_run in config.py",
        "Rename test_mode.",
        "Change the test server's port",
        "Adapt test.example.com",
        "Move the testing notes to docs/testing.md",
    ],
)
def test_words_that_only_mention_tests(words: str) -> None:
    assert not guess_trial_allows_test_changes(asking(words))


@pytest.mark.parametrize(
    "words",
    [
        "Add a function settle(items) that sorts a list in place.",
        "Add an in-place sort.",
        "take(heap) takes the smallest item off the heap: take([2, 1]) is 1.",
        "dedupe(items) removes what stands there twice.",
        "Update the totals in the dict.",
        "fib(n, memo) keeps what it has computed in the dict: fib(10, {}) must be 55.",
        "deposit(account, amount) adds the amount to the balance and returns it.",
        "merge(a, b) merges b into a and returns a.",
        "It marks the cell on the board. It must not change anything else.",
        "Write pop_min(heap), which returns the smallest item: pop_min([2, 1]) must be 1.",
        "Write add_user(users, name), which returns whether it was new: add_user(['a'], 'b') must be True.",
        "add_unique(items, x): if x is not in items, append it and return items.",
        "When no key exists, insert it and return the value.",
        "Don't raise; append None instead.",
        "enqueue(queue, item) returns the new length: enqueue([1], 2) must be 2.",
        "dfs(graph, node, seen) returns the nodes in order.",
    ],
)
def test_words_that_may_allow_mutation(words: str) -> None:
    assert guess_trial_allows_argument_mutation(asking(words))


@pytest.mark.parametrize(
    "words",
    [
        "Add a function merge(pairs) to calc.py. It takes a list in any order and returns a sorted list.",
        "median([1, 2, 3, 4]) must be 2.5. Mend it.",
        "Write largest(items), which finds the largest item.",
        "It must not change the list it is given: median([3, 1, 2]) must be 2.",
        "Write it without modifying items.",
        "Never mutate the input.",
        "It makes no changes to what it is given: unique([1, 1]) must be set([1]).",
        "It must not change or drop an item.",
        "Popular items come first in a clearer order, as in a dropdown.",
    ],
)
def test_words_that_do_not_allow_mutation(words: str) -> None:
    assert not guess_trial_allows_argument_mutation(asking(words))


@pytest.mark.parametrize(
    "words", ["Mend src/calc.py", "Mend calc.py", "Mend the calc module", "double() is off", "`double`"]
)
def test_a_file_is_mentioned_by_its_names_or_its_definitions(words: str) -> None:
    assert is_trial_file_in_task_words(words, CALC)


@pytest.mark.parametrize("words", ["Mend it", "Make it double", "Use recalc.py", "redouble() it"])
def test_other_words_do_not_mention_a_file(words: str) -> None:
    assert not is_trial_file_in_task_words(words, CALC)


CHECK = DraftFile("ci/check.py", b"def prices():\n    return 1\n", b"def double():\n    return 1\n")


@pytest.mark.parametrize(
    "words",
    [
        "Change ci/check.py.",
        "Mend double() and adapt `check.py` to it.",
        "Add a case for 3 to check.py, and mend double().",
        "prices() is slow.",
    ],
)
def test_words_that_ask_for_a_changed_check(words: str) -> None:
    assert guess_trial_allows_file_change(asking(words), CHECK)


@pytest.mark.parametrize(
    "words",
    [
        "Mend double(): check.py fails.",
        "Mend double(), and do not change ci/check.py.",
        "Mend double() without changing check.py",
        "Make the check pass.",
        "Change double() so that ci/check.py passes.",
        "Never add a case to check.py.",
        "Rewrite recheck.py",
        "Rewrite check.pyi",
    ],
)
def test_words_that_only_mention_a_check(words: str) -> None:
    assert not guess_trial_allows_file_change(asking(words), CHECK)


@pytest.mark.parametrize(
    "words", ["find() must raise KeyError", "Empty lists are invalid.", "An empty list is an error.", "Reject nothing"]
)
def test_words_that_may_expect_an_error(words: str) -> None:
    assert guess_trial_allows_new_errors(asking(words))


def test_words_that_expect_no_error() -> None:
    assert not guess_trial_allows_new_errors(asking("find([1], 1) must be 0 and find([1, 3], 3) must be 1. Mend it."))
