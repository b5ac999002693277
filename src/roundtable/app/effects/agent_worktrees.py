"""Where agents edit files: a worktree of their own each, made ready by programs a person listed."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from roundtable.app.settings.config import WorktreeSettings
from roundtable.core.changeset import FolderEdits
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import AgentWorktree
from roundtable.voices.agents.process import AgentProcess
from roundtable.voices.agents.workdirs import filter_agent_environment
from roundtable.workshop.repo.worktrees import Worktree, Worktrees, agent_branch_name

SETUP_TIMEOUT = 900.0
"""Seconds one program of the set-up may say nothing."""


class WorktreeSetupFailed(RoundtableError):
    """A program of `[worktrees] setup` failed; the worktree is there all the same."""


class LocalAgentWorktrees:
    """The worktrees of one workspace, as agents get them."""

    def __init__(self, root: Path, workspace: Path, settings: WorktreeSettings) -> None:
        self.worktrees = Worktrees(root, workspace)
        self._settings = settings

    async def open(self, session: str, turn: str) -> AgentWorktree | Fault:
        """The folder of one turn. What a turn that is asked again had left there goes: it begins clean."""
        round, _, seat = turn.rpartition("/")
        task = f"{session[-8:]}-{round}"
        try:
            known = await asyncio.to_thread(self.worktrees.list)
            if (name := self._name(seat, task)) in [it.name for it in known]:
                await asyncio.to_thread(self.worktrees.discard, name)
            made = await self.make(seat, task, session)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help, retryable=False)
        if not made.base:
            await asyncio.to_thread(self.worktrees.discard, made.name)
            return AgentWorktree()
        return AgentWorktree(made.folder, made.variables)

    async def edits(self, place: str) -> FolderEdits | Fault:
        """What was changed in a folder."""
        try:
            return await asyncio.to_thread(self.worktrees.edits, Path(place).name)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help, retryable=False)

    async def make(self, agent: str, task: str, session: str = "", base: str = "HEAD") -> Worktree:
        """A folder for one agent and its task, on a branch of its own, with everything in it that programs need.

        The set-up runs as the person's own programs: it may need the network, and only a trusted config can name it.
        """
        branch = agent_branch_name(self._settings.branch, agent, task)
        made = await asyncio.to_thread(
            self.worktrees.open, self._name(agent, task), base, branch=branch, copy=self._settings.copy, session=session
        )
        for argv in self._settings.setup:
            await _set_up(made, argv)
        return await asyncio.to_thread(self.worktrees.record_starting_point, made) if self._settings.setup else made

    def _name(self, agent: str, task: str) -> str:
        return agent_branch_name(self._settings.branch, agent, task).replace("/", "-")


async def _set_up(worktree: Worktree, argv: tuple[str, ...]) -> None:
    environment = {**filter_agent_environment(os.environ, ()), **worktree.variables}
    try:
        program = shutil.which(argv[0], path=environment.get("PATH")) or argv[0]
        child = await AgentProcess.start((program, *argv[1:]), b"", worktree.path, environment)
    except OSError as error:
        raise _failed(worktree, argv, error.strerror or "it cannot be started") from None
    said = ""
    try:
        while (heard := await child.hear(SETUP_TIMEOUT)) and heard.what in ("line", "trouble"):
            said = sanitize_line(heard.text.decode(errors="replace")) or said
        code = await child.leave()
    finally:
        await child.end()
    if code != 0:
        raise _failed(worktree, argv, said or f"it ended with {code}")


def _failed(worktree: Worktree, argv: tuple[str, ...], why: str) -> WorktreeSetupFailed:
    return WorktreeSetupFailed(
        f"The set-up of worktree {worktree.name} failed at {sanitize_line(' '.join(argv))}: {why}.",
        "Mend [worktrees] setup in the config; the folder is still there.",
    )
