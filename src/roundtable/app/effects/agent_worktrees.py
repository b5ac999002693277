"""Creates the worktrees in which agents edit files, and runs the set-up programs that a person configured."""

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
from roundtable.voices.agents.workdirs import filter_agent_cli_environment
from roundtable.workshop.repo.worktrees import Worktree, Worktrees, git_branch_name_for_agent

SETUP_TIMEOUT = 900.0
"""Seconds that a set-up program may run without output."""


class WorktreeSetupFailed(RoundtableError):
    """A program of `[worktrees] setup` failed; the worktree is kept."""


class LocalAgentWorktrees:
    """Creates the worktrees of one workspace for agents."""

    def __init__(self, root: Path, workspace: Path, settings: WorktreeSettings) -> None:
        self.worktrees = Worktrees(root, workspace)
        self._settings = settings

    async def open(self, session: str, turn: str) -> AgentWorktree | Fault:
        """Return the worktree of a turn. If the turn is repeated, its earlier worktree is discarded first."""
        round, _, seat = turn.rpartition("/")
        task = f"{session[-8:]}-{round}"
        try:
            known = await asyncio.to_thread(self.worktrees.list)
            if (name := self._name(seat, task)) in [worktree.name for worktree in known]:
                await asyncio.to_thread(self.worktrees.discard, name)
            worktree = await self.make(seat, task, session)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help, retryable=False)
        if not worktree.base:
            await asyncio.to_thread(self.worktrees.discard, worktree.name)
            return AgentWorktree()
        return AgentWorktree(worktree.folder, worktree.variables)

    async def edits(self, place: str) -> FolderEdits | Fault:
        """Return the changes in a worktree."""
        try:
            return await asyncio.to_thread(self.worktrees.edits, Path(place).name)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help, retryable=False)

    async def make(self, agent: str, task: str, session: str = "", base: str = "HEAD") -> Worktree:
        """Create a worktree for one agent and task, on a new branch, and run the set-up in it.

        The set-up runs with the user's rights: it may need the network, and only a trusted config can define it.
        """
        branch = git_branch_name_for_agent(self._settings.branch, agent, task)
        worktree = await asyncio.to_thread(
            self.worktrees.open, self._name(agent, task), base, branch=branch, copy=self._settings.copy, session=session
        )
        for argv in self._settings.setup:
            await _run_setup_program(worktree, argv)
        return (
            await asyncio.to_thread(self.worktrees.record_starting_point, worktree)
            if self._settings.setup
            else worktree
        )

    def _name(self, agent: str, task: str) -> str:
        return git_branch_name_for_agent(self._settings.branch, agent, task).replace("/", "-")


async def _run_setup_program(worktree: Worktree, argv: tuple[str, ...]) -> None:
    environment = {**filter_agent_cli_environment(os.environ, ()), **worktree.variables}
    try:
        program = shutil.which(argv[0], path=environment.get("PATH")) or argv[0]
        child = await AgentProcess.start((program, *argv[1:]), b"", worktree.path, environment)
    except OSError as error:
        raise _setup_failed(worktree, argv, error.strerror or "cannot be started") from None
    last_line = ""
    try:
        while (output := await child.read_output(SETUP_TIMEOUT)) and output.kind in ("line", "stderr"):
            last_line = sanitize_line(output.text.decode(errors="replace")) or last_line
        code = await child.wait_for_exit()
    finally:
        await child.terminate()
    if code != 0:
        raise _setup_failed(worktree, argv, last_line or f"exit code {code}")


def _setup_failed(worktree: Worktree, argv: tuple[str, ...], why: str) -> WorktreeSetupFailed:
    return WorktreeSetupFailed(
        f"The setup command `{sanitize_line(' '.join(argv))}` failed in worktree {worktree.name}: {why}.",
        "Fix `setup` in the [worktrees] section of the config. The worktree was kept; `roundtable worktrees` lists it.",
    )
