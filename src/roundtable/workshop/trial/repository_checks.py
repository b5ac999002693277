"""The repository's own checks: those a person listed, else what its files say its tests are run with."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from roundtable.core.candidate_reasons import PytestMissing, TestProgramMissing, UnrunReason
from roundtable.core.text.file_names import is_collected_test_file_name
from roundtable.workshop.repo.scratch_trees import list_working_tree_files
from roundtable.workshop.trial.interpreter import (
    find_trial_python_in_project,
    find_trial_python_on_path,
    isolated_trial_test_command,
    trial_python_has_pytest,
)

CheckCommands = Mapping[str, Sequence[str]]

_NEEDS_PYTEST = re.compile(
    rb"^\s*(?:import|from) pytest\b|^(?:async )?def test_|^class Test\w*(?:\(\))?:", re.MULTILINE
)
_DECLARES_DEPENDENCIES = {
    "package.json": re.compile(rb'"(?:dev)?[dD]ependencies"\s*:\s*\{\s*"'),
    "Cargo.toml": re.compile(rb"^\[[^\]\n]*dependencies(?:\]\s*\n\s*\w|\.)", re.MULTILINE),
    "go.mod": re.compile(rb"^require\b", re.MULTILINE),
}
_MAX_BYTES_READ = 1_000_000


class RepositoryChecks(msgspec.Struct, frozen=True):
    """The check commands by name, and the reasons why checks cannot be run here."""

    commands: CheckCommands = {}
    unrun_reasons: tuple[UnrunReason, ...] = ()


def find_trial_check_commands_for_tree(
    listed: CheckCommands, workspace: Path, tree: Path, mounted: Iterable[str] = ()
) -> RepositoryChecks:
    """Return the checks for a tree of this workspace, where a run sees the mounted paths; none if nothing says how."""
    if listed:
        return RepositoryChecks(
            {
                name: (_resolve_program(program, workspace, tree, mounted), *rest)
                for name, (program, *rest) in listed.items()
            }
        )
    return _detect_checks(workspace, tree, _files(tree))


def find_trial_check_commands_of_candidate(tree: Path, added: Iterable[str]) -> CheckCommands:
    """Return the checks that a tree brings itself; Python tests are run one by one, regardless of them.

    Nothing is installed: if the tree needs packages, its tests could not pass.
    """
    files = _files(tree)
    brings_tests = any(is_collected_test_file_name(file) and not file.endswith(".py") for file in (*files, *added))
    needs_packages = any(pattern.search(_read(tree / name)) for name, pattern in _DECLARES_DEPENDENCIES.items())
    others = _find_other_tests(tree, files)
    return {
        name: argv for name, argv in others.items() if brings_tests and not needs_packages and shutil.which(argv[0])
    }


def find_trial_check_commands_of_workspace(listed: CheckCommands, workspace: Path) -> RepositoryChecks:
    """Return the checks of a workspace as it is."""
    return (
        RepositoryChecks(listed)
        if listed
        else _detect_checks(workspace, workspace, set(list_working_tree_files(workspace)))
    )


def _detect_checks(workspace: Path, tree: Path, files: Collection[str]) -> RepositoryChecks:
    """Return the checks that the files of a tree suggest."""
    python = _find_python_tests(tree, files, workspace)
    others = _find_other_tests(tree, files)
    installed = {name: argv for name, argv in others.items() if shutil.which(argv[0])}
    missing = (argv[0] for name, argv in others.items() if name not in installed)
    return RepositoryChecks(
        {**python.commands, **installed},
        (
            *python.unrun_reasons,
            *map(TestProgramMissing, missing),
        ),
    )


def choose_trial_python(checks: CheckCommands, workspace: Path) -> str:
    """Return what runs single Python tests: the interpreter of a check, else the project's own, else ours."""
    in_checks = (argv[0] for argv in checks.values() if PurePosixPath(argv[0]).name.startswith("python"))
    return next(in_checks, "") or str(find_trial_python_in_project(workspace) or sys.executable)


def _resolve_program(program: str, workspace: Path, tree: Path, mounted: Iterable[str]) -> str:
    """Return a program as a tree reaches it: a tree has no environments and no other ignored files."""
    only_in_workspace = "/" in program and not (tree / program).is_file() and (workspace / program).is_file()
    is_mounted = any(Path(program).is_relative_to(folder) for folder in mounted)
    return str(workspace / program) if only_in_workspace and not is_mounted else program


def _find_python_tests(tree: Path, files: Collection[str], workspace: Path) -> RepositoryChecks:
    """Return the check for Python tests: pytest if it is available, else unittest if that is enough."""
    tests = sorted(file for file in files if PurePosixPath(file).match("test_*.py") or file.endswith("_test.py"))
    if not tests:
        return RepositoryChecks()
    own = find_trial_python_in_project(workspace)
    python = str(own or sys.executable)
    pytest_file = next((test for test in tests if _NEEDS_PYTEST.search(_read(tree / test))), "")
    pytest_python = python if trial_python_has_pytest(own) else ""
    if pytest_file and not own and not pytest_python:
        pytest_python = find_trial_python_on_path(workspace)
    if pytest_python:
        return RepositoryChecks(
            {"tests": isolated_trial_test_command(pytest_python, "pytest", "-q", "-x", "-p", "no:cacheprovider")}
        )
    if pytest_file:
        environment = own.relative_to(workspace).parts[0] if own else ""
        return RepositoryChecks(unrun_reasons=(PytestMissing(pytest_file, environment),))
    return RepositoryChecks(
        {
            name: isolated_trial_test_command(python, "unittest", "discover", "-q", *args)
            for name, args in _unittest_start_folders(tests, files)
        }
    )


def _unittest_start_folders(tests: Iterable[str], files: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield where unittest starts, with a name: it enters only packages, unless told otherwise."""
    starts: dict[str, tuple[str, ...]] = {}
    for test in tests:
        folders = [parent.as_posix() for parent in reversed(PurePosixPath(test).parents)][1:]
        plain = [name for name in folders if f"{name}/__init__.py" not in files]
        if plain:
            starts[plain[-1]] = ("-s", plain[-1])
        elif folders:
            starts[folders[0]] = ("-s", folders[0], "-t", ".")
        else:
            starts[""] = ()
    for folder, args in starts.items():
        if "" not in starts or "-t" not in args:
            yield "tests" if len(starts) == 1 or not folder else f"tests in {folder}", args


def _find_other_tests(tree: Path, files: Collection[str]) -> CheckCommands:
    """Return the checks for tests in other languages."""
    return {**_find_javascript_tests(tree, files), **_find_go_and_rust_tests(files)}


def _find_javascript_tests(tree: Path, files: Iterable[str]) -> CheckCommands:
    if "package.json" not in files:
        return {}
    try:
        package = json.loads(_read(tree / "package.json"))
        return {"npm test": ("npm", "test", "--silent")} if package["scripts"]["test"] else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _find_go_and_rust_tests(files: Iterable[str]) -> CheckCommands:
    commands = {"go.mod": ("go", "test", "./..."), "Cargo.toml": ("cargo", "test", "--quiet", "--offline")}
    return {" ".join(argv[:2]): argv for name, argv in commands.items() if name in files}


def _files(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES_READ)
    except OSError:
        return b""
