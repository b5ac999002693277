"""Runs inside the sandbox, as the setup of a probe: test files, by pytest if it is installed, else by unittest."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
import unittest
from contextlib import suppress
from types import ModuleType
from typing import Any

_MAX_REASON = 600


def run_trial_test_files(paths: list[str], bare: bool = False) -> dict[str, str]:
    """Return why each test of these files failed, or an empty text where it passed; skipped tests are left out.

    On the `bare` tree, names that the tests import and that do not exist yet are defined so that only tests which use
    them fail.
    """
    sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    for path in paths if bare else ():
        _define_missing_imports(path)
    try:
        import pytest
    except ImportError:
        return _run_by_unittest(paths)
    reports = _PytestReports()
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-o", "addopts=", *(f"./{test_path}" for test_path in paths)],
        plugins=[reports],
    )
    return reports.failures


def _define_missing_imports(path: str) -> None:
    """Define every name that a test file imports and that does not exist as a function that only fails."""
    with suppress(Exception):  # a file that is no program imports nothing
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                with suppress(Exception):
                    module = importlib.import_module(node.module)
                    for alias in node.names:
                        if alias.name != "*" and not hasattr(module, alias.name):
                            setattr(module, alias.name, _raise_not_implemented)


def _raise_not_implemented(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("This function does not exist yet.")


class _PytestReports:
    """The result of each test by pytest."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a test by its call; a failed setup or teardown counts too."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failures[report.nodeid] = _failure_reason(str(getattr(crash, "message", "")))
        elif report.when == "call" and report.passed:
            self.failures.setdefault(report.nodeid, "")


class _UnittestResults(unittest.TestResult):
    """The result of each test by unittest."""

    def __init__(self) -> None:
        super().__init__()
        self.why: dict[str, str] = {}

    def stopTest(self, test: unittest.TestCase) -> None:
        """Record a test as passed if it neither failed nor was skipped."""
        super().stopTest(test)
        failed = {
            failed_test.id(): _failure_reason(why.rstrip().rpartition("\n")[2])
            for failed_test, why in (*self.failures, *self.errors)
        }
        if test not in [skipped for skipped, _ in self.skipped]:
            self.why[test.id()] = failed.get(test.id(), "")


def _failure_reason(words: str) -> str:
    """Return why a test failed; never empty, because that would mean that it passed."""
    return words.strip().removeprefix("AssertionError: ")[:_MAX_REASON] or "The test failed."


def _run_by_unittest(paths: list[str]) -> dict[str, str]:
    results = _UnittestResults()
    for path in paths:
        with suppress(Exception):  # a file that cannot be imported has no tests
            module = _import_file(path)
            unittest.defaultTestLoader.loadTestsFromModule(module).run(results)
            for name, test in vars(module).items():
                if name.startswith("test") and callable(test):
                    unittest.FunctionTestCase(test).run(results)
    return results.why


def _import_file(path: str) -> ModuleType:
    name = path.removesuffix(".py").replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
