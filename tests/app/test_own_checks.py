"""Which programs say whether a workspace is sound: what the person listed, else what its files tell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roundtable.app.own_checks import own_checks
from tests.repository import repository, write


def test_what_a_person_listed_stands_above_what_the_files_tell(tmp_path: Path) -> None:
    write(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    assert own_checks({"lint": ("ruff", "check")}, tmp_path) == {"lint": ("ruff", "check")}


def test_tests_in_python_are_run_by_the_interpreter_at_hand(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "tests/test_a.py": "import unittest\n"})
    found = own_checks({}, tmp_path)["tests"]
    assert found[:3] == (sys.executable, "-m", "pytest")


def test_a_project_with_an_environment_of_its_own_is_tested_in_it(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": "import unittest\n", ".venv/bin/python": "#!/bin/sh\n"})
    (tmp_path / ".venv/bin/python").chmod(0o755)
    python = str(tmp_path / ".venv/bin/python")
    assert own_checks({}, tmp_path)["tests"] == (python, "-m", "unittest", "discover", "-q", "-s", "tests", "-t", ".")
    (tmp_path / "tests/test_a.py").write_text("def test_a():\n    assert True\n")
    assert own_checks({}, tmp_path) == {}, "these need pytest, and that environment has none"
    (tmp_path / ".venv/lib/python3.11/site-packages/pytest").mkdir(parents=True)
    assert own_checks({}, tmp_path)["tests"][:3] == (python, "-m", "pytest")


def test_an_interpreter_that_came_with_the_project_is_not_run(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": "import unittest\n", ".venv/bin/python": "#!/bin/sh\n"})
    (tmp_path / ".venv/bin/python").chmod(0o755)
    assert own_checks({}, tmp_path)["tests"][0] == str(tmp_path / ".venv/bin/python")
    repository(tmp_path, {})
    assert own_checks({}, tmp_path)["tests"][0] == sys.executable


@pytest.mark.parametrize("text", [json.dumps({"scripts": {"build": "tsc"}}), "{", "[]", json.dumps({"scripts": 1})])
def test_a_package_without_a_test_script_has_no_check(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"package.json": text})
    assert own_checks({}, tmp_path) == {}


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert own_checks({}, tmp_path) == {}
