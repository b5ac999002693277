"""Where a project that starts from nothing stands: on an empty folder of our own, the same one for all of them."""

from __future__ import annotations

from pathlib import Path

from roundtable.workshop.repo.git import run_git


def empty_root(folder: Path) -> Path:
    """The folder, in which nothing is ever written. It is a repository, so that none above it says what is ignored."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_git(folder, ("init", "--quiet", "--template=", "."))
    return folder
