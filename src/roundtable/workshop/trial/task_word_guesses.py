"""The words in which a change was asked for, and what of it they ask for."""

from __future__ import annotations

import re

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.decide.trial_outcome import is_position_only_task
from roundtable.core.file_kinds import is_test_file
from roundtable.core.session import Session
from roundtable.core.values import DECISION_CONTEXT_NAME, ContextItem
from roundtable.workshop.symbols.languages import find_source_language
from roundtable.workshop.symbols.outline import Outline, parse_source_outline

_CHANGE = (
    r"\b(?:(?:update|change|adapt|adjust|edit|rewrite|rework|correct|rename|replace|move)s?"
    r"|updating|changing|rewriting|renaming|replacing|moving|(?:adapt|adjust|edit|rework|correct)ing)\s+"
    r"(?:(?!so\b|that\b|to\b|until\b|if\b|when\b)[\w'’-]+\s+){0,2}?[`\"'(]*"
)
_ADD = r"\b(?:add|append|put|move|write)\b.{1,200}?\b(?:to|into)\s+[`\"'(]*"
_CLOSES = (
    r"(?=[`\"')*]*(?:[.,;:!?)](?:\s|$)|\s*$"
    r"|\s+(?:and|or|but|for|of|in|on|to|so|as|if|when|where|which|that|with|by|too|also|accordingly)\b))"
)
"""What is spoken of ends here: `the test server` is no test."""
_TESTS_TOO = re.compile(
    rf"{_CHANGE}(?:tests?(?:\s+(?:suites?|files?|cases?))?{_CLOSES}|(?P<name>[\w./-]*(?:test|spec)(?:[\w./-]*\w)?))",
    re.IGNORECASE,
)
_TEST = re.compile(r"\btests?\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_NOT = re.compile(r"\b(?:not|never|without|no|nor|neither|leave|keep|avoid|cannot)\b|n['’]t\b", re.IGNORECASE)
_DONE_TO_IT = (
    "mutate modify update change move rename remove delete discard drop pop push append insert extend put fill clear "
    "empty drain consume shuffle swap exchange replace reverse rotate keep store record register mark count increment "
    "decrement accumulate collect deposit withdraw enroll cache memoize"
)
_IN_PLACE = re.compile(
    rf"\bin[ -]place\b|\b(?:{'|'.join(word.rstrip('ey') for word in _DONE_TO_IT.split())})"
    r"(?:e?s|e|(?:p|pp)?ed|(?:p|pp)?ing|y|ies|ied)?\b|\b(?:adds|adding|sets|into|memo|seen|visited)\b"
    r"|\btak(?:es?|en|ing) .{1,40}\b(?:off|out|away|from)\b",
    re.IGNORECASE,
)
"""Words for what may be done to something that is given; too many rather than too few."""
_CHANGER = re.compile(r"\b(?:(?:add|reset|toggle|enqueue|dequeue|transfer)(?:_\w+)?|set_\w+|heapify)\(")
"""Names of functions that say the same."""
_NOT_THIS = re.compile(
    r"(?:\b(?:not|never|without|avoid|cannot)|n['’]t)\s+(?:[\w'’-]+\s+){0,2}\Z|\b(?:no|nor)\s+\Z", re.IGNORECASE
)
_ERRORS = re.compile(
    r"\b(?:rais|throw|thrown|fail|refus|reject|forbid|forbidden|disallow|invalid|strict|assert|abort|crash)|Error\b"
    r"|\b(?:error|exception)s?\b",
    re.IGNORECASE,
)
"""Words for an end that is no result; too many rather than too few."""
_NAMED = re.compile(r"`(?:[\w.]+\.)?(\w+)(?:\([^`]*\))?`|(?<!\w)(\w+)\(")


def collect_task_words(session: Session, decided: str = "") -> str:
    """The task, what was decided about it and how, and the plan for it.

    Where the decision is to take what somebody wrote for the task, its words ask for nothing more.
    """
    plans = (
        move.text
        for name, meeting_round in session.rounds.items()
        if name.endswith("-plan")
        for move in meeting_round.moves()
    )
    told = () if _is_about_files(session) else (decided,)
    return "\n".join((session.charter.question, _position(session), *told, *plans))


def _position(session: Session) -> str:
    """What was decided about the task, where that is more than who changes which files."""
    return "" if _is_about_files(session) else str(session.charter.settings.get("position", ""))


def _is_about_files(session: Session) -> bool:
    return is_position_only_task(str(session.charter.settings.get("position", "")), session.charter.question)


def find_decision_context_item(session: Session) -> ContextItem | None:
    """The decision as whoever carries it out was told it, where there is one."""
    return next((item for item in session.charter.context if item.name == DECISION_CONTEXT_NAME), None)


def task_words_mention_file(words: str, file: DraftFile) -> bool:
    """Whether words name a file, by its path, its name or its stem, or something that is defined in it.

    A test goes with what it tests.
    """
    name = file.path.rpartition("/")[2]
    stem = name.partition(".")[0].removeprefix("test_").removesuffix("_test")
    by_name = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", words) for word in (file.path, name, stem) if word)
    return by_name or _speaks_of(words, _defined(file))


def guess_task_changes_tests(session: Session) -> bool:
    """Whether the person says in so many words that tests are to be other than they were: `update its test`.

    What seats decided or planned is not the person's word.
    """
    sentences = _SENTENCE.split(session.charter.question)
    return any(
        _names_tests(match) for sentence in sentences for match in _TESTS_TOO.finditer(sentence) if not _denied(match)
    )


def guess_task_changes_file(session: Session, file: DraftFile) -> bool:
    """Whether the person says so of a file, by its path or its name, or speaks of what it defined before."""
    names = "|".join(re.escape(path) for path in (file.was or file.path, file.path.rpartition("/")[2]))
    asked = re.compile(rf"(?:{_CHANGE}|{_ADD})(?:{names})(?![\w/]|\.\w)", re.IGNORECASE | re.DOTALL)
    found = (match for sentence in _SENTENCE.split(session.charter.question) for match in asked.finditer(sentence))
    before = _defined(msgspec.structs.replace(file, path=file.was or file.path, after=None))
    return any(not _denied(match) for match in found) or _speaks_of(session.charter.question, before)


def guess_task_allows_mutation(session: Session) -> bool:
    """Whether any word of the person may mean that a function changes what it is given; what is forbidden does not."""
    words = f"{session.charter.question}\n\n{_position(session)}"
    found = (match for sentence in _SENTENCE.split(words.replace("_", " ")) for match in _IN_PLACE.finditer(sentence))
    return _CHANGER.search(words) is not None or any(
        not _NOT_THIS.search(match.string[: match.start()]) for match in found
    )


def guess_task_expects_errors(session: Session) -> bool:
    """Whether any word of the person may mean that something ends in an error that did not before."""
    return _ERRORS.search(f"{session.charter.question}\n{_position(session)}") is not None


def _denied(match: re.Match[str]) -> bool:
    """Whether something says no, before what a sentence speaks of or with it."""
    return _NOT.search(match.string, 0, match.end()) is not None


def _names_tests(match: re.Match[str]) -> bool:
    """Whether it is tests that are to be changed; a name such as test_mode may be anything, unless tests were named."""
    name = match["name"]
    if name is None:
        return True
    is_path = "/" in name or find_source_language(name) is not None
    return is_test_file(name) and (
        is_path or ("." not in name and _TEST.search(match.string, 0, match.start()) is not None)
    )


def _speaks_of(words: str, names: set[str]) -> bool:
    return not names.isdisjoint(name for found in _NAMED.findall(words) for name in found)


def _defined(file: DraftFile) -> set[str]:
    """What a file defines, before or after."""
    return list_defined_names(file.path, file.before) | list_defined_names(file.path, file.after)


def list_defined_names(path: str, source: bytes | None) -> set[str]:
    """What a file of this path defines, by the last part of each name."""
    seen = parse_source_outline(path, source) if source is not None else None
    return {symbol.base_name for symbol in seen.symbols} if isinstance(seen, Outline) else set()
