"""Runs candidates in the sandbox: the repository's checks, then each other's tests, then distinguishing inputs."""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from roundtable.core.candidate_reasons import ArgumentsMutated, CallBroken, CallOutcome, ExamplesRun, ProgramDied
from roundtable.core.effects import BUILT_IN_CHECK_NAMES, CheckKind, CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job, Limit
from roundtable.core.text.wording import pluralize
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.sandbox.output_lines import LineCallback, OutputLines
from roundtable.workshop.symbols.python_code import python_symbol_module_name
from roundtable.workshop.trial import probe_tests
from roundtable.workshop.trial.distinguishing_inputs import (
    PROBE_CALL_SETUP,
    PROBE_COMMAND_SECONDS,
    ProbeCall,
    ProbeCommand,
    collect_trial_calls,
    collect_trial_commands,
)
from roundtable.workshop.trial.probe_runner import PROBE_DIED, VALUE_SIGN
from roundtable.workshop.trial.probes import (
    ProbeRequest,
    parse_probe_call_outcome,
    read_probe_module_source,
    run_trial_probes,
)
from roundtable.workshop.trial.task_examples import extract_trial_examples_from_task
from roundtable.workshop.trial.test_counts import fail_trial_checks_with_fewer_tests
from roundtable.workshop.trial.trial_results import BASELINE, TrialResults

T = TypeVar("T")

_EXAMPLES_AUTHOR = BUILT_IN_CHECK_NAMES[CheckKind.EXAMPLES]
"""Takes the place of a seat as the author of the tests that were made from the examples in the task."""


_NONE = CallOutcome("value", "None")
_ANY_ERROR = CallOutcome("error")
_NOT_MUTATING = (CallOutcome("value", "(True, False)"), CallOutcome("value", "(False, False)"))
"""Results of the mutation probe for a call that mutates no argument: (returns a value, mutates an argument)."""
_RETURNS_AND_MUTATES = CallOutcome("value", "(True, True)")
_UNINTENDED_ERRORS = (
    "AttributeError", "IndexError", "KeyError", "NameError", "RecursionError", "UnboundLocalError"
)  # fmt: skip
"""Errors that are mistakes more often than intended."""
_MAX_SHOWN = 80
_MAX_OBSERVATION = 1 << 20
_CALL_SECONDS = 1.0
_DEFAULT_SECONDS = Bounds().seconds


class TrialTask(NamedTuple):
    """The task in the person's words, and its examples as a test file.

    Without the words, side effects and regressions of calls are not looked for.
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
    seconds: float = _DEFAULT_SECONDS,
) -> TrialResults:
    """Run every check and every seat's tests (text by path, by seat) on every tree; `trees[BASELINE]` has no candidate.

    Python tests are run by `python` and counted one by one. Tests in other languages are added to the tree and the
    checks run again; each check then counts as a test of that seat. The examples of the task are one more check; only
    examples that fail on the baseline count. `seconds` limits each check.
    """
    trial_run = _TrialRun(sandbox, checks, python, tell or (lambda line: None), Bounds(seconds))
    first_outcomes = dict(
        zip(trees, await _run_concurrently(trial_run.run_checks(*entry) for entry in trees.items()), strict=True)
    )
    flaky_checks = await trial_run.find_flaky_checks(trees, first_outcomes)
    outcomes = trial_run.fail_shortened_checks(first_outcomes)
    trees = {name: tree for name, tree in trees.items() if name == BASELINE or not _timed_out(first_outcomes[name])}
    examples: list[str] = []
    if task.examples:
        failures = await _run_concurrently(
            trial_run.list_test_failures(_EXAMPLES_AUTHOR, task.examples, *entry) for entry in trees.items()
        )
        example_results = dict(zip(trees, failures, strict=True))
        examples = _select_examples(example_results)
        outcomes = _add_examples_check(outcomes, example_results, examples)
    test_results = {
        author: dict(
            zip(
                trees,
                await _run_concurrently(trial_run.run_tests(author, files, *entry) for entry in trees.items()),
                strict=True,
            )
        )
        for author, files in tests.items()
        if files
    }
    results = await trial_run.compare_outputs(trees, tests, task.words)
    test_names = {
        author: list(dict.fromkeys(test for passed in seen.values() for test in passed))
        for author, seen in test_results.items()
    }
    return msgspec.structs.replace(
        results,
        checks=trial_run.add_sudden_ends(outcomes, trees),
        tests={
            name: {
                f"{author}: {test}": test_results[author].get(name, {}).get(test, False)
                for author in test_names
                for test in test_names[author]
            }
            for name in outcomes
        },
        authors={f"{author}: {test}": author for author in test_names for test in test_names[author]},
        counted_examples=len(examples),
        flaky_checks=flaky_checks,
    )


async def run_trial_checks_of_candidate(
    sandbox: Sandbox,
    name: str,
    tree: Path,
    checks: Mapping[str, Sequence[str]],
    files: Mapping[str, str],
    tell: LineCallback,
    seconds: float,
) -> tuple[CheckOutcome, ...]:
    """Run checks on one candidate's tree alone, with these files added."""
    return await _TrialRun(sandbox, checks, "", tell, Bounds(seconds)).run_checks(name, tree, files)


async def _run_concurrently(runs: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all of these concurrently; on an error or cancellation, wait until each has ended."""
    tasks = [asyncio.create_task(run) for run in runs]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _timed_out(checks: Iterable[CheckOutcome]) -> bool:
    """Tell whether a check timed out. Anything else that is run then would probably time out too."""
    return any(check.limit is Limit.TIME for check in checks)


def _select_examples(results: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the examples of the task that count: one that passed before says nothing about a change."""
    baseline = results.get(BASELINE, {})
    return list(dict.fromkeys(name for failures in results.values() for name in failures if baseline.get(name) != ""))


def _add_examples_check(
    outcomes: Mapping[str, tuple[CheckOutcome, ...]], results: Mapping[str, Mapping[str, str]], counted: Sequence[str]
) -> dict[str, tuple[CheckOutcome, ...]]:
    """Return the checks of every tree with the examples of the task as one more check."""
    if not counted:
        return dict(outcomes)
    extended: dict[str, tuple[CheckOutcome, ...]] = {}
    for name, checks in outcomes.items():
        failures = results.get(name, {})
        failed = [failures[name] for name in counted if failures.get(name)]
        unrun = sum(name not in failures for name in counted)
        finding = ExamplesRun(len(counted) - len(failed) - unrun, len(counted), unrun)
        passed = finding.right == finding.counted
        extended[name] = (*checks, CheckOutcome.built_in(CheckKind.EXAMPLES, finding, "\n".join(failed), passed=passed))
    return extended


class _TrialRun:
    """One trial: what its runs share. No more runs than processors at once."""

    def __init__(
        self, sandbox: Sandbox, checks: Mapping[str, Sequence[str]], python: str, tell: LineCallback, bounds: Bounds
    ) -> None:
        self._sandbox = sandbox
        self._checks = checks
        self._python = python
        self._tell = tell
        self._bounds = bounds
        self._slots = asyncio.Semaphore(os.cpu_count() or 1)
        self._sudden_ends: dict[str, set[str]] = {}

    async def run_checks(
        self, name: str, tree: Path, files: Mapping[str, str] | None = None
    ) -> tuple[CheckOutcome, ...]:
        """Run the checks of the repository on one tree, with these files added."""
        return tuple([await self._run_check(check, name, tree, files or {}) for check in self._checks])

    async def find_flaky_checks(
        self, trees: Mapping[str, Path], first_outcomes: Mapping[str, tuple[CheckOutcome, ...]]
    ) -> dict[str, tuple[str, ...]]:
        """Repeat checks that a candidate changed, with it and without; return those with another result, by tree.

        Checks that were stopped are not repeated.
        """
        baseline = {check.name: check.passed for check in first_outcomes.get(BASELINE, ())}
        changed = {
            check.name
            for checks in first_outcomes.values()
            for check in checks
            if check.passed != baseline.get(check.name, check.passed)
        }
        to_repeat = [
            (check, name)
            for name, checks in first_outcomes.items()
            for check in checks
            if check.name in changed
            and check.code is not None
            and (name == BASELINE or check.passed != baseline[check.name])
        ]
        if to_repeat:
            self._tell("Repeating checks whose result changed:")
        repeated = await _run_concurrently(
            self._run_check(check.name, name, trees[name], {}) for check, name in to_repeat
        )
        flaky: dict[str, tuple[str, ...]] = {}
        for (check, name), second in zip(to_repeat, repeated, strict=True):
            if check.passed != second.passed:
                flaky[name] = (*flaky.get(name, ()), check.name)
        return flaky

    def fail_shortened_checks(
        self, outcomes: Mapping[str, tuple[CheckOutcome, ...]]
    ) -> dict[str, tuple[CheckOutcome, ...]]:
        """Return the checks of every tree; those that ran fewer tests than on the baseline fail."""
        counted = {
            name: fail_trial_checks_with_fewer_tests(checks, outcomes.get(BASELINE, ()))
            for name, checks in outcomes.items()
        }
        for name, checks in outcomes.items():
            for old, new in zip(checks, counted[name], strict=True):
                if old.passed != new.passed:
                    self._tell(f"{new.name} failed {_with_candidate(name)} after all: fewer tests ran than before")
        return counted

    async def _run_check(self, check: str, name: str, tree: Path, files: Mapping[str, str]) -> CheckOutcome:
        argv = tuple(self._checks[check])
        async with self._slots:
            output = OutputLines(
                lambda line: self._tell(f"{check} {_with_candidate(name)}: {line}") if line.strip() else None
            )
            run = await run_sandbox_job(self._sandbox, Job(argv, str(tree), True, dict(files), self._bounds), output)
            output.text()  # the last line may lack a newline
        self._tell(f"{check} {'passed' if run.code == 0 else 'failed'} {_with_candidate(name)}")
        return run.as_check(check, argv)

    async def run_tests(self, author: str, files: Mapping[str, str], name: str, tree: Path) -> dict[str, bool]:
        """Run one seat's tests on one candidate's tree; return whether each passed."""
        if not any(path.endswith(".py") for path in files):
            return {check.name: check.passed for check in await self.run_checks(name, tree, files)}
        return {
            test: not failure for test, failure in (await self.list_test_failures(author, files, name, tree)).items()
        }

    async def list_test_failures(self, author: str, files: Mapping[str, str], name: str, tree: Path) -> dict[str, str]:
        """Return why each Python test fails on a tree; empty where it passes."""
        python = [path for path in files if path.endswith(".py")]
        runnable = [path for path in python if Path(path).name != "conftest.py"]
        request = ProbeRequest(
            (read_probe_module_source(probe_tests),),
            (f"run_trial_test_files({runnable!r}, bare={name == BASELINE})",),
            _DEFAULT_SECONDS,
            _DEFAULT_SECONDS,
            _MAX_OBSERVATION,
        )
        async with self._slots:
            observations = await run_trial_probes(self._sandbox, tree, request, python=self._python, files=dict(files))
        if observations.rows and observations.rows[0][0] == PROBE_DIED:
            self._sudden_ends.setdefault(author, set()).add(name)
        failures = _parse_outcomes(observations.rows[0][0]) if observations.rows else {}
        passed = list(failures.values()).count("")
        self._tell(f"{_describe_tests(author)}: {passed} of {len(failures)} passed {_with_candidate(name)}")
        return failures

    def add_sudden_ends(
        self, outcomes: Mapping[str, tuple[CheckOutcome, ...]], trees: Collection[str]
    ) -> dict[str, tuple[CheckOutcome, ...]]:
        """Return the checks of every tree; a candidate that alone ends a program suddenly gets a failed check."""
        outcomes_by_tree = dict(outcomes)
        for author, ended in self._sudden_ends.items():
            candidates = set(trees) - {BASELINE}
            for name in candidates & ended if candidates - ended else ():
                finding = ProgramDied("" if author == _EXAMPLES_AUTHOR else author)
                outcomes_by_tree[name] = (*outcomes_by_tree[name], CheckOutcome.built_in(CheckKind.CRASH, finding))
        return outcomes_by_tree

    async def compare_outputs(
        self, trees: Mapping[str, Path], tests: Mapping[str, Mapping[str, str]], task: str
    ) -> TrialResults:
        """Return every candidate's outputs for the same calls and commands (from tests, modules and task)."""
        texts = [text for files in tests.values() for path, text in files.items() if path.endswith(".py")]
        test_paths = {path for files in tests.values() for path in files}
        changed = await asyncio.to_thread(_find_changed_modules, list(trees.values()), test_paths)
        calls = collect_trial_calls(
            texts, changed, [example.call for example in extract_trial_examples_from_task(task)]
        )
        commands = collect_trial_commands(
            task,
            [
                program
                for tree in trees.values()
                for program in _list_programs(tree)
                if python_symbol_module_name(program) in changed
            ],
        )
        inputs: list[ProbeCall | ProbeCommand] = [*calls, *commands]
        task_calls = calls if task else ()
        mutating_calls = [call for call in task_calls if call.has_mutable_arguments]
        candidates = {name: tree for name, tree in trees.items() if name != BASELINE}
        if not inputs or not (task_calls or len(candidates) > 1):
            return TrialResults()
        seconds = PROBE_COMMAND_SECONDS if commands else _CALL_SECONDS
        probes, changes = (
            [probe_input.probe for probe_input in inputs],
            [call.mutation_probe for call in mutating_calls],
        )
        self._tell(f"{pluralize(len(inputs), 'distinguishing input')} on {pluralize(len(candidates), 'candidate')}")
        observations = await self._observe(candidates, [*probes, *changes], seconds)
        outputs = {name: _outputs_by_input(inputs, observed) for name, observed in observations.items()}
        if len({frozenset(seen_outputs.items()) for seen_outputs in outputs.values()}) > 1:
            repeated = await self._observe(candidates, probes, seconds)
            outputs = _drop_random_outputs(
                outputs, {name: _outputs_by_input(inputs, observed) for name, observed in repeated.items()}
            )
        baseline_tree = {BASELINE: trees[BASELINE]} if task_calls else {}
        baseline = (await self._observe(baseline_tree, [*changes, *(call.probe for call in task_calls)], seconds)).get(
            BASELINE, {}
        )
        return TrialResults(
            outputs=outputs if mutating_calls or len(candidates) > 1 else {},
            side_effects={
                name: _find_side_effects(mutating_calls, baseline, observed) for name, observed in observations.items()
            },
            regressions={name: _find_regressions(task_calls, baseline, seen) for name, seen in observations.items()},
        )

    async def _observe(
        self, trees: Mapping[str, Path], probes: Sequence[str], seconds: float
    ) -> dict[str, dict[str, CallOutcome]]:
        """Run the probes on each tree and return what each showed; nothing where nothing could be observed."""
        request = ProbeRequest((PROBE_CALL_SETUP,), probes, seconds, _DEFAULT_SECONDS)

        async def observe_tree(tree: Path) -> dict[str, CallOutcome]:
            async with self._slots:
                observations = await run_trial_probes(self._sandbox, tree, request, python=self._python, files={})
            row = observations.rows[0] if observations.rows else ()
            return dict(zip(probes, map(parse_probe_call_outcome, row), strict=False))

        return dict(zip(trees, await _run_concurrently(map(observe_tree, trees.values())), strict=True))


def _outputs_by_input(
    inputs: Sequence[ProbeCall | ProbeCommand], observed: Mapping[str, CallOutcome]
) -> dict[str, CallOutcome]:
    return {
        str(probe_input): _comparable_output(probe_input, observed[probe_input.probe])
        for probe_input in inputs
        if probe_input.probe in observed
    }


def _drop_random_outputs(
    outputs: Mapping[str, dict[str, CallOutcome]], repeated: Mapping[str, dict[str, CallOutcome]]
) -> dict[str, dict[str, CallOutcome]]:
    """Return the outputs without inputs whose output differs for one candidate each time."""
    random_inputs = {
        key for name, results in outputs.items() for key, output in results.items() if repeated[name].get(key) != output
    }
    return {
        name: {key: output for key, output in results.items() if key not in random_inputs}
        for name, results in outputs.items()
    }


def _find_regressions(
    calls: Sequence[ProbeCall], before: Mapping[str, CallOutcome], after: Mapping[str, CallOutcome]
) -> tuple[CallBroken, ...]:
    """Return the calls that returned a value before and now end in an unintended error.

    A function that returned None for all arguments was only a stub.
    """
    values = {call: value for call in calls if (value := before.get(call.probe)) and value.is_value}
    implemented = {call.function for call, value in values.items() if value != _NONE}
    return tuple(
        CallBroken(str(call), value.text[:_MAX_SHOWN], outcome.text)
        for call, value in values.items()
        if call.function in implemented
        and (outcome := after.get(call.probe))
        and outcome.kind == "error"
        and outcome.text in _UNINTENDED_ERRORS
    )


def _find_side_effects(
    calls: Sequence[ProbeCall], before: Mapping[str, CallOutcome], after: Mapping[str, CallOutcome]
) -> tuple[ArgumentsMutated, ...]:
    """Return the calls that return a value and mutate their arguments, of functions that did not do so before."""
    unknown = {call.function for call in calls if before.get(call.mutation_probe) not in _NOT_MUTATING}
    return tuple(
        ArgumentsMutated(str(call))
        for call in calls
        if after.get(call.mutation_probe) == _RETURNS_AND_MUTATES and call.function not in unknown
    )


def _list_programs(tree: Path) -> list[str]:
    return [path.name for path in tree.glob("*.py")]


def _comparable_output(call: ProbeCall | ProbeCommand, outcome: CallOutcome) -> CallOutcome:
    """Return the outcome; for an input that nobody wrote, all errors are equal."""
    return _ANY_ERROR if call.is_variation and outcome.is_error else outcome


def _find_changed_modules(trees: Sequence[Path], tests: set[str]) -> dict[str, list[str]]:
    """Return the modules that differ between the trees, with their different texts."""
    texts: dict[str, list[str]] = {}
    for tree in trees:
        for path in tree.rglob("*.py"):
            name = path.relative_to(tree).as_posix()
            if name not in tests and path.is_file() and not path.is_symlink():
                texts.setdefault(name, []).append(path.read_text("utf-8", "replace"))
    return {
        module: list(dict.fromkeys(versions))
        for name, versions in texts.items()
        if (module := python_symbol_module_name(name)) and (len(set(versions)) > 1 or len(versions) < len(trees))
    }


def _parse_outcomes(text: str) -> dict[str, str]:
    """Parse the outcomes that the sandbox wrote; empty if they are invalid."""
    try:
        value: object = ast.literal_eval(text.removeprefix(VALUE_SIGN))
        return msgspec.convert(value, dict[str, str])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}


def _describe_tests(author: str) -> str:
    return author if author == _EXAMPLES_AUTHOR else f"{author}'s tests"


def _with_candidate(name: str) -> str:
    return f"with {name}" if name != BASELINE else "before"
