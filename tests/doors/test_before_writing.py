"""What cannot end well is said before any seat is asked and paid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.doors.coding_seats import CALC, RIGHT, coder, open_coding_workspace, read_record
from tests.doors.command_line import Cli
from tests.repository import git, sandbox

TASK = "Make double() in calc.py double"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return open_coding_workspace(tmp_path)


def _without_sandbox(cli: Cli, folder: Path) -> None:
    """Leave the person git, and nothing that could run a candidate."""
    folder.mkdir()
    (folder / "git").symlink_to(shutil.which("git") or "")
    cli.env["PATH"] = str(folder)


def _sessions(cli: Cli) -> list[object]:
    return json.loads(cli.run("list", "--json").stdout)["sessions"]


def test_without_a_sandbox_no_seat_is_asked_to_build(cli: Cli, tmp_path: Path) -> None:
    _without_sandbox(cli, tmp_path / "bin")
    output = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)), code=2).stderr
    assert "There is no sandbox to run candidates in, so no seat was asked." in output
    assert "Install bubblewrap" in output
    assert _sessions(cli) == []


def test_without_a_sandbox_no_seat_is_asked_in_stages_that_run_code(cli: Cli, tmp_path: Path) -> None:
    _without_sandbox(cli, tmp_path / "bin")
    seats = cli.script(ada=coder(RIGHT))
    for stages in ("code", "sdlc"):
        output = cli.run("sdlc", "a small program", "--stages", stages, *seats, code=2).stderr
        assert "There is no sandbox to run candidates in, so no seat was asked." in output
    assert _sessions(cli) == []


def test_without_a_sandbox_a_specification_can_still_be_agreed_on(cli: Cli, tmp_path: Path) -> None:
    _without_sandbox(cli, tmp_path / "bin")
    cli.run("sdlc", "a small program", "--stages", "spec", "--headless", *cli.script(ada=coder(RIGHT)), code=3)
    assert len(_sessions(cli)) == 1


async def test_a_dry_run_works_without_a_sandbox(cli: Cli, tmp_path: Path) -> None:
    await sandbox()
    seats = cli.script(ada=coder(RIGHT))
    cli.run("build", TASK, "--headless", *seats, code=3)
    _without_sandbox(cli, tmp_path / "bin")
    assert "calc.py: 1 hunk" in cli.run("apply", "--dry-run", *seats).stdout
    assert "so no seat was asked" in cli.run("apply", "--all", *seats, code=2).stderr
    assert (cli.work / "calc.py").read_text() == CALC


def test_a_bare_repository_is_refused_before_any_of_it_is_shown(cli: Cli, tmp_path: Path) -> None:
    cli.script(ada=coder(RIGHT))
    seats = ("--seat", f"ada=script:{cli.work}/s.json")
    bare = tmp_path / "bare.git"
    git(cli.work, "clone", "-q", "--bare", ".", str(bare))
    for options in ((), ("--branch", "fix")):
        output = cli.run("build", TASK, *options, *seats, "--workspace", str(bare), code=2).stderr
        assert f"{bare} is a bare repository, which has no files that could be changed." in output
    assert _sessions(cli) == []


def test_no_seat_is_asked_during_a_merge(cli: Cli) -> None:
    seats = cli.script(ada=coder(RIGHT))
    git(cli.work, "switch", "-qc", "side")
    git(cli.work, "commit", "-q", "--allow-empty", "-m", "Side")
    git(cli.work, "switch", "-q", "-")
    git(cli.work, "merge", "-q", "--no-ff", "--no-commit", "side")
    output = cli.run("build", TASK, "--all", *seats, code=2).stderr
    assert "A merge is in progress in this repository, so no seat was asked." in output
    assert _sessions(cli) == []


async def test_files_that_git_converts_are_reported_at_the_start(cli: Cli) -> None:
    await sandbox()
    git(cli.work, "config", "core.autocrlf", "true")
    (cli.work / "calc.py").unlink()
    git(cli.work, "checkout", "calc.py")
    result = cli.run("build", TASK, "--all", *cli.script(ada=coder(RIGHT)), code=3)
    opened = next(fact for fact in read_record(cli) if fact["kind"] == "session.opened")
    (conversion,) = [
        notice for notice in opened["charter"]["notices"] if "Git converts these files on commit" in notice
    ]
    assert conversion.endswith(": calc.py.")
    assert conversion in result.stderr
    assert "not committed" not in result.stdout + result.stderr
    assert (cli.work / "calc.py").read_bytes().count(b"\r\n") == CALC.count("\n"), "and it is as it was"
