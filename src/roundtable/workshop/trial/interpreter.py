"""The Python of a project's own environment, or another Python on this machine that can run its tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from roundtable.workshop.repo.git import find_enclosing_git_repository, open_git

_START_ISOLATED = (
    "import sys; del sys.path[0]; import runpy, unittest, {0}; sys.path.insert(0, ''); "
    "runpy.run_module('{0}', run_name='__main__', alter_sys=True)"
)
"""Starts a module like `python -m`, but imports it before the working folder is on the path. Without `-P`, which a
Python before 3.11 does not have."""


def isolated_trial_test_command(python: str, runner: str, *args: str) -> tuple[str, ...]:
    """Return the command that runs a test runner of this Python, so that a file of the tree cannot take its place."""
    return (python, "-c", _START_ISOLATED.format(runner), *args)


def is_isolated_trial_test_command(argv: Sequence[str]) -> bool:
    """Tell whether a command is one of `isolated_trial_test_command`; such a command prints how many tests ran."""
    return tuple(argv[1:3]) in {("-c", _START_ISOLATED.format(runner)) for runner in ("pytest", "unittest")}


def find_trial_python_in_project(workspace: Path) -> Path | None:
    """Return the interpreter of the project's own environment, if git does not track it.

    A run sees the folders that its links lead to, so an environment that came with the project's files is not trusted.
    """
    environments = [name for name in (".venv", "venv") if _python_in(workspace / name).is_file()]
    if not environments:
        return None
    with open_git(workspace) as git:
        if not git.has_repository and find_enclosing_git_repository(workspace):
            return None
        return next((_python_in(workspace / name) for name in environments if not git.is_tracked(name)), None)


def trial_python_has_pytest(own: Path | None) -> bool:
    """Tell whether the project's own Python has pytest, or ours if it has none."""
    if own is None:
        return importlib.util.find_spec("pytest") is not None
    return any(own.parent.parent.glob("lib*/python*/site-packages/pytest"))


def find_trial_python_on_path(workspace: Path) -> str:
    """Return a Python on PATH that has pytest, or the one that a pytest on PATH belongs to; else empty."""
    beside_pytest = [str(Path(program).resolve().parent / "python") for program in _on_path("pytest", workspace)]
    programs = (*_on_path("python3", workspace), *_on_path("python", workspace), *beside_pytest)
    return next((found for python in programs if (found := _resolve_if_has_pytest(python))), "")


def _on_path(name: str, workspace: Path) -> list[str]:
    """Return where PATH leads to; a program inside the workspace does not count."""
    found = shutil.which(name)
    return [found] if found and not Path(found).absolute().is_relative_to(workspace.absolute()) else []


def _resolve_if_has_pytest(python: str) -> str:
    """Return the interpreter behind this program if it has pytest. It runs outside the project's folder."""
    script = "import importlib.util, sys; print(sys.executable if importlib.util.find_spec('pytest') else '')"
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        run = subprocess.run(
            [python, "-I", "-c", script], cwd="/", env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout.strip()


def _python_in(environment: Path) -> Path:
    return environment / "bin" / "python"
