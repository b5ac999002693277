"""Verdicts on two candidates, read in both orders: only a preference that survives the swap stands."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

FIRST, SECOND, OWN, OTHER = "first", "second", "own", "other"
"""What a judge leans to: the place it was read in, or its own work or somebody else's whatever the place."""


class Verdicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What each judge prefers in either order; who is void because the order decided; and what each one leans to."""

    preferred: dict[str, str] = {}
    void: tuple[str, ...] = ()
    bias: dict[str, str] = {}

    def tally(self) -> dict[str, int]:
        """How many standing verdicts each candidate has, the most first."""
        chosen = list(self.preferred.values())
        return {it: chosen.count(it) for it in sorted(set(chosen), key=lambda it: (-chosen.count(it), it))}

    def impartial(self) -> dict[str, str]:
        """The standing verdicts of those who did not judge for their own work."""
        return {judge: it for judge, it in self.preferred.items() if self.bias.get(judge) != OWN}


def standing(ab: Mapping[str, str], ba: Mapping[str, str], authors: Mapping[str, str]) -> Verdicts:
    """Hold what each judge preferred when it read (A, B) against what it preferred when it read (B, A).

    The values are candidates by name; `authors` says whose each is, in the order of `ab`. Who changes with the order is
    void, and so is who was heard in only one of them.
    """
    names = list(authors)
    preferred: dict[str, str] = {}
    void: list[str] = []
    bias: dict[str, str] = {}
    for judge in dict.fromkeys((*ab, *ba)):
        one, other = ab.get(judge, ""), ba.get(judge, "")
        if one != other or one not in authors:
            void.append(judge)
            if one in authors and other in authors:
                bias[judge] = FIRST if names.index(one) < names.index(other) else SECOND
            continue
        preferred[judge] = one
        if judge in authors.values():
            bias[judge] = OWN if authors[one] == judge else OTHER
    return Verdicts(preferred, tuple(void), bias)
