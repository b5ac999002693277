"""Counting by elimination step by step, as people want to see it; who wins is said by `voting`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.vote import Ballots, cleaned


class Step(msgspec.Struct, frozen=True):
    """First places among those still standing, and who leaves; nobody does where the last place is shared."""

    counts: dict[str, int]
    out: tuple[str, ...] = ()


def elimination(ballots: Ballots, candidates: Sequence[str]) -> tuple[Step, ...]:
    """Every count until one candidate is left, or until it matters who of several last ones goes."""
    votes = [cleaned(given, candidates) for given in ballots.values()]
    left: list[str] = list(candidates)
    steps: list[Step] = []
    while left:
        tops = [next((name for name in ballot if name in left), "") for ballot in votes]
        counts = {name: tops.count(name) for name in left}
        fewest = min(counts.values())
        last = tuple(name for name in left if counts[name] == fewest)
        out = last if len(left) > len(last) and (fewest == 0 or len(last) == 1) else ()
        steps.append(Step(counts, out))
        if not out:
            break
        left = [name for name in left if name not in out]
    return tuple(steps)
