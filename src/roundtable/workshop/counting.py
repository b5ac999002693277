"""How many tests a check says it ran: one that ends well without running what it ran before has shown nothing.

Only what unittest and pytest print last is known. A program that prints the same before it ends itself is not seen
through here, nor is one that takes part of a check away where several are run in a row: people see both in the diff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.effects import CheckOutcome

_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\s+(?:OK|FAILED|NO TESTS RAN)(?:.*\bskipped=(\d+))?", re.M)
_PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in [\d.]+s", re.M)
_RUN = re.compile(r"(\d+) (?:passed|failed|xfailed|xpassed)\b")


def how_many_ran(said: str) -> int | None:
    """The tests that were run and not skipped, by the last closing line of a check; None where it has none."""
    found = [(match.start(), int(match[1]) - int(match[2] or 0)) for match in _UNITTEST.finditer(said)]
    found += [(match.start(), sum(map(int, _RUN.findall(match[1])))) for match in _PYTEST.finditer(said)]
    return max(found)[1] if found else None


def no_fewer(outcomes: Sequence[CheckOutcome], before: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
    """The checks of a candidate; one that ran fewer tests than on the bare tree did not pass, whatever its end."""
    known = {it.name: count for it in before if (count := how_many_ran(it.output)) is not None}
    return tuple(_judged(it, known[it.name]) if it.passed and it.name in known else it for it in outcomes)


def _judged(outcome: CheckOutcome, known: int) -> CheckOutcome:
    count = how_many_ran(outcome.output)
    if count is not None and count >= known:
        return outcome
    words = f"It ended well, but ran {count or 'none'} of the {known} tests that it ran before."
    return msgspec.structs.replace(outcome, code=1, output=f"{outcome.output}\n{words}".strip())
