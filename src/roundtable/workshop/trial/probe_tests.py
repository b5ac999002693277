"""Runs inside the sandbox, as the setup of a probe: test files, by pytest where it is to be had, else by unittest."""

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

_LONGEST = 600


def outcomes(paths: list[str], bare: bool = False) -> dict[str, str]:
    """Of each test of these files, why it failed, or nothing where it passed; those that were skipped say nothing.

    On the `bare` tree, names that the tests import and that are not there yet are stood in for, so that only those
    fail which use them.
    """
    sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    for path in paths if bare else ():
        _stand_in(path)
    try:
        import pytest
    except ImportError:
        return _by_unittest(paths)
    reports = _Reports()
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-o", "addopts=", *(f"./{test_path}" for test_path in paths)],
        plugins=[reports],
    )
    return reports.failures


def _stand_in(path: str) -> None:
    """Put something that only fails in the place of every name that a test file imports and nobody has written."""
    with suppress(Exception):  # a file that is no program imports nothing
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                with suppress(Exception):
                    module = importlib.import_module(node.module)
                    for alias in node.names:
                        if alias.name != "*" and not hasattr(module, alias.name):
                            setattr(module, alias.name, _missing)


def _missing(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("It is not there yet.")


class _Reports:
    """What pytest says of each test."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Its call decides; a set-up or tear-down that fails does too."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failures[report.nodeid] = _told(str(getattr(crash, "message", "")))
        elif report.when == "call" and report.passed:
            self.failures.setdefault(report.nodeid, "")


class _Results(unittest.TestResult):
    """What unittest says of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.why: dict[str, str] = {}

    def stopTest(self, test: unittest.TestCase) -> None:
        """Neither failed nor skipped is passed."""
        super().stopTest(test)
        failed = {
            failed_test.id(): _told(why.rstrip().rpartition("\n")[2])
            for failed_test, why in (*self.failures, *self.errors)
        }
        if test not in [skipped for skipped, _ in self.skipped]:
            self.why[test.id()] = failed.get(test.id(), "")


def _told(words: str) -> str:
    """Why a test failed; never nothing, for that would mean that it passed."""
    return words.strip().removeprefix("AssertionError: ")[:_LONGEST] or "It failed."


def _by_unittest(paths: list[str]) -> dict[str, str]:
    results = _Results()
    for path in paths:
        with suppress(Exception):  # a file that cannot be imported has no tests
            module = _module(path)
            unittest.defaultTestLoader.loadTestsFromModule(module).run(results)
            for name, test in vars(module).items():
                if name.startswith("test") and callable(test):
                    unittest.FunctionTestCase(test).run(results)
    return results.why


def _module(path: str) -> ModuleType:
    name = path.removesuffix(".py").replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
