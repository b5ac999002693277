"""How many tests a check says it ran: one that ends well without running what it ran before has shown nothing.

Only what unittest and pytest print last is known. A program that prints the same before it ends itself is not seen
through here, nor is one that takes part of a check away where several are run in a row: people see both in the diff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.effects import CheckOutcome
from roundtable.core.text.wording import end_sentence

_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\s+(?:OK|FAILED|NO TESTS RAN)(?:.*\bskipped=(\d+))?", re.M)
_PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in [\d.]+s", re.M)
_NO_PROGRAM = (126, 127)
_NO_MODULE = re.compile(
    r"[^\n]*python[\d.]*: No module named [\w.]+|ImportError while loading conftest\b.*\bNo module named\b.*"
    r"|(?:> [^\n]*\n|\s)*node:internal/modules/.*\bCannot find (?:module|package) '[^./'][^']*'.*"
    r"|error: rustup could not choose a version of .*|error: no (?:override and no )?default toolchain .*"
    r"|(?:\s*Updating [^\n]*\n|\s*warning: spurious [^\n]*\n)*error: failed to get `[^`]*` as a dependency of .*",
    re.S,
)
"""All that Python says without the module it is to run, what pytest says where its first file lacks one, Node where the
first thing it does is to ask for a dependency that is not there, and Rust without a toolchain or its dependencies."""
_PASSING = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b|(?:/[\w.@+-]+)+")
_RUN = re.compile(r"(\d+) (?:passed|failed|xfailed|xpassed)\b")


def parse_executed_test_count(said: str) -> int | None:
    """The tests that were run and not skipped, by the last closing line of a check; None where it has none."""
    found = [(match.start(), int(match[1]) - int(match[2] or 0)) for match in _UNITTEST.finditer(said)]
    found += [(match.start(), sum(map(int, _RUN.findall(match[1])))) for match in _PYTEST.finditer(said)]
    return max(found)[1] if found else None


def fail_checks_with_fewer_tests(
    outcomes: Sequence[CheckOutcome], before: Sequence[CheckOutcome]
) -> tuple[CheckOutcome, ...]:
    """The checks of a candidate; one that ran fewer tests than on the bare tree did not pass, whatever its end."""
    known = {
        outcome.name: count for outcome in before if (count := parse_executed_test_count(outcome.output)) is not None
    }
    return tuple(
        _judged(outcome, known[outcome.name]) if outcome.passed and outcome.name in known else outcome
        for outcome in outcomes
    )


def explain_uninformative_check(outcome: CheckOutcome, bare: CheckOutcome | None) -> str:
    """Why a check tells nothing of a candidate, in a sentence; nothing where it does.

    It ran no test at all, or it could not be started, neither here nor on the bare tree, if it was run there too, and
    for the same reason.
    """
    if outcome.passed:
        ran_none = parse_executed_test_count(outcome.output) == 0
        return f"The check {outcome.name} ended well without running a single test." if ran_none else ""
    if bare is None and _never_started(outcome):
        return end_sentence(f"The check {outcome.name} could not be started: {outcome.failure_line}")
    if bare is None or not all(map(_never_started, (outcome, bare))) or _lasting(bare) != _lasting(outcome):
        return ""
    return end_sentence(
        f"The check {outcome.name} fails without any change too, so it says nothing of one: {outcome.failure_line}"
    )


def _never_started(outcome: CheckOutcome) -> bool:
    """Whether what a check says shows that it did not come to look at anything; that it failed does not show it."""
    if parse_executed_test_count(outcome.output) is not None:
        return False
    return outcome.code in _NO_PROGRAM or _NO_MODULE.fullmatch(outcome.output.strip()) is not None


def _lasting(outcome: CheckOutcome) -> tuple[int | None, str]:
    """How a check ended and what it said, without what is another each time: addresses, times and folders."""
    return outcome.code, _PASSING.sub("#", outcome.output)


def _judged(outcome: CheckOutcome, known: int) -> CheckOutcome:
    count = parse_executed_test_count(outcome.output)
    if count is not None and count >= known:
        return outcome
    words = f"It ended well, but ran {count or 'none'} of the {known} tests that it ran before."
    return msgspec.structs.replace(outcome, code=1, output=f"{outcome.output}\n{words}".strip())
