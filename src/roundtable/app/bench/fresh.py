"""Where a project that starts from nothing stands: on an empty folder of our own, the same one for all of them."""

from __future__ import annotations

from pathlib import Path

from roundtable.core.values import Charter
from roundtable.workshop.git import run_git


def from_nothing(charter: Charter) -> bool:
    """Whether a meeting in stages begins without any files; the person's folder is then none of its business."""
    return in_stages(charter) and not charter.settings.get("existing")


def in_stages(charter: Charter) -> bool:
    """Whether a meeting goes through stages, of which each has its own things to write."""
    return "stages" in charter.settings


def empty_root(folder: Path) -> Path:
    """The folder, in which nothing is ever written. It is a repository, so that none above it says what is ignored."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_git(folder, ("init", "--quiet", "--template=", "."))
    return folder
