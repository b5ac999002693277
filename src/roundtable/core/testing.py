"""Which files are tests, by their names alone."""

from __future__ import annotations

import re

_HOLDS = re.compile(r"(?:.*/)?(?:(?i:tests?\.[^/]+|test_[^/]*|[^/]*[_.](?:test|spec)\.[^/]+)|[^/]*Tests?\.[^/]+)")
_BY_RUNNERS = re.compile(
    r"(?:.*/)?(?:(?:(?:tests?|spec|__tests__)/.*|test-[^/]*|[^/]*-(?:test|spec))\.[cm]?[jt]sx?|tests/[^/]+\.rs)",
    re.IGNORECASE,
)
"""Where node, Jest and cargo look besides."""
_AMONG = re.compile(r"(?:.*/)?(?:(?:tests?|spec|__tests__)/.*|conftest\.py)", re.IGNORECASE)


def holds_tests(path: str) -> bool:
    """Whether a file is called as those are in which tests are looked for."""
    return any(it.fullmatch(path) for it in (_HOLDS, _BY_RUNNERS))


def is_test_file(path: str) -> bool:
    """Whether it is such a file, or stands among them."""
    return holds_tests(path) or _AMONG.fullmatch(path) is not None
