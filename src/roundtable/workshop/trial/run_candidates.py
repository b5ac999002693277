"""Runs candidates in the sandbox: the repository's checks, then each other's tests, then telling inputs."""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from roundtable.core.decide.candidate_ranking import ERROR_SIGN
from roundtable.core.effects import CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job, Limit
from roundtable.core.text.wording import pluralize
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.sandbox.output_lines import LineCallback, OutputLines
from roundtable.workshop.trial import probe_tests
from roundtable.workshop.trial.distinguishing_inputs import (
    PROBE_CALL_SETUP,
    PROBE_COMMAND_SECONDS,
    ProbeCall,
    ProbeCommand,
    collect_distinguishing_calls,
    collect_distinguishing_commands,
    python_module_name,
)
from roundtable.workshop.trial.probe_runner import PROBE_DIED
from roundtable.workshop.trial.probes import ProbeRequest, read_module_source, run_probes
from roundtable.workshop.trial.task_examples import parse_task_examples
from roundtable.workshop.trial.test_counts import fail_checks_with_fewer_tests
from roundtable.workshop.trial.trial_results import BASELINE, EXAMPLES_CHECK, SUDDEN_END_CHECK, TrialResults

T = TypeVar("T")


_VALUE = "= "
_NOTHING = "= None"
_SLIPS = tuple(
    f"{ERROR_SIGN} {name}"
    for name in ("AttributeError", "IndexError", "KeyError", "NameError", "RecursionError", "UnboundLocalError")
)
"""Errors that come of a mistake more often than of a decision."""
_SHOWN = 80
_LONGEST = 1 << 20
_CALL_SECONDS = 1.0
_SECONDS = Bounds().seconds


class TrialTask(NamedTuple):
    """What a person asks for, and the examples in it as a file of tests.

    Without the words, nobody looks at what calls change in place and where they slip.
    """

    words: str = ""
    examples: Mapping[str, str] = {}


async def run_candidate_trials(
    sandbox: Sandbox,
    trees: Mapping[str, Path],
    checks: Mapping[str, Sequence[str]],
    tests: Mapping[str, Mapping[str, str]],
    python: str,
    tell: LineCallback | None = None,
    task: TrialTask = TrialTask(),
    seconds: float = _SECONDS,
) -> TrialResults:
    """Run every check and every seat's tests (path and text, by seat) on every tree; `trees[BEFORE]` is the bare one.

    Those in Python are run by `python` and counted one by one. Those of other languages are laid into the tree and the
    checks run again: each check is then a test of that seat. The examples in the task are one more check, of which only
    those count that fail on the bare tree. `seconds` is how long each check may take.
    """
    bench = _Bench(sandbox, checks, python, tell or (lambda line: None), Bounds(seconds))
    first = dict(zip(trees, await _together(bench.check(*entry) for entry in trees.items()), strict=True))
    unsteady = await bench.unsteady(trees, first)
    outcomes = bench.counted(first)
    trees = {name: tree for name, tree in trees.items() if name == BASELINE or not _hung(first[name])}
    examples: list[str] = []
    if task.examples:
        failures = await _together(bench.failures(EXAMPLES_CHECK, task.examples, *entry) for entry in trees.items())
        shown = dict(zip(trees, failures, strict=True))
        examples = _telling_examples(shown)
        outcomes = _with_examples(outcomes, shown, examples)
    found = {
        author: dict(
            zip(
                trees,
                await _together(bench.test(author, files, *entry) for entry in trees.items()),
                strict=True,
            )
        )
        for author, files in tests.items()
        if files
    }
    told = await bench.tell_apart(trees, tests, task.words)
    names = {
        author: list(dict.fromkeys(test for passed in seen.values() for test in passed))
        for author, seen in found.items()
    }
    return msgspec.structs.replace(
        told,
        checks=bench.lasting(outcomes, trees),
        tests={
            name: {
                f"{author}: {test}": found[author].get(name, {}).get(test, False)
                for author in names
                for test in names[author]
            }
            for name in outcomes
        },
        authors={f"{author}: {test}": author for author in names for test in names[author]},
        counted_examples=len(examples),
        flaky_checks=unsteady,
    )


async def run_candidate_checks(
    sandbox: Sandbox,
    name: str,
    tree: Path,
    checks: Mapping[str, Sequence[str]],
    files: Mapping[str, str],
    tell: LineCallback,
    seconds: float,
) -> tuple[CheckOutcome, ...]:
    """Run checks on one candidate's tree alone, with these files laid over it."""
    return await _Bench(sandbox, checks, "", tell, Bounds(seconds)).check(name, tree, files)


async def _together(runs: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What all of these come to, side by side; where one fails, or somebody stops them, each is waited for to end."""
    tasks = [asyncio.create_task(run) for run in runs]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _hung(checks: Iterable[CheckOutcome]) -> bool:
    """Whether the clock stopped a check: whatever else is run then would only wait for the clock again."""
    return any(check.limit is Limit.TIME for check in checks)


def _telling_examples(shown: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The examples in the task that count: one that held before says nothing of a change."""
    before = shown.get(BASELINE, {})
    return list(dict.fromkeys(name for seen in shown.values() for name in seen if before.get(name) != ""))


def _with_examples(
    outcomes: Mapping[str, tuple[CheckOutcome, ...]], shown: Mapping[str, Mapping[str, str]], counted: Sequence[str]
) -> dict[str, tuple[CheckOutcome, ...]]:
    """The checks of every tree, and these examples in the task among them."""
    if not counted:
        return dict(outcomes)
    found: dict[str, tuple[CheckOutcome, ...]] = {}
    for name, checks in outcomes.items():
        seen = shown.get(name, {})
        failed = [seen.get(name, "One of them could not be run.") for name in counted if seen.get(name) != ""]
        words = f"{len(counted) - len(failed)} of {len(counted)} came to what the task says."
        found[name] = (*checks, CheckOutcome(EXAMPLES_CHECK, (), 1 if failed else 0, "\n".join((words, *failed))))
    return found


class _Bench:
    """One set of trials: what all of its runs share, and that no more run at once than there are processors."""

    def __init__(
        self, sandbox: Sandbox, checks: Mapping[str, Sequence[str]], python: str, tell: LineCallback, bounds: Bounds
    ) -> None:
        self._sandbox = sandbox
        self._checks = checks
        self._python = python
        self._tell = tell
        self._bounds = bounds
        self._free = asyncio.Semaphore(os.cpu_count() or 1)
        self._died: dict[str, set[str]] = {}

    async def check(self, name: str, tree: Path, files: Mapping[str, str] | None = None) -> tuple[CheckOutcome, ...]:
        """The repository's checks on one tree, with these files laid over it."""
        return tuple([await self._checked(check, name, tree, files or {}) for check in self._checks])

    async def unsteady(
        self, trees: Mapping[str, Path], first: Mapping[str, tuple[CheckOutcome, ...]]
    ) -> dict[str, tuple[str, ...]]:
        """The checks that end otherwise on the same tree: what a candidate changed is run again, with it and without.

        Nobody waits again for what had to be stopped.
        """
        bare = {check.name: check.passed for check in first.get(BASELINE, ())}
        differ = {
            check.name
            for checks in first.values()
            for check in checks
            if check.passed != bare.get(check.name, check.passed)
        }
        doubted = [
            (check, name)
            for name, checks in first.items()
            for check in checks
            if check.name in differ
            and check.code is not None
            and (name == BASELINE or check.passed != bare[check.name])
        ]
        if doubted:
            self._tell("What did not end as it did before, once more:")
        again = await _together(self._checked(check.name, name, trees[name], {}) for check, name in doubted)
        found: dict[str, tuple[str, ...]] = {}
        for (check, name), second in zip(doubted, again, strict=True):
            if check.passed != second.passed:
                found[name] = (*found.get(name, ()), check.name)
        return found

    def counted(self, outcomes: Mapping[str, tuple[CheckOutcome, ...]]) -> dict[str, tuple[CheckOutcome, ...]]:
        """The checks of every tree, without the passes of those that ran fewer tests than the bare one."""
        found = {
            name: fail_checks_with_fewer_tests(checks, outcomes.get(BASELINE, ())) for name, checks in outcomes.items()
        }
        for name, checks in outcomes.items():
            for old, new in zip(checks, found[name], strict=True):
                if old.passed != new.passed:
                    self._tell(f"{new.name} failed after all {_on(name)}: fewer tests ran than before")
        return found

    async def _checked(self, check: str, name: str, tree: Path, files: Mapping[str, str]) -> CheckOutcome:
        argv = tuple(self._checks[check])
        async with self._free:
            said = OutputLines(lambda line: self._tell(f"{check} {_on(name)}: {line}") if line.strip() else None)
            run = await run_sandbox_job(self._sandbox, Job(argv, str(tree), True, dict(files), self._bounds), said)
            said.text()  # its last words need not end their line
        self._tell(f"{check} {'passed' if run.code == 0 else 'failed'} {_on(name)}")
        return run.as_check(check, argv)

    async def test(self, author: str, files: Mapping[str, str], name: str, tree: Path) -> dict[str, bool]:
        """One seat's tests on one candidate's tree."""
        if not any(path.endswith(".py") for path in files):
            return {check.name: check.passed for check in await self.check(name, tree, files)}
        return {test: not why for test, why in (await self.failures(author, files, name, tree)).items()}

    async def failures(self, author: str, files: Mapping[str, str], name: str, tree: Path) -> dict[str, str]:
        """Why each test in Python fails on a tree, or nothing where it does not."""
        python = [path for path in files if path.endswith(".py")]
        runnable = [path for path in python if Path(path).name != "conftest.py"]
        asked = ProbeRequest(
            (read_module_source(probe_tests),),
            (f"outcomes({runnable!r}, bare={name == BASELINE})",),
            _SECONDS,
            _SECONDS,
            _LONGEST,
        )
        async with self._free:
            seen = await run_probes(self._sandbox, tree, asked, python=self._python, files=dict(files))
        if seen.rows and seen.rows[0][0] == PROBE_DIED:
            self._died.setdefault(author, set()).add(name)
        why = _read(seen.rows[0][0]) if seen.rows else {}
        self._tell(f"{_tests_of(author)}: {list(why.values()).count('')} of {len(why)} passed {_on(name)}")
        return why

    def lasting(
        self, outcomes: Mapping[str, tuple[CheckOutcome, ...]], trees: Collection[str]
    ) -> dict[str, tuple[CheckOutcome, ...]]:
        """The checks of every tree; a candidate that ends a program which lasts on other trees has one that failed."""
        found = dict(outcomes)
        for author, died in self._died.items():
            candidates = set(trees) - {BASELINE}
            for name in candidates & died if candidates - died else ():
                why = f"It ends the program before {_tests_of(author)} are done."
                found[name] = (*found[name], CheckOutcome(SUDDEN_END_CHECK, (), 1, why))
        return found

    async def tell_apart(
        self, trees: Mapping[str, Path], tests: Mapping[str, Mapping[str, str]], task: str
    ) -> TrialResults:
        """What comes out of every candidate for the same calls and commands, by tests, changed modules and the task."""
        texts = [text for files in tests.values() for path, text in files.items() if path.endswith(".py")]
        laid = {path for files in tests.values() for path in files}
        changed = await asyncio.to_thread(_changed, list(trees.values()), laid)
        calls = collect_distinguishing_calls(texts, changed, [example.call for example in parse_task_examples(task)])
        commands = collect_distinguishing_commands(
            task,
            [
                program
                for tree in trees.values()
                for program in _programs(tree)
                if python_module_name(program) in changed
            ],
        )
        inputs: list[ProbeCall | ProbeCommand] = [*calls, *commands]
        asked = calls if task else ()
        changeable = [call for call in asked if call.has_mutable_arguments]
        candidates = {name: tree for name, tree in trees.items() if name != BASELINE}
        if not inputs or not (asked or len(candidates) > 1):
            return TrialResults()
        seconds = PROBE_COMMAND_SECONDS if commands else _CALL_SECONDS
        probes, changes = [probe_input.probe for probe_input in inputs], [call.mutation_probe for call in changeable]
        self._tell(f"{pluralize(len(inputs), 'telling input')} on {pluralize(len(candidates), 'candidate')}")
        seen = await self._asked(candidates, [*probes, *changes], seconds)
        outputs = {name: _by_input(inputs, said) for name, said in seen.items()}
        if len({frozenset(seen_outputs.items()) for seen_outputs in outputs.values()}) > 1:
            again = await self._asked(candidates, probes, seconds)
            outputs = _lasting(outputs, {name: _by_input(inputs, said) for name, said in again.items()})
        bare = {BASELINE: trees[BASELINE]} if asked else {}
        before = (await self._asked(bare, [*changes, *(call.probe for call in asked)], seconds)).get(BASELINE, {})
        return TrialResults(
            outputs=outputs if changeable or len(candidates) > 1 else {},
            side_effects={name: _in_place(changeable, before, said) for name, said in seen.items()},
            regressions={name: _slips(asked, before, said) for name, said in seen.items()},
        )

    async def _asked(
        self, trees: Mapping[str, Path], probes: Sequence[str], seconds: float
    ) -> dict[str, dict[str, str]]:
        """What each of these shows on each tree, by the probe; nothing where nothing could be observed."""
        asked = ProbeRequest((PROBE_CALL_SETUP,), probes, seconds, _SECONDS)

        async def one(tree: Path) -> dict[str, str]:
            async with self._free:
                seen = await run_probes(self._sandbox, tree, asked, python=self._python, files={})
            return dict(zip(probes, seen.rows[0], strict=False)) if seen.rows else {}

        return dict(zip(trees, await _together(map(one, trees.values())), strict=True))


def _by_input(inputs: Sequence[ProbeCall | ProbeCommand], said: Mapping[str, str]) -> dict[str, str]:
    return {
        str(probe_input): _came(probe_input, said[probe_input.probe])
        for probe_input in inputs
        if probe_input.probe in said
    }


def _lasting(outputs: Mapping[str, dict[str, str]], again: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Without the inputs for which something else comes out of the same candidate each time: chance tells nothing."""
    chance = {key for name, seen in outputs.items() for key, said in seen.items() if again[name].get(key) != said}
    return {name: {key: said for key, said in seen.items() if key not in chance} for name, seen in outputs.items()}


def _slips(calls: Sequence[ProbeCall], before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The calls that came to something and end in such an error now, each in a sentence.

    A function that came to None whatever it was given was only a place for one.
    """
    came = {call: was for call in calls if (was := before.get(call.probe, "")).startswith(_VALUE)}
    did = {call.function for call, was in came.items() if was != _NOTHING}
    return tuple(
        f"{call} came to {was.removeprefix(_VALUE)[:_SHOWN]} before, "
        f"and ends in {said.removeprefix(f'{ERROR_SIGN} ')} now."
        for call, was in came.items()
        if call.function in did and (said := now.get(call.probe, "")) in _SLIPS
    )


def _in_place(calls: Sequence[ProbeCall], before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The calls that come to something and change what they are given, of functions that are known to have left it."""
    left = ("= (True, False)", "= (False, False)")
    others = {call.function for call in calls if before.get(call.mutation_probe) not in left}
    return tuple(
        str(call) for call in calls if now.get(call.mutation_probe) == "= (True, True)" and call.function not in others
    )


def _programs(tree: Path) -> list[str]:
    return [path.name for path in tree.glob("*.py")]


def _came(call: ProbeCall | ProbeCommand, said: str) -> str:
    """What came out; of an input that nobody thought of, not which error it was."""
    return ERROR_SIGN if call.is_variation and said.startswith(ERROR_SIGN) else said


def _changed(trees: Sequence[Path], tests: set[str]) -> dict[str, list[str]]:
    """The modules that are not the same in all trees, with their several texts."""
    texts: dict[str, list[str]] = {}
    for tree in trees:
        for path in tree.rglob("*.py"):
            name = path.relative_to(tree).as_posix()
            if name not in tests and path.is_file() and not path.is_symlink():
                texts.setdefault(name, []).append(path.read_text("utf-8", "replace"))
    return {
        module: list(dict.fromkeys(found))
        for name, found in texts.items()
        if (module := python_module_name(name)) and (len(set(found)) > 1 or len(found) < len(trees))
    }


def _read(said: str) -> dict[str, str]:
    """The outcomes as the sandbox wrote them; nothing where they are no such thing."""
    try:
        found: object = ast.literal_eval(said.removeprefix("= "))
        return msgspec.convert(found, dict[str, str])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}


def _tests_of(author: str) -> str:
    return author if author == EXAMPLES_CHECK else f"{author}'s tests"


def _on(name: str) -> str:
    return f"with {name}" if name != BASELINE else "before"
