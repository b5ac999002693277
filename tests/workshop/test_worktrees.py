"""Worktrees: each agent works in its own folder and branch, and no work is lost without a person's decision."""

from __future__ import annotations

import os
import shutil
import socket
import time
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from roundtable.core.faults import NotFound, UsageError
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.wording import fence_code_as_markdown
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from roundtable.workshop.repo.commits import GitFailed
from roundtable.workshop.repo.worktrees import (
    FIRST_PORT,
    PORTS_PER_WORKTREE,
    Worktree,
    Worktrees,
    git_branch_name_for_agent,
)
from tests.repository import commit, git, repository, write
from tests.workshop.scenes import run_until_killed, take_snapshot


def _create_worktrees(folder: Path) -> tuple[Path, Worktrees]:
    work = repository(folder / "work", {"a.py": "a\n", "b.py": "b\n", ".gitignore": "node_modules\n.env*\nlocal.cfg\n"})
    git(work, "config", "user.name", "Ada")
    git(work, "config", "user.email", "ada@localhost")
    return work, Worktrees(folder / "data/worktrees", work)


def _take_snapshot(work: Path) -> dict[str, Any]:
    """Return everything visible in the person's workspace, except the refs that keep base commits of worktrees."""
    snapshot = take_snapshot(work)
    snapshot["git"][0] = [line for line in snapshot["git"][0].splitlines() if "\trefs/roundtable/" not in line]
    return snapshot


def _commit_in(tree: Worktree, files: dict[str, str]) -> str:
    write(tree.path, files)
    commit(tree.path, "Theirs")
    return git(tree.path, "rev-parse", "HEAD").strip()


@pytest.mark.feature("S1.13", "S1.51", "S1.12", "S1.27")
def test_each_agent_has_its_own_folder_and_branch_and_its_work_stays_there(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    write(work, {"a.py": "I am not done with this\n"})
    before = _take_snapshot(work)
    made = {
        agent: trees.open(f"{agent}-t1", branch=git_branch_name_for_agent("agents/{agent}/{task}", agent, "T 1/login"))
        for agent in ("claude", "gpt")
    }
    assert {agent: worktree.branch for agent, worktree in made.items()} == {
        "claude": "agents/claude/T-1-login",
        "gpt": "agents/gpt/T-1-login",
    }
    assert (made["gpt"].path / "a.py").read_text() == "a\n", "it begins at the commit, not at unfinished work"
    _commit_in(made["gpt"], {"a.py": "theirs\n"})
    write(made["claude"].path, {"c.py": "c\n"})
    assert (made["claude"].path / "a.py").read_text() == "a\n"
    assert git(made["gpt"].path, "log", "--format=%an: %s", "agents/gpt/T-1-login").splitlines()[0] == "tester: Theirs"
    assert _take_snapshot(work) == before


@pytest.mark.parametrize(
    ("template", "branch"), [("{agent}/{task}", "gpt/login"), ("agents/{agent}/{task}", "agents/gpt/login")]
)
@pytest.mark.feature("S1.14", "S1.27")
def test_the_branch_of_an_agent_is_named_by_a_template(tmp_path: Path, template: str, branch: str) -> None:
    work, trees = _create_worktrees(tmp_path)
    before = _take_snapshot(work)
    worktree = trees.open("gpt-login", branch=git_branch_name_for_agent(template, "gpt", "login"))
    assert git(worktree.path, "branch", "--show-current").strip() == worktree.branch == branch
    assert _take_snapshot(work) == before


@pytest.mark.feature("S1.51")
def test_git_commands_in_a_worktree_do_not_change_the_persons_branches_hooks_and_settings(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    before, settings = _take_snapshot(work), (work / ".git/config").read_text()
    worktree = trees.open("t", branch="agents/gpt/t")
    tip = _commit_in(worktree, {"a.py": "theirs\n"})
    git(worktree.path, "update-ref", "refs/heads/main", tip)
    git(worktree.path, "config", "core.editor", f"touch {tmp_path}/ran")
    hook = Path(git(worktree.path, "rev-parse", "--path-format=absolute", "--git-path", "hooks/post-commit").strip())
    write(hook.parent, {hook.name: f"#!/bin/sh\ntouch {tmp_path}/ran\n"})
    hook.chmod(0o755)
    git(worktree.path, "gc", "-q", "--prune=now")
    assert _take_snapshot(work) == before
    assert (work / ".git/config").read_text() == settings
    write(work, {"mine.py": "m\n"})
    commit(work, "Mine, meanwhile")
    assert not (tmp_path / "ran").exists()
    assert git(work, "fsck", "--full") == ""
    assert trees.status(worktree).unmerged == ("a.py",), "what the person commits meanwhile is not the agent's doing"
    assert "+theirs" in trees.edits("t").diff
    git(work, "fetch", "-q", str(worktree.path), "agents/gpt/t")
    assert git(work, "rev-parse", "FETCH_HEAD").strip() == tip, "who wants the agent's commit can have it"


def test_worktrees_of_all_workspaces_have_different_ports(tmp_path: Path) -> None:
    _, here = _create_worktrees(tmp_path / "one")
    there = Worktrees(tmp_path / "one/data/worktrees", repository(tmp_path / "two", {"a": "a"}))
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        made = [here.open("a"), there.open("a"), here.open("b")]
        ports = [worktree.port for worktree in made]
        assert len(set(ports)) == 3
        assert all(port >= FIRST_PORT and (port - FIRST_PORT) % PORTS_PER_WORKTREE == 0 for port in ports)
        assert made[0].variables == {"PORT": str(ports[0]), "ROUNDTABLE_PORT_BASE": str(ports[0])}
        here.discard("a")
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", ports[0]))
            listener.listen()
            assert here.open("c").port not in ports, "somebody listens there"
    assert here.open("d").port == ports[0]


def test_ignored_files_are_copied_by_rule_and_secrets_only_by_exact_name(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    write(
        work,
        {
            "node_modules/left/index.js": "l",
            "node_modules/left/.npmrc": "token",
            "local.cfg": "mine",
            ".env": "KEY=1",
            ".env.test": "KEY=test",
        },
    )
    (work / "node_modules/.bin").mkdir()
    (work / "node_modules/.bin/left").symlink_to("../left/index.js")
    (work / "node_modules/out").symlink_to(tmp_path)
    (work / "node_modules/lib").symlink_to("left")
    worktree = trees.open("t", copy=["node_modules", ".env.test", ".env*", "*.cfg"])
    assert (worktree.path / "node_modules/.bin/left").read_text() == "l"
    assert (worktree.path / "node_modules/lib/index.js").read_text() == "l"
    assert not (worktree.path / "node_modules/out").is_symlink()
    assert not (worktree.path / "node_modules/left/.npmrc").exists()
    assert (worktree.path / "local.cfg").read_text() == "mine"
    assert (worktree.path / ".env.test").read_text() == "KEY=test"
    assert not (worktree.path / ".env").exists()
    assert trees.status(worktree).changed == ()
    for outside in ("../x", "/etc/passwd", "~/x"):
        with pytest.raises(UsageError, match=r"Invalid pattern in worktrees\.copy"):
            trees.open("other", copy=[outside])


def test_changes_that_the_workspace_does_not_have_would_be_lost(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t", branch="agents/gpt/t")
    assert trees.status(worktree).changed == ()
    _commit_in(worktree, {"a.py": "theirs\n"})
    write(worktree.path, {"new.py": "n\n"})
    (worktree.path / "b.py").unlink()
    status = trees.status(worktree)
    assert status.changed == status.unmerged == ("a.py", "b.py", "new.py")
    write(work, {"a.py": "theirs\n", "new.py": "n\n"})
    assert trees.status(worktree).unmerged == ("b.py",)
    (work / "b.py").unlink()
    assert trees.status(worktree).unmerged == ()
    (worktree.path / "link").symlink_to("a.py")
    assert trees.status(worktree).unmerged == ("link",)


@pytest.mark.parametrize("based", [True, False])
def test_ignored_files_would_be_lost_but_installed_dependencies_would_not(tmp_path: Path, based: bool) -> None:
    work, trees = _create_worktrees(tmp_path)
    if not based:
        shutil.rmtree(work / ".git")
    write(work, {"local.cfg": "mine", "sub/.gitignore": "*.db\nout\n"})
    commit(work, "More") if based else None
    worktree = trees.open("t", copy=["local.cfg"])
    made_again = {"node_modules/a/b.js": "b", "sub/node_modules/c.js": "c", "sub/out/__pycache__/x.pyc": "x"}
    write(worktree.path, made_again)
    assert trees.status(worktree).ignored == ()
    write(worktree.path, {"sub/found.db": "1", "sub/out/deep/report": "r", "local.cfg": "theirs"})
    status = trees.status(worktree)
    assert (status.changed, status.ignored) == ((), ("local.cfg", "sub/found.db", "sub/out/"))
    write(work, {"sub/found.db": "1", "sub/out/deep/report": "r"})
    assert trees.status(worktree).ignored == ("local.cfg",)


def test_work_in_a_worktree_cannot_redirect_git_or_run_a_program(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t")
    write(worktree.path, {"a.py": "theirs\n", ".gitattributes": "* filter=evil\n"})
    git(worktree.path, "config", "filter.evil.clean", f"touch {tmp_path}/ran")
    git(worktree.path, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    git(work, "config", "filter.evil.clean", f"touch {tmp_path}/ran")
    assert "a.py" in trees.status(worktree).unmerged
    assert not (tmp_path / "ran").exists()
    shutil.rmtree(worktree.path / ".git")
    assert "a.py" in trees.status(worktree).unmerged
    trees.discard("t")
    assert not worktree.path.exists()


def test_discarding_removes_the_folder_and_its_notes(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    before = take_snapshot(work)
    worktree = trees.open("t", branch="agents/gpt/t")
    _commit_in(worktree, {"a.py": "theirs\n"})
    trees.edits("t")
    trees.discard("t")
    assert [path.name for path in (tmp_path / "data").rglob("*") if path.is_file()] == ["lock"]
    assert take_snapshot(work) == before
    assert trees.list() == []
    with pytest.raises(NotFound, match="Worktree not found: t"):
        trees.discard("t")


def test_a_worktree_deleted_by_hand_can_still_be_discarded(tmp_path: Path) -> None:
    _, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t", branch="agents/gpt/t")
    worktree.path.rename(tmp_path / "taken")
    assert trees.status(worktree).unmerged == ()
    trees.discard("t")
    assert trees.list() == []


@pytest.mark.parametrize("git_init", [False, True])
def test_without_a_base_commit_a_worktree_is_a_plain_copy(tmp_path: Path, git_init: bool) -> None:
    work = tmp_path / "work"
    write(work, {"a.py": "a\n", "src/b.py": "b\n", ".env": "K=1"})
    if git_init:
        git(work, "init", "-q")
    trees = Worktrees(tmp_path / "worktrees", work)
    worktree = trees.open("t")
    assert worktree.base == ""
    assert sorted(path.name for path in worktree.path.rglob("*.py")) == ["a.py", "b.py"]
    assert not (worktree.path / ".env").exists()
    assert trees.status(worktree).changed == ()
    write(worktree.path, {"a.py": "theirs\n", "c.py": "c\n"})
    assert trees.status(worktree).unmerged == ("a.py", "c.py")
    trees.discard("t")
    assert not worktree.path.exists()


def test_files_created_in_a_copy_of_an_empty_folder_count_as_work(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    trees = Worktrees(tmp_path / "worktrees", tmp_path / "work")
    worktree = trees.open("t")
    write(worktree.path, {"a.py": "a\n"})
    assert trees.status(worktree).unmerged == ("a.py",)


def test_changes_in_a_repository_inside_a_copy_count_as_work(tmp_path: Path) -> None:
    write(tmp_path / "work", {"a.py": "a\n"})
    trees = Worktrees(tmp_path / "worktrees", tmp_path / "work")
    worktree = trees.open("t")
    repository(worktree.path / "tool", {"tool.py": "b\n", ".gitignore": "node_modules\n"})
    write(worktree.path, {"tool/node_modules/left/index.js": "l"})
    assert trees.status(worktree).unmerged == ("tool/.gitignore", "tool/tool.py")


def test_an_incomplete_worktree_can_be_discarded_and_created_again(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    before = take_snapshot(work)
    for step in count(1):
        if not run_until_killed(step, lambda: trees.open("t", branch="agents/gpt/t")):
            break
        if trees.list():
            trees.discard("t")
        assert take_snapshot(work) == before
    assert trees.status(trees.find("t")).changed == ()


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", ".known", "a b"])
def test_a_worktree_name_that_is_not_a_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    _, trees = _create_worktrees(tmp_path)
    with pytest.raises(UsageError, match="is not a valid worktree name"):
        trees.open(name)


def test_invalid_worktree_names_branches_and_commits_are_refused(tmp_path: Path) -> None:
    _, trees = _create_worktrees(tmp_path)
    trees.open("t", branch="agents/gpt/t")
    for again in ({"name": "t"}, {"name": "u", "base": "nowhere"}):
        with pytest.raises(UsageError):
            trees.open(**again)
    assert [worktree.name for worktree in trees.list()] == ["t"]
    with pytest.raises(GitFailed, match="could not create a worktree"):
        trees.open("v", branch="agents/gpt t")


def test_the_edits_of_an_agent_are_read_from_its_worktree_byte_for_byte(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    (work / "old.bat").write_bytes(b"echo 1\r\necho 2\r\n")
    (work / "keep.bat").write_bytes(b"a\r\nb\r\n")
    commit(work, "Windows")
    tree = trees.open("gpt").path
    (tree / "old.bat").unlink()
    (tree / "new.bat").write_bytes(b"echo 3\r\n")
    (tree / "keep.bat").write_bytes(b"a\nb\r\n")
    (tree / "latin.txt").write_bytes(b"na\xefve\n")
    (tree / "picture").write_bytes(b"\0\1")
    (tree / "a b").mkdir()
    (tree / "a b/c.png").write_bytes(b"\0\2")
    edits = trees.edits("gpt")
    assert edits.no_text == ("a b/c.png", "latin.txt", "picture")
    reply = f"> done\n\n{fence_code_as_markdown(edits.diff.removesuffix(chr(10)), 'diff')}"
    done = apply_changeset_in_memory(parse_reply_file_changes(reply), work, Redactor().finds)
    assert done.refused == ()
    assert {file.path: file.after for file in done.files} == {
        "keep.bat": b"a\nb\r\n",
        "new.bat": b"echo 3\r\n",
        "old.bat": None,
    }, "what is not text is left out, and nothing else is altered"


@pytest.mark.parametrize(
    "setting",
    [("diff.renames", "copies"), ("diff.renames", "false"), ("diff.context", "0"), ("diff.orderFile", "no/such/file")],
)
def test_diff_settings_of_the_user_do_not_affect_the_edits_of_an_agent(
    tmp_path: Path, setting: tuple[str, str]
) -> None:
    work, trees = _create_worktrees(tmp_path)
    lines = "".join(f"line {number}\n" for number in range(30))
    write(work, {"long.txt": lines, "old.txt": lines.upper()})
    commit(work, "More")
    git(work, "config", *setting)
    tree = trees.open("t").path
    write(tree, {"long.txt": lines.replace("line 5\n", "line 5\nline 5½\n"), "alike.txt": f"{lines}more\n"})
    (tree / "old.txt").rename(tree / "new.txt")
    done = apply_changeset_in_memory(parse_reply_file_changes(trees.edits("t").diff), work, Redactor().finds)
    assert done.refused == ()
    assert {file.path: (file.was, file.after) for file in done.files} == {
        "alike.txt": ("", (tree / "alike.txt").read_bytes()),
        "long.txt": ("", (tree / "long.txt").read_bytes()),
        "new.txt": ("old.txt", (tree / "new.txt").read_bytes()),
    }


def test_links_are_left_out_of_an_agents_edits_and_named(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    write(work, {"gone/a.txt": "a\n"})
    for name in ("moved", "once", "within"):
        (work / name).symlink_to("a.py")
    commit(work, "With links")
    worktree = trees.open("t")
    write(worktree.path, {"a.py": "theirs\n"})
    (worktree.path / "new").symlink_to("a.py")
    shutil.rmtree(worktree.path / "gone")
    (worktree.path / "gone").symlink_to("a.py")
    (worktree.path / "b.py").unlink()
    (worktree.path / "b.py").symlink_to("a.py")
    (worktree.path / "moved").rename(worktree.path / "elsewhere")
    for name in ("once", "within"):
        (worktree.path / name).unlink()
    write(worktree.path, {"once": "a file now\n", "within/b.py": "a folder now\n"})
    edits = trees.edits("t")
    assert edits.links == (
        *("b.py", "elsewhere", "gone", "gone/a.txt", "moved", "new", "once"),
        *("within", "within/b.py"),
    )
    done = apply_changeset_in_memory(parse_reply_file_changes(edits.diff), work, Redactor().finds)
    assert done.refused == ()
    assert [file.path for file in done.files] == ["a.py"]
    assert {*edits.links, "a.py"} <= {*trees.status(worktree).unmerged}, "none of it is lost unasked"


def test_a_repository_created_in_a_worktree_is_left_out_and_named(tmp_path: Path) -> None:
    _, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t")
    write(worktree.path, {"a.py": "theirs\n", "sub/x.txt": "x\n", "deep/other/y.txt": "y\n"})
    git(worktree.path / "sub", "init", "-q")
    repository(worktree.path / "deep/other", {})
    edits = trees.edits("t")
    assert edits.inner == ("deep/other", "sub")
    assert [line for line in edits.diff.splitlines() if line.startswith("diff ")] == ["diff --git a/a.py b/a.py"]
    assert trees.status(worktree).unmerged == ("a.py", "deep/other", "sub"), "it is not lost unasked"


def test_a_shallow_sparse_and_partial_clone_can_have_worktrees(tmp_path: Path) -> None:
    origin, work = repository(tmp_path / "origin", {"src/a.py": "a\n", "docs/b.md": "b\n"}), tmp_path / "work"
    write(origin, {"src/a.py": "aa\n"})
    commit(origin, "More")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--depth=1", "--filter=blob:none", "--sparse", f"file://{origin}", str(work))
    git(work, "sparse-checkout", "set", "src")
    trees = Worktrees(tmp_path / "worktrees", work)
    worktree = trees.open("t", branch="agents/gpt/t")
    assert trees.status(worktree).changed == ()
    assert git(worktree.path, "log", "--format=%s") == "More\n"
    write(worktree.path, {"src/a.py": "theirs\n", "docs/c.md": "c\n"})
    assert trees.status(worktree).unmerged == ("docs/c.md", "src/a.py")


def _with_submodule(folder: Path) -> tuple[Path, Worktrees]:
    work, trees = _create_worktrees(folder)
    library = repository(folder / "library", {"lib.py": "lib\n"})
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    commit(work, "With a library")
    return work, trees


def _plant_programs(inner: Path, ran: Path) -> None:
    """Configure a repository to run a program whenever git looks for changes in it or shows them."""
    write(inner, {"run.sh": f"#!/bin/sh\ntouch {ran}\ncat\n", ".gitattributes": "* filter=evil\n"})
    (inner / "run.sh").chmod(0o755)
    for setting in ("filter.evil.clean", "core.fsmonitor", "diff.external"):
        git(inner, "config", setting, str(inner / "run.sh"))


@pytest.mark.parametrize("how", ["log", "diff"])
def test_git_never_reads_a_submodule_that_an_agent_filled(tmp_path: Path, how: str) -> None:
    work, trees = _with_submodule(tmp_path)
    git(work, "config", "diff.submodule", how)
    worktree = trees.open("t")
    assert trees.edits("t").inner == ()
    assert trees.status(worktree).changed == ()
    shutil.copytree(tmp_path / "library", worktree.path / "lib", dirs_exist_ok=True)
    write(worktree.path, {"a.py": "theirs\n", "lib/lib.py": "bil\n"})
    _plant_programs(worktree.path / "lib", tmp_path / "ran")
    edits, status = trees.edits("t"), trees.status(worktree)
    assert not (tmp_path / "ran").exists()
    assert edits.inner == ("lib",)
    assert [line for line in edits.diff.splitlines() if line.startswith("diff ")] == ["diff --git a/a.py b/a.py"]
    assert status.unmerged == ("a.py", "lib")


@pytest.mark.parametrize("ignored", ["", "b.py\n"])
def test_git_never_reads_a_repository_that_replaced_a_file(tmp_path: Path, ignored: str) -> None:
    work, trees = _create_worktrees(tmp_path)
    git(work, "config", "diff.submodule", "diff")
    worktree = trees.open("t")
    (worktree.path / "b.py").unlink()
    repository(worktree.path / "b.py", {"x.py": "x\n"})
    _plant_programs(worktree.path / "b.py", tmp_path / "ran")
    write(worktree.path, {".gitignore": f"node_modules\n.env*\nlocal.cfg\n{ignored}"})
    edits, status = trees.edits("t"), trees.status(worktree)
    assert not (tmp_path / "ran").exists()
    assert edits.inner == (() if ignored else ("b.py",))
    assert "Subproject" not in edits.diff
    assert "deleted file mode 100644" in edits.diff
    assert "b.py" in status.unmerged


@pytest.mark.parametrize("instead", ["files", "link", "file"])
def test_content_that_replaces_a_submodule_is_left_out_and_named(tmp_path: Path, instead: str) -> None:
    _, trees = _with_submodule(tmp_path)
    worktree = trees.open("t")
    if instead == "files":
        write(worktree.path, {"lib/deep/new.py": "n\n"})
    else:
        (worktree.path / "lib").rmdir()
        (worktree.path / "lib").symlink_to("a.py") if instead == "link" else write(worktree.path, {"lib": "l\n"})
    assert trees.edits("t").inner == ("lib",)
    assert trees.edits("t").diff == ""
    assert trees.status(worktree).unmerged == ("lib",)


def test_concurrent_readers_of_a_worktree_work_despite_the_lock_of_a_killed_git(tmp_path: Path) -> None:
    _, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t")
    write(worktree.path, {f"new/{number}.py": "n\n" for number in range(300)})
    (index,) = (tmp_path / "data").rglob("t.index")
    before = index.read_bytes()
    index.with_name("t.index.lock").touch()
    codes: list[int] = []

    def look() -> None:
        for _ in range(3):
            codes.append(len(trees.status(worktree).changed))
            codes.append(trees.edits("t").diff.count("diff --git"))

    lookers = [Thread(target=look) for _ in range(3)]
    for thread in lookers:
        thread.start()
    for thread in lookers:
        thread.join()
    assert codes == [300] * 18
    assert index.read_bytes() == before


def test_edits_in_the_first_second_count_and_touched_files_do_not(tmp_path: Path) -> None:
    _, trees = _create_worktrees(tmp_path)
    worktree = trees.open("t")
    (worktree.path / "a.py").write_text("A\n")
    time.sleep(1.1)
    os.utime(worktree.path / "b.py")
    assert trees.status(worktree).changed == ("a.py",)
    assert trees.edits("t").diff.count("diff --git") == 1


def test_files_that_an_agent_writes_outside_a_sparse_checkout_count_as_work(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    write(work, {"src/a.py": "a\n", "docs/b.md": "b\n", "docs/same.md": "s\n", "docs/kept.md": "k\n"})
    commit(work, "More")
    git(work, "sparse-checkout", "set", "src")
    worktree = trees.open("t")
    assert not (worktree.path / "docs").exists()
    write(worktree.path, {"docs/b.md": "theirs\n", "docs/same.md": "s\n"})
    assert trees.status(worktree).unmerged == ("docs/b.md",)
    diff = trees.edits("t").diff
    assert diff.count("diff --git") == 1
    assert "-b\n+theirs\n" in diff


def test_the_base_commit_of_a_worktree_is_kept_without_a_branch_or_tag(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    write(work, {"sub/c.py": "c\n"})
    commit(work, "More")
    subfolder_worktrees = Worktrees(tmp_path / "data/worktrees", work / "sub")
    worktree = trees.open("t", branch="agents/gpt/t")
    subfolder_worktrees.open("t")
    subfolder_worktrees.discard("t")
    write(worktree.path, {"a.py": "theirs\n"})
    write(work, {"a.py": "mine\n"})
    git(work, "commit", "-qa", "--amend", "-m", "Anew")
    git(work, "reflog", "expire", "--expire=now", "--all")
    git(work, "gc", "-q", "--prune=now")
    assert "+theirs" in trees.edits("t").diff
    assert git(worktree.path, "log", "--format=%s") == "More\nThe beginning\n"
    assert (git(work, "branch", "--all"), git(work, "tag")) == ("* main\n", "")
    trees.discard("t")
    assert git(work, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"


def test_an_older_linked_worktree_is_discarded_with_its_branch(tmp_path: Path) -> None:
    work, trees = _create_worktrees(tmp_path)
    before = take_snapshot(work)
    worktree = trees.open("t", branch="agents/gpt/t")
    shutil.rmtree(worktree.path)
    git(work, "worktree", "add", "-q", "-b", "agents/gpt/t", str(worktree.path))
    trees.discard("t")
    assert take_snapshot(work) == before
    assert git(work, "worktree", "list").count("\n") == 1
