"""The checks of a workspace: those that the person listed, otherwise those detected from its files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roundtable.report.reasons import reason_sentence
from roundtable.workshop.trial.interpreter import find_trial_python_on_path, isolated_trial_test_command
from roundtable.workshop.trial.repository_checks import (
    RepositoryChecks,
    find_trial_check_commands_for_tree,
    find_trial_check_commands_of_candidate,
)
from tests.repository import repository, write


def test_listed_checks_override_detected_ones(tmp_path: Path) -> None:
    write(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    found = find_trial_check_commands_for_tree({"lint": ("ruff", "check")}, tmp_path, tmp_path)
    assert found == RepositoryChecks({"lint": ("ruff", "check")})


def test_python_tests_run_with_an_available_interpreter(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "tests/test_a.py": "import unittest\n"})
    found = find_trial_check_commands_for_tree({}, tmp_path, tmp_path).commands["tests"]
    assert found[:3] == isolated_trial_test_command(sys.executable, "pytest")


def test_a_project_is_tested_in_its_own_environment(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": "import unittest\n", ".venv/bin/python": "#!/bin/sh\n"})
    (tmp_path / ".venv/bin/python").chmod(0o755)
    python = str(tmp_path / ".venv/bin/python")
    unittest = isolated_trial_test_command(python, "unittest", "discover", "-q", "-s", "tests")
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path) == RepositoryChecks({"tests": unittest})
    (tmp_path / "tests/test_a.py").write_text("def test_a():\n    assert True\n")
    lacking = find_trial_check_commands_for_tree({}, tmp_path, tmp_path)
    assert lacking.commands == {}
    assert "tests/test_a.py are not run: they need pytest, which is not installed in .venv." in reason_sentence(
        lacking.unrun_reasons[0]
    )
    (tmp_path / ".venv/lib/python3.11/site-packages/pytest").mkdir(parents=True)
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path).commands["tests"][
        :3
    ] == isolated_trial_test_command(python, "pytest")


def test_an_interpreter_shipped_with_the_project_is_not_run(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": "import unittest\n", ".venv/bin/python": "#!/bin/sh\n"})
    (tmp_path / ".venv/bin/python").chmod(0o755)
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path).commands["tests"][0] == str(
        tmp_path / ".venv/bin/python"
    )
    repository(tmp_path, {})
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path).commands["tests"][0] == sys.executable


@pytest.mark.parametrize("text", [json.dumps({"scripts": {"build": "tsc"}}), "{", "[]", json.dumps({"scripts": 1})])
def test_a_package_without_a_test_script_has_no_check(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"package.json": text})
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path) == RepositoryChecks()


def test_an_empty_folder_has_no_checks(tmp_path: Path) -> None:
    assert find_trial_check_commands_for_tree({}, tmp_path, tmp_path) == RepositoryChecks()


def test_a_missing_test_program_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"package.json": json.dumps({"scripts": {"test": "jest"}})})
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_trial_check_commands_for_tree({}, tmp_path, tmp_path)
    assert found.commands == {}
    assert reason_sentence(found.unrun_reasons[0]).startswith("The tests need npm, which is not installed.")


PACKAGE = {"scripts": {"test": "node --test"}}


@pytest.mark.parametrize(
    ("files", "laid", "names"),
    [
        ({"package.json": json.dumps(PACKAGE)}, ["a.test.js"], ["npm test"]),
        ({"package.json": json.dumps({**PACKAGE, "dependencies": {}}), "a.test.js": ""}, [], ["npm test"]),
        ({"Cargo.toml": "[dependencies]\n\n[lib]\n", "tests/a_test.rs": ""}, [], ["cargo test"]),
        ({"go.mod": "module a\n"}, ["a_test.go"], ["go test"]),
        ({"package.json": json.dumps(PACKAGE)}, [], []),
        ({"package.json": json.dumps(PACKAGE)}, ["test_a.py"], []),
        ({"package.json": json.dumps({**PACKAGE, "devDependencies": {"jest": "^30"}})}, ["a.test.js"], []),
        ({"Cargo.toml": '[dependencies]\nserde = "1"\n', "tests/a_test.rs": ""}, [], []),
        ({"Cargo.toml": '[dependencies.serde]\nversion = "1"\n', "tests/a_test.rs": ""}, [], []),
        ({"go.mod": "module a\n\nrequire b v1.0.0\n"}, ["a_test.go"], []),
    ],
)
def test_a_change_with_tests_and_without_packages_brings_checks(
    files: dict[str, str], laid: list[str], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {f"bin/{name}": "#!/bin/sh\n" for name in ("npm", "cargo", "go")}
    write(tmp_path, {**programs, **{f"new/{path}": text for path, text in files.items()}})
    for name in programs:
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert list(find_trial_check_commands_of_candidate(tmp_path / "new", laid)) == names


def test_a_python_in_the_workspace_is_not_executed_to_find_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = '#!/bin/sh\ntouch "$(dirname "$0")/ran"\necho /bin/sh\n'
    for folder in ("work", "away"):
        write(tmp_path / folder, {"python3": program})
        (tmp_path / folder / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/work")
    assert find_trial_python_on_path(tmp_path / "work") == ""
    assert not (tmp_path / "work/ran").exists()
    monkeypatch.setenv("PATH", f"{tmp_path}/away:/usr/bin:/bin")
    assert find_trial_python_on_path(tmp_path / "work") == "/bin/sh"
    assert (tmp_path / "away/ran").exists()
