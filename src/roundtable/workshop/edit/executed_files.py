"""Files that other programs execute or obey by themselves: an editor, a CI server, a git hook, a coding agent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from roundtable.core.changeset import DraftFile

_EXECUTED_BY = {
    "a coding agent follows its instructions": (
        "agents.md", "*/agents.md", "claude.md", "*/claude.md", "gemini.md", "*/gemini.md", ".cursorrules",
        ".windsurfrules", ".clinerules", ".github/copilot-instructions.md", ".github/instructions/*",
    ),
    "a coding agent runs its commands": (
        ".claude/*", ".codex/*", ".gemini/*", ".opencode/*", ".cursor/*", ".continue/*", ".mcp.json", "*/.mcp.json",
        "opencode.json", "opencode.jsonc", ".aider.conf.yml",
    ),
    "an editor runs its tasks": (".vscode/*", ".idea/*", ".devcontainer/*", ".devcontainer.json", "*.code-workspace"),
    "a build server runs it": (
        ".github/workflows/*", ".github/actions/*", ".gitlab-ci.yml", ".circleci/*", ".travis.yml", "jenkinsfile",
        "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker/*", ".woodpecker.yml",
    ),
    "git runs its hooks": (
        ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", ".husky/*", ".githooks/*", "lefthook.yml", ".lefthook.yml",
    ),
    "the shell runs it when you enter the folder": (".envrc", "*/.envrc", ".mise.toml", "mise.toml", ".tool-versions"),
    "a package manager runs programs that it names": (
        ".cargo/config.toml", ".cargo/config", "*/.cargo/config.toml", ".npmrc", "*/.npmrc", ".yarnrc.yml",
        ".pnpmfile.cjs",
    ),
}  # fmt: skip
"""Patterns of paths in small letters, by what happens to such a file without a further question to the person."""
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")


def find_unrequested_edits_of_executed_files(
    files: Iterable[DraftFile], task: str, check_files: Collection[str] = ()
) -> tuple[str, ...]:
    """Return a sentence for each changed file that another program executes and that the task does not name.

    `check_files` are the changed files that the checks of the workspace use.
    """
    written = (file.path for file in files if file.after is not None and not _is_named(file.path, task))
    effects = {path: _find_effect(path, check_files) for path in written}
    return tuple(f"{path} is written: {effect}." for path, effect in effects.items() if effect)


def _find_effect(path: str, check_files: Collection[str]) -> str:
    if path in check_files and path.rpartition("/")[2] in _MAKEFILES:
        return "a check of this workspace runs its targets"
    effects = (
        effect
        for effect, patterns in _EXECUTED_BY.items()
        if any(fnmatchcase(path.lower(), pattern) for pattern in patterns)
    )
    return next(effects, "")


def _is_named(path: str, task: str) -> bool:
    """Whether the task names the file by its path or its whole name."""
    names = (path, path.rpartition("/")[2])
    return any(re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w/-]|\.\w)", task) for name in names)
