"""Runs all candidates of a problem in the sandbox: on the model's tests, the prompt's examples and the hidden check."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.coding.problems import Problem
from roundtable.core.candidate_reasons import CallOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds
from roundtable.workshop.trial.probe_runner import PROBE_DONE
from roundtable.workshop.trial.probes import ProbeRequest, parse_probe_call_outcome, run_trial_probes

PROBE, CANDIDATE, HIDDEN = 0.1, 1.0, 2.0
"""Processor seconds of one test or input, of all of them on a candidate, and of the hidden check."""
WHOLE = Bounds(seconds=1800)


class Costs(msgspec.Struct):
    """Processor seconds spent on each kind of running."""

    tests: float = 0.0
    inputs: float = 0.0
    examples: float = 0.0
    hidden: float = 0.0

    def add(self, other: Costs) -> None:
        """Both together."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Sample(msgspec.Struct, frozen=True):
    """What running one sample showed. `inputs` are those of the model's tests, `example_inputs` the prompt's."""

    text: str
    tests: tuple[bool, ...]
    examples: tuple[bool, ...]
    inputs: dict[str, CallOutcome]
    example_inputs: dict[str, CallOutcome]
    right: bool


class Seen(msgspec.Struct, frozen=True):
    """A problem with all its samples run."""

    number: int
    samples: tuple[Sample, ...]
    costs: Costs


async def seen(sandbox: Sandbox, problem: Problem) -> Seen:
    """Run everything about a problem; samples that are the same text are run once."""
    programs = list(dict.fromkeys(problem.candidates))
    tests = list(dict.fromkeys(problem.tests))
    inputs, example_calls = _calls(tests, problem.name), _calls(problem.examples, problem.name)
    costs = Costs()
    on_tests, costs.tests = await _rows(sandbox, programs, tests)
    on_inputs, costs.inputs = await _rows(sandbox, programs, [*inputs, *example_calls])
    on_examples, costs.examples = await _rows(sandbox, programs, problem.examples)
    on_hidden, costs.hidden = await _rows(sandbox, programs, [problem.hidden], HIDDEN)
    samples = {
        text: Sample(
            text=normal(text),
            tests=_passed(on_tests[number]),
            examples=_passed(on_examples[number]),
            inputs=dict(zip(inputs, map(parse_probe_call_outcome, on_inputs[number]), strict=False)),
            example_inputs=dict(
                zip(example_calls, map(parse_probe_call_outcome, on_inputs[number][len(inputs) :]), strict=True)
            ),
            right=on_hidden[number][0] == PROBE_DONE,
        )
        for number, text in enumerate(programs)
    }
    return Seen(problem.number, tuple(samples[text] for text in problem.candidates), costs)


async def _rows(
    sandbox: Sandbox, programs: Sequence[str], probes: Sequence[str], seconds: float = PROBE
) -> tuple[Sequence[Sequence[str]], float]:
    if not probes:
        return [()] * len(programs), 0.0
    request = ProbeRequest(programs, probes, seconds, max(seconds, CANDIDATE), memory=1 << 30)
    with TemporaryDirectory() as folder:
        results = await run_trial_probes(sandbox, Path(folder), request, WHOLE, files={})
    if results.why:
        raise SystemExit(f"The candidates could not be run in {sandbox.name}: {results.why}")
    return results.rows, results.processor_seconds


def _passed(row: Iterable[str]) -> tuple[bool, ...]:
    return tuple(name == PROBE_DONE for name in row)


def _calls(tests: Iterable[str], name: str) -> list[str]:
    """The calls of the function in these assertions, each once: inputs that may tell candidates apart."""
    calls = (node for test in tests for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Call))
    named_calls = (node for node in calls if isinstance(node.func, ast.Name) and node.func.id == name)
    return list(dict.fromkeys(ast.unparse(node) for node in named_calls))


def normal(program: str) -> str:
    """A program without its layout and comments; nothing if it is no program."""
    try:
        return ast.unparse(ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
