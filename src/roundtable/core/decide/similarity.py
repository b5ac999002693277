"""When two names of a root cause mean the same thing."""

from __future__ import annotations

from difflib import SequenceMatcher

_SAME_WORD = 0.8
_NEGATIONS = frozenset({"no", "not", "non", "never", "without"})


def key_similarity(one: str, other: str) -> float:
    """The share of words two slugs have in common, from 0 to 1; `index` and `indexes` are one word.

    Words are compared, not letters: `auth-null-pointer` and `cart-null-pointer` share most letters and
    are different bugs. A negation on one side only makes them opposites.
    """
    if not one or not other:
        return 0.0
    words, others = set(one.split("-")), set(other.split("-"))
    if (words ^ others) & _NEGATIONS:
        return 0.0
    # Both ways, because difflib's ratio depends on the order of its arguments.
    shared = min(_found(words, others), _found(others, words))
    return shared / (len(words) + len(others) - shared)


def _found(words: set[str], others: set[str]) -> int:
    return sum(any(_alike(word, other) for other in others) for word in words)


def _alike(one: str, other: str) -> bool:
    return one == other or SequenceMatcher(None, one, other).ratio() >= _SAME_WORD
