"""Rank files by their relevance to a question, for prompts that cannot hold all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from roundtable.core.text.diffs import DiffSection
from roundtable.core.text.file_names import is_generated_file_name

_WORD = re.compile(r"[^\W_]+")
_COMMON_WORDS = frozenset({
    "about", "all", "and", "any", "are", "but", "can", "could", "does", "for", "from", "has", "have", "how", "into",
    "its", "may", "more", "not", "our", "out", "shall", "should", "than", "that", "the", "their", "them", "then",
    "there", "these", "this", "those", "use", "was", "were", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you",
})  # fmt: skip
_MOST_WORDS = 24
_MOST_HITS = 5
_RECENT = 20
_SMALLEST_PART = 400
"""Fewer bytes than this of a file's changes are not useful."""

_KEY_FILES = re.compile(
    r"(?:readme|architecture|contributing)(?:\.\w+)?$|(?:pyproject|cargo)\.toml$|package\.json$|go\.mod$|makefile$",
    re.I,
)


class RankedFile(NamedTuple):
    """A file to rank. `text` is empty until it is read; `recent` is 1 for the newest change, 0 if unknown."""

    path: str
    recent: int = 0
    text: str = ""


def extract_context_search_terms(question: str) -> tuple[str, ...]:
    """The words of a question to search files for: lower case, each once, without short and common words."""
    words = (word.lower() for word in _WORD.findall(question))
    significant = dict.fromkeys(word for word in words if len(word) > 2 and word not in _COMMON_WORDS)
    return tuple(significant)[:_MOST_WORDS]


def rank_context_files(words: Sequence[str], candidates: Iterable[RankedFile]) -> list[RankedFile]:
    """The files, most relevant first; equal ones by path, so the order is stable."""
    return sorted(candidates, key=lambda candidate: (-score_context_file(words, candidate), candidate.path))


def score_context_file(words: Sequence[str], candidate: RankedFile) -> float:
    """The relevance of a file to these words; higher is more relevant."""
    path = candidate.path.lower()
    score = 4.0 * sum(word in path for word in words) - 0.3 * path.count("/")
    if candidate.text:
        text = candidate.text.lower()
        hits = (min(text.count(word), _MOST_HITS) for word in words)
        score += sum(1 + 0.4 * count for count in hits if count)
    if candidate.recent:
        score += 3.0 * max(0.0, 1 - candidate.recent / _RECENT)
    if "/" not in path and _KEY_FILES.match(path):
        score += 3
    return score - 20 if is_generated_file_name(path) else score


class DiffExcerpt(NamedTuple):
    """A diff cut to size: its text, the files shown in part, and the files left out."""

    text: str
    parted: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def fit_diff_into_opening_context(words: Sequence[str], sections: Sequence[DiffSection], room: int) -> DiffExcerpt:
    """The most relevant sections of a diff that fit into `room` bytes, in diff order; generated files count least."""
    order = rank_context_files(words, (RankedFile(section.path, text=section.text) for section in sections))
    place = {candidate.path: index for index, candidate in enumerate(order)}
    kept: dict[int, str] = {}
    shown_in_part: list[str] = []
    for index in sorted(range(len(sections)), key=lambda position: (place[sections[position].path], position)):
        section = sections[index]
        size = len(section.text.encode())
        if size <= room:
            kept[index], room = section.text, room - size
        elif room >= _SMALLEST_PART:
            kept[index], room = _first_lines(section.text, room), 0
            shown_in_part.append(section.path or "the beginning")
    left_out = tuple(section.path for index, section in enumerate(sections) if index not in kept)
    return DiffExcerpt("".join(kept[index] for index in sorted(kept)), tuple(shown_in_part), left_out)


def _first_lines(text: str, room: int) -> str:
    """Whole lines from the beginning, and a line saying how many are missing."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    room -= 80
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    return f"{''.join(kept)}[{len(lines) - len(kept)} more lines of this file are left out because they do not fit]\n"
