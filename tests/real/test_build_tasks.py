"""Ten fixed tasks from words to a commit, on a real model; the seats do not see the checks used here."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Places
from tests.doors.command_line import ROUNDTABLE, Cli
from tests.repository import git, repository

pytestmark = pytest.mark.real

MODEL = "qwen2.5-coder-1.5b"
NAMES = ("ada", "grace", "alan", "edsger", "barbara", "donald", "margaret")
SEATS = tuple(arg for name in NAMES for arg in ("--seat", f"{name}=embedded:{MODEL}"))
CONFIG = """
limits = { seat_timeout = 900, round_deadline = 2700, max_tokens = 700 }
checks = { tests = ["python3", "-m", "unittest", "-q"] }
"""
LEAST = 5

GIVEN: dict[str, Any] = tomllib.loads((Path(__file__).parent / "build_tasks.toml").read_text())
FILES: dict[str, str] = {path: text.removeprefix("\n") for path, text in GIVEN["files"].items()}


class End(msgspec.Struct, frozen=True):
    """How one task ended: whether it was committed, whether the hidden check passes there, and what was said."""

    committed: bool
    passes: bool
    exit: int
    how: str
    said: str


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, End]:
    """All ten, each in a repository of its own."""
    endings: dict[str, End] = {}
    for task in GIVEN["tasks"]:
        endings[task["name"]] = end = _build_task(tmp_path_factory.mktemp(task["name"]), task)
        print(f"{task['name']}: committed {end.committed}, passes {end.passes}, exit {end.exit}: {end.how}")
    return endings


def _build_task(folder: Path, task: dict[str, str]) -> End:
    cli = Cli(folder)
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(CONFIG)
    (cli.home / "models").symlink_to(Places.of_this_person().models)
    repository(cli.work, FILES)
    before = git(cli.work, "rev-parse", "HEAD")
    command = [*ROUNDTABLE, "build", task["task"], "--file", task["file"], *SEATS, "--all", "--headless", "--json"]
    completed = subprocess.run(
        command, cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    facts: list[dict[str, Any]] = [json.loads(line) for line in completed.stdout.splitlines()]
    how = next((fact["decision"]["how"] for fact in facts if fact["kind"] == "decision.made"), "")
    committed = git(cli.work, "rev-parse", "HEAD") != before
    assert git(cli.work, "status", "--porcelain", "--untracked-files=no") == ""
    hidden = subprocess.run([sys.executable, "-c", task["hidden"]], cwd=cli.work, capture_output=True, check=False)
    return End(committed, hidden.returncode == 0, completed.returncode, how, completed.stderr)


def test_at_least_five_of_ten_tasks_end_in_a_commit_that_passes_the_hidden_checks(ends: dict[str, End]) -> None:
    sound = [name for name, end in ends.items() if end.committed and end.passes]
    assert len(sound) >= LEAST, {name: (end.how, end.said[-500:]) for name, end in ends.items()}


def test_the_other_tasks_report_that_no_candidate_passed(ends: dict[str, End]) -> None:
    rest = {name: end for name, end in ends.items() if not (end.committed and end.passes)}
    assert {name: end.how for name, end in rest.items() if end.committed} == {}
    assert all("no candidate passed" in end.how.lower() and end.exit == 3 for end in rest.values()), rest


def test_no_task_ends_in_a_traceback(ends: dict[str, End]) -> None:
    assert not any("Traceback" in end.said or end.exit not in (0, 3) for end in ends.values())
