"""The fuzz job: random texts for every reader, and the growth of their time, until the time is over."""

from __future__ import annotations

import random
import signal
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, NoReturn

from tests.fuzz.readers import READERS, Reader
from tests.fuzz.shapes import random_shape, random_text
from tests.fuzz.timing import find_superlinear_growth, measure_cpu_seconds

HANG_SECONDS = 10.0
"""A reader that takes this many seconds of the processor for one text is stopped."""
_SUSPECT_SIZE = 32_000
_SUSPECT_SECONDS = 0.06
"""Growth is measured only where a text of that size takes this long."""


class Problem(NamedTuple):
    """A text that a reader did not read as it must."""

    reader: str
    what: str
    text: str


class FuzzReport(NamedTuple):
    """What a run of the job found."""

    cases: int
    problems: tuple[Problem, ...]


class _HangError(Exception):
    """A reader took too long."""


def fuzz_readers(
    seed: int, seconds: float, cases: int = 0, names: Sequence[str] = (), most_problems: int = 20
) -> FuzzReport:
    """Read random texts with every reader until the time is over or the number of cases is reached."""
    dice = random.Random(seed)
    readers = {name: READERS[name] for name in names or READERS}
    began, count = time.monotonic(), 0
    problems: dict[tuple[str, str], Problem] = {}
    while time.monotonic() - began < seconds and (not cases or count < cases) and len(problems) < most_problems:
        text = random_text(dice)
        for name, read in readers.items():
            count += 1
            if problem := _check_text(name, read, text):
                problems.setdefault((problem.reader, problem.what[:80]), problem)
        if dice.random() < 0.5:
            name, read = dice.choice([*readers.items()])
            count += 1
            if problem := _check_growth(name, read, dice):
                problems.setdefault((problem.reader, problem.text), problem)
    return FuzzReport(count, tuple(problems.values()))


def _check_text(name: str, read: Reader, text: str) -> Problem | None:
    try:
        with _stop_hangs():
            what = read(text)
    except _HangError:
        what = f"it took more than {HANG_SECONDS:g} s"
    except Exception:
        what = traceback.format_exc(limit=-3)
    return Problem(name, what, text) if what else None


def _check_growth(name: str, read: Reader, dice: random.Random) -> Problem | None:
    shape = random_shape(dice)
    try:
        with _stop_hangs():
            seconds = measure_cpu_seconds(read, shape.text(_SUSPECT_SIZE))
            what = find_superlinear_growth(read, shape) if seconds > _SUSPECT_SECONDS else ""
    except _HangError:
        what = f"it took more than {HANG_SECONDS:g} s"
    except Exception:
        what = traceback.format_exc(limit=-3)
    return Problem(name, what, repr(shape)) if what else None


@contextmanager
def _stop_hangs() -> Generator[None]:
    """Raise an error in a reader that uses the processor for too long."""

    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise _HangError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
