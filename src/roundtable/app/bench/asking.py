"""The words in which a change was asked for, and what of it they ask for."""

from __future__ import annotations

import re

from roundtable.app.to_apply import DECISION
from roundtable.core.session import Session
from roundtable.core.values import ContextItem
from roundtable.workshop.drafting import Written
from roundtable.workshop.structure.outline import Outline, outline

_TESTS_TOO = re.compile(
    r"\b(?:(?:update|change|adapt|adjust|edit|rewrite|rework|correct|rename|replace|move)s?"
    r"|updating|changing|rewriting|renaming|replacing|moving|(?:adapt|adjust|edit|rework|correct)ing)\s+"
    r"(?:(?!so\b|that\b|to\b|until\b|if\b|when\b)[\w'’-]+\s+){0,2}?`?(?:[\w./-]*/)?tests?(?:\b|_)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"`(?:[\w.]+\.)?(\w+)(?:\([^`]*\))?`|(?<!\w)(\w+)\(")


def asked_words(session: Session, decided: str = "") -> str:
    """The task, what was decided about it and how, and the plan for it."""
    plans = (move.text for name, it in session.rounds.items() if name.endswith("-plan") for move in it.moves())
    position = str(session.charter.settings.get("position", ""))
    return "\n".join((session.charter.question, position, decided, *plans))


def told_decision(session: Session) -> ContextItem | None:
    """The decision as whoever carries it out was told it, where there is one."""
    return next((it for it in session.charter.context if it.name == DECISION), None)


def asks_for(words: str, file: Written) -> bool:
    """Whether words name a file, by its path, its name or its stem, or something that is defined in it.

    A test goes with what it tests.
    """
    name = file.path.rpartition("/")[2]
    stem = name.partition(".")[0].removeprefix("test_").removesuffix("_test")
    by_name = any(re.search(rf"(?<!\w){re.escape(it)}(?!\w)", words) for it in (file.path, name, stem) if it)
    return by_name or not _defined(file).isdisjoint(name for found in _NAMED.findall(words) for name in found)


def asks_to_change_tests(session: Session) -> bool:
    """Whether the person says in so many words that tests are to be other than they were: `update its test`.

    What seats decided or planned is not the person's word.
    """
    return _TESTS_TOO.search(session.charter.question) is not None


def _defined(file: Written) -> set[str]:
    """What a file defines, before or after."""
    seen = [outline(file.path, it) for it in (file.before, file.after) if it is not None]
    return {symbol.simple for it in seen if isinstance(it, Outline) for symbol in it.symbols}
