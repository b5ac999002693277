"""The files of a commit, written out beside the workspace: nothing of the repository itself is touched."""

from __future__ import annotations

import os
from pathlib import Path

from roundtable.core.faults import UsageError
from roundtable.core.file_kinds import is_sensitive
from roundtable.workshop.identity import own_folder
from roundtable.workshop.repo.git import names_in, no_filters, run_git


class NoSuchTree(UsageError):
    """A commit whose files cannot be had."""


def checked_out(workspace: Path, commit: str, into: Path) -> None:
    """Write what the workspace was at a commit into an empty folder, all but its sensitive files."""
    told = run_git(workspace, ("rev-parse", "--absolute-git-dir", "--show-prefix")).said
    repository, _, prefix = os.fsdecode(told).partition("\n")
    config = no_filters(workspace)
    with own_folder() as folder:
        variables = {"GIT_DIR": repository, "GIT_WORK_TREE": str(into), "GIT_INDEX_FILE": f"{folder}/index"}

        def git(*args: str, input: bytes = b"") -> bytes:
            done = run_git(into, args, config, input, variables)
            if done.code:
                raise NoSuchTree(f"The files of {commit[:12]} cannot be had: {done.complaint}", "Look at `git log`.")
            return done.said

        git("read-tree", f"{commit}:{prefix.strip()}")
        sensitive = [name for name in names_in(git("ls-files", "-z")) if is_sensitive(name)]
        if sensitive:
            listing = b"".join(os.fsencode(name) + b"\0" for name in sensitive)
            git("update-index", "-z", "--force-remove", "--stdin", input=listing)
        git("checkout-index", "--all", "--quiet")
