"""Measures whether a reader takes linear time, in seconds of the processor and not of the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.fuzz.shapes import Shape

ENOUGH_SECONDS = 0.05
"""A shorter measurement says nothing."""
MOST_GROWTH = 2.5
"""Twice the text may take at most this many times as long."""
LARGEST_SIZE = 512_000
"""A text of this size that takes less than `ENOUGH_SECONDS` is read fast enough, however its time grows."""
_LONGEST_SECONDS = 2.0
_TRIES = 5

Reader = Callable[[str], object]


def measure_cpu_seconds(read: Reader, text: str) -> float:
    """The seconds of the processor for one reading."""
    began = time.process_time()
    read(text)
    return time.process_time() - began


def find_superlinear_growth(read: Reader, shape: Shape, largest: int = LARGEST_SIZE) -> str:
    """How the time grows if it grows faster than the text; empty if it does not."""
    size = 1_000
    seconds = measure_cpu_seconds(read, shape.text(size))
    while seconds < ENOUGH_SECONDS and size < largest:
        size = min(largest, size * (4 if seconds < ENOUGH_SECONDS / 8 else 2))
        seconds = measure_cpu_seconds(read, shape.text(size))
    if seconds < ENOUGH_SECONDS:
        return ""
    once, twice = shape.text(size), shape.text(2 * size)
    best, best_of_twice = seconds, measure_cpu_seconds(read, twice)
    tries = 1
    while best_of_twice > MOST_GROWTH * best and tries < _TRIES and best_of_twice < _LONGEST_SECONDS:
        best = min(best, measure_cpu_seconds(read, once))
        best_of_twice = min(best_of_twice, measure_cpu_seconds(read, twice))
        tries += 1
    if best_of_twice <= MOST_GROWTH * best:
        return ""
    return f"{size:,} characters took {best:.3f} s, twice as many {best_of_twice:.3f} s: {shape!r}"
