"""The changes part of the desk: changes of the code that are discussed, written, undone, or handed over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.app.settings.places import find_workspace
from roundtable.core.decide.stage_outcome import HandoverForm
from roundtable.core.events import Recorded
from roundtable.core.session import Session

if TYPE_CHECKING:
    from roundtable.app.opening.code_changes import CodeChanges
    from roundtable.app.records.list_worktrees import ListedWorktree
    from roundtable.app.records.session_project import ProjectVersion
    from roundtable.app.records.undo_change import UndoableChange
    from roundtable.app.wiring import Wiring
    from roundtable.core.effects import ProjectDelivered
    from roundtable.workshop.edit.undo import UndoResult
    from roundtable.workshop.repo.worktrees import Worktree


class CodeSource:
    """Changes of a workspace as something to discuss; this needs no open desk."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    @classmethod
    def here(cls) -> CodeSource:
        """The changes of the workspace in the current folder."""
        return cls(find_workspace(Path.cwd()))

    def read_uncommitted(self) -> CodeChanges:
        """What the working tree has that the last commit does not, with the text of new files."""
        from roundtable.app.opening.code_changes import read_uncommitted_changes

        return read_uncommitted_changes(self._workspace)

    def read_branch(self, branch: str) -> CodeChanges:
        """What a branch changed since it left the main one."""
        from roundtable.app.opening.code_changes import read_branch_changes

        return read_branch_changes(self._workspace, branch)

    def read_patch(self, raw: bytes) -> CodeChanges:
        """What a patch changes."""
        from roundtable.app.opening.code_changes import read_patch_changes

        return read_patch_changes(raw)


class Changes(CodeSource):
    """Changes to the code of this workspace, and what sessions made of them."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.parts.workspace)
        self._wiring = wiring
        self._parts = wiring.parts

    # --- what the table wrote --------------------------------------------------------------------

    async def undo(self, id: str = "", by: str = "") -> UndoResult:
        """Undo a change that a session wrote to the workspace; the newest if none is named."""
        from roundtable.app.records.undo_change import undo_change

        return await undo_change(self._parts, id, by)

    async def list_undoable(self) -> Sequence[UndoableChange]:
        """The changes that can be undone here, newest first."""
        from roundtable.app.records.undo_change import list_undoable_changes

        return await list_undoable_changes(self._parts)

    async def project_versions(self, session: Session, records: Sequence[Recorded]) -> list[ProjectVersion]:
        """Every version of the project that a session made, in the order of its stages; refused where it made none."""
        from roundtable.app.records.session_project import list_project_versions, no_project_error

        versions = await list_project_versions(self._parts.record, session, records)
        if not any(version.changes for version in versions):
            raise no_project_error()
        return versions

    async def read_project_file(self, versions: Sequence[ProjectVersion], path: str, name: str = "") -> bytes:
        """One file of a version of the project; of the last merged one, unless another is named."""
        from roundtable.app.records.session_project import read_project_file

        return await read_project_file(self._parts.record, versions, path, name)

    async def hand_over_project(
        self, session: Session, records: Sequence[Recorded], form: HandoverForm, into: Path
    ) -> ProjectDelivered:
        """Write the project of a session to a folder, at the person's own command."""
        from roundtable.app.records.session_project import hand_over_project

        return await hand_over_project(self._parts.record, session, records, form, into)

    # --- worktrees -------------------------------------------------------------------------------

    async def list_worktrees(self) -> Sequence[ListedWorktree]:
        """Every worktree of this workspace, and why it must stay if it must."""
        from roundtable.app.records.list_worktrees import list_worktrees

        return await list_worktrees(self._wiring.workplaces.worktrees, self._parts.leases)

    async def make_worktree(self, agent: str, task: str, session: str = "", base: str = "HEAD") -> Worktree:
        """Make a worktree for an agent and its task, on a branch of its own, and run its set-up."""
        return await self._wiring.workplaces.make(agent, task, session, base)

    async def discard_worktree(self, name: str) -> None:
        """Delete a worktree with everything in it; refused while its session runs."""
        from roundtable.app.records.list_worktrees import discard_worktree

        await discard_worktree(self._wiring.workplaces.worktrees, self._parts.leases, name)

    async def discard_unneeded_worktrees(self) -> tuple[Sequence[ListedWorktree], Sequence[ListedWorktree]]:
        """Delete the worktrees with which nothing is lost; returns those that were deleted and those that stay."""
        from roundtable.app.records.list_worktrees import discard_unneeded_worktrees

        return await discard_unneeded_worktrees(self._wiring.workplaces.worktrees, self._parts.leases)
