"""The options of a gate as people name them: by word, number or letter, with a reason where one is wanted."""

from __future__ import annotations

from collections import Counter

from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Gate, NextStep

OPTION_MEANINGS = {
    "apply": "to be carried out, with `roundtable apply`",
    "myself": "I do it myself",
    "later": "decide later",
    "back": "send them back to think again",
    "choose": "choose one of the proposals",
    "reject": "reject it, and have the next meetings told why",
    "fix": "fix it now",
    "report": "a report only",
    "log": "log it for later",
    "none": "none of these",
}
"""What an option means where the gate itself does not say it."""

OPTION_REASON_QUESTIONS = {
    "back": "What should they think about again?",
    "reject": "Why not? Later meetings are told",
    "retry": "What is to be different this time?",
    "own": "What is it to be?",
}
"""The options that mean little without a word from the person."""


def gate_option_letters(gate: Gate) -> dict[str, str]:
    """The letter that is enough for an option: its first, where no other option begins with it."""
    first = Counter(option[:1].casefold() for option in gate.options)
    return {
        it: it[0].casefold() for it in gate.options if len(it) > 1 and it[0].isalpha() and first[it[0].casefold()] == 1
    }


def describe_gate_option(gate: Gate, option: str) -> str:
    """An option explained in a line."""
    return sanitize_line(gate.details.get(option) or OPTION_MEANINGS.get(option, ""))


def gate_option_on_enter(gate: Gate) -> str:
    """What an empty line stands for: the default, unless that ends the meeting, which nobody does in passing."""
    return "" if gate.default == NextStep.STOP else gate.default


def match_gate_option(gate: Gate, typed: str) -> str | None:
    """The option a person means by a number, a name, a letter or an empty line; None if there is no such option."""
    if not typed:
        return gate_option_on_enter(gate) or None
    if typed in gate.options:
        return typed
    word = typed.casefold()
    by_name = {option.casefold(): option for option in gate.options}
    by_number = {str(number): option for number, option in enumerate(gate.options, 1)}
    by_letter = {letter: option for option, letter in gate_option_letters(gate).items()}
    return by_name.get(word) or by_number.get(word) or by_letter.get(word)


def parse_gate_answer(gate: Gate, typed: str) -> tuple[str | None, str]:
    """The option that is meant, and what stands behind it: `back: think of the cache`."""
    if (option := match_gate_option(gate, typed)) is not None:
        return option, ""
    word, colon, reason = typed.partition(":")
    return (match_gate_option(gate, word.strip()) if colon and word.strip() else None), reason.strip()
