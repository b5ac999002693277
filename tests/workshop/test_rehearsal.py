"""The tree of a rehearsal: it equals the commit, and a missing hunk is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.workshop.edit.hunks import split_edits_into_hunks
from roundtable.workshop.edit.rehearsal import (
    create_edit_rehearsal_tree,
    find_lost_hunks,
    list_changed_files_outside_edit_draft,
)
from tests.repository import git, write
from tests.workshop.scenes import draft_every_change, plain_folder, shop


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return shop(tmp_path / "shop")


def test_a_rehearsal_contains_the_last_commit_and_the_draft_and_no_other_work(work: Path, tmp_path: Path) -> None:
    files = draft_every_change(work)
    tree = tmp_path / "tree"
    create_edit_rehearsal_tree(work, tree, files)
    assert (tree / "mine.py").read_text() == "a = 1\n"
    assert (tree / "staged.py").read_text() == "b = 1\n"
    assert (tree / "src/cart.py").read_text() == "def total(items):\n    return sum(items)\n"
    assert find_lost_hunks(tree, files) == ()
    assert set(list_changed_files_outside_edit_draft(work, files)) == {"mine.py", "staged.py"}


def test_a_rehearsal_without_git_is_the_workspace_with_the_draft(tmp_path: Path) -> None:
    work, tree = plain_folder(tmp_path / "plain"), tmp_path / "tree"
    create_edit_rehearsal_tree(work, tree, draft_every_change(work))
    assert (tree / "README.md").read_text() == "# Shop\n"
    assert (tree / "lib/here.py").read_text() == "HERE = 2\n"
    assert list_changed_files_outside_edit_draft(work, ()) == ()


def test_a_rehearsal_before_the_first_commit_is_the_draft_alone(tmp_path: Path) -> None:
    work, tree = plain_folder(tmp_path / "new"), tmp_path / "tree"
    git(work, "init", "-q")
    create_edit_rehearsal_tree(work, tree, (DraftFile("a.py", None, b"a\n"),))
    assert [path.name for path in tree.rglob("*")] == ["a.py"]
    assert "README.md" in list_changed_files_outside_edit_draft(work, ())


@pytest.mark.parametrize(
    ("path", "text", "lost"),
    [
        ("a.py", b"one\n2\n3\n4\nfive\n", ["a.py#1"]),
        ("a.py", b"1\n2\n3\n4\nFIVE\n", ["a.py#2"]),
        ("a.py", b"1\n2\nand more\n3\n4\nfive\n", ["a.py#1", "a.py#2"]),
        ("new.py", b"", ["new.py#1"]),
        ("old.py", b"still here", ["old.py#1"]),
        ("was.py", b"still here", ["now.py#rename"]),
    ],
)
def test_a_hunk_missing_from_the_rehearsal_is_named(tmp_path: Path, path: str, text: bytes, lost: list[str]) -> None:
    files = (
        DraftFile("a.py", b"one\n2\n3\n4\n5\n", b"1\n2\n3\n4\nfive\n"),
        DraftFile("new.py", None, b"new\n"),
        DraftFile("old.py", b"still here", None),
        DraftFile("now.py", b"same\n", b"same\n", was="was.py"),
    )
    assert {"a.py#1", "a.py#2", "now.py#rename"} <= {hunk.id for hunk in split_edits_into_hunks(files)}
    tree = tmp_path / "tree"
    write(tree, {"README.md": "# Here\n"})
    create_edit_rehearsal_tree(tree, tmp_path / "merged", files)
    assert find_lost_hunks(tmp_path / "merged", files) == ()
    (tmp_path / "merged" / path).write_bytes(text)
    assert list(find_lost_hunks(tmp_path / "merged", files)) == lost
