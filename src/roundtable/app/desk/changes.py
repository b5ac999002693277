"""The `changes` part of the desk: code changes to discuss, changes that sessions wrote, projects, and worktrees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.app.settings.places import find_workspace
from roundtable.core.events import Recorded
from roundtable.core.handover import HandoverForm
from roundtable.core.session import Session

if TYPE_CHECKING:
    from roundtable.app.effects.undo_change import UndoableChange
    from roundtable.app.opening.code_changes import CodeChanges
    from roundtable.app.records.session_project import ProjectVersion, SessionProjects
    from roundtable.app.records.workspace_worktrees import ListedWorktree, WorkspaceWorktrees
    from roundtable.app.wiring import Wiring
    from roundtable.core.effects import ProjectDelivered
    from roundtable.workshop.edit.undo import UndoResult
    from roundtable.workshop.repo.worktrees import Worktree


class CodeSource:
    """The code changes of a workspace that can be discussed; this works without an open desk."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    @classmethod
    def here(cls) -> CodeSource:
        """Return the source for the workspace of the current folder."""
        return cls(find_workspace(Path.cwd()))

    def read_uncommitted(self) -> CodeChanges:
        """Return the uncommitted changes, with the text of new files."""
        from roundtable.app.opening.code_changes import CodeChanges

        return CodeChanges.of_working_tree(self._workspace)

    def read_branch(self, branch: str) -> CodeChanges:
        """Return the changes of a branch since it left the default branch."""
        from roundtable.app.opening.code_changes import CodeChanges

        return CodeChanges.of_branch(self._workspace, branch)

    def read_patch(self, raw: bytes) -> CodeChanges:
        """Return the changes in a patch."""
        from roundtable.app.opening.code_changes import CodeChanges

        return CodeChanges.of_patch(raw)


class Changes(CodeSource):
    """The changes that sessions made to the code of this workspace."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.parts.workspace)
        self._wiring = wiring
        self._parts = wiring.parts

    # --- applied changes -------------------------------------------------------------------------

    async def undo(self, id: str = "", by: str = "") -> UndoResult:
        """Undo a change that a session wrote to the workspace; the newest one if no id is given."""
        from roundtable.app.effects.undo_change import perform_change_undo

        return await perform_change_undo(self._parts, id, by)

    async def list_undoable(self) -> Sequence[UndoableChange]:
        """Return the changes of this workspace that can be undone, newest first."""
        from roundtable.app.effects.undo_change import list_performable_change_undos

        return await list_performable_change_undos(self._parts)

    # --- projects --------------------------------------------------------------------------------

    def _projects(self) -> SessionProjects:
        from roundtable.app.records.session_project import SessionProjects

        return SessionProjects(self._parts.record)

    async def project_versions(self, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
        """Return the versions of a session's project in the order of its stages; raise NotFound if it made none."""
        return await self._projects().require_versions(session, records)

    async def read_project_file(self, versions: Sequence[ProjectVersion], path: str, name: str = "") -> bytes:
        """Return one file of a project version; of the last merged version unless another one is named."""
        return await self._projects().read_file(versions, path, name)

    async def hand_over_project(
        self, session: Session, records: Sequence[Recorded], form: HandoverForm, into: Path
    ) -> ProjectDelivered:
        """Write the project of a session to a folder, because the person asked for it."""
        return await self._projects().hand_over(session, records, form, into)

    # --- worktrees -------------------------------------------------------------------------------

    def _worktrees(self) -> WorkspaceWorktrees:
        from roundtable.app.records.workspace_worktrees import WorkspaceWorktrees

        return WorkspaceWorktrees(self._wiring.agent_worktrees.worktrees, self._parts.leases)

    async def list_worktrees(self) -> Sequence[ListedWorktree]:
        """Return every worktree of this workspace, with the reason to keep it."""
        return await self._worktrees().list()

    async def make_worktree(self, agent: str, task: str, session: str = "", base: str = "HEAD") -> Worktree:
        """Create a worktree for an agent and its task, on a new branch, and run its set-up programs."""
        return await self._wiring.agent_worktrees.make(agent, task, session, base)

    async def discard_worktree(self, name: str) -> None:
        """Delete a worktree and everything in it; raise UsageError while its session is running."""
        await self._worktrees().discard(name)

    async def discard_unneeded_worktrees(self) -> tuple[Sequence[ListedWorktree], Sequence[ListedWorktree]]:
        """Delete the worktrees without work that would be lost; return the deleted ones and the kept ones."""
        return await self._worktrees().discard_unneeded()
