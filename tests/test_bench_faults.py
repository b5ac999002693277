"""How the bench of faults judges an ending: by what was returned, the same for everybody."""

from __future__ import annotations

from typing import Any

import pytest
from bench.contestants.results import contestant_result, return_exceptions
from bench.faults.cells import FAULTY, GOOD, Cell, Ending, Trial, cell, objection
from bench.faults.table import broken, table
from bench.faults.trials import CONTESTANTS, FAULTS, NO_FAULT

TRIAL = Trial("429", "429", timeout=5)
HEARD: dict[str, str] = dict.fromkeys(GOOD, "REST.")
REASON = {FAULTY: "rate_limited: Too many requests."}


def judged(returned: dict[str, Any] | None, prompts: tuple[str, ...] = ("a",), seconds: float = 1.0) -> Cell:
    timed = None if returned is None else {"start": 10.0, "end": 10.0 + seconds, **returned}
    return cell(TRIAL, "ours", timed, prompts)


async def raised(note: str) -> dict[str, Any]:
    @return_exceptions
    async def act() -> dict[str, Any]:
        error = RuntimeError("Error code: 429\nin /bench/x.py")
        error.add_note(note)
        raise error

    return await act()


async def test_every_kind_of_ending_is_distinguished() -> None:
    assert judged(contestant_result("partial", voices=HEARD, failed=REASON)).ending is Ending.LABELLED
    assert judged(contestant_result("complete", voices={**HEARD, FAULTY: ""})).ending is Ending.COUNTED
    assert judged(contestant_result("complete", voices=HEARD)).ending is Ending.UNNAMED
    assert judged(await raised("in first-ben")).ending is Ending.RAISED
    assert judged(None).ending is Ending.NO_RETURN


async def test_an_exception_names_the_seat_or_does_not() -> None:
    assert judged(await raised("during task first-ben")).words == "the seat is named: RuntimeError: Error code: 429"
    assert judged(await raised("in bench-peers")).words.startswith("the seat is not named")


def test_requests_are_counted_by_turn() -> None:
    measured = judged(None, prompts=("first", "second", "first", "first"))
    assert (measured.requests, measured.most_for_one_turn) == (4, 3)
    assert judged(None, prompts=()).most_for_one_turn == 0


def test_a_labelled_result_in_time_and_within_the_budget_meets_the_target() -> None:
    assert objection(TRIAL, judged(contestant_result("degraded", voices=HEARD, failed=REASON), ("a",) * 3)) == ""


@pytest.mark.parametrize(
    ("broke", "reason"),
    [
        (judged(None), "no return"),
        (judged(contestant_result("whole", voices=HEARD)), "unnamed"),
        (judged(contestant_result("whole", voices=HEARD, failed=REASON)), "it is whole"),
        (judged(contestant_result("degraded", voices={}, failed=REASON)), "counts"),
        (judged(contestant_result("degraded", voices=HEARD, failed={FAULTY: "server: Down."})), "reason is wrong"),
        (judged(contestant_result("degraded", voices=HEARD, failed=REASON), seconds=16), "it took 16 s"),
        (judged(contestant_result("degraded", voices=HEARD, failed=REASON), ("a",) * 4), "4 requests"),
    ],
)
def test_any_other_result_misses_the_target(broke: Cell, reason: str) -> None:
    assert reason in objection(TRIAL, broke)


def test_the_fault_table_names_every_product_and_failure() -> None:
    returned = {"start": 0.0, "end": 2.0, **contestant_result("degraded", voices=HEARD, failed=REASON)}
    cells = [cell(trial, name, returned, "a") for trial in (NO_FAULT, *FAULTS) for name in CONTESTANTS]
    text = table(cells)
    for words in (*CONTESTANTS.values(), "labelled, 2.0 s, 1 req", "Too many requests", "kept", "BROKEN"):
        assert words in text
    assert [word.partition(":")[0] for word in broken(cells)] == [trial.name for trial in FAULTS if trial.name != "429"]
