"""Runs on trees of a workspace see them where the workspace is, with the dependencies that are installed there.

Environments and build tools write down where a project lies. An editable install, say, would else lead to nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Output
from roundtable.core.sensitive import is_sensitive
from roundtable.workshop.git import git_of
from roundtable.workshop.trees import named_by_rule

_DEPENDENCIES = frozenset({"node_modules", "vendor"})


def installed(workspace: Path) -> dict[str, str]:
    """Folders of dependencies that git ignores as a whole, by their paths in the workspace; where they really are."""
    with git_of(workspace) as git:
        ignored = (Path(name) for name in git.ignored_files() if name.endswith("/"))
    found = (it for it in ignored if it.name in _DEPENDENCIES and not (workspace / it).is_symlink())
    return {str(it): str(workspace / it) for it in found}


def brought_along(workspace: Path, rules: Sequence[str], lent: Iterable[str]) -> tuple[str, ...]:
    """The files that rules name to come along into a tree, but for secrets and for what is lent to it anyway."""
    names = (name for name in named_by_rule(workspace, rules) if not is_sensitive(name))
    return tuple(name for name in names if not any(name.startswith(f"{it}/") for it in lent))


class InPlace:
    """A sandbox whose runs on copies of trees see those in the place of the workspace, and what is lent to it."""

    def __init__(self, sandbox: Sandbox, workspace: Path, lent: dict[str, str]) -> None:
        self._sandbox = sandbox
        self._workspace = str(workspace.absolute())
        self._lent = lent
        self.name = sandbox.name

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run it there."""
        return self._sandbox.run(msgspec.structs.replace(job, place=self._workspace, lent=self._lent))
