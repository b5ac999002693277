"""A folder with a git of its own, for whoever works in it: it begins at a commit of another repository.

It reads that repository's objects where they lie and shares nothing else. A linked worktree would share all branches,
hooks and settings, and who works in it could move the person's branches or have their next commit run a program.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from roundtable.workshop.repo.commits import GitRefused
from roundtable.workshop.repo.git import no_filters, run_git

_ALIKE = ("user.name", "user.email", "core.sparseCheckout", "core.sparseCheckoutCone")
"""Settings without which one could not commit there, or would need files that were never fetched."""
_ALSO = ("shallow", "info/exclude", "info/sparse-checkout")
"""What else says how far the history goes and which files there are."""


def begun_at(workspace: Path, folder: Path, commit: str, branch: str) -> None:
    """Make the folder with the files of a commit of this workspace, on a branch of its own or on none."""
    asked = [part for name in ("objects", *_ALSO) for part in ("--git-path", name)]
    told = _git(workspace, workspace, "rev-parse", "--path-format=absolute", "--show-object-format", *asked)
    format, objects, *others = told.splitlines()
    folder.mkdir(parents=True)
    _git(workspace, folder, "init", "--quiet", "--template=", f"--object-format={format}")
    own = folder / ".git"
    (own / "info").mkdir(exist_ok=True)
    (own / "objects/info/alternates").write_text(f"{objects}\n")
    for name, source in zip(_ALSO, others, strict=True):
        if os.path.isfile(source):
            shutil.copyfile(source, own / name)
    for name in _ALIKE:
        if value := run_git(workspace, ("config", "--get", name)).said.decode(errors="replace").strip():
            _git(workspace, folder, "config", name, value)
    _git(workspace, folder, "checkout", "--quiet", *(("-b", branch) if branch else ("--detach",)), commit)


def kept(workspace: Path, ref: str, commit: str) -> None:
    """Have the workspace's repository keep a commit that a folder begins at, whatever becomes of its branches."""
    _git(workspace, workspace, "update-ref", ref, commit)


def let_go(workspace: Path, ref: str, folder: Path, branch: str) -> None:
    """Have the repository know nothing more of a folder that is gone.

    Earlier ones were linked worktrees, with their branch in the workspace's repository.
    """
    run_git(workspace, ("update-ref", "-d", ref))
    was_linked = not run_git(workspace, ("worktree", "remove", "--force", "--force", str(folder))).code
    if was_linked and branch:
        run_git(workspace, ("update-ref", "-d", f"refs/heads/{branch}"))


def _git(workspace: Path, folder: Path, *args: str) -> str:
    whole_index = {"core.splitIndex": "false"}
    told = run_git(folder, args, {**no_filters(workspace), **whole_index})
    if told.code:
        raise GitRefused(f"Git would not make a worktree: {' '.join(told.complaint.split())}.")
    return os.fsdecode(told.said)
