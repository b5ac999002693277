"""A candidate cannot bring its own judge: runners start before its files are found, and files that hide one fail it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from roundtable.core.candidate_reasons import CheckRanNoTests
from roundtable.core.changeset import DraftFile
from roundtable.core.effects import CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job
from roundtable.workshop.trial.interpreter import isolated_trial_test_command
from roundtable.workshop.trial.test_counts import find_uninformative_trial_check_reason, parse_trial_test_count
from roundtable.workshop.trial.tool_files import find_added_tool_files

FORGED = "print('2 passed in 0.01s')\nraise SystemExit(0)\n"
FAILING = """\
import calc
import unittest

class T(unittest.TestCase):
    def test_it(self):
        self.assertEqual(calc.two(), 2)
"""


@pytest.fixture
async def sandbox() -> Sandbox:
    found = await find_sandbox(SandboxSettings(use="bubblewrap"))
    if isinstance(found, str):
        pytest.fail(found) if os.environ.get("CI") else pytest.skip(found)
    return found


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
@pytest.mark.parametrize(
    "forged", ["pytest.py", "pytest/__main__.py", "unittest/__init__.py", "json.py", "_pytest/__init__.py", "runpy.py"]
)
async def test_a_file_of_the_tree_cannot_take_the_place_of_the_runner(
    sandbox: Sandbox, tmp_path: Path, runner: str, forged: str
) -> None:
    for path, text in {"calc.py": "def two(): return 3\n", "test_calc.py": FAILING, forged: FORGED}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    options = ("-q", "-p", "no:cacheprovider") if runner == "pytest" else ("discover", "-q")
    argv = isolated_trial_test_command(sys.executable, runner, *options)
    run = await run_sandbox_job(sandbox, Job(argv, str(tmp_path), True))
    outcome = run.as_check("tests", argv)
    assert not outcome.passed or find_uninformative_trial_check_reason(outcome, None) is not None


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
async def test_an_isolated_runner_imports_the_project(sandbox: Sandbox, tmp_path: Path, runner: str) -> None:
    for path, text in {"calc.py": "def two(): return 2\n", "test_calc.py": FAILING}.items():
        (tmp_path / path).write_text(text)
    options = ("-q", "-p", "no:cacheprovider") if runner == "pytest" else ("discover", "-q")
    argv = isolated_trial_test_command(sys.executable, runner, *options)
    run = await run_sandbox_job(sandbox, Job(argv, str(tmp_path), True))
    outcome = run.as_check("tests", argv)
    assert (outcome.passed, parse_trial_test_count(outcome.output)) == (True, 1), outcome.output


def test_a_passed_run_whose_tests_cannot_be_counted_says_nothing() -> None:
    silent = CheckOutcome("tests", isolated_trial_test_command("python3", "pytest", "-q"), 0, "all is well")
    assert find_uninformative_trial_check_reason(silent, None) == CheckRanNoTests("tests")
    listed = CheckOutcome("lint", ("ruff", "check"), 0, "All checks passed!")
    assert find_uninformative_trial_check_reason(listed, None) is None


@pytest.mark.parametrize(
    "path",
    [
        "pytest.py",
        "json.py",
        "unittest/__init__.py",
        "src/statistics.py",
        "tests/random.py",
        "sitecustomize.py",
        "node_modules/.bin/jest",
        "web/node_modules/jest/index.js",
        ".npmrc",
        ".cargo/config.toml",
        "go.work",
        "re.cpython-311-x86_64-linux-gnu.so",
    ],
)
def test_files_that_replace_a_tool_are_found(path: str) -> None:
    assert find_added_tool_files([DraftFile(path, None, b"x")]) == (path,)


@pytest.mark.parametrize(
    "file",
    [
        DraftFile("json.py", b"mine", b"changed"),
        DraftFile("json.py", b"mine", None),
        DraftFile("shop/types.py", None, b"x"),
        DraftFile("shop/json/__init__.py", None, b"x"),
        DraftFile("json.md", None, b"x"),
        DraftFile("calc.py", None, b"x"),
        DraftFile("Cargo.toml", None, b"x"),
    ],
)
def test_other_files_are_no_tools(file: DraftFile) -> None:
    assert find_added_tool_files([file]) == ()
