"""Checks before a meeting starts whether its change could be run and written, so that no seat is paid for nothing.

Also names the files to which no change can be written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from roundtable.app.parts import FindSandbox
from roundtable.core.faults import UsageError
from roundtable.core.stages import SdlcSettings
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Charter
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.repo.commits import (
    Repository,
    check_git_repository_writable,
    ensure_git_branch_available,
    find_pending_git_operation,
)
from roundtable.workshop.repo.git import GitUnavailable, open_git
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath


async def check_change_writable_before_opening(
    workspace: Path, charter: Charter, find_sandbox: FindSandbox, *, writes_files: bool
) -> None:
    """Raise UsageError for a meeting whose change could not be run or written, whatever the seats answer."""
    kinds = {stage.kind for stage in SdlcSettings.of(charter).enabled_stages} if charter.has_stages else {"files"}
    writes = writes_files and not charter.starts_without_files and kinds != {"discussion"}
    if writes and (problem := await asyncio.to_thread(check_git_repository_writable, workspace)):
        raise UsageError(
            refusal_sentence(problem), "No seat was asked. Run `git status` for details, or use another folder."
        )
    if writes and not charter.settings.get("dry_run") and (folder := _find_read_only_folder(workspace)):
        raise UsageError(
            f"{folder} is not writable, so no seat was asked.",
            "Make the folder writable, or add `--dry-run` to see the change without writing it.",
        )
    if (
        writes
        and not charter.settings.get("dry_run")
        and (operation := await asyncio.to_thread(find_pending_git_operation, workspace))
    ):
        raise UsageError(
            f"A {operation} is in progress in this repository, so no seat was asked.",
            "Finish or abort the operation first, or add `--dry-run` to see the change without writing it.",
        )
    if branch := charter.settings.get("branch"):
        await asyncio.to_thread(ensure_git_branch_available, workspace, str(branch))
    only_shown = charter.settings.get("dry_run") and charter.settings.get("draft")
    runs = writes_files and not kinds.isdisjoint(("files", "run"))
    if runs and not only_shown and isinstance(why := await find_sandbox(), str):
        raise UsageError("There is no sandbox to run candidates in, so no seat was asked.", why)


def _find_read_only_folder(workspace: Path) -> Path | None:
    """Return the workspace or its .git folder if it is read-only."""
    folders = (workspace, workspace / ".git")
    return next((folder for folder in folders if folder.is_dir() and not os.access(folder, os.W_OK)), None)


_MAX_NAMED_FILES = 5
"""The number of files that a sentence names."""


def opening_notices_on_unwritable_files(workspace: Path, charter: Charter, shown: Collection[str]) -> tuple[str, ...]:
    """Return a sentence on the files with uncommitted changes and one on those that git converts; none without git.

    Only files that are shown are considered, except in a meeting with stages, which may change any file.
    """
    if charter.starts_without_files:
        return ()
    try:
        repository = Repository.open(workspace)
        if repository is None:
            return ()
        with open_git(workspace) as git:
            modified = set(git.modified_files())
            concerned = sorted(modified) if charter.has_stages else shown
            paths = {name.partition(":")[0]: name for name in concerned}
            converted = repository.find_converted_paths(_read_existing(workspace, paths.keys() & git.list_files()))
            modified -= set(converted)
    except GitUnavailable:
        return ()
    return (
        *_name_files(
            "These files have uncommitted changes; commit or stash them before a change can be written",
            [name for path, name in paths.items() if path in modified],
        ),
        *_name_files(
            "Git converts these files on commit (attributes or core.autocrlf), so no change to them can be written",
            [paths[path] for path in converted],
        ),
    )


def _read_existing(workspace: Path, paths: Iterable[str]) -> dict[str, FileContent]:
    contents: dict[str, FileContent] = {}
    with ConfinedFolder.open(workspace) as tree:
        for path in paths:
            try:
                content = tree.read(path)
            except UnsafePath:
                continue
            contents |= {path: content} if content else {}
    return contents


def _name_files(problem: str, names: Sequence[str]) -> tuple[str, ...]:
    listed = [sanitize_line(name, 120) for name in names[:_MAX_NAMED_FILES]]
    listed += [f"{len(names) - _MAX_NAMED_FILES} more"] if len(names) > _MAX_NAMED_FILES else []
    return (f"{problem}: {join_names_as_text(listed)}.",) if names else ()
