"""The options of a gate as people may type them: by word, number or letter, with a reason if one is wanted."""

from __future__ import annotations

from collections import Counter

from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Gate, NextStep

_OPTION_MEANINGS = {
    "apply": "carry it out with `roundtable apply`",
    "myself": "carry it out by hand",
    "later": "decide later",
    "back": "send it back to the seats for another round",
    "choose": "choose one of the proposals",
    "reject": "reject it and show the reason to later meetings",
    "fix": "fix it now",
    "report": "only report it",
    "log": "log it for later",
    "none": "none of these",
}
"""The meaning of an option that the gate itself does not explain."""

OPTION_REASON_QUESTIONS = {
    "back": "What should the seats reconsider?",
    "reject": "Why is it rejected? Later meetings will see the reason",
    "retry": "What should be different this time?",
    "own": "What text should be used instead?",
}
"""The questions for options that need a reason."""


def live_gate_option_letters(gate: Gate) -> dict[str, str]:
    """The letter that selects each option: its first, if no other option begins with it."""
    first = Counter(option[:1].casefold() for option in gate.options)
    return {
        option: option[0].casefold()
        for option in gate.options
        if len(option) > 1 and option[0].isalpha() and first[option[0].casefold()] == 1
    }


def live_gate_option_hint(gate: Gate, option: str) -> str:
    """The meaning of an option in one line; empty if it is not explained."""
    return sanitize_line(gate.details.get(option) or _OPTION_MEANINGS.get(option, ""))


def live_gate_option_on_enter(gate: Gate) -> str:
    """The option of an empty line: the default, but never one that ends the meeting."""
    return "" if gate.default == NextStep.STOP else gate.default


def match_live_gate_option(gate: Gate, typed: str) -> str | None:
    """The option selected by a number, name, letter or empty line; None if there is no such option."""
    if not typed:
        return live_gate_option_on_enter(gate) or None
    if typed in gate.options:
        return typed
    word = typed.casefold()
    by_name = {option.casefold(): option for option in gate.options}
    by_number = {str(number): option for number, option in enumerate(gate.options, 1)}
    by_letter = {letter: option for option, letter in live_gate_option_letters(gate).items()}
    return by_name.get(word) or by_number.get(word) or by_letter.get(word)


def match_live_gate_answer(gate: Gate, typed: str) -> tuple[str | None, str]:
    """The option and the reason of a typed line such as `back: think of the cache`."""
    if (option := match_live_gate_option(gate, typed)) is not None:
        return option, ""
    word, colon, reason = typed.partition(":")
    return (match_live_gate_option(gate, word.strip()) if colon and word.strip() else None), reason.strip()
