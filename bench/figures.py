"""The arithmetic of the bench: spreads, busy time, targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from statistics import quantiles

import msgspec


class Spread(msgspec.Struct, frozen=True):
    """A median with its quartiles."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of some measurements."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0], len(values))
        low, middle, high = quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high, len(values))

    def scaled(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.count)


class Target(msgspec.Struct, frozen=True):
    """A bound that was promised, and what was measured."""

    name: str
    measured: float
    bound: float
    unit: str = "×"

    @property
    def met(self) -> bool:
        """Whether the promise holds."""
        return self.measured <= self.bound


def union(intervals: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the intervals lasts."""
    total, reached = 0.0, float("-inf")
    for began, ended in sorted(intervals):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power of the size that a cost grows with: 1 is linear, 2 is quadratic (least squares on logarithms)."""
    xs, ys = [log(size) for size in sizes], [log(cost) for cost in costs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
