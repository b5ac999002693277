"""An API, an agent and an embedded model in one session on real models, and no process left after it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Places
from roundtable.voices import models
from tests.real.servers import Served, llama
from tests.real.test_agents import BIN, isolate_network
from tests.voices.agents import find_processes_by_variable, wait_until_gone

pytestmark = pytest.mark.real

MODEL = "qwen2.5-coder-1.5b"
QUESTION = "Which is kinder to a newcomer?"
CHOICE = ("--option", "Tabs", "--option", "Spaces")
TABLE = ("--seat", "api=lab:any", "--seat", "agent=cli:claude", "--seat", f"here=embedded:{MODEL}")
PATIENCE = ("--timeout", "500", "--deadline", "500", "--max-tokens", "200", "--rounds", "0", "--headless")


@pytest.fixture(autouse=True)
def _alone() -> None:
    isolate_network()


@pytest.fixture(scope="module")
def weights() -> Path:
    got = asyncio.run(models.download_embedded_model(MODEL, Places.of_this_person().models))
    assert isinstance(got, Path), got
    return got


@pytest.fixture(scope="module")
def server(weights: Path) -> Generator[Served, None, None]:
    with llama(weights, context=8192) as served:
        yield served


class Person:
    """Somebody with a home, a server in the lab, and claude on the path."""

    def __init__(self, folder: Path, server: Served, weights: Path) -> None:
        self.home = folder / "home"
        (self.home / "models").mkdir(parents=True)
        (self.home / "models" / weights.name).symlink_to(weights)
        habits = 'headers = { connection = "close" }\nlocal = true\nstructured = true\n'
        config = f'[endpoints.lab]\nbase_url = "{server.url}/v1"\nkey = "env:LAB_KEY"\n{habits}'
        (self.home / "config.toml").write_text(config)
        self.environ = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TMPDIR": str(folder),
            "ROUNDTABLE_HOME": str(self.home),
            "LAB_KEY": server.key,
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": server.key,
        }

    async def types(self, *words: str) -> asyncio.subprocess.Process:
        """Run the command line in an empty folder."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "roundtable", *words),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=self.environ,
            cwd=self.home,
        )

    def processes(self) -> list[int]:
        """The processes that run for this person."""
        return find_processes_by_variable("HOME", str(self.home))


@pytest.fixture
def person(tmp_path: Path, server: Served, weights: Path) -> Person:
    return Person(tmp_path, server, weights)


async def test_an_api_an_agent_and_an_embedded_model_deliberate_in_one_session(person: Person) -> None:
    discuss = await person.types("discuss", QUESTION, *CHOICE, *TABLE, *PATIENCE, "--json")
    async with asyncio.timeout(900):
        out, err = await discuss.communicate()
    facts: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    moves = {fact["seat"]: fact for fact in facts if fact["kind"] == "move.made" and fact["round"] == "council/1-blind"}
    assert {seat: move["voice"].partition(":")[0] for seat, move in moves.items()} == {
        "api": "lab",
        "agent": "cli",
        "here": "embedded",
    }, err.decode()
    assert all(move["text"].strip() for move in moves.values())
    assert all(move["usage"]["output_tokens"] > 0 for move in moves.values())
    assert {fact["seat"] for fact in facts if fact["kind"] == "delta"} == set(moves)
    decision = next(fact for fact in facts if fact["kind"] == "decision.made")["decision"]
    assert len(decision["electorate"]) == 3
    assert discuss.returncode in (0, 3), err.decode()
    assert await wait_until_gone(*person.processes())


@pytest.mark.parametrize("after", [0.3, 1.0, 2.5, 5.0, 9.0])
async def test_a_session_killed_at_any_moment_leaves_no_process(person: Person, after: float) -> None:
    discuss = await person.types("discuss", QUESTION, *CHOICE, *TABLE, *PATIENCE, "--json")
    await asyncio.sleep(after)
    children = [pid for pid in person.processes() if pid != discuss.pid]
    if after > 2:
        assert children
    os.kill(discuss.pid, signal.SIGKILL)
    await discuss.communicate()
    assert await wait_until_gone(*children, within=2.0)
    assert await wait_until_gone(*person.processes(), within=0.1)
