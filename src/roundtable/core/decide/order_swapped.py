"""Verdicts on two candidates, read in both orders: only a preference that survives the swap stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec


class Verdicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What each judge prefers in either order, and who is void because the order decided."""

    preferred: dict[str, str] = {}
    void: tuple[str, ...] = ()

    def tally(self) -> dict[str, int]:
        """How many standing verdicts each candidate has, the most first."""
        chosen = list(self.preferred.values())
        return {it: chosen.count(it) for it in sorted(set(chosen), key=lambda it: (-chosen.count(it), it))}


def standing(ab: Mapping[str, str], ba: Mapping[str, str], candidates: Collection[str]) -> Verdicts:
    """Hold what each judge preferred when it read (A, B) against what it preferred when it read (B, A).

    The values are candidates by name. Who changes with the order is void, and so is who was heard in only one of them.
    """
    judges = dict.fromkeys((*ab, *ba))
    preferred = {it: ab[it] for it in judges if ab.get(it) == ba.get(it) and ab.get(it) in candidates}
    return Verdicts(preferred, tuple(it for it in judges if it not in preferred))
