"""The commit of a change as a person asks for it: on which branch, in whose name, and what undo says of it later."""

from __future__ import annotations

import getpass
import json
from pathlib import Path

import pytest

from tests.doors.coding_seats import CALC, RIGHT, coder, open_coding_workspace
from tests.doors.command_line import Cli
from tests.repository import git

TASK = "Fix double()"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return open_coding_workspace(tmp_path)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("main", "Branch main already exists"),
        ("main/x", "conflicts with the existing branch main"),
        ("a b", "is not a valid branch name"),
    ],
)
def test_an_impossible_branch_is_reported_before_the_meeting(cli: Cli, name: str, why: str) -> None:
    output = cli.run("build", TASK, "--all", "--branch", name, *cli.script(ada=coder(RIGHT)), code=2).stderr
    assert why in output
    assert json.loads(cli.run("list", "--json").stdout)["sessions"] == []


def test_the_commit_names_an_approval_given_in_advance(cli: Cli, tmp_path: Path) -> None:
    cli.env |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    git(cli.work, "config", "--unset", "user.name")
    git(cli.work, "config", "--unset", "user.email")
    cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)))
    author, trailers = git(cli.work, "log", "-1", "--format=%an%n%(trailers)").split("\n", 1)
    assert f"Approved-By: {getpass.getuser()} (in advance)\n" in trailers
    assert author == getpass.getuser()


def test_a_dry_run_during_a_merge_says_so(cli: Cli) -> None:
    (cli.work / ".git/MERGE_HEAD").write_text(git(cli.work, "rev-parse", "HEAD"))
    output = cli.run("build", TASK, "--dry-run", *cli.script(ada=coder(RIGHT)), code=3).stdout
    assert "A merge is in progress in this repository" in output
    assert (cli.work / "calc.py").read_text() == CALC


def test_uncommitted_work_stays_with_a_separate_git_folder(cli: Cli, tmp_path: Path) -> None:
    mine = f"{CALC}\n# mine\n"
    git(cli.work, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"))
    (cli.work / "calc.py").write_text(mine)
    output = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)), code=2).stderr
    assert "Git cannot read the commits" in output
    assert "No seat was asked" in output
    assert (cli.work / "calc.py").read_text() == mine
