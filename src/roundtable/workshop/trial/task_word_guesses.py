"""Guesses from the words of a task what the person allows, with word lists.

These guesses are to be replaced by explicit answers of the seats or the person.
"""

from __future__ import annotations

import re

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.session import Session
from roundtable.core.text.file_names import is_test_file_name
from roundtable.core.values import DECISION_CONTEXT_NAME, ContextItem
from roundtable.workshop.symbols.languages import find_source_language
from roundtable.workshop.symbols.outline import list_defined_symbol_names

_CHANGE_WORDS = (
    r"\b(?:(?:update|change|adapt|adjust|edit|rewrite|rework|correct|rename|replace|move)s?"
    r"|updating|changing|rewriting|renaming|replacing|moving|(?:adapt|adjust|edit|rework|correct)ing)\s+"
    r"(?:(?!so\b|that\b|to\b|until\b|if\b|when\b)[\w'’-]+\s+){0,2}?[`\"'(]*"
)
_ADD_WORDS = r"\b(?:add|append|put|move|write)\b.{1,200}?\b(?:to|into)\s+[`\"'(]*"
_OBJECT_END = (
    r"(?=[`\"')*]*(?:[.,;:!?)](?:\s|$)|\s*$"
    r"|\s+(?:and|or|but|for|of|in|on|to|so|as|if|when|where|which|that|with|by|too|also|accordingly)\b))"
)
"""The object of a verb ends here: `the test server` is not a test."""
_CHANGE_OF_TESTS = re.compile(
    rf"{_CHANGE_WORDS}(?:tests?(?:\s+(?:suites?|files?|cases?))?{_OBJECT_END}|(?P<name>[\w./-]*(?:test|spec)(?:[\w./-]*\w)?))",
    re.IGNORECASE,
)
_TEST_WORD = re.compile(r"\btests?\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_NEGATION = re.compile(r"\b(?:not|never|without|no|nor|neither|leave|keep|avoid|cannot)\b|n['’]t\b", re.IGNORECASE)
_MUTATION_VERBS = (
    "mutate modify update change move rename remove delete discard drop pop push append insert extend put fill clear "
    "empty drain consume shuffle swap exchange replace reverse rotate keep store record register mark count increment "
    "decrement accumulate collect deposit withdraw enroll cache memoize"
)
_MUTATION_WORDS = re.compile(
    rf"\bin[ -]place\b|\b(?:{'|'.join(word.rstrip('ey') for word in _MUTATION_VERBS.split())})"
    r"(?:e?s|e|(?:p|pp)?ed|(?:p|pp)?ing|y|ies|ied)?\b|\b(?:adds|adding|sets|into|memo|seen|visited)\b"
    r"|\btak(?:es?|en|ing) .{1,40}\b(?:off|out|away|from)\b",
    re.IGNORECASE,
)
"""Words for changing an argument in place; too many rather than too few."""
_MUTATING_FUNCTION_NAMES = re.compile(r"\b(?:(?:add|reset|toggle|enqueue|dequeue|transfer)(?:_\w+)?|set_\w+|heapify)\(")
"""Function names that mean a change in place."""
_NEGATION_BEFORE = re.compile(
    r"(?:\b(?:not|never|without|avoid|cannot)|n['’]t)\s+(?:[\w'’-]+\s+){0,2}\Z|\b(?:no|nor)\s+\Z", re.IGNORECASE
)
_ERROR_WORDS = re.compile(
    r"\b(?:rais|throw|thrown|fail|refus|reject|forbid|forbidden|disallow|invalid|strict|assert|abort|crash)|Error\b"
    r"|\b(?:error|exception)s?\b",
    re.IGNORECASE,
)
"""Words for ending with an error; too many rather than too few."""
_QUOTED_OR_CALLED_NAME = re.compile(r"`(?:[\w.]+\.)?(\w+)(?:\([^`]*\))?`|(?<!\w)(\w+)\(")


def collect_trial_task_words(session: Session, decision: str = "") -> str:
    """Return the task, what was decided about it, and the plans for it.

    If the decision is to take what somebody wrote for the task, its words ask for nothing more.
    """
    plans = (
        move.text
        for name, meeting_round in session.rounds.items()
        if name.endswith("-plan")
        for move in meeting_round.moves()
    )
    decisions = () if _position_names_only_files(session) else (decision,)
    return "\n".join((session.charter.question, _decided_position(session), *decisions, *plans))


def _decided_position(session: Session) -> str:
    """Return what was decided about the task, if that says more than who changes which files."""
    return "" if _position_names_only_files(session) else str(session.charter.settings.get("position", ""))


def _position_names_only_files(session: Session) -> bool:
    return bool(session.charter.settings.get("task_only"))


def find_decision_carried_out_in_trial(session: Session) -> ContextItem | None:
    """Return the decision as shown to the seat that carries it out, if there is one."""
    return next((item for item in session.charter.context if item.name == DECISION_CONTEXT_NAME), None)


def is_trial_file_in_task_words(words: str, file: DraftFile) -> bool:
    """Tell whether words name a file, by path, name or stem, or something that it defines.

    A test counts as mentioned with the code that it tests.
    """
    name = file.path.rpartition("/")[2]
    stem = name.partition(".")[0].removeprefix("test_").removesuffix("_test")
    by_name = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", words) for word in (file.path, name, stem) if word)
    return by_name or _mentions_any(words, _names_in_file(file))


def guess_trial_allows_test_changes(session: Session) -> bool:
    """Guess from the question whether the person asks to change tests, as in `update its test`.

    Decisions and plans of seats do not count.
    """
    sentences = _SENTENCE.split(session.charter.question)
    return any(
        _means_tests(match)
        for sentence in sentences
        for match in _CHANGE_OF_TESTS.finditer(sentence)
        if not _is_negated(match)
    )


def guess_trial_allows_file_change(session: Session, file: DraftFile) -> bool:
    """Guess whether the person asks for changes of a file, by path or name, or of what it defined before."""
    names = "|".join(re.escape(path) for path in (file.was or file.path, file.path.rpartition("/")[2]))
    pattern = re.compile(rf"(?:{_CHANGE_WORDS}|{_ADD_WORDS})(?:{names})(?![\w/]|\.\w)", re.IGNORECASE | re.DOTALL)
    matches = (match for sentence in _SENTENCE.split(session.charter.question) for match in pattern.finditer(sentence))
    old_names = _names_in_file(msgspec.structs.replace(file, path=file.was or file.path, after=None))
    return any(not _is_negated(match) for match in matches) or _mentions_any(session.charter.question, old_names)


def guess_trial_allows_argument_mutation(session: Session) -> bool:
    """Guess whether the task allows a function to mutate its arguments; forbidding words do not count."""
    words = f"{session.charter.question}\n\n{_decided_position(session)}"
    matches = (
        match for sentence in _SENTENCE.split(words.replace("_", " ")) for match in _MUTATION_WORDS.finditer(sentence)
    )
    return _MUTATING_FUNCTION_NAMES.search(words) is not None or any(
        not _NEGATION_BEFORE.search(match.string[: match.start()]) for match in matches
    )


def guess_trial_allows_new_errors(session: Session) -> bool:
    """Guess whether the task allows calls to raise errors that they did not raise before."""
    return _ERROR_WORDS.search(f"{session.charter.question}\n{_decided_position(session)}") is not None


def _is_negated(match: re.Match[str]) -> bool:
    """Tell whether a sentence has a negation before or inside the match."""
    return _NEGATION.search(match.string, 0, match.end()) is not None


def _means_tests(match: re.Match[str]) -> bool:
    """Tell whether a match means tests. A name such as test_mode may be anything, unless tests were named before."""
    name = match["name"]
    if name is None:
        return True
    is_path = "/" in name or find_source_language(name) is not None
    return is_test_file_name(name) and (
        is_path or ("." not in name and _TEST_WORD.search(match.string, 0, match.start()) is not None)
    )


def _mentions_any(words: str, names: set[str]) -> bool:
    return not names.isdisjoint(name for found in _QUOTED_OR_CALLED_NAME.findall(words) for name in found)


def _names_in_file(file: DraftFile) -> set[str]:
    """Return what a file defines, before or after the change."""
    return list_defined_symbol_names(file.path, file.before) | list_defined_symbol_names(file.path, file.after)
