"""What to show first where not everything has room: a pure order of files by how much they bear on a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset({
    "about", "all", "and", "any", "are", "but", "can", "could", "does", "for", "from", "has", "have", "how", "into",
    "its", "may", "more", "not", "our", "out", "shall", "should", "than", "that", "the", "their", "them", "then",
    "there", "these", "this", "those", "use", "was", "were", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you",
})  # fmt: skip
_MOST_WORDS = 24
_MOST_HITS = 5
_RECENT = 20

_TELLING = re.compile(
    r"(?:readme|architecture|contributing)(?:\.\w+)?$|(?:pyproject|cargo)\.toml$|package\.json$|go\.mod$|makefile$",
    re.I,
)
_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[^/]*\.lock|[^/]*\.min\.\w+|[^/]*\.map"
    r"|[^/]*\.snap|[^/]*\.svg|[^/]*_pb2?\.\w+|[^/]*\.generated\.\w+)$"
    r"|(?:^|/)(?:vendor|third_party|build|target|coverage|__snapshots__)/",
    re.I,
)


class RankedFile(NamedTuple):
    """A file that may be shown; `text` is empty until it was read, `recent` is 1 for what changed last, 0 for never."""

    path: str
    recent: int = 0
    text: str = ""


def extract_question_words(question: str) -> tuple[str, ...]:
    """The words of a question that say what it is about, each once."""
    found = (word.lower() for word in _WORD.findall(question))
    told = dict.fromkeys(word for word in found if len(word) > 2 and word not in _COMMON)
    return tuple(told)[:_MOST_WORDS]


def is_generated_file(path: str) -> bool:
    """Whether a file is written by a program rather than by people: lockfiles, bundles, snapshots."""
    return _GENERATED.search(path) is not None


def rank_files_by_relevance(words: Sequence[str], candidates: Iterable[RankedFile]) -> list[RankedFile]:
    """The most relevant first; where two are alike, by path, so that the order is the same every time."""
    return sorted(candidates, key=lambda it: (-score_file_relevance(words, it), it.path))


def score_file_relevance(words: Sequence[str], candidate: RankedFile) -> float:
    """How much a file bears on what these words are about."""
    path = candidate.path.lower()
    score = 4.0 * sum(word in path for word in words) - 0.3 * path.count("/")
    if candidate.text:
        text = candidate.text.lower()
        hits = (min(text.count(word), _MOST_HITS) for word in words)
        score += sum(1 + 0.4 * count for count in hits if count)
    if candidate.recent:
        score += 3.0 * max(0.0, 1 - candidate.recent / _RECENT)
    if "/" not in path and _TELLING.match(path):
        score += 3
    return score - 20 if is_generated_file(path) else score
