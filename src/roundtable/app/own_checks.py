"""The repository's own checks: those a person listed, else what its files say its tests are run with."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from roundtable.workshop.git import git_of

Commands = dict[str, tuple[str, ...]]

_PYTEST = re.compile(rb"^\s*(?:import|from) pytest\b|^(?:async )?def test_", re.MULTILINE)
_LARGEST = 1_000_000


def own_checks(listed: Mapping[str, Sequence[str]], workspace: Path, tree: Path | None = None) -> Commands:
    """By name, the programs that say whether this workspace is sound; none where nothing says how.

    A `tree` of it has files that it may not have itself.
    """
    if listed:
        return {name: tuple(argv) for name, argv in listed.items()}
    with git_of(workspace) as git:
        files, untracked = git.files(), frozenset(git.untracked())
    came = [path for path in files if path not in untracked]
    if tree is not None:
        with git_of(tree) as git:
            files = git.files()
    at = tree or workspace
    found = {**_python(at, files, _own_python(workspace, came)), **_javascript(at, files), **_compiled(files)}
    return {name: argv for name, argv in found.items() if shutil.which(argv[0])}


def _python(at: Path, files: Sequence[str], own: Path | None) -> Commands:
    """The tests in Python, by the project's own interpreter if it has one; with pytest where they need it."""
    tests = [path for path in files if PurePosixPath(path).match("test_*.py") or path.endswith("_test.py")]
    if not tests:
        return {}
    python = str(own or sys.executable)
    has_pytest = any(own.parent.parent.glob("lib*/python*/site-packages/pytest")) if own else _known("pytest")
    if has_pytest:
        return {"tests": (python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")}
    if any(_PYTEST.search(_read(at / path)) for path in tests):
        return {}
    return {"tests": (python, "-m", "unittest", "discover", "-q", *_start(tests))}


def _own_python(workspace: Path, came: Sequence[str]) -> Path | None:
    """The interpreter that the person has made for the project; one that `came` with its files is not the person's."""
    for name in (".venv", "venv"):
        python = workspace / name / "bin" / "python"
        if python.is_file() and not any(path.startswith(f"{name}/") for path in came):
            return python
    return None


def _start(tests: Sequence[str]) -> tuple[str, ...]:
    """Where unittest begins to look: a folder without `__init__.py` must be named."""
    folders = {PurePosixPath(path).parts[0] for path in tests if "/" in path}
    return ("-s", folders.pop(), "-t", ".") if len(folders) == 1 and all("/" in path for path in tests) else ()


def _javascript(workspace: Path, files: Iterable[str]) -> Commands:
    if "package.json" not in files:
        return {}
    try:
        told = json.loads(_read(workspace / "package.json"))
        return {"npm test": ("npm", "test", "--silent")} if told["scripts"]["test"] else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _compiled(files: Iterable[str]) -> Commands:
    usual = {"go.mod": ("go", "test", "./..."), "Cargo.toml": ("cargo", "test", "--quiet", "--offline")}
    return {" ".join(argv[:2]): argv for name, argv in usual.items() if name in files}


def _known(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
