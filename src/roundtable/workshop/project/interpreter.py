"""The Python that a person has made for a project, with the packages it needs; else one at hand that can test it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from roundtable.workshop.repo.git import find_enclosing_repository, open_git


def find_project_python(workspace: Path) -> Path | None:
    """The interpreter of the project's own environment; one that came with the project's files is not the person's.

    What runs it is shown the folders that its links lead to, and whoever wrote the files would choose those.
    """
    environments = [name for name in (".venv", "venv") if _python_in(workspace / name).is_file()]
    if not environments:
        return None
    with open_git(workspace) as git:
        if not git.repository and find_enclosing_repository(workspace):
            return None
        return next((_python_in(workspace / name) for name in environments if not git.tracks(name)), None)


def python_has_pytest(own: Path | None) -> bool:
    """Whether a project's own Python has pytest, or ours where there is none."""
    if own is None:
        return importlib.util.find_spec("pytest") is not None
    return any(own.parent.parent.glob("lib*/python*/site-packages/pytest"))


def find_python_with_pytest(workspace: Path) -> str:
    """One on the person's path that has pytest, or that a pytest on it belongs to; nothing where there is none."""
    beside_pytest = [str(Path(it).resolve().parent / "python") for it in _on_path("pytest", workspace)]
    named = (*_on_path("python3", workspace), *_on_path("python", workspace), *beside_pytest)
    return next((found for it in named if (found := _if_it_has_pytest(it))), "")


def _on_path(name: str, workspace: Path) -> list[str]:
    """Where the person's path leads to; a program that lies in the workspace is not the person's."""
    found = shutil.which(name)
    return [found] if found and not Path(found).absolute().is_relative_to(workspace.absolute()) else []


def _if_it_has_pytest(python: str) -> str:
    """The interpreter behind this program, if it has pytest. It is asked far from the project, whose files it could
    read."""
    asks = "import importlib.util, sys; print(sys.executable if importlib.util.find_spec('pytest') else '')"
    told = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        done = subprocess.run(
            [python, "-I", "-c", asks], cwd="/", env=told, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _python_in(environment: Path) -> Path:
    return environment / "bin" / "python"
