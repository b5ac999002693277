"""The repository's own checks: those a person listed, else what its files say its tests are run with."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from roundtable.core.file_kinds import is_collected_test_file
from roundtable.workshop.project.interpreter import find_project_python, find_python_with_pytest, python_has_pytest
from roundtable.workshop.repo.scratch_trees import list_tree_files

CheckCommands = Mapping[str, Sequence[str]]

_PYTEST = re.compile(rb"^\s*(?:import|from) pytest\b|^(?:async )?def test_|^class Test\w*(?:\(\))?:", re.MULTILINE)
_ASKS_FOR_PACKAGES = {
    "package.json": re.compile(rb'"(?:dev)?[dD]ependencies"\s*:\s*\{\s*"'),
    "Cargo.toml": re.compile(rb"^\[[^\]\n]*dependencies(?:\]\s*\n\s*\w|\.)", re.MULTILINE),
    "go.mod": re.compile(rb"^require\b", re.MULTILINE),
}
_LARGEST = 1_000_000
_LIST = "list how they are run under [checks]"


class RepositoryChecks(msgspec.Struct, frozen=True):
    """By name, the programs that say whether a tree is sound, and of those that cannot be run here, why."""

    commands: CheckCommands = {}
    unrun_reasons: tuple[str, ...] = ()


def find_checks_for_tree(
    listed: CheckCommands, workspace: Path, tree: Path, lent: Iterable[str] = ()
) -> RepositoryChecks:
    """The checks for a tree of this workspace, where a run sees what is lent; none where nothing says how."""
    if listed:
        return RepositoryChecks(
            {name: (_reached(program, workspace, tree, lent), *rest) for name, (program, *rest) in listed.items()}
        )
    return _told(workspace, tree, _files(tree))


def find_candidate_checks(tree: Path, laid: Iterable[str]) -> CheckCommands:
    """How tests are run by what a tree brings itself; those in Python are run one by one, whatever it says.

    Nothing is installed for it: where it asks for packages, its tests could not pass.
    """
    files = _files(tree)
    brings_tests = any(is_collected_test_file(file) and not file.endswith(".py") for file in (*files, *laid))
    asks = any(pattern.search(_read(tree / name)) for name, pattern in _ASKS_FOR_PACKAGES.items())
    others = _others(tree, files)
    return {name: argv for name, argv in others.items() if brings_tests and not asks and shutil.which(argv[0])}


def find_repository_checks(listed: CheckCommands, workspace: Path) -> RepositoryChecks:
    """The checks of a workspace as it is."""
    return RepositoryChecks(listed) if listed else _told(workspace, workspace, set(list_tree_files(workspace)))


def _told(workspace: Path, tree: Path, files: Collection[str]) -> RepositoryChecks:
    """What the files of a tree say its tests are run with."""
    python = _python(tree, files, workspace)
    others = _others(tree, files)
    here = {name: argv for name, argv in others.items() if shutil.which(argv[0])}
    absent = (argv[0] for name, argv in others.items() if name not in here)
    return RepositoryChecks(
        {**python.commands, **here},
        (
            *python.unrun_reasons,
            *(f"The tests are not run by {program}, which is not here. Install it, or {_LIST}." for program in absent),
        ),
    )


def choose_test_python(checks: CheckCommands, workspace: Path) -> str:
    """What runs single tests in Python: the interpreter that a check names, else the project's own, else ours."""
    named = (argv[0] for argv in checks.values() if PurePosixPath(argv[0]).name.startswith("python"))
    return next(named, "") or str(find_project_python(workspace) or sys.executable)


def _reached(program: str, workspace: Path, tree: Path, lent: Iterable[str]) -> str:
    """A program as it is reached from a tree, which has no environments and nothing else that git ignores."""
    beside = "/" in program and not (tree / program).is_file() and (workspace / program).is_file()
    there = any(Path(program).is_relative_to(folder) for folder in lent)
    return str(workspace / program) if beside and not there else program


def _python(tree: Path, files: Collection[str], workspace: Path) -> RepositoryChecks:
    """The tests in Python: by pytest where it is to be had, else by unittest where that is enough."""
    tests = sorted(file for file in files if PurePosixPath(file).match("test_*.py") or file.endswith("_test.py"))
    if not tests:
        return RepositoryChecks()
    own = find_project_python(workspace)
    python = str(own or sys.executable)
    needing = next((test for test in tests if _PYTEST.search(_read(tree / test))), "")
    by_pytest = python if python_has_pytest(own) else ""
    if needing and not own and not by_pytest:
        by_pytest = find_python_with_pytest(workspace)
    if by_pytest:
        return RepositoryChecks({"tests": (by_pytest, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")})
    if needing:
        who = f"{own.relative_to(workspace).parts[0]} does not have" if own else "no Python here has"
        why = f"Tests such as {needing} are not run: they need pytest, which {who}."
        return RepositoryChecks(
            unrun_reasons=(f"{why} Install it {'there' if own else 'in a .venv of the project'}, or {_LIST}.",)
        )
    return RepositoryChecks(
        {name: (python, "-m", "unittest", "discover", "-q", *args) for name, args in _starts(tests, files)}
    )


def _starts(tests: Iterable[str], files: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where unittest begins to look, by a name for it: it goes into no folder that is not a package, unless told to."""
    found: dict[str, tuple[str, ...]] = {}
    for test in tests:
        folders = [parent.as_posix() for parent in reversed(PurePosixPath(test).parents)][1:]
        bare = [name for name in folders if f"{name}/__init__.py" not in files]
        if bare:
            found[bare[-1]] = ("-s", bare[-1])
        elif folders:
            found[folders[0]] = ("-s", folders[0], "-t", ".")
        else:
            found[""] = ()
    for folder, args in found.items():
        if "" not in found or "-t" not in args:
            yield "tests" if len(found) == 1 or not folder else f"tests in {folder}", args


def _others(tree: Path, files: Collection[str]) -> CheckCommands:
    """The tests in other languages."""
    return {**_javascript(tree, files), **_compiled(files)}


def _javascript(tree: Path, files: Iterable[str]) -> CheckCommands:
    if "package.json" not in files:
        return {}
    try:
        told = json.loads(_read(tree / "package.json"))
        return {"npm test": ("npm", "test", "--silent")} if told["scripts"]["test"] else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _compiled(files: Iterable[str]) -> CheckCommands:
    usual = {"go.mod": ("go", "test", "./..."), "Cargo.toml": ("cargo", "test", "--quiet", "--offline")}
    return {" ".join(argv[:2]): argv for name, argv in usual.items() if name in files}


def _files(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
