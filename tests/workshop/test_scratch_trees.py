"""Scratch trees: everything that programs need of a workspace, no secrets, and no link that leads out."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Event

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.faults import UsageError
from roundtable.core.sandbox import Bounds
from roundtable.workshop.edit.rehearsal import create_edit_rehearsal_tree
from roundtable.workshop.repo.scratch_trees import (
    create_scratch_working_tree,
    create_working_trees_concurrently,
    is_symlink_inside_working_tree,
    list_working_tree_files,
    open_scratch_working_trees,
)
from tests.repository import commit, git, repository, write


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def test_a_scratch_tree_has_the_files_and_the_draft_without_ignored_files_and_secrets(tmp_path: Path) -> None:
    files = {
        ".gitignore": "build/\n",
        "a.py": "a\n",
        "gone.py": "g\n",
        "src/b.py": "b\n",
        "run.sh": "r\n",
        ".env": "K=1\n",
    }
    work = repository(tmp_path / "work", files)
    write(work, {"new.py": "not added yet\n", "build/x.o": "x", "a.py": "changed\n", "keys/id_rsa": "k"})
    (work / "run.sh").chmod(0o755)
    (work / "gone.py").unlink()
    draft = [
        DraftFile("src/c.py", b"b\n", b"c\n", was="src/b.py"),
        DraftFile("deep/er/d.sh", None, b"d\n", executable=True),
        DraftFile("new.py", b"not added yet\n", None),
    ]
    create_scratch_working_tree(work, tmp_path / "tree", draft)
    assert _files(tmp_path / "tree") == [".gitignore", "a.py", "deep/er/d.sh", "run.sh", "src/c.py"]
    assert (tmp_path / "tree/a.py").read_text() == "changed\n"
    assert os.access(tmp_path / "tree/run.sh", os.X_OK)
    assert os.access(tmp_path / "tree/deep/er/d.sh", os.X_OK)
    assert not os.access(tmp_path / "tree/a.py", os.X_OK)


def test_a_scratch_tree_has_the_files_of_checked_out_submodules(tmp_path: Path) -> None:
    deep = repository(tmp_path / "deep", {"deep.py": "d\n"})
    library = repository(tmp_path / "library", {"lib.py": "l\n", ".gitignore": "*.o\n", ".env": "K=1\n"})
    work = repository(tmp_path / "work", {"a.py": "a\n"})
    for where, library_name, name in ((library, deep, "deep"), (work, library, "lib"), (work, library, "unused")):
        git(where, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library_name), name)
        commit(where, "With a library")
    git(work / "lib", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    git(work, "submodule", "--quiet", "deinit", "unused")
    write(work, {"lib/x.o": "x", "lib/lib.py": "ll\n", "a.py": "mine\n"})
    repository(work / "beside", {"b.py": "b\n"})
    expected = [".gitmodules", "a.py", "lib/.gitignore", "lib/.gitmodules", "lib/deep/deep.py", "lib/lib.py"]
    create_scratch_working_tree(work, tmp_path / "tree")
    assert _files(tmp_path / "tree") == expected
    create_edit_rehearsal_tree(work, tmp_path / "committed")
    assert _files(tmp_path / "committed") == expected
    assert (tmp_path / "committed/a.py").read_text() == "a\n"


def test_writing_in_a_scratch_tree_does_not_change_the_workspace(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n"})
    create_scratch_working_tree(work, tmp_path / "tree")
    with (tmp_path / "tree/a.py").open("a") as file:
        file.write("more\n")
    assert (work / "a.py").read_text() == "a\n"


def test_links_that_could_lead_out_of_a_scratch_tree_are_not_copied(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"src/a.py": "a\n", "src/deep/b.py": "b\n", ".env": "K=1\n"})
    write(tmp_path, {"outside.txt": "o\n"})
    for name, target in {
        "same.py": "src/a.py",
        "src/deep/up.py": "../a.py",
        "src/out": "../../outside.txt",
        "absolute": str(tmp_path / "outside.txt"),
        "here": ".",
        "sly": "here/../../outside.txt",
        "secret": ".env",
        "folder": "src",
    }.items():
        (work / name).symlink_to(target)
    (work / "pipe").unlink(missing_ok=True)
    os.mkfifo(work / "pipe")
    create_scratch_working_tree(work, tmp_path / "tree")
    links = {path.name for path in (tmp_path / "tree").rglob("*") if path.is_symlink()}
    assert links == {"same.py", "up.py", "here", "folder"}
    assert (tmp_path / "tree/src/deep/up.py").read_text() == "a\n"
    assert not (tmp_path / "tree/pipe").exists()


@pytest.mark.parametrize(
    ("to", "folder", "inside"),
    [
        ("a", "", True),
        ("../a", "", False),
        ("../a", "src", True),
        ("../../a", "src", False),
        ("x/../a", "", False),
        ("/etc/passwd", "a/b", False),
        ("..", "src", True),
    ],
)
def test_a_link_inside_a_tree_climbs_only_at_its_beginning_and_never_above_the_tree(
    to: str, folder: str, inside: bool
) -> None:
    assert is_symlink_inside_working_tree(to, folder) is inside


def test_a_folder_replaced_by_a_link_is_not_copied(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"src/a.py": "a\n"})
    write(tmp_path, {"outside/a.py": "o\n"})
    (work / "src/a.py").unlink()
    (work / "src").rmdir()
    (work / "src").symlink_to(tmp_path / "outside")
    create_scratch_working_tree(work, tmp_path / "tree")
    assert _files(tmp_path / "tree") == []


def test_a_draft_does_not_write_through_a_copied_link(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n"})
    (work / "b.py").symlink_to("a.py")
    create_scratch_working_tree(work, tmp_path / "tree", [DraftFile("b.py", None, b"b\n")])
    assert (tmp_path / "tree/a.py").read_text() == "a\n"
    assert (tmp_path / "tree/b.py").read_text() == "b\n"


async def test_a_failed_tree_is_reported_after_the_others_ended_and_the_folder_is_deleted() -> None:
    failed, trees = Event(), list[Path]()

    def fail() -> None:
        failed.set()
        raise UsageError("There is no such commit.")

    async with open_scratch_working_trees() as folder:

        def take_long() -> None:
            assert failed.wait(10), "they are made side by side"
            write(folder, {"src/a.py": "a\n"})
            trees.append(folder)

        with pytest.raises(UsageError, match="no such commit"):
            await create_working_trees_concurrently([take_long, fail])
        assert trees == [folder]
        assert folder.exists()
    assert not trees[0].exists()


async def test_cancelling_the_creation_of_a_tree_leaves_nothing_behind() -> None:
    begun, go_on, trees = Event(), Event(), list[Path]()

    async def make() -> None:
        async with open_scratch_working_trees() as folder:

            def take_long() -> None:
                begun.set()
                assert go_on.wait(10)
                write(folder, {"src/a.py": "a\n"})
                trees.append(folder)

            await create_working_trees_concurrently([take_long])

    making = asyncio.create_task(make())
    await asyncio.to_thread(begun.wait, 10)
    making.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert len(trees) == 1, "it was waited for"
    assert not trees[0].exists()


def test_a_workspace_too_large_to_copy_is_refused_and_its_largest_file_is_named(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n"})
    with (work / "film.mov").open("wb") as film:
        film.truncate(Bounds().disk)
    with pytest.raises(UsageError, match=r"largest file is film\.mov"):
        list_working_tree_files(work)
    (work / ".gitignore").write_text("*.mov\n")
    assert list_working_tree_files(work) == (".gitignore", "a.py")
