"""The examples in a person's own words, such as "median([1, 2, 3, 4]) must be 2.5", as tests in Python.

Where the words are about one function of one parameter, "'20C' is 20.0" says what it makes of '20C'.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roundtable.workshop.trial.distinguishing_inputs import is_literal_call, is_literal_expression

_CALL = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(")
_COMES_TO = re.compile(
    r"[`*]*\s*(?:(?:must|should|shall|has to|ought to)\s+(?:be|equal|return|give|yield|become)|is|==|=>|->|→|equals"
    r"|returns|gives|yields|becomes)\s+[`*]*"
)
_RAISES = re.compile(r"[`*]*\s*(?:(?:must|should)\s+raise|raises)\s+(?:an?\s+)?[`*]*([A-Z]\w*)")
_PARAMETER = re.compile(r"[A-Za-z_]\w*\)")
_METHOD = re.compile(r"\bmethods?\b", re.IGNORECASE)
_BEGINS = re.compile(r"(?:^|[:;\n]|[.!?]\s)\s*[`*]*(?=['\"(\[{\d-])")
_SUCH_AS = re.compile(r"\b(?:such as|like|for example|for instance|e\.g\.),?\s+[`*]*(?=['\"(\[{\d-])")
_FOR = re.compile(r"[`*]*\s+for\s+[`*]*")
_AND = re.compile(r"[`*]*(?:,(?:\s+(?:and|or))?|\s+(?:and|or))\s+[`*]*")
_ENDS = re.compile(
    r"[`*]*(?:\s+(?:too|again|now))?(?:\s*(?:$|\n|[–—](?!\s*\d)|[.,;:!?)\]}\"'”](?!\w))"
    r"|\s+(?:[(#]|(?:and|but|not|while|because|since|instead|rather|as|which|for|if|when|where)\b))"
)
"""Where nothing more is said of a value: "1/3", "2 lists" and "1 too high" only begin with one."""
_OPENING, _CLOSING = "([{", ")]}"
_LONGEST = 500
"""Characters of a call or a value; beyond that it is data that somebody pasted."""
_FILE = """import contextlib
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
            return value.keys() == expected.keys() and all(same(value[it], expected[it]) for it in expected)
    return value == expected


class ExamplesOfTheTask(unittest.TestCase):
    def must(self, call, what, holds):
        try:
            value = eval(call, MODULES if "." in call.partition("(")[0] else NAMES)
        except Exception as error:
            came, right = f"raised {{type(error).__name__}}: {{error}}", holds(None, error)
        else:
            came, right = f"came to {{value!r}}", holds(value, None)
        if not right:
            self.fail(f"{{call}} must {{what}}, and it {{came[:300]}}.")
{cases}"""
"""A test file; the words of a failure are for whoever mends the code. Floats are the same where they are close."""


class TaskExample(NamedTuple):
    """A call and what it must come to: a literal, or the name of an exception it must raise."""

    call: str
    expected: str = ""
    raises: str = ""

    @property
    def owner(self) -> str:
        """What stands before the dot: a module or something else; nothing where the function stands alone."""
        return self.call.partition("(")[0].rpartition(".")[0]


def parse_task_examples(text: str) -> tuple[TaskExample, ...]:
    """Every call in the text that is said to come to something; what cannot be read for certain is left out."""
    found: dict[str, TaskExample | None] = {}
    for example in tuple(_found(text)) or _of_the_one_function(text):
        other = found.get(example.call, example)
        found[example.call] = example if other == example else None
    return tuple(example for example in found.values() if example is not None)


def task_has_call_examples(text: str) -> bool:
    """Whether the examples in it are calls, rather than values that are taken to be about a function."""
    return any(_found(text))


def render_examples_as_unittest(examples: Iterable[TaskExample], modules: Iterable[str]) -> str:
    """A unittest file with a case for each example; the names in them are those of these modules, if they are there.

    A call with an owner is taken to name one of the modules.
    """
    cases = "".join(_case(number, example) for number, example in enumerate(examples, 1))
    return _FILE.format(modules=sorted(modules), cases=cases)


def _case(number: int, example: TaskExample) -> str:
    if example.raises:
        what, holds = f"raise {example.raises}", f"isinstance(error, {example.raises})"
    else:
        what, holds = f"be {example.expected}", f"error is None and same(value, {example.expected})"
    return (
        f"\n    def test_example_{number}(self):\n"
        f"        self.must({example.call!r}, {what!r}, lambda value, error: {holds})\n"
    )


def _found(text: str) -> Iterator[TaskExample]:
    for match in _CALL.finditer(text):
        end = _closed(text, match.end() - 1)
        call = text[match.start() : end]
        if not end or not _is_plain(call):
            continue
        if (raised := _RAISES.match(text, end)) and _is_exception(raised[1]):
            yield TaskExample(call, raises=raised[1])
        elif said := _COMES_TO.match(text, end):
            literal = _literal(text, said.end())
            if literal and _ENDS.match(text, said.end() + len(literal)):
                yield TaskExample(call, literal)


def _of_the_one_function(text: str) -> Iterator[TaskExample]:
    """What the text says of values alone, where it speaks of one function and gives that one parameter.

    It has to say so from the beginning of a clause on: "users whose 'state' is 'new'" is about something else.
    """
    calls = list(_CALL.finditer(text))
    is_one = len({call[1] for call in calls}) == 1 and any(_PARAMETER.match(text, call.end()) for call in calls)
    if not is_one or "." in calls[0][1] or _METHOD.search(text):
        return
    name = calls[0][1]
    for links, begins in ((_COMES_TO, _BEGINS), (_FOR, _SUCH_AS)):
        read = 0
        for beginning in begins.finditer(text):
            for first, second, end in _pairs(text, max(beginning.end(), read), links):
                read = end
                yield (
                    TaskExample(f"{name}({second})", first)
                    if links is _FOR
                    else TaskExample(f"{name}({first})", second)
                )


def _pairs(text: str, at: int, links: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
    """Two values that are linked, and where the second ends, as often as one pair follows the other.

    Of two numbers nobody knows what is said: "3 is 2" may be about anything.
    """
    while first := _literal(text, at):
        link = links.match(text, at + len(first))
        second = _literal(text, link.end()) if link else ""
        end = link.end() + len(second) if link else at
        following = _AND.match(text, end)
        if not second or not (following or _ENDS.match(text, end)) or _are_numbers(first, second):
            return
        yield first, second, end
        if following is None:
            return
        at = following.end()


def _are_numbers(*literals: str) -> bool:
    return all(literal.lstrip("-")[0].isdigit() for literal in literals)


def _closed(text: str, start: int) -> int:
    """Where the bracket that opens at `start` has closed; 0 where it does not soon. Quotes are kept in mind."""
    depth, quote, index = 0, "", start
    while index < min(len(text), start + _LONGEST):
        char = text[index]
        if quote:
            index += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1
    return 0


def _is_plain(call: str) -> bool:
    """Whether all its arguments are literals, so that it says the same wherever it stands."""
    try:
        return is_literal_call(ast.parse(call, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _literal(text: str, at: int) -> str:
    """The literal that begins there in a text, as it stands there; nothing where there is none."""
    text = text[at : at + _LONGEST]
    if text[:1] in ("(", "[", "{"):
        word = text[: _closed(text, 0)]
    elif quoted := re.match(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", text):
        word = quoted[0]
    else:
        plain = re.match(r"-?\d+(?:\.\d+)?(?![\w%])|(?:True|False|None)\b", text)
        word = plain[0] if plain else ""
    try:
        return word if word and is_literal_expression(ast.parse(word, mode="eval").body) else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _is_exception(name: str) -> bool:
    """Whether it is one of Python's own, so that the test needs no import."""
    kind: object = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, Exception)
