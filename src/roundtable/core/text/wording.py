"""Words of a text for search and comparison in any script, and small helpers for sentences."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_PAIRED = "\u0900-\u1dff\u2e80-\u2fff\u3040-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, or with long compounds, in which pairs of characters are better search terms."""

_TICKS = re.compile(r"`{3,}")
_WORD_RUNS = re.compile(rf"([{_PAIRED}]+)|((?:(?![{_PAIRED}])[^\W_])+)")


def split_words(text: str) -> list[str]:
    """The words of a text in order, normalized; scripts without spaces give overlapping pairs of characters."""
    words: list[str] = []
    for paired, spaced in _WORD_RUNS.findall(unicodedata.normalize("NFKC", text).casefold()):
        pairs = [paired[place : place + 2] for place in range(max(1, len(paired) - 1))] if paired else []
        words += pairs or [_singular(spaced)]
    return words


def content_words_of_text(text: str) -> list[str]:
    """The words that carry the meaning, each once; all words if none do."""
    return distinctive_words_of_text(text) or list(dict.fromkeys(split_words(text)))


def distinctive_words_of_text(text: str) -> list[str]:
    """The words that carry the meaning, each once; may be empty."""
    return [word for word in dict.fromkeys(split_words(text)) if word not in _COMMON_WORDS]


def complete_short_answer_text(question: str, answer: str) -> str:
    """The answer, with its question in front if the answer alone says nothing, such as `yes`."""
    return answer if distinctive_words_of_text(answer) else f"{question.strip()} {answer}".strip()


def end_text_as_sentence(text: str) -> str:
    """The text with a full stop, unless it ends in punctuation."""
    return text if text.endswith(tuple(".!?…。！？")) else f"{text}."


def pluralize(number: int, thing: str) -> str:
    """A number with its noun, such as `1 file` or `2 files`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def join_text_lines(text: str) -> str:
    """The text on one line. It is not sanitized: that happens where it is shown."""
    return " ".join(text.split())


def join_names_as_text(names: Sequence[str]) -> str:
    """Names as in a sentence, such as `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def fence_code_as_markdown(code: str, language: str = "") -> str:
    """A program in a Markdown fence that its own text cannot close."""
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(code))])
    return f"{fence}{language}\n{code}\n{fence}"


def _singular(word: str) -> str:
    """A word without English plural endings, so that `index` and `indexes` match."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "sses", "shes")):
        return word[:-2]
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


_FUNCTION_WORDS = """
    s t a an the and or of to in on at by for from with as is are be it its this that these those we our us you your i
    do does did should shall will would can could may might must have has had what which who how when where why there
    their they them if so then than also all any each only just very into about 我们 应该 是否 还是 什么 怎么 如何 可以
"""
_PROPOSAL_OPENINGS = """
    use using used adopt choose pick take go make build implement add introduce keep put let get switch move migrate
    start begin yes no ok okay true false agree option 是 否 对 用 使用 采用 选择
"""
_COMMON_WORDS = frozenset(split_words(_FUNCTION_WORDS + _PROPOSAL_OPENINGS))
"""Words without content: function words, and words that begin proposals of any kind."""


def format_count_as_text(number: int) -> str:
    """A number in at most four characters, such as `812`, `1.2k` or `34k`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def format_seconds_as_text(elapsed: float) -> str:
    """A duration such as `1.2s`, `48s` or `3m05s`."""
    if elapsed < 10:
        return f"{elapsed:.1f}s"
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def add_full_stop_to_text(text: str) -> str:
    """The text with a full stop if it ends in a letter or digit."""
    text = text.strip()
    return f"{text}." if text[-1:].isalnum() else text


def did_you_mean_text(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean X?`, or an empty text if no known name is similar."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean `{close[0]}`?" if close else ""


_SAME_WORD = 0.8
_NEGATIONS = frozenset({"no", "not", "non", "never", "without"})


def text_slug_similarity(one: str, other: str) -> float:
    """The share of words that two slugs have in common, from 0 to 1; `index` and `indexes` are one word.

    Words are compared, not letters: `auth-null-pointer` and `cart-null-pointer` share most letters and
    are different bugs. A negation on one side only makes them opposites.
    """
    if not one or not other:
        return 0.0
    words, others = set(one.split("-")), set(other.split("-"))
    if (words ^ others) & _NEGATIONS:
        return 0.0
    # Both ways, because difflib's ratio depends on the order of its arguments.
    shared = min(_count_shared_words(words, others), _count_shared_words(others, words))
    return shared / (len(words) + len(others) - shared)


def _count_shared_words(words: set[str], others: set[str]) -> int:
    return sum(any(_is_same_word(word, other) for other in others) for word in words)


def _is_same_word(one: str, other: str) -> bool:
    return one == other or SequenceMatcher(None, one, other).ratio() >= _SAME_WORD
