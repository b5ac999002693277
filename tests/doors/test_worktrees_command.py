"""`roundtable worktrees` as a person uses it: what is there, what stays and why, and what goes."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.changeset import FolderEdits
from roundtable.core.faults import Fault, RoundtableError
from roundtable.workshop.repo.worktrees import Worktree
from tests.doors.command_line import Cli
from tests.repository import commit, git, repository, write


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    person = Cli(tmp_path)
    repository(person.work, {"a.py": "a\n", ".gitignore": "local.cfg\n"})
    return person


def _open(cli: Cli, agent: str, task: str) -> Worktree:
    async def work() -> Worktree:
        async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
            return await desk.changes.make_worktree(agent, task)

    return asyncio.run(work())


@pytest.mark.feature("S1.13")
def test_worktrees_are_listed_with_their_branch_and_why_they_are_kept(cli: Cli) -> None:
    assert "no worktrees" in cli.run("worktrees").stderr
    gpt, claude = _open(cli, "gpt", "login"), _open(cli, "claude", "login")
    write(gpt.path, {"a.py": "theirs\n"})
    rows = [line.split("\t") for line in cli.run("worktrees").stdout.splitlines()]
    assert rows == [
        ["name", "branch", "port", "kept because"],
        ["agents-claude-login", "agents/claude/login", str(claude.port), "not needed any more"],
        ["agents-gpt-login", "agents/gpt/login", str(gpt.port), "1 file with unmerged changes: a.py"],
    ]
    output = json.loads(cli.run("worktrees", "list", "--json").stdout)
    assert [(worktree["name"], worktree["unmerged"]) for worktree in output["worktrees"]] == [
        ("agents-claude-login", []),
        ("agents-gpt-login", ["a.py"]),
    ]


def test_clean_removes_only_worktrees_without_unsaved_work(cli: Cli) -> None:
    gpt, claude, gemini = (_open(cli, agent, "login") for agent in ("gpt", "claude", "gemini"))
    write(gpt.path, {"a.py": "theirs\n"})
    write(gemini.path, {"new.py": "here too\n"})
    write(cli.work, {"new.py": "here too\n"})
    output = cli.run("worktrees", "clean").stderr
    assert "agents-gpt-login is kept: 1 file with unmerged changes: a.py." in output
    assert "agents-claude-login was removed" in output
    assert gpt.path.exists()
    assert not claude.path.exists()
    assert not gemini.path.exists()


def test_clean_keeps_ignored_files_that_exist_nowhere_else(cli: Cli) -> None:
    gpt = _open(cli, "gpt", "login")
    write(gpt.path, {"local.cfg": "theirs\n"})
    output = cli.run("worktrees", "clean").stderr
    assert "agents-gpt-login is kept: 1 ignored file that exists only there: local.cfg." in output
    assert (gpt.path / "local.cfg").exists()


def test_unsaved_work_is_discarded_only_by_name_and_with_confirmation(cli: Cli) -> None:
    gpt = _open(cli, "gpt", "login")
    write(gpt.path, {"a.py": "theirs\n"})
    refused = cli.run("worktrees", "discard", "agents-gpt-login", code=3, input="n\n")
    assert "a.py" in refused.stderr
    assert gpt.path.exists()
    assert "Existing worktrees: agents-gpt-login." in cli.run("worktrees", "discard", "another", code=2).stderr
    cli.run("worktrees", "discard", "agents-gpt-login", "--yes")
    assert not gpt.path.exists()
    assert "no worktrees" in cli.run("worktrees").stderr


def test_a_worktree_can_be_compared_after_its_base_commit_was_rewritten(cli: Cli) -> None:
    gpt, claude = _open(cli, "gpt", "login"), _open(cli, "claude", "login")
    write(gpt.path, {"a.py": "theirs\n"})
    write(cli.work, {"a.py": "mine\n"})
    for args in (("commit", "-qa", "--amend", "-m", "Anew"), ("reflog", "expire", "--expire=now", "--all")):
        git(cli.work, *args)
    git(cli.work, "gc", "-q", "--prune=now")
    output = cli.run("worktrees", "clean").stderr
    assert "agents-gpt-login is kept: 1 file with unmerged changes: a.py." in output
    assert not claude.path.exists()


def test_a_worktree_without_its_base_commit_is_kept_until_discarded(cli: Cli) -> None:
    gpt = _open(cli, "gpt", "login")
    write(gpt.path, {"a.py": "theirs\n"})
    shutil.rmtree(cli.work / ".git")
    repository(cli.work, {}, "Another beginning")
    output = cli.run("worktrees", "clean").stderr
    assert "agents-gpt-login is kept: Git cannot read the changes in worktree" in output
    assert (gpt.path / "a.py").read_text() == "theirs\n"
    cli.run("worktrees", "discard", "agents-gpt-login", "--yes")
    assert not gpt.path.exists()


def _config(cli: Cli, text: str) -> None:
    write(cli.work, {".roundtable/config.toml": text})


def test_the_setup_of_a_trusted_config_prepares_a_worktree_with_its_ports(cli: Cli) -> None:
    script = "import os; open('ready', 'w').write(os.environ['PORT'] + ' ' + os.environ['ROUNDTABLE_PORT_BASE'])"
    write(cli.work, {"local.cfg": "mine"})
    _config(
        cli,
        f'[worktrees]\nbranch = "{{task}}-by-{{agent}}"\ncopy = ["local.cfg"]\n'
        f"setup = [{json.dumps([sys.executable, '-c', script])}]\n",
    )
    strange = _open(cli, "gpt", "one")
    assert strange.branch == "agents/gpt/one", "an untrusted workspace names no programs"
    assert not (strange.path / "ready").exists()
    assert "worktrees.setup" in cli.run("trust", "--yes").stderr
    worktree = _open(cli, "gpt", "two")
    assert worktree.branch == "two-by-gpt"
    assert (worktree.path / "ready").read_text() == f"{worktree.port} {worktree.port}"
    assert (worktree.path / "local.cfg").read_text() == "mine"


def test_setup_commands_find_programs_as_a_person_would(cli: Cli) -> None:
    write(cli.work, {"ready.sh": "#!/bin/sh\necho so > $1\n"})
    (cli.work / "ready.sh").chmod(0o755)
    commit(cli.work, "A script")
    _config(cli, '[worktrees]\nsetup = [["sh", "-c", "echo so > bare"], ["./ready.sh", "by-path"]]\n')
    cli.run("trust", "--yes")
    worktree = _open(cli, "gpt", "t")
    assert [(worktree.path / name).read_text() for name in ("bare", "by-path")] == ["so\n", "so\n"]


SETS_UP = "echo b > b.py; echo made > made.lock; rm gone.py; rm -r data; ln -s /tmp data; chmod +x run.sh"


def _set_up(cli: Cli) -> Worktree:
    """A worktree in which nobody has worked yet; its set-up and `copy` have left it otherwise than it is committed."""
    write(cli.work, {name: "a\n" for name in ("b.py", "gone.py", "data/x", "data/y", "run.sh")})
    commit(cli.work, "More")
    write(cli.work, {"mine.cfg": "mine\n"})
    _config(cli, f'[worktrees]\ncopy = ["mine.cfg"]\nsetup = [["sh", "-c", "{SETS_UP}"]]\n')
    cli.run("trust", "--yes")
    return _open(cli, "gpt", "t")


def _edits(cli: Cli, worktree: Worktree) -> FolderEdits:
    async def work() -> FolderEdits | Fault:
        async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
            return await desk.wiring.agent_worktrees.edits(worktree.folder)

    edits = asyncio.run(work())
    assert isinstance(edits, FolderEdits)
    return edits


def test_setup_changes_are_not_work_and_are_removed_with_the_worktree(cli: Cli) -> None:
    worktree = _set_up(cli)
    assert _edits(cli, worktree) == FolderEdits()
    write(worktree.path, {"a.py": "theirs\n"})
    edits = _edits(cli, worktree)
    assert [line for line in edits.diff.splitlines() if line.startswith("diff ")] == ["diff --git a/a.py b/a.py"]
    assert edits == FolderEdits(edits.diff)
    assert "is kept: 1 file with unmerged changes: a.py." in cli.run("worktrees", "clean").stderr
    write(cli.work, {"a.py": "theirs\n"})
    assert "agents-gpt-t was removed" in cli.run("worktrees", "clean").stderr


def test_edits_on_top_of_the_setup_are_omitted_listed_and_kept(cli: Cli) -> None:
    worktree = _set_up(cli)
    theirs = {"a.py": "theirs\n", "b.py": "theirs\n", "mine.cfg": "theirs\n", "gone.py/new.py": "theirs\n"}
    write(worktree.path, theirs)
    (worktree.path / "made.lock").unlink()
    (worktree.path / "data").unlink()
    write(worktree.path, {"data/x": "theirs\n", "data/y": "a\n"})
    edits = _edits(cli, worktree)
    assert [line for line in edits.diff.splitlines() if line.startswith("diff ")] == ["diff --git a/a.py b/a.py"]
    assert edits.set_up == ("b.py", "data/x", "gone.py/new.py", "mine.cfg"), "what is as committed again is no change"
    (listed,) = json.loads(cli.run("worktrees", "list", "--json").stdout)["worktrees"]
    assert listed["unmerged"] == ["a.py", "b.py", "data/x", "gone.py/new.py", "mine.cfg"]


@pytest.mark.parametrize(
    "argv", [[sys.executable, "-c", "print('no network'); raise SystemExit(3)"], ["/no/such/program"]]
)
def test_a_failed_setup_is_reported_and_leaves_the_folder(cli: Cli, argv: list[str]) -> None:
    _config(cli, f"[worktrees]\nsetup = [{json.dumps(argv)}]\n")
    cli.run("trust", "--yes")
    with pytest.raises(RoundtableError, match="failed in worktree agents-gpt-t") as failed:
        _open(cli, "gpt", "t")
    assert isinstance(failed.value, RoundtableError)
    assert "agents-gpt-t" in cli.run("worktrees").stdout
