"""Ignored files that a tree does not have, and those of them that runs in it see anyway."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.faults import UsageError
from roundtable.core.sandbox import Job
from roundtable.workshop.repo.scratch_trees import copy_working_tree_files, create_scratch_working_tree
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.trial.workspace_mount import WorkspaceMount, find_trial_tree_dependencies
from tests.repository import repository, sandbox, write


def test_node_modules_are_mounted_without_secrets_and_caches(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {".gitignore": "node_modules/\n", "packages/own/index.js": "1\n"})
    files = ("one/index.js", "@scope/two/index.js", ".bin/one", ".vite/x", ".cache/x", ".env", ".package-lock.json")
    write(work, {f"node_modules/{file}": "x" for file in files})
    write(work, {"packages/own/node_modules/three/index.js": "3", "other/node_modules.js": "4"})
    (work / "node_modules/own").symlink_to("../packages/own")
    (work / "node_modules/@scope/own").symlink_to("../../packages/own")
    box = find_trial_tree_dependencies(work, ())
    lent = ("node_modules/.bin", "node_modules/.package-lock.json", "node_modules/@scope/two", "node_modules/one")
    assert sorted(box.lent) == [*lent, "packages/own/node_modules/three"]
    assert box.lent["node_modules/one"] == str(work / "node_modules/one")
    assert sorted(box.copied) == ["node_modules/@scope/own", "node_modules/own"]


def test_a_copy_rule_brings_only_ignored_files_up_to_a_limit(tmp_path: Path) -> None:
    files = {".gitignore": "made/\n.venv/\n", "conf/kept.json": "1\n"}
    work = repository(tmp_path / "work", files)
    write(work, {"made/a.txt": "a", "made/.env": "K=1", ".venv/bin/python": "p", "conf/new.json": "2"})
    assert find_trial_tree_dependencies(work, ["made", "conf", ".venv"]).copied == ("made/a.txt",)
    with (work / "made/large").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UsageError, match="the largest file is made/large"):
        find_trial_tree_dependencies(work, ["made"])


@pytest.mark.parametrize("what", ["a link", "a file"])
def test_dependencies_create_nothing_outside_the_tree(tmp_path: Path, what: str) -> None:
    work, tree, victim = (tmp_path / name for name in ("work", "tree", "victim"))
    victim.mkdir()
    write(work, {"made/deep/x.txt": "x", "other/y.txt": "y"})
    write(tree, {"own.txt": "o"})
    if what == "a link":
        (tree / "made").symlink_to(victim)
    else:
        (tree / "made").write_text("mine")
    copy_working_tree_files(work, tree, ["made/deep/x.txt", "other/y.txt"])
    assert list(victim.iterdir()) == []
    assert (tree / "other/y.txt").read_text() == "y"


async def test_a_program_of_the_workspace_is_visible_next_to_the_tree(tmp_path: Path) -> None:
    box = await sandbox()
    work = repository(
        tmp_path / "work", {".gitignore": "/bin/\n", "lib/x.txt": "old", "own.sh": "#!/bin/sh\necho old\n"}
    )
    write(work, {"bin/check": "#!/bin/sh\ncat lib/x.txt\nls bin\n", "bin/.env": "K=1"})
    for name in ("bin/check", "own.sh"):
        (work / name).chmod(0o755)
    create_scratch_working_tree(work, tree := tmp_path / "tree")
    (tree / "lib/x.txt").write_text("new\n")
    (tree / "own.sh").unlink()
    here = WorkspaceMount(box, work, {})
    end = await run_sandbox_job(here, Job((str(work / "bin/check"),), str(tree), copied=True))
    assert (end.code, end.output) == (0, b"new\ncheck\n")
    assert (await run_sandbox_job(here, Job(("./own.sh",), str(tree), copied=True))).code == 127, (
        "it is gone from the tree"
    )


async def test_a_workspace_behind_a_link_is_mounted_at_its_real_path(tmp_path: Path) -> None:
    box = await sandbox()
    work = repository(tmp_path / "work", {"a.txt": "a\n"})
    (link := tmp_path / "link").symlink_to(work)
    create_scratch_working_tree(work, tree := tmp_path / "tree")
    end = await run_sandbox_job(WorkspaceMount(box, link, {}), Job(("pwd",), str(tree), copied=True))
    assert end.output.decode() == f"{work}\n"


async def test_tools_may_write_into_node_modules(tmp_path: Path) -> None:
    box = await sandbox()
    work = repository(tmp_path / "work", {".gitignore": "node_modules/\n", "a.txt": "a\n"})
    write(work, {"node_modules/one/index.js": "1\n", "node_modules/two/index.js": "2\n"})
    create_scratch_working_tree(work, tree := tmp_path / "tree")
    lent = find_trial_tree_dependencies(work, ()).lent
    script = "mkdir node_modules/.vite-temp && cat node_modules/*/*; touch node_modules/two/x"
    job = Job(("sh", "-c", script), str(tree), files={"node_modules/one/test.js": "mine\n"})
    end = await run_sandbox_job(WorkspaceMount(box, work, lent), job)
    assert end.output.startswith(b"mine\n2\n")
    assert b"Read-only file system" in end.output
    assert sorted(path.name for path in (work / "node_modules").iterdir()) == ["one", "two"]
