"""Lists the worktrees of a workspace, and removes those without work that would be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from roundtable.core.faults import UsageError
from roundtable.core.ports import Leases
from roundtable.core.text.wording import pluralize
from roundtable.workshop.repo.commits import GitFailed
from roundtable.workshop.repo.worktrees import Worktree, Worktrees, WorktreeStatus


class ListedWorktree(msgspec.Struct, frozen=True):
    """A worktree with its state. `needed` is the reason to keep it; empty if nothing would be lost."""

    worktree: Worktree
    status: WorktreeStatus
    needed: str = ""


class WorkspaceWorktrees:
    """The worktrees of one workspace; a worktree whose session is running is never removed."""

    def __init__(self, worktrees: Worktrees, leases: Leases) -> None:
        self._worktrees = worktrees
        self._leases = leases

    async def list(self) -> Sequence[ListedWorktree]:
        """Return every worktree."""
        listed: list[ListedWorktree] = []
        for worktree in await asyncio.to_thread(self._worktrees.list):
            try:
                status = await asyncio.to_thread(self._worktrees.status, worktree)
                listed.append(ListedWorktree(worktree, status, await self._reason_to_keep(worktree, status)))
            except GitFailed as error:
                listed.append(ListedWorktree(worktree, WorktreeStatus(), error.message.rstrip(".")))
        return listed

    async def discard(self, name: str) -> None:
        """Delete a worktree and everything in it."""
        worktree = await asyncio.to_thread(self._worktrees.find, name)
        if worktree.session and await self._leases.holder(worktree.session):
            raise UsageError(
                f"The session of worktree {name} is running.", f"Cancel it: roundtable cancel {worktree.session}"
            )
        await asyncio.to_thread(self._worktrees.discard, name)

    async def discard_unneeded(self) -> tuple[Sequence[ListedWorktree], Sequence[ListedWorktree]]:
        """Delete the worktrees without work that would be lost; return the deleted ones and the kept ones."""
        listed = await self.list()
        unneeded = [entry for entry in listed if not entry.needed]
        for entry in unneeded:
            await asyncio.to_thread(self._worktrees.discard, entry.worktree.name)
        return unneeded, [entry for entry in listed if entry.needed]

    async def _reason_to_keep(self, worktree: Worktree, status: WorktreeStatus) -> str:
        if worktree.session and await self._leases.holder(worktree.session):
            return "its session is running"
        reasons: list[str] = []
        if unmerged := len(status.unmerged):
            reasons.append(f"{pluralize(unmerged, 'file')} with unmerged changes: {', '.join(status.unmerged)}")
        if ignored := len(status.ignored):
            exist = "exists" if ignored == 1 else "exist"
            reasons.append(f"{pluralize(ignored, 'ignored file')} that {exist} only there: {', '.join(status.ignored)}")
        return "; ".join(reasons)
