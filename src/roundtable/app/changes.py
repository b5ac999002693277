"""Changes as something to discuss: what is not committed, what a branch brings, what a patch says."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from roundtable.app.git import LONGEST, Changes, Git, git_of
from roundtable.app.places import workspace_of
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.views import one_line

CHANGES = "the changes"
STANDING = "where they stand"
_NAMED = 100
_FEW = 8


class Found(NamedTuple):
    """Texts to put before the table, and what of the changes is not among them."""

    texts: dict[str, str]
    notices: tuple[str, ...] = ()


def changed(start: Path) -> Found:
    """What stands in the working tree and not in the last commit, and what the new files are called."""
    with git_of(workspace_of(start)) as git, ThreadPoolExecutor(3) as pool:
        _need_repository(git)
        untracked, standing = pool.submit(git.untracked), pool.submit(_standing, git)
        changes = git.uncommitted()
        new = untracked.result()
        if not (changes.diff or new):
            apart = f" Sensitive files are not looked at: {_few(changes.sensitive)}." if changes.sensitive else ""
            message = f"There is nothing to discuss: no file was changed.{apart}"
            raise UsageError(message, "Name a branch with --branch.")
        return _found(changes, standing.result(), new)


def changed_on(start: Path, branch: str) -> Found:
    """What a branch changed since it left the one that it will be merged into."""
    with git_of(workspace_of(start)) as git:
        _need_repository(git)
        if not git.resolve(branch):
            raise NotFound(f"There is no branch {one_line(branch, 80)} here.", "`git branch -a` lists them.")
        base = git.default_branch()
        if not base:
            raise NotFound("There is no main branch to compare with.", "Bring a patch instead: --patch FILE.")
        changes = git.between(base, branch)
        if not changes.diff:
            raise UsageError(
                f"There is nothing to discuss: {one_line(branch, 80)} changes nothing that {base} lacks.",
                "Name another branch.",
            )
        return _found(changes, f"Branch {branch}, compared with {base}.\n{_commits(git, branch)}")


def patched(raw: bytes) -> Found:
    """What a patch says."""
    text = raw[:LONGEST].decode(errors="replace")
    if not text.strip():
        raise UsageError("The patch is empty.", "Give a file with changes, such as the output of `git diff`.")
    return Found({CHANGES: text}, _cut(len(raw) < LONGEST))


def _found(changes: Changes, standing: str, new: tuple[str, ...] = ()) -> Found:
    if new:
        more = f"\nand {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        names = "\n".join(f"- {one_line(name, 200)}" for name in new[:_NAMED])
        standing += f"\nNew files that git does not know yet, by name only:\n{names}{more}"
    notices = _cut(changes.whole)
    if changes.sensitive:
        left_out = f"Sensitive files are not looked at, changed or not: {_few(changes.sensitive)}."
        standing, notices = f"{standing}\n{left_out}", (*notices, left_out)
    texts = {STANDING: standing.strip(), CHANGES: changes.diff}
    return Found({name: text for name, text in texts.items() if text}, notices)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(one_line(name, 120) for name in names[:_FEW]) + more


def _cut(whole: bool) -> tuple[str, ...]:
    return () if whole else (f"The changes are longer than {LONGEST:,} bytes; the rest is not looked at.",)


def _need_repository(git: Git) -> None:
    if not git.repository:
        raise UsageError("This is not a git repository of its own.", "Bring the changes as --patch FILE.")


def _standing(git: Git) -> str:
    branch = git.branch()
    return "\n".join(line for line in (f"Branch: {branch}" if branch else "", _commits(git, "HEAD")) if line)


def _commits(git: Git, tip: str) -> str:
    lines = [f"- {one_line(line, 200)}" for line in git.headlines(tip)]
    return "\n".join(("Recent commits:", *lines)) if lines else ""
