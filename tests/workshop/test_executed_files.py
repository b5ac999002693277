"""Files that another program executes by itself are found by their paths, unless the task names them."""

from __future__ import annotations

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.workshop.edit.executed_files import find_unrequested_edits_of_executed_files

TASK = "Speed up total() in shop.py."


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude/hooks/start.sh",
        ".vscode/tasks.json",
        ".github/workflows/ci.yml",
        ".pre-commit-config.yaml",
        ".mcp.json",
        ".cargo/config.toml",
        ".envrc",
        "AGENTS.md",
        "web/CLAUDE.md",
        ".GitHub/Workflows/ci.yml",
    ],
)
def test_a_file_that_a_program_executes_is_found(path: str) -> None:
    (sentence,) = find_unrequested_edits_of_executed_files([DraftFile(path, None, b"x")], TASK)
    assert sentence.startswith(f"{path} is written: ")


@pytest.mark.parametrize("path", ["shop.py", "docs/agents.txt", "github/workflows/ci.yml", "src/envrc.py"])
def test_other_files_are_not(path: str) -> None:
    assert find_unrequested_edits_of_executed_files([DraftFile(path, b"a", b"b")], TASK) == ()


@pytest.mark.parametrize(
    ("path", "task", "named"),
    [
        (".github/workflows/ci.yml", "Add a cache to .github/workflows/ci.yml.", True),
        (".github/workflows/ci.yml", "Make ci.yml faster, please", True),
        (".github/workflows/ci.yml", "Make the other-ci.yml faster", False),
        ("AGENTS.md", "Write an AGENTS.md.", True),
        ("AGENTS.md", "Rewrite docs/AGENTS.md.", False),
        (".envrc", "Move the settings out of .envrc.example", False),
    ],
)
def test_a_file_that_the_task_names_needs_no_approval_of_its_own(path: str, task: str, named: bool) -> None:
    assert (find_unrequested_edits_of_executed_files([DraftFile(path, b"a", b"b")], task) == ()) is named


def test_a_file_that_is_deleted_is_executed_by_nobody() -> None:
    assert find_unrequested_edits_of_executed_files([DraftFile(".envrc", b"a", None)], TASK) == ()
