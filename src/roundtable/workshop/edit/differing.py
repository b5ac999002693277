"""Which runs of lines differ between two texts, in bounded time: first by the lines that each has only once."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_STEPS = 10_000_000
"""How long alike lines may be weighed against each other; beyond that, what is left of a text is one run."""


class Run(NamedTuple):
    """Lines that differ, from and to, before and after."""

    old: tuple[int, int]
    new: tuple[int, int]


def runs_between(old: Sequence[bytes], new: Sequence[bytes]) -> list[Run]:
    """The runs in their order; the lines between two of them are the same in both texts."""
    found: list[Run] = []
    left = _STEPS
    for gap in _gaps(old, new):
        one, other = old[slice(*gap.old)], new[slice(*gap.new)]
        steps = _steps(one, other)
        found += _compared(gap, one, other) if steps <= left else [gap]
        left -= steps if steps <= left else 0
    return found


def _gaps(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Run]:
    """What lies between the lines that both texts have once and in the same order, without what is equal around it."""
    start = Run((0, 0), (0, 0))
    for at, to in (*_anchors(old, new), (len(old), len(new))):
        (first, second), (last, end) = (start.old[1], start.new[1]), (at, to)
        while first < last and second < end and old[first] == new[second]:
            first, second = first + 1, second + 1
        while first < last and second < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
        if first < last or second < end:
            yield Run((first, last), (second, end))
        start = Run((at, at + 1), (to, to + 1))


def _anchors(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """The longest row of lines that stand once in each text and follow each other in both."""
    once, there = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if there[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if once[line] == 1 and line in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, to) in enumerate(pairs):
        length = bisect_left(ends, to)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [to]
        rows[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = rows[-1] if rows else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _steps(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many comparisons the finer search may take at most."""
    there = Counter(other)
    alike = sum(count * there[line] for line, count in Counter(one).items())
    return (len(one) + alike) * min(len(one), len(other))


def _compared(gap: Run, one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[Run]:
    (first, _), (second, _) = gap
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Run((first + a, first + b), (second + c, second + d))
