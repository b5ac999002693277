"""Choosing among real candidates by running them, beside dual execution agreement, a textual vote and chance.

python -m bench.coding [--data FOLDER] [--at-once N]

The method was made on the even-numbered problems of HumanEval; on the odd ones it is held to dual execution
agreement in the same run, to a textual vote and to chance, each with the same examples.
docs/adr/0009-executed-judgement.md says what was found.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from bench.coding.methods import METHODS, chosen, cost, expected, halves
from bench.coding.problems import CANDIDATES, PROBLEMS, TESTS, Problem, problems
from bench.coding.running import Costs, Seen, seen
from roundtable.core.ports import Sandbox
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "humaneval"
OURS, DUAL, MIXED = "executed judgement", "dual execution agreement", "the same, examples among its tests"
ABOVE = {
    (DUAL, False): 0.0,
    (MIXED, False): 0.0,
    ("random", False): 0.10,
    ("textual vote", False): 0.10,
    (DUAL, True): 0.0,
    (MIXED, True): 0.0,
    ("random", True): 0.02,
    ("textual vote", True): 0.01,
}
"""How far ours must at least be above each, with the same examples, on the odd problems.

Examples as checks leave chance and a vote among samples that do what the prompt shows, which are right half of the
time: there is less above them to win.
"""

Scores = dict[tuple[str, bool, str], tuple[float, float]]
"""By method, with examples or without, and half: right by expectation over those left even, and as chosen."""


def main() -> None:
    """Run, print, and fail if the bound is broken."""
    parser = argparse.ArgumentParser(prog="python -m bench.coding")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("ROUNDTABLE_HUMANEVAL", BESIDE)))
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    missing = [name for name in (PROBLEMS, CANDIDATES, TESTS) if not (arguments.data / name).is_file()]
    if missing:
        sys.exit(f"There is no {missing[0]} in {arguments.data}. Say with --data or ROUNDTABLE_HUMANEVAL where it is.")
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        result = asyncio.run(everything(problems(arguments.data), arguments.at_once))
        scores, spent = scored(result)
    print(table(scores, spent))
    print("\n".join(("", f"Bounds of {OURS} on the odd problems, in percent:", *bounds(scores))))
    broken = failures(scores)
    sys.exit("\n".join(broken) if broken else 0)


async def everything(all: Sequence[Problem], at_once: int) -> list[Seen]:
    """Every problem run in the sandbox, a few at a time."""
    sandbox = await find_sandbox(SandboxSettings())
    if isinstance(sandbox, str):
        sys.exit(sandbox)
    free = asyncio.Semaphore(at_once)
    begun = time.monotonic()

    async def one(problem: Problem, sandbox: Sandbox = sandbox) -> Seen:
        async with free:
            result = await seen(sandbox, problem)
        print(f"HumanEval/{problem.number:<4} {time.monotonic() - begun:6.0f} s", file=sys.stderr, flush=True)
        return result

    results = await asyncio.gather(*(one(problem) for problem in all))
    samples = sum(len(problem.candidates) for problem in all)
    print(f"{samples:,} samples of {len(all)} problems in {sandbox.name}, {time.monotonic() - begun:.0f} seconds.")
    return results


def scored(results: Sequence[Seen]) -> tuple[Scores, dict[tuple[str, bool], float]]:
    """The share each method gets right, and the processor seconds it took, running included."""
    costs = Costs()
    for entry in results:
        costs.add(entry.costs)
    scores: Scores = {}
    spent: dict[tuple[str, bool], float] = {}
    for name, method in METHODS.items():
        for examples in (False, True):
            begun = time.process_time()
            even = {entry.number: method(entry.samples, examples) for entry in results}
            spent[name, examples] = time.process_time() - begun + cost(name, costs, examples)
            for half, members in halves(results).items():
                left = [even[member.number] for member in members]
                likely = sum(map(expected, left)) / len(left)
                scores[name, examples, half] = likely, sum(map(chosen, left)) / len(left)
    return scores, spent


def table(scores: Scores, spent: dict[tuple[str, bool], float]) -> str:
    """All of it, for people."""
    lines = ["Right in percent: by expectation over those left even (and as one of them is taken); processor seconds."]
    for examples in (False, True):
        lines += ["", f"{'with' if examples else 'without'} the prompts' examples as checks".ljust(40)]
        lines[-1] += f"{'even':>14}{'odd':>14}{'all':>14}{'seconds':>10}"
        for name in METHODS:
            cells = [scores[name, examples, half] for half in ("even", "odd", "all")]
            figures = "".join(f"{f'{100 * likely:.1f} ({100 * taken:.1f})':>14}" for likely, taken in cells)
            lines.append(f"{name:40}{figures}{spent[name, examples]:10.1f}")
    return "\n".join(lines)


def bounds(scores: Scores) -> list[str]:
    """What ours is held to, and what it came to."""
    lines: list[str] = []
    for (name, examples), least in ABOVE.items():
        ours, theirs = scores[OURS, examples, "odd"][0], scores[name, examples, "odd"][0]
        lines.append(f"{_beside(name, examples):58}{100 * ours:6.1f} against {100 * theirs:4.1f} + {100 * least:g}")
    return lines


def failures(scores: Scores) -> list[str]:
    """Where the method does not hold what it must on the problems it was not made on."""
    return [
        f"Less than {least} above {_beside(name, examples)}." if least else f"Below {_beside(name, examples)}."
        for (name, examples), least in ABOVE.items()
        if scores[OURS, examples, "odd"][0] < scores[name, examples, "odd"][0] + least
    ]


def _beside(name: str, examples: bool) -> str:
    return f"{name}, {'with' if examples else 'without'} examples"


if __name__ == "__main__":
    main()
