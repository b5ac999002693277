"""Worktrees as a person sees them: listed, and let go only when nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from roundtable.core.faults import UsageError
from roundtable.core.ports import Leases
from roundtable.workshop.repo.commits import GitFailed
from roundtable.workshop.repo.worktrees import Worktree, Worktrees, WorktreeStatus


class ListedWorktree(msgspec.Struct, frozen=True):
    """A worktree, what was done in it, and why it is to stay; empty where nothing would be lost with it."""

    worktree: Worktree
    status: WorktreeStatus
    needed: str = ""


async def list_worktrees(worktrees: Worktrees, leases: Leases) -> list[ListedWorktree]:
    """Every worktree of this workspace."""
    found: list[ListedWorktree] = []
    for worktree in await asyncio.to_thread(worktrees.list):
        try:
            standing = await asyncio.to_thread(worktrees.status, worktree)
            found.append(ListedWorktree(worktree, standing, await _needed(leases, worktree, standing)))
        except GitFailed as refused:
            found.append(ListedWorktree(worktree, WorktreeStatus(), refused.message.rstrip(".")))
    return found


async def discard_worktree(worktrees: Worktrees, leases: Leases, name: str) -> None:
    """Take one away, whatever is in it; refused while its session runs."""
    worktree = await asyncio.to_thread(worktrees.find, name)
    if worktree.session and await leases.holder(worktree.session):
        raise UsageError(f"Somebody works in {name}: its session runs.", f"Run: roundtable cancel {worktree.session}")
    await asyncio.to_thread(worktrees.discard, name)


async def discard_unneeded_worktrees(
    worktrees: Worktrees, leases: Leases
) -> tuple[list[ListedWorktree], list[ListedWorktree]]:
    """Take away those with which nothing is lost: which went, and which stay."""
    every = await list_worktrees(worktrees, leases)
    gone = [listed for listed in every if not listed.needed]
    for listed in gone:
        await asyncio.to_thread(worktrees.discard, listed.worktree.name)
    return gone, [listed for listed in every if listed.needed]


async def _needed(leases: Leases, worktree: Worktree, standing: WorktreeStatus) -> str:
    if worktree.session and await leases.holder(worktree.session):
        return "its session runs"
    return "; ".join(filter(None, (_told(standing.unmerged, "changed"), _told(standing.ignored, "made, and ignored,"))))


def _told(names: Sequence[str], how: str) -> str:
    number = len(names)
    return f"{number} file{'' if number == 1 else 's'} {how} there and not here: {', '.join(names)}" if names else ""
