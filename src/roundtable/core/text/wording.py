"""The words of a text by which it can be found again and compared, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_PAIRED = "\u0900-\u1dff\u2e80-\u2fff\u3040-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts that write no spaces, or join so much to a word that its pairs of letters find it better."""

_TICKS = re.compile(r"`{3,}")
_RUNS = re.compile(rf"([{_PAIRED}]+)|((?:(?![{_PAIRED}])[^\W_])+)")


def words(text: str) -> list[str]:
    """The words in their order, in one spelling; what is written without spaces comes in overlapping pairs."""
    found: list[str] = []
    for paired, spaced in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold()):
        pairs = [paired[place : place + 2] for place in range(max(1, len(paired) - 1))] if paired else []
        found += pairs or [_singular(spaced)]
    return found


def content_words(text: str) -> list[str]:
    """The words that say what a text is about, each once; all of its words where it has no others."""
    return distinctive_words(text) or list(dict.fromkeys(words(text)))


def distinctive_words(text: str) -> list[str]:
    """The same words, but none where a text says nothing of its own."""
    return [word for word in dict.fromkeys(words(text)) if word not in _COMMON]


def make_answer_standalone(question: str, answer: str) -> str:
    """An answer that can stand alone; `yes` says nothing without its question."""
    return answer if distinctive_words(answer) else f"{question.strip()} {answer}".strip()


def end_sentence(text: str) -> str:
    """A sentence that another is to follow: it gets a full stop, unless it ends in a sign of its own."""
    return text if text.endswith(tuple(".!?…。！？")) else f"{text}."


def pluralize(number: int, thing: str) -> str:
    """How many there are of something, such as `1 file` or `2 files`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def join_text_lines(text: str) -> str:
    """The same without its breaks; it is cleaned of what people should not see only where it is shown to them."""
    return " ".join(text.split())


def fence_code(code: str, language: str = "") -> str:
    """A program as it stands in prose, in a fence that nothing in it can close."""
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(code))])
    return f"{fence}{language}\n{code}\n{fence}"


def _singular(word: str) -> str:
    """Without the endings of an English plural, so that one index and two indexes meet."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "sses", "shes")):
        return word[:-2]
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


_JOINTS = """
    s t a an the and or of to in on at by for from with as is are be it its this that these those we our us you your i
    do does did should shall will would can could may might must have has had what which who how when where why there
    their they them if so then than also all any each only just very into about 我们 应该 是否 还是 什么 怎么 如何 可以
"""
_BEGINNINGS = """
    use using used adopt choose pick take go make build implement add introduce keep put let get switch move migrate
    start begin yes no ok okay true false agree option 是 否 对 用 使用 采用 选择
"""
_COMMON = frozenset(words(_JOINTS + _BEGINNINGS))
"""The joints of a sentence, and how proposals begin, whatever they propose."""


def join_names(names: Sequence[str]) -> str:
    """Names as a person would write them in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
