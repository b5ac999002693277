"""Runs on trees of a workspace see them where the workspace is, with the dependencies that are installed there.

Environments and build tools write down where a project lies. An editable install, say, would else lead to nothing.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Output
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.repo.scratch_trees import check_tree_size, match_copy_patterns

_MODULES = "node_modules"
_MADE_AGAIN = frozenset({".cache", ".vite", ".vite-temp"})
"""What tools keep among the modules: each run begins without it, and may write it."""
_ENVIRONMENTS = (".venv/", "venv/")


class TreeDependencies(NamedTuple):
    """What git ignores and a tree needs: what is shown to its runs, by path and where it is, and the names to copy."""

    lent: dict[str, str]
    copied: tuple[str, ...]


def find_tree_dependencies(workspace: Path, rules: Sequence[str]) -> TreeDependencies:
    """The modules of Node that are installed in a workspace, and the ignored files that these rules name; no secrets.

    Links among the modules are copied: those of a workspace of packages lead to the packages of the tree.
    """
    with open_git(workspace) as git:
        folders = [path.rstrip("/") for path in git.ignored_files() if path.endswith("/")]
        known = set(git.files()) if rules else set[str]()
    found = [path for name in folders if os.path.basename(name) == _MODULES for path in _entries(workspace, name)]
    links = tuple(path for path in found if (workspace / path).is_symlink())
    lent = {path: str(workspace / path) for path in found if path not in links}
    named = [
        name
        for name in match_copy_patterns(workspace, rules)
        if name not in known
        and not is_sensitive_path(name)
        and not name.startswith(_ENVIRONMENTS)
        and f"/{_MODULES}/" not in f"/{name}"
    ]
    return TreeDependencies(lent, (*links, *check_tree_size(workspace, named)))


def _entries(workspace: Path, folder: str) -> Iterator[str]:
    """What stands in a folder of modules; of a scope (`@name`), what stands in that."""
    for entry in os.scandir(workspace / folder):
        path = f"{folder}/{entry.name}"
        if entry.name.startswith("@") and entry.is_dir(follow_symlinks=False):
            yield from _entries(workspace, path)
        elif entry.name not in _MADE_AGAIN and not is_sensitive_path(entry.name):
            yield path


class WorkspaceMount:
    """A sandbox whose runs on copies of trees see those in the place of the workspace, and what is lent to it."""

    def __init__(self, sandbox: Sandbox, workspace: Path, lent: dict[str, str]) -> None:
        self._sandbox = sandbox
        self._workspace = str(workspace.resolve())
        self._lent = lent
        self.name = sandbox.name

    def run(self, job: Job) -> AsyncGenerator[Output | Exit]:
        """Run it there."""
        return self._sandbox.run(msgspec.structs.replace(job, place=self._workspace, lent=self._lent))
