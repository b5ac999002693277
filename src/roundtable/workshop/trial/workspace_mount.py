"""Runs on trees of a workspace see them at the workspace's path, with the dependencies that are installed there.

Environments and build tools record the path of a project; an editable install, for example, would not work elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Output
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.repo.scratch_trees import check_working_tree_size, match_worktree_copy_patterns

_NODE_MODULES = "node_modules"
_TOOL_CACHES = frozenset({".cache", ".vite", ".vite-temp"})
"""Caches that tools keep in node_modules: each run starts without them, and may write them."""
_ENVIRONMENT_FOLDERS = (".venv/", "venv/")


class TreeDependencies(NamedTuple):
    """Ignored files that a tree needs: paths to mount, with their location, and names to copy."""

    lent: dict[str, str]
    copied: tuple[str, ...]


def find_trial_tree_dependencies(workspace: Path, rules: Sequence[str]) -> TreeDependencies:
    """Return the installed node_modules of a workspace and the ignored files that the rules name; no secrets.

    Links in node_modules are copied: in a workspace of packages they lead to the packages of the tree.
    """
    with open_git(workspace) as git:
        folders = [path.rstrip("/") for path in git.ignored_files() if path.endswith("/")]
        tracked = set(git.list_files()) if rules else set[str]()
    modules = [
        path for name in folders if os.path.basename(name) == _NODE_MODULES for path in _list_modules(workspace, name)
    ]
    links = tuple(path for path in modules if (workspace / path).is_symlink())
    mounted = {path: str(workspace / path) for path in modules if path not in links}
    by_rule = [
        name
        for name in match_worktree_copy_patterns(workspace, rules)
        if name not in tracked
        and not is_sensitive_file_name(name)
        and not name.startswith(_ENVIRONMENT_FOLDERS)
        and f"/{_NODE_MODULES}/" not in f"/{name}"
    ]
    return TreeDependencies(mounted, (*links, *check_working_tree_size(workspace, by_rule)))


def _list_modules(workspace: Path, folder: str) -> Iterator[str]:
    """Yield the entries of a node_modules folder; for a scope (`@name`), the entries of the scope."""
    for entry in os.scandir(workspace / folder):
        path = f"{folder}/{entry.name}"
        if entry.name.startswith("@") and entry.is_dir(follow_symlinks=False):
            yield from _list_modules(workspace, path)
        elif entry.name not in _TOOL_CACHES and not is_sensitive_file_name(entry.name):
            yield path


class WorkspaceMount:
    """A sandbox that shows each tree at the path of the workspace, with the mounted dependencies."""

    def __init__(self, sandbox: Sandbox, workspace: Path, lent: dict[str, str]) -> None:
        self._sandbox = sandbox
        self._workspace = str(workspace.resolve())
        self._lent = lent
        self.name = sandbox.name
        self.unenforced = sandbox.unenforced

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run a job at the path of the workspace."""
        return self._sandbox.run(msgspec.structs.replace(job, place=self._workspace, lent=self._lent))
