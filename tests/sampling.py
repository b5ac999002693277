"""How much the long suites run: everything with `make test-full`, an even sample with `make test`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

IS_FULL = os.environ.get("ROUNDTABLE_TESTS") == "full"


def sample(cases: Sequence[T], most: int = 4) -> Sequence[T]:
    """Return all cases, or that many evenly spaced ones that begin with the first and end with the last."""
    if IS_FULL or len(cases) <= most:
        return cases
    return [cases[round(index * (len(cases) - 1) / max(1, most - 1))] for index in range(most)]
