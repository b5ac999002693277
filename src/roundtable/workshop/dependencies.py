"""The dependencies that a person has installed in a workspace: trees made of it lack them, and runs are lent them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Output
from roundtable.workshop.git import git_of

_FOLDERS = frozenset({"node_modules", "vendor"})


def installed(workspace: Path) -> dict[str, str]:
    """Folders of dependencies that git ignores as a whole, by their paths in the workspace; where they really are."""
    with git_of(workspace) as git:
        ignored = (Path(name) for name in git.ignored_files() if name.endswith("/"))
    return {str(it): str(workspace / it) for it in ignored if it.name in _FOLDERS and not (workspace / it).is_symlink()}


class Lending:
    """A sandbox whose runs on copies of a workspace's trees see the dependencies installed there, read-only."""

    def __init__(self, sandbox: Sandbox, lent: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._lent = dict(lent)
        self.name = sandbox.name

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run it beside them."""
        return self._sandbox.run(msgspec.structs.replace(job, lent=self._lent))
