"""What a person is told at once who wants a file changed that holds work of theirs which is not committed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from roundtable.core.rules.base import listed
from roundtable.core.views import one_line
from roundtable.workshop.git import NoGit, git_of


def uncommitted_notice(workspace: Path, shown: Collection[str]) -> tuple[str, ...]:
    """One sentence on the files among these that no change can be written to as they are; none without git."""
    try:
        with git_of(workspace) as git:
            changed = set(git.differing()) - set(git.untracked()) if git.repository else set[str]()
    except NoGit:
        return ()
    names = [one_line(name, 120) for name in shown if name.partition(":")[0] in changed]
    if not names:
        return ()
    return (f"Not committed, so no change to it can be written before you commit or stash it: {listed(names)}.",)
