"""What stands in the way of writing anything here, found out before a seat is asked and paid."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from roundtable.core.faults import UsageError
from roundtable.core.values import Charter
from roundtable.report.memory_entries import WRITING
from roundtable.workshop.repo.commits import check_branch, repository_trouble, under_way
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox


async def refuse_if_in_vain(workspace: Path, charter: Charter, sandbox: SandboxSettings) -> None:
    """Refuse a meeting whose change could not be run or not be written, whatever the seats would say."""
    writes = charter.meeting in WRITING
    if writes and (trouble := await asyncio.to_thread(repository_trouble, workspace)):
        raise UsageError(trouble, "Nobody was asked; see what `git status` says here, or go to another folder.")
    if writes and not charter.settings.get("dry_run") and (closed := _closed(workspace)):
        raise UsageError(
            f"{closed} cannot be written to, so nobody was asked.",
            "Make it writable, or add --dry-run to see a change that is not written.",
        )
    if writes and not charter.settings.get("dry_run") and (what := await asyncio.to_thread(under_way, workspace)):
        raise UsageError(
            f"{what} is under way in this repository, so nobody was asked.",
            "Finish or abort it first, or add --dry-run to see a change that is not written.",
        )
    if branch := charter.settings.get("branch"):
        await asyncio.to_thread(check_branch, workspace, str(branch))
    only_shown = charter.settings.get("dry_run") and charter.settings.get("draft")
    if writes and not only_shown and isinstance(why := await find_sandbox(sandbox), str):
        raise UsageError("Candidates cannot be run here, so nobody was asked.", why)


def _closed(workspace: Path) -> Path | None:
    """The folder in which nothing can be changed, if the workspace or what git keeps of it is one."""
    folders = (workspace, workspace / ".git")
    return next((it for it in folders if it.is_dir() and not os.access(it, os.W_OK)), None)
