"""Examples in the person's own words, such as "median([1, 2, 3, 4]) must be 2.5", as Python tests.

If the task is about one function of one parameter, "'20C' is 20.0" says what the function returns for '20C'.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roundtable.workshop.symbols.python_code import is_literal_call_syntax_node, is_literal_expression

_CALL_START = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(")
_EQUALS_WORDS = re.compile(
    r"[`*]*\s*(?:(?:must|should|shall|has to|ought to)\s+(?:be|equal|return|give|yield|become)|is|==|=>|->|→|equals"
    r"|returns|gives|yields|becomes)\s+[`*]*"
)
_RAISES_WORDS = re.compile(r"[`*]*\s*(?:(?:must|should)\s+raise|raises)\s+(?:an?\s+)?[`*]*([A-Z]\w*)")
_SINGLE_PARAMETER = re.compile(r"[A-Za-z_]\w*\)")
_METHOD_WORD = re.compile(r"\bmethods?\b", re.IGNORECASE)
_CLAUSE_START = re.compile(r"(?:^|[:;\n]|[.!?]\s)\s*[`*]*(?=['\"(\[{\d-])")
_EXAMPLE_START = re.compile(r"\b(?:such as|like|for example|for instance|e\.g\.),?\s+[`*]*(?=['\"(\[{\d-])")
_FOR_WORD = re.compile(r"[`*]*\s+for\s+[`*]*")
_AND_WORDS = re.compile(r"[`*]*(?:,(?:\s+(?:and|or))?|\s+(?:and|or))\s+[`*]*")
_VALUE_END = re.compile(
    r"[`*]*(?:\s+(?:too|again|now))?(?:\s*(?:$|\n|[–—](?!\s*\d)|[.,;:!?)\]}\"'”](?!\w))"
    r"|\s+(?:[(#]|(?:and|but|not|while|because|since|instead|rather|as|which|for|if|when|where)\b))"
)
"""The end of a value. "1/3", "2 lists" and "1 too high" only begin with one."""
_OPENING_BRACKETS, _CLOSING_BRACKETS = "([{", ")]}"
_MAX_CHARACTERS = 500
"""The most characters of a call or value; more is pasted data."""
_TEST_FILE = """import contextlib
import importlib
import math
import unittest

MODULES, NAMES = {{}}, {{}}
for module in {modules!r}:
    with contextlib.suppress(Exception):
        MODULES[module.partition(".")[0]] = __import__(module)
        NAMES.update(vars(importlib.import_module(module)))


def same(value, expected):
    if isinstance(value, type(expected)):
        if isinstance(expected, float):
            return math.isclose(value, expected, abs_tol=1e-12)
        if isinstance(expected, (list, tuple)):
            return len(value) == len(expected) and all(map(same, value, expected))
        if isinstance(expected, dict):
            return value.keys() == expected.keys() and all(same(value[key], expected[key]) for key in expected)
    return value == expected


class ExamplesOfTheTask(unittest.TestCase):
    def must(self, call, what, holds):
        try:
            value = eval(call, MODULES if "." in call.partition("(")[0] else NAMES)
        except Exception as error:
            outcome, right = f"raised {{type(error).__name__}}: {{error}}", holds(None, error)
        else:
            outcome, right = f"returned {{value!r}}", holds(value, None)
        if not right:
            self.fail(f"{{call}} must {{what}}, but it {{outcome[:300]}}.")
{cases}"""
"""The test file. Its failure messages are read by a seat that fixes the code. Close floats are equal."""


class TaskExample(NamedTuple):
    """A call and its expected result: a literal, or the name of an exception that it must raise."""

    call: str
    expected: str = ""
    raises: str = ""

    @property
    def owner(self) -> str:
        """The name before the dot, a module or something else; empty for a plain function."""
        return self.call.partition("(")[0].rpartition(".")[0]


def extract_trial_examples_from_task(text: str) -> tuple[TaskExample, ...]:
    """Return every call in the text with a stated result; what is not certain is left out."""
    examples: dict[str, TaskExample | None] = {}
    for example in tuple(_find_call_examples(text)) or _find_value_examples(text):
        other = examples.get(example.call, example)
        examples[example.call] = example if other == example else None
    return tuple(example for example in examples.values() if example is not None)


def has_trial_example_calls(text: str) -> bool:
    """Tell whether the task has examples that are calls, not only values."""
    return any(_find_call_examples(text))


def render_trial_example_unittest(examples: Iterable[TaskExample], modules: Iterable[str]) -> str:
    """Render a unittest file with a case for each example; names come from these modules if they exist.

    The owner of a call is taken as the name of a module.
    """
    cases = "".join(_render_case(number, example) for number, example in enumerate(examples, 1))
    return _TEST_FILE.format(modules=sorted(modules), cases=cases)


def _render_case(number: int, example: TaskExample) -> str:
    if example.raises:
        expectation, condition = f"raise {example.raises}", f"isinstance(error, {example.raises})"
    else:
        expectation, condition = f"be {example.expected}", f"error is None and same(value, {example.expected})"
    return (
        f"\n    def test_example_{number}(self):\n"
        f"        self.must({example.call!r}, {expectation!r}, lambda value, error: {condition})\n"
    )


def _find_call_examples(text: str) -> Iterator[TaskExample]:
    for match in _CALL_START.finditer(text):
        end = _closing_offset(text, match.end() - 1)
        call = text[match.start() : end]
        if not end or not _is_literal_call_text(call):
            continue
        if (raises := _RAISES_WORDS.match(text, end)) and _is_builtin_exception(raises[1]):
            yield TaskExample(call, raises=raises[1])
        elif equals := _EQUALS_WORDS.match(text, end):
            literal = _read_literal(text, equals.end())
            if literal and _VALUE_END.match(text, equals.end() + len(literal)):
                yield TaskExample(call, literal)


def _find_value_examples(text: str) -> Iterator[TaskExample]:
    """Yield examples that state only values, if the text is about one function with one parameter.

    They must begin a clause: "users whose 'state' is 'new'" is about something else.
    """
    calls = list(_CALL_START.finditer(text))
    is_one = len({call[1] for call in calls}) == 1 and any(_SINGLE_PARAMETER.match(text, call.end()) for call in calls)
    if not is_one or "." in calls[0][1] or _METHOD_WORD.search(text):
        return
    name = calls[0][1]
    for link_words, starts in ((_EQUALS_WORDS, _CLAUSE_START), (_FOR_WORD, _EXAMPLE_START)):
        read_until = 0
        for beginning in starts.finditer(text):
            for first, second, end in _read_value_pairs(text, max(beginning.end(), read_until), link_words):
                read_until = end
                yield (
                    TaskExample(f"{name}({second})", first)
                    if link_words is _FOR_WORD
                    else TaskExample(f"{name}({first})", second)
                )


def _read_value_pairs(text: str, offset: int, link_words: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
    """Yield linked value pairs that follow each other, and where each pair ends.

    Two numbers are skipped: "3 is 2" may be about anything.
    """
    while first := _read_literal(text, offset):
        link = link_words.match(text, offset + len(first))
        second = _read_literal(text, link.end()) if link else ""
        end = link.end() + len(second) if link else offset
        following = _AND_WORDS.match(text, end)
        if not second or not (following or _VALUE_END.match(text, end)) or _are_all_numbers(first, second):
            return
        yield first, second, end
        if following is None:
            return
        offset = following.end()


def _are_all_numbers(*literals: str) -> bool:
    return all(literal.lstrip("-")[0].isdigit() for literal in literals)


def _closing_offset(text: str, start: int) -> int:
    """Return where the bracket at `start` is closed, respecting quotes; 0 if that is too far away."""
    depth, quote, index = 0, "", start
    while index < min(len(text), start + _MAX_CHARACTERS):
        char = text[index]
        if quote:
            index += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING_BRACKETS:
            depth += 1
        elif char in _CLOSING_BRACKETS:
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1
    return 0


def _is_literal_call_text(call: str) -> bool:
    """Tell whether all arguments of a call are literals, so that it means the same everywhere."""
    try:
        return is_literal_call_syntax_node(ast.parse(call, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _read_literal(text: str, offset: int) -> str:
    """Return the literal at this offset of a text, as written; empty if there is none."""
    text = text[offset : offset + _MAX_CHARACTERS]
    if text[:1] in ("(", "[", "{"):
        word = text[: _closing_offset(text, 0)]
    elif quoted := re.match(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", text):
        word = quoted[0]
    else:
        simple = re.match(r"-?\d+(?:\.\d+)?(?![\w%])|(?:True|False|None)\b", text)
        word = simple[0] if simple else ""
    try:
        return word if word and is_literal_expression(ast.parse(word, mode="eval").body) else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _is_builtin_exception(name: str) -> bool:
    """Tell whether it is a built-in exception, so that the test needs no import."""
    kind: object = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, Exception)
