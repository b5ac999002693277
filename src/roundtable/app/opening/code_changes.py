"""Changes as something to discuss: what is not committed, what a branch brings, what a patch says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import ContextFileRefused, read_context_text
from roundtable.app.opening.file_selection import build_context_ignore_filter
from roundtable.app.settings import config
from roundtable.app.settings.places import Places, find_workspace
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.text.diffs import DIFF_CONTEXT_NAME, contains_diff, render_added_file_diff
from roundtable.core.text.file_names import is_sensitive_path
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.repo.git import GIT_OUTPUT_LIMIT, GitDiff, GitReader, find_enclosing_git_repository, open_git

STATUS_TITLE = "where they stand"
PATCH_HELP = "Give a file with changes, such as the output of `git diff`."
_NAMED = 100
_FEW = 8


class CodeChanges(NamedTuple):
    """Texts to put before the table, and what of the changes is not among them.

    They lie between the commits `base` and `tip`; without a `tip`, in the workspace, or else in the texts alone.
    """

    texts: dict[str, str]
    notices: tuple[str, ...] = ()
    base: str = ""
    tip: str = ""


def read_uncommitted_changes(start: Path) -> CodeChanges:
    """What stands in the working tree and not in the last commit, the text of new files included."""
    workspace = find_workspace(start)
    ignore = config.load_settings(Places.of_this_person(), workspace).config.context.ignore
    with open_git(workspace) as git, ThreadPoolExecutor(3) as pool:
        _need_repository(git, workspace)
        untracked, standing = pool.submit(git.untracked_files), pool.submit(_standing, git)
        changes = git.diff_uncommitted()
        set_aside = build_context_ignore_filter(ignore)
        new = [name for name in untracked.result() if not set_aside(name)]
        sensitive = (*changes.sensitive, *filter(is_sensitive_path, new))
        room = GIT_OUTPUT_LIMIT - len(changes.diff) if changes.whole else 0
        texts, unread = _new_files(workspace, (name for name in new if not is_sensitive_path(name)), room)
        changes = changes._replace(diff=changes.diff + texts, sensitive=sensitive)
        if not (changes.diff or unread):
            apart = f" Sensitive files are not looked at: {_few(sensitive)}." if sensitive else ""
            message = f"There is nothing to discuss: no file was changed.{apart}"
            raise UsageError(message, "Name a branch with --branch.")
        return _found(changes, standing.result(), unread)._replace(base=git.resolve("HEAD"))


def read_branch_changes(start: Path, branch: str) -> CodeChanges:
    """What a branch changed since it left the one that it will be merged into."""
    workspace = find_workspace(start)
    with open_git(workspace) as git:
        _need_repository(git, workspace)
        if not git.resolve(branch):
            raise NotFound(f"There is no branch {sanitize_line(branch, 80)} here.", "`git branch -a` lists them.")
        base = git.default_branch()
        if not base:
            raise NotFound("There is no main branch to compare with.", "Bring a patch instead: --patch FILE.")
        changes = git.diff_between(base, branch)
        if not changes.diff:
            raise UsageError(
                f"There is nothing to discuss: {sanitize_line(branch, 80)} changes nothing that {base} lacks.",
                "Name another branch.",
            )
        found = _found(changes, f"Branch {branch}, compared with {base}.\n{_commits(git, branch)}")
        return found._replace(base=git.merge_base(base, branch), tip=git.resolve(branch))


def read_patch_changes(raw: bytes) -> CodeChanges:
    """What a patch says."""
    text = raw[:GIT_OUTPUT_LIMIT].decode(errors="replace")
    if not text.strip():
        raise UsageError("The patch is empty.", PATCH_HELP)
    if not contains_diff(text):
        raise UsageError("That is no patch: it names no file that it changes.", PATCH_HELP)
    return CodeChanges({DIFF_CONTEXT_NAME: text}, _cut(len(raw) < GIT_OUTPUT_LIMIT))


def _new_files(workspace: Path, names: Iterable[str], room: int) -> tuple[str, list[str]]:
    """New files as a diff shows them, while there is room; and those of which only the name can be told."""
    shown: list[str] = []
    unread: list[str] = []
    for name in names:
        text = _new_file(workspace, name) if room > 0 else ""
        room -= len(text)
        (shown if text else unread).append(text or name)
    return "".join(shown), unread


def _new_file(workspace: Path, name: str) -> str:
    if not name.isprintable() or (workspace / name).is_symlink():
        return ""
    try:
        return render_added_file_diff(name, read_context_text(workspace, name))
    except ContextFileRefused:
        return ""


def _found(changes: GitDiff, standing: str, unread: Sequence[str] = ()) -> CodeChanges:
    if unread:
        more = f"\nand {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        names = "\n".join(f"- {sanitize_line(name, 200)}" for name in unread[:_NAMED])
        standing += f"\nNew files, by name only:\n{names}{more}"
    notices = _cut(changes.whole)
    if changes.sensitive:
        left_out = f"Sensitive files are not looked at, changed or not: {_few(changes.sensitive)}."
        standing, notices = f"{standing}\n{left_out}", (*notices, left_out)
    texts = {STATUS_TITLE: standing.strip(), DIFF_CONTEXT_NAME: changes.diff}
    return CodeChanges({name: text for name, text in texts.items() if text}, notices)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(sanitize_line(name, 120) for name in names[:_FEW]) + more


def _cut(whole: bool) -> tuple[str, ...]:
    return () if whole else (f"The changes are longer than {GIT_OUTPUT_LIMIT:,} bytes; the rest is not looked at.",)


def _need_repository(git: GitReader, workspace: Path) -> None:
    if git.has_repository:
        return
    above = find_enclosing_git_repository(workspace)
    lacking = "There is no git repository here." if above is None else f"The repository in {above} cannot be used here."
    raise UsageError(lacking, "Bring the changes as --patch FILE.")


def _standing(git: GitReader) -> str:
    branch = git.current_branch()
    return "\n".join(line for line in (f"Branch: {branch}" if branch else "", _commits(git, "HEAD")) if line)


def _commits(git: GitReader, tip: str) -> str:
    lines = [f"- {sanitize_line(line, 200)}" for line in git.recent_commit_lines(tip)]
    return "\n".join(("Recent commits:", *lines)) if lines else ""
