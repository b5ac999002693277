"""Code changes as something to discuss: uncommitted changes, the changes of a branch, or a patch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import ContextFileRefused, read_context_file_range
from roundtable.app.opening.file_selection import build_context_file_ignore_filter
from roundtable.app.settings import config
from roundtable.app.settings.places import Places, find_workspace
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.text.diffs import DIFF_CONTEXT_NAME, render_added_file_as_diff, text_contains_diff
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.repo.git import GIT_OUTPUT_LIMIT, GitDiff, GitReader, find_enclosing_git_repository, open_git

HISTORY_TITLE = "branch and recent commits"
PATCH_HELP = "Give a patch file, such as the saved output of `git diff`."
_MAX_LISTED_FILES = 100
_MAX_NAMED_FILES = 8


class CodeChanges(NamedTuple):
    """The texts that show code changes to the seats, and a notice for everything that is not shown.

    The changes are between the commits `base` and `tip`, or between `base` and the workspace if there is no `tip`. A
    patch has neither.
    """

    texts: dict[str, str]
    notices: tuple[str, ...] = ()
    base: str = ""
    tip: str = ""

    @classmethod
    def of_working_tree(cls, start: Path) -> CodeChanges:
        """Return the uncommitted changes, with the text of new files."""
        workspace = find_workspace(start)
        ignore = config.load_settings(Places.of_this_person(), workspace).config.context.ignore
        with open_git(workspace) as git, ThreadPoolExecutor(3) as pool:
            _require_repository(git, workspace)
            untracked, history = pool.submit(git.untracked_files), pool.submit(_describe_history, git)
            changes = git.diff_uncommitted()
            is_ignored = build_context_file_ignore_filter(ignore)
            new = [name for name in untracked.result() if not is_ignored(name)]
            sensitive = (*changes.sensitive, *filter(is_sensitive_file_name, new))
            room = GIT_OUTPUT_LIMIT - len(changes.diff) if changes.whole else 0
            texts, unread = _diff_new_files(workspace, (name for name in new if not is_sensitive_file_name(name)), room)
            changes = changes._replace(diff=changes.diff + texts, sensitive=sensitive)
            if not (changes.diff or unread):
                excluded = f" These sensitive files were excluded: {_name_files(sensitive)}." if sensitive else ""
                message = f"There is nothing to discuss: no file was changed.{excluded}"
                raise UsageError(message, "To discuss the changes of a branch, add `--branch NAME`.")
            return _build_changes(changes, history.result(), unread)._replace(base=git.resolve("HEAD"))

    @classmethod
    def of_branch(cls, start: Path, branch: str) -> CodeChanges:
        """Return the changes of a branch since it left the default branch."""
        workspace = find_workspace(start)
        with open_git(workspace) as git:
            _require_repository(git, workspace)
            shown = sanitize_line(branch, 80)
            if not git.resolve(branch):
                raise NotFound(f"There is no branch {shown} in this repository.", "`git branch -a` lists the branches.")
            base = git.default_branch()
            if not base:
                raise NotFound(
                    "This repository has no default branch to compare with.",
                    "Give the changes as a file with `--patch FILE`.",
                )
            changes = git.diff_between(base, branch)
            if not changes.diff:
                raise UsageError(
                    f"There is nothing to discuss: branch {shown} has no changes compared with {base}.",
                    "Name another branch.",
                )
            history = f"Branch {branch}, compared with {base}.\n{_list_commits(git, branch)}"
            return _build_changes(changes, history)._replace(base=git.merge_base(base, branch), tip=git.resolve(branch))

    @classmethod
    def of_patch(cls, raw: bytes) -> CodeChanges:
        """Return the changes in a patch file."""
        text = raw[:GIT_OUTPUT_LIMIT].decode(errors="replace")
        if not text.strip():
            raise UsageError("The patch is empty.", PATCH_HELP)
        if not text_contains_diff(text):
            raise UsageError("The file is not a patch: it names no changed file.", PATCH_HELP)
        return cls({DIFF_CONTEXT_NAME: text}, _describe_cut(whole=len(raw) < GIT_OUTPUT_LIMIT))


def _diff_new_files(workspace: Path, names: Iterable[str], room: int) -> tuple[str, list[str]]:
    """Return new files as a diff while there is room, and the names of those that are not in it."""
    diffs: list[str] = []
    unread: list[str] = []
    for name in names:
        diff = _diff_new_file(workspace, name) if room > 0 else ""
        room -= len(diff)
        (diffs if diff else unread).append(diff or name)
    return "".join(diffs), unread


def _diff_new_file(workspace: Path, name: str) -> str:
    if not name.isprintable() or (workspace / name).is_symlink():
        return ""
    try:
        return render_added_file_as_diff(name, read_context_file_range(workspace, name))
    except ContextFileRefused:
        return ""


def _build_changes(changes: GitDiff, history: str, unread: Sequence[str] = ()) -> CodeChanges:
    if unread:
        more = f"\nand {len(unread) - _MAX_LISTED_FILES} more" if len(unread) > _MAX_LISTED_FILES else ""
        names = "\n".join(f"- {sanitize_line(name, 200)}" for name in unread[:_MAX_LISTED_FILES])
        history += f"\nNew files, by name only:\n{names}{more}"
    notices = _describe_cut(whole=changes.whole)
    if changes.sensitive:
        excluded = (
            f"These sensitive files are never shown, whether or not they changed: {_name_files(changes.sensitive)}."
        )
        history, notices = f"{history}\n{excluded}", (*notices, excluded)
    texts = {HISTORY_TITLE: history.strip(), DIFF_CONTEXT_NAME: changes.diff}
    return CodeChanges({name: text for name, text in texts.items() if text}, notices)


def _name_files(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED_FILES} more" if len(names) > _MAX_NAMED_FILES else ""
    return ", ".join(sanitize_line(name, 120) for name in names[:_MAX_NAMED_FILES]) + more


def _describe_cut(*, whole: bool) -> tuple[str, ...]:
    return () if whole else (f"Only the first {GIT_OUTPUT_LIMIT:,} bytes of the changes are shown.",)


def _require_repository(git: GitReader, workspace: Path) -> None:
    if git.has_repository:
        return
    outer = find_enclosing_git_repository(workspace)
    problem = "This workspace has no git repository." if outer is None else f"Git cannot use the repository in {outer}."
    raise UsageError(problem, "Give the changes as a file with `--patch FILE`.")


def _describe_history(git: GitReader) -> str:
    branch = git.current_branch()
    return "\n".join(line for line in (f"Branch: {branch}" if branch else "", _list_commits(git, "HEAD")) if line)


def _list_commits(git: GitReader, tip: str) -> str:
    lines = [f"- {sanitize_line(line, 200)}" for line in git.recent_commit_lines(tip)]
    return "\n".join(("Recent commits:", *lines)) if lines else ""
