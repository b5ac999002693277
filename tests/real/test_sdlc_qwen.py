"""Three fixed small programs from an idea to files, on a real model; the seats do not see the checks used here."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Places
from roundtable.core.sandbox import Bounds, Exit, Job
from tests.doors.command_line import ROUNDTABLE, Cli
from tests.repository import sandbox

pytestmark = pytest.mark.real

MODEL = "qwen2.5-coder-1.5b"
SEATS = tuple(arg for name in ("ada", "grace", "alan") for arg in ("--seat", f"{name}=embedded:{MODEL}"))
HELD = ("--stages", "code", "--yes", "--budget-tokens", "60000", "--rounds", "2", "--answer", "deliver=folder")
CONFIG = "limits = { seat_timeout = 900, round_deadline = 2700, max_tokens = 1000 }\n"
SPECS: list[dict[str, str]] = tomllib.loads((Path(__file__).parent / "sdlc_specs.toml").read_text())["specs"]
HIDDEN = "hidden_check.py"


class End(msgspec.Struct, frozen=True):
    """How one program ended: whether it was delivered, whether it passes its hidden check, and its output."""

    delivered: bool
    passes: bool
    exit: int
    how: str
    said: str


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, End]:
    """All three, each from nothing."""
    endings: dict[str, End] = {}
    for spec in SPECS:
        endings[spec["name"]] = end = _run_spec(tmp_path_factory.mktemp(spec["name"]), spec)
        print(f"{spec['name']}: delivered {end.delivered}, passes {end.passes}, exit {end.exit}: {end.how}")
    return endings


def _run_spec(folder: Path, spec: dict[str, str]) -> End:
    cli = Cli(folder)
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(CONFIG)
    (cli.home / "models").symlink_to(Places.of_this_person().models)
    program = folder / "program"
    command = [*ROUNDTABLE, "sdlc", spec["idea"], *SEATS, *HELD, "--into", str(program), "--headless", "--json"]
    completed = subprocess.run(
        command, cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    facts: list[dict[str, Any]] = [json.loads(line) for line in completed.stdout.splitlines()]
    how = next((fact["decision"]["how"] for fact in facts if fact["kind"] == "decision.made"), "")
    delivered = program.is_dir()
    return End(
        delivered,
        delivered and asyncio.run(_passes(program, spec["hidden"])),
        completed.returncode,
        how,
        completed.stderr,
    )


async def _passes(program: Path, hidden: str) -> bool:
    """Whether the program does what it is for. Nobody has read it, so this is found out in the sandbox."""
    job = Job((sys.executable, HIDDEN), str(program), files={HIDDEN: hidden}, bounds=Bounds(seconds=120))
    exits = [item async for item in (await sandbox()).run(job) if isinstance(item, Exit)]
    return exits[0].code == 0


def test_at_least_one_of_three_ends_in_a_program_that_passes_its_hidden_check(ends: dict[str, End]) -> None:
    assert any(end.passes for end in ends.values()), {name: (end.how, end.said[-500:]) for name, end in ends.items()}


def test_no_program_of_a_real_model_ends_in_a_traceback(ends: dict[str, End]) -> None:
    assert not any("Traceback" in end.said or end.exit not in (0, 3) for end in ends.values()), ends
    assert all(end.how for end in ends.values()), ends
