"""A project that is worked on from another folder: its session is found from both, and what it does is done there."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.doors.coding_seats import read_record
from tests.doors.command_line import Cli
from tests.repository import git, own_python, repository, sandbox

BEFORE = "PRICE = 3\n"
AFTER = "PRICE = 4\n"
IDEA = "Raise the price in shop.py."


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Somebody with a shop beside the folder they stand in."""
    asyncio.run(sandbox())
    cli = Cli(tmp_path)
    repository(tmp_path / "shop", {"shop.py": BEFORE})
    own_python(tmp_path / "shop")
    git(tmp_path / "shop", "config", "user.name", "Anna")
    git(tmp_path / "shop", "config", "user.email", "anna@localhost")
    return cli


def shop(cli: Cli) -> Path:
    """The project."""
    return cli.work.parent / "shop"


def ask(cli: Cli, *options: str) -> list[str]:
    """The command for one stage of files on it."""
    writes = {"round": "*", "text": f"Here.\n\n```python shop.py\n{AFTER}```\n"}
    script = cli.work.parent / "s.json"
    script.write_text(json.dumps({"seats": {"ada": {"turns": [writes]}}}))
    return ["sdlc", IDEA, "--from", "../shop", "--only", "development", "--seat", f"ada=script:{script}", *options]


def listed(cli: Cli, *args: str) -> list[dict[str, Any]]:
    """The sessions that are listed from where the person stands."""
    return json.loads(cli.run("list", "--json", *args).stdout)["sessions"]


def test_a_change_is_applied_to_the_project_from_any_folder(cli: Cli) -> None:
    copy = cli.work.parent / "copy"
    shutil.copytree(shop(cli), copy, symlinks=True)
    cli.run(*ask(cli, "--yes", "--headless"))
    slug = listed(cli)[0]["slug"]
    started, cli.work = cli.work, copy
    result = cli.run("apply", slug, "--all", "--headless")
    assert f"This session belongs to the workspace {shop(cli)}" in result.stderr
    assert f"The change is in {shop(cli)}; run `roundtable undo` there to undo it." in result.stdout
    assert (shop(cli) / "shop.py").read_text() == AFTER
    assert (copy / "shop.py").read_text() == BEFORE
    assert git(copy, "log", "--format=%s").splitlines() == ["The beginning"]
    cli.work = started
    assert "already applied" in cli.run("apply", slug, code=2).stderr
    cli.work = shop(cli)
    cli.run("undo")
    assert (shop(cli) / "shop.py").read_text() == BEFORE


def test_a_session_is_found_from_its_start_folder_and_its_project(cli: Cli) -> None:
    with cli.terminal(*ask(cli, "--plain")) as terminal:
        terminal.expect("Gate after-development")
        assert "after-development" in cli.run("gates").stdout
        terminal.process.kill()
        terminal.process.wait()
    started, (row,) = cli.work, listed(cli)
    assert row["workspace"] == str(shop(cli))
    cli.work = shop(cli)
    assert [session["id"] for session in listed(cli)] == [row["id"]]
    cli.work = cli.work.parent / "home"
    assert listed(cli) == []
    cli.work = started
    cli.run("answer", "last", "after-development=complete")
    cli.run("resume", "last", "--headless")
    assert "shop.py" in cli.run("project", "last").stdout
    (planned,) = [
        fact["result"]
        for fact in read_record(cli)
        if fact["kind"] == "effect.done" and fact["result"]["result"] == "planned"
    ]
    assert [hunk["path"] for hunk in planned["hunks"]] == ["shop.py"]
    assert "refused" not in planned, "it is held against the project, not against this folder"


def test_uncommitted_work_is_reported_before_any_paid_call(cli: Cli) -> None:
    (shop(cli) / "shop.py").write_text("PRICE = 5\n")
    result = cli.run(*ask(cli, "--yes", "--headless", "--answer", "approve=all"), code=3)
    warned = "These files have uncommitted changes; commit or stash them before a change can be written: shop.py."
    assert warned in result.stderr
    assert warned in read_record(cli)[0]["charter"]["notices"]
    assert (shop(cli) / "shop.py").read_text() == "PRICE = 5\n"
    assert "Write the change with" not in result.stdout
    assert "opinions differ" not in result.stdout
