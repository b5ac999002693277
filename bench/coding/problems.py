"""The problems of HumanEval with real candidates and real tests, as the folder of public data holds them."""

from __future__ import annotations

import ast
import doctest
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from roundtable.workshop.trial.task_examples import extract_trial_examples_from_task

PROBLEMS = "HumanEval.jsonl.gz"
CANDIDATES = "codegen16B_code_solution.jsonl.gz"
TESTS = "codegen16B_test_case.jsonl.gz"
TESTS_PER_SAMPLE = 5
"""As in the paper on dual execution agreement: a sample's later tests are mostly repetitions."""

T = TypeVar("T")


class Problem(msgspec.Struct, frozen=True):
    """One problem: whole candidate programs, the tests the model wrote, the prompt's examples, and the hidden check."""

    number: int
    name: str
    candidates: tuple[str, ...]
    tests: tuple[str, ...]
    examples: tuple[str, ...]
    hidden: str


class _Row(msgspec.Struct):
    task_id: str
    prompt: str
    entry_point: str
    test: str


class _Samples(msgspec.Struct):
    samples: list[str]


def problems(folder: Path) -> list[Problem]:
    """All of them in their order. The samples have no ids: they are in the order of the ids as words."""
    rows = sorted(_rows(folder / PROBLEMS, _Row), key=lambda row: row.task_id)
    triples = zip(rows, _rows(folder / CANDIDATES, _Samples), _rows(folder / TESTS, _Samples), strict=True)
    return sorted(
        (_problem(row, samples.samples, tests.samples) for row, samples, tests in triples),
        key=lambda problem: problem.number,
    )


def _rows(path: Path, kind: type[T]) -> list[T]:
    with gzip.open(path) as file:
        return [msgspec.json.decode(line, type=kind) for line in file]


def _problem(row: _Row, samples: list[str], tests: list[str]) -> Problem:
    name = row.entry_point
    return Problem(
        number=int(row.task_id.rpartition("/")[2]),
        name=name,
        candidates=tuple(row.prompt + body(text) for text in samples),
        tests=tuple(test for sample in tests for test in _first(asserts(sample, name))),
        examples=tuple(dict.fromkeys(examples(row.prompt, name))),
        hidden=f"{row.test}\ncheck({name})\n",
    )


def body(sample: str) -> str:
    """The function's body: a sample up to its first line that is not indented."""
    kept_lines: list[str] = []
    for line in sample.splitlines():
        if line.strip() and not line[0].isspace():
            break
        kept_lines.append(line)
    return "\n".join(kept_lines).rstrip() + "\n"


def asserts(sample: str, name: str) -> Iterator[str]:
    """The assertions about the function in a sample, which goes on where the prompt ended: behind the word `assert`."""
    for piece in re.split(r"^\s*assert\b", sample, flags=re.MULTILINE):
        lines = piece.strip().splitlines()
        for end in range(len(lines), 0, -1):
            text = "assert " + "\n".join(lines[:end]).strip()
            if _about(text, name):
                yield text
                break


def _first(tests: Iterator[str]) -> Iterator[str]:
    yield from (test for test, _ in zip(tests, range(TESTS_PER_SAMPLE), strict=False))


def _about(text: str, name: str) -> bool:
    try:
        match ast.parse(text).body:
            case [ast.Assert() as only]:
                return any(isinstance(node, ast.Call) and _called(node) == name for node in ast.walk(only))
            case _:
                return False
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


_ARROW = re.compile(r"\)\s*(?:➞|==?>|->|==?)\s*")
_QUOTES = re.compile("\"\"\"|'''")


def examples(prompt: str, name: str) -> Iterator[str]:
    """What the prompt says the function gives, as assertions: doctests, and `f(1) == 2` in its several spellings."""
    text = _QUOTES.sub("\n", prompt)
    pairs = [(example.source.partition("#")[0], example.want) for example in doctest.DocTestParser().get_examples(text)]
    pairs += [
        (example.call, example.expected) for example in extract_trial_examples_from_task(_ARROW.sub(") == ", text))
    ]
    for call, value in pairs:
        message = f"assert {call.strip()} == {value.strip()}"
        if _about(message, name):
            yield message
