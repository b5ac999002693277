"""What a person is told at once who wants files changed that no change can be written to as they are.

What stands in the way of writing anything here, found out before a seat is asked and paid.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from roundtable.app.parts import FindSandbox
from roundtable.core.faults import UsageError
from roundtable.core.stages import enabled_stages, has_stages, sdlc_settings, starts_without_files
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import join_names
from roundtable.core.values import Charter
from roundtable.workshop.repo.commits import (
    Repository,
    describe_pending_git_operation,
    describe_unusable_repository,
    ensure_branch_available,
)
from roundtable.workshop.repo.git import GitUnavailable, open_git
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath


async def check_meeting_can_write(
    workspace: Path, charter: Charter, find_sandbox: FindSandbox, *, writes_files: bool
) -> None:
    """Refuse a meeting whose change could not be run or written, whatever the seats answer."""
    kinds = {stage.kind for stage in enabled_stages(sdlc_settings(charter))} if has_stages(charter) else {"files"}
    writes = writes_files and not starts_without_files(charter) and kinds != {"discussion"}
    if writes and (trouble := await asyncio.to_thread(describe_unusable_repository, workspace)):
        raise UsageError(trouble, "Nobody was asked; see what `git status` says here, or go to another folder.")
    if writes and not charter.settings.get("dry_run") and (closed := _closed(workspace)):
        raise UsageError(
            f"{closed} cannot be written to, so nobody was asked.",
            "Make it writable, or add --dry-run to see a change that is not written.",
        )
    if (
        writes
        and not charter.settings.get("dry_run")
        and (what := await asyncio.to_thread(describe_pending_git_operation, workspace))
    ):
        raise UsageError(
            f"{what} is under way in this repository, so nobody was asked.",
            "Finish or abort it first, or add --dry-run to see a change that is not written.",
        )
    if branch := charter.settings.get("branch"):
        await asyncio.to_thread(ensure_branch_available, workspace, str(branch))
    only_shown = charter.settings.get("dry_run") and charter.settings.get("draft")
    runs = writes_files and not kinds.isdisjoint(("files", "run"))
    if runs and not only_shown and isinstance(why := await find_sandbox(), str):
        raise UsageError("Candidates cannot be run here, so nobody was asked.", why)


def _closed(workspace: Path) -> Path | None:
    """The folder in which nothing can be changed, if the workspace or what git keeps of it is one."""
    folders = (workspace, workspace / ".git")
    return next((folder for folder in folders if folder.is_dir() and not os.access(folder, os.W_OK)), None)


_NAMED = 5
"""How many files a sentence names."""


def describe_unwritable_files(workspace: Path, charter: Charter, shown: Collection[str]) -> tuple[str, ...]:
    """A sentence each on files that hold unfinished work, or that git converts; none without git.

    They are looked for among those that are shown. Where a project is gone through in stages, any may be changed.
    """
    if starts_without_files(charter):
        return ()
    try:
        repository = Repository.open(workspace)
        if repository is None:
            return ()
        with open_git(workspace) as git:
            unsaved = set(git.modified_files())
            concerned = sorted(unsaved) if has_stages(charter) else shown
            paths = {name.partition(":")[0]: name for name in concerned}
            converted = repository.find_converted_paths(_standing(workspace, paths.keys() & git.list_files()))
            unsaved -= set(converted)
    except GitUnavailable:
        return ()
    return (
        *_told(
            "Not committed, so no change to it can be written before you commit or stash it",
            [name for path, name in paths.items() if path in unsaved],
        ),
        *_told(
            "Git stores it otherwise than it stands here (its attributes or core.autocrlf say so), so no change to it "
            "can be written",
            [paths[path] for path in converted],
        ),
    )


def _standing(workspace: Path, paths: Iterable[str]) -> dict[str, FileContent]:
    found: dict[str, FileContent] = {}
    with ConfinedFolder.open(workspace) as tree:
        for path in paths:
            try:
                content = tree.read(path)
            except UnsafePath:
                continue
            found |= {path: content} if content else {}
    return found


def _told(what: str, names: Sequence[str]) -> tuple[str, ...]:
    told = [sanitize_line(name, 120) for name in names[:_NAMED]]
    told += [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return (f"{what}: {join_names(told)}.",) if names else ()
