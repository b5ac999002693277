"""From an idea to a running program: seven stages at a terminal, every gate answered from another one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.doors.coding_seats import read_record
from tests.doors.command_line import PATIENCE, Cli
from tests.repository import git, sandbox
from tests.servers.judge_server import JudgeServer, judge_server
from tests.stories.todo_api_seats import (
    IDEA,
    REWORK_REQUEST,
    SEATS,
    STAGES,
    expected_project,
    judge_reply,
    write_config,
)

GATES = {
    "after-requirements": "continue",
    "architecture-dispute": "option-1",
    "after-architecture": "continue",
    "after-development": "continue",
    "after-code-review": "continue",
    "after-qa": "continue",
    "after-devops": "continue",
    "execution-rerun": "yes",
    "after-execution": "continue",
    "deliver": "git",
}
FOLDER = "a-to-do-api-with-sqlite"
JUDGES = ["claude", "gpt", "gemini", "claude", "claude", "gemini", "claude"]
"""In turn; in the fifth stage nothing of claude's is left to choose, so that nobody needs to judge their own."""
Fact = dict[str, Any]


class Told(NamedTuple):
    """The whole meeting: what judges were asked, what was shown, what is on the record, and what lay around before."""

    cli: Cli
    rulings: list[str]
    shown: str
    facts: list[Fact]
    around: dict[str, bytes]

    def results(self, kind: str) -> list[Fact]:
        """What came of each step of that kind."""
        done = [fact["result"] for fact in self.facts if fact["kind"] == "effect.done"]
        return [result for result in done if result["result"] == kind]


def person(folder: Path, judges: str) -> Cli:
    """Somebody whose three seats follow a script, and who has other things lying about."""
    asyncio.run(sandbox())
    cli = Cli(folder)
    (cli.work / "notes.txt").write_text("Buy milk.\n")
    (folder / "scratch").mkdir()
    cli.env["TMPDIR"] = str(folder / "scratch")
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(write_config(cli.home, judges))
    return cli


def around(cli: Cli) -> dict[str, bytes]:
    """Every file that is neither the person's record nor the project."""
    root = cli.work.parent
    apart = (cli.home, cli.work / FOLDER)
    files = [path for path in root.rglob("*") if path.is_file() and not any(path.is_relative_to(at) for at in apart)]
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def court() -> Generator[JudgeServer]:
    with judge_server(judge_reply) as judges:
        yield judges


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, court: JudgeServer) -> Told:
    cli = person(tmp_path_factory.mktemp("whole"), court.url)
    before = around(cli)
    shown = held(cli, GATES, "sdlc", IDEA)
    return Told(cli, list(court.asked), shown, read_record(cli), before)


def held(cli: Cli, gates: dict[str, str], *command: str) -> str:
    """What is shown at a terminal while another one answers each gate."""
    with cli.terminal(*command, "--plain") as runs:
        for gate, option in gates.items():
            runs.expect(f"Gate {gate}:")
            cli.run("answer", "last", f"{gate}={option}")
        return runs.end(0)


@pytest.mark.feature("S0.9", "S0.13", "S0.128")
def test_the_stages_are_held_in_order_and_the_judge_rotates(told: Told) -> None:
    ends = [result["end"] for result in told.results("stage_ended")]
    assert tuple(end["stage"] for end in ends) == STAGES
    assert [end["judge"] for end in ends] == JUDGES
    how = {end["stage"]: end["how"] for end in ends}
    assert how == dict.fromkeys(STAGES, "agreed") | {"architecture": "chosen", "execution": "ran"}


@pytest.mark.feature("S0.146")
def test_judges_use_their_own_voice_and_see_no_names(told: Told) -> None:
    judged = [fact for fact in told.facts if fact["kind"] == "move.made" and "judge" in fact["round"]]
    assert {name["voice"] for name in judged} == {"court:judge"}
    assert len(judged) == len(told.rulings)
    assert not any(seat in prompt for prompt in told.rulings for seat in SEATS)


@pytest.mark.feature("S0.2", "S0.41")
def test_every_gate_is_answered_only_from_another_terminal(told: Told) -> None:
    answered = {fact["gate"]: fact["option"] for fact in told.facts if fact["kind"] == "gate.answered"}
    assert answered == GATES
    assert list(answered) == list(GATES)


def test_every_seat_is_asked_once_per_round_and_synthesis_asks_none(told: Told) -> None:
    asked = [(fact["round"], fact["seat"]) for fact in told.facts if fact["kind"] == "turn.asked"]
    assert len(set(asked)) == len(asked)
    rounds: dict[str, list[str]] = {}
    for round, seat in asked:
        rounds.setdefault(round, []).append(seat)
    alone = {name: seats for name, seats in rounds.items() if len(seats) == 1}
    judged = {name: seats for name, seats in alone.items() if "judge" in name}
    assert [seats for name, seats in alone.items() if name not in judged] == [["claude"]], "who mends the review"
    assert {name.partition("/")[0]: seats[0] for name, seats in judged.items()} == dict(
        zip(STAGES, JUDGES, strict=True)
    )
    assert all(sorted(seats) == sorted(SEATS) for name, seats in rounds.items() if name not in alone)


@pytest.mark.feature("S0.55", "S0.58", "S0.59")
def test_the_program_fails_on_a_planted_fault_and_runs_after_the_fix(told: Told) -> None:
    first, second = told.results("project_ran")
    assert any(step["code"] for step in first["steps"])
    assert "no such table: todos" in json.dumps(first["steps"])
    assert [step["code"] for step in second["steps"] if step["name"] == "check"] == [0]
    assert "It works." in json.dumps(second["steps"])
    assert "no such table: todos" in told.shown, "what it says is seen while it runs"
    assert "Step " not in told.shown, "what is done is told in words"


@pytest.mark.feature("S0.20", "S0.5")
def test_the_exported_project_matches_the_judges_rulings_with_one_commit_per_stage(told: Told) -> None:
    folder = told.cli.work / FOLDER
    files = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert files == expected_project()
    subjects = git(folder, "log", "--reverse", "--format=%s").splitlines()
    assert subjects == [f"D{number} {stage}" for number, stage in enumerate(STAGES, 1)]
    for number, stage in enumerate(STAGES, 1):
        commit = f"HEAD~{len(STAGES) - number}"
        names = [line for line in git(folder, "ls-tree", "--name-only", commit).splitlines() if line != "docs"]
        assert {name: git(folder, "show", f"{commit}:{name}") for name in names} == expected_project(stage)
    assert git(folder, "status", "--porcelain") == ""


def test_nothing_else_was_written(told: Told) -> None:
    assert around(told.cli) == told.around


# --- going back ------------------------------------------------------------------------------------


class Both(NamedTuple):
    """The line that was left, and the one that left it."""

    first: Told
    second: Told

    @property
    def parted(self) -> int:
        """The last fact they share."""
        return self.second.facts[0]["charter"]["branched_at"]

    @property
    def names(self) -> tuple[str, str]:
        """The sessions."""
        return self.first.facts[0]["session"], self.second.facts[0]["session"]


@pytest.fixture(scope="module")
def both(told: Told, court: JudgeServer) -> Both:
    """The same project once more from its second stage on, with one instruction changed."""
    cli, before = told.cli, len(court.asked)
    cli.run("rollback", told.facts[0]["session"], "architecture", "--instruct", REWORK_REQUEST)
    settled = {"after-requirements", "architecture-dispute"}
    gates = {gate: option for gate, option in GATES.items() if gate not in settled} | {"deliver": "later"}
    shown = held(cli, gates, "resume", "last")
    return Both(told, Told(cli, court.asked[before:], shown, read_record(cli), told.around))


@pytest.mark.feature("S0.43", "S0.44")
def test_going_back_to_the_second_stage_repeats_only_it_and_later_stages(both: Both) -> None:
    again = [fact for fact in both.second.facts if fact["seq"] > both.parted]
    asked = {fact["round"].partition("/")[0] for fact in again if fact["kind"] == "turn.asked"}
    done = {fact["step"].partition("/")[0] for fact in again if fact["kind"] == "effect.started"}
    assert asked | done == set(STAGES[1:])
    told = [REWORK_REQUEST in ruling for ruling in both.second.rulings]
    assert told == [True, *[False] * 5], "one ruling for each of these stages: the person settled what was open"


def test_both_sessions_share_the_earlier_record_and_the_old_one_stays_readable(both: Both) -> None:
    first, second = (
        [fact for fact in line.facts if 1 < fact["seq"] <= both.parted] for line in (both.first, both.second)
    )
    told = ({k: v for k, v in fact.items() if k not in ("session", "at")} for fact in first)
    assert list(told) == [{k: v for k, v in fact.items() if k not in ("session", "at")} for fact in second]
    assert read_record(both.first.cli, both.names[0]) == both.first.facts
    ends = [[result["end"] for result in line.results("stage_ended")] for line in (both.first, both.second)]
    (kept, decided, *_), (same, agreed, *_) = ends
    assert kept == same
    assert (decided["how"], agreed["how"]) == ("chosen", "agreed")
    assert REWORK_REQUEST not in json.dumps(both.first.facts)


def test_both_sessions_can_be_compared_stage_by_stage(both: Both) -> None:
    cli = both.first.cli
    shown = cli.run("diff-sessions", *both.names).stdout
    assert f"The sessions diverge after event {both.parted}." in shown
    assert "requirements: same" in shown
    assert "architecture: changed (chosen (gpt judged) → agreed (gpt judged))" in shown
    assert "requests one after the other, as the person asks." in shown
    found = json.loads(cli.run("diff-sessions", *both.names, "--json").stdout)
    states = {stage["name"]: stage["state"] for stage in found["stages"]}
    assert (states["requirements"], states["architecture"]) == ("same", "changed")
    assert found["files"] == [], "the same program came of both"


# --- the program -----------------------------------------------------------------------------------


def test_the_exported_program_serves_stores_and_deletes_items(told: Told, tmp_path: Path) -> None:
    database = tmp_path / "todos.db"
    with served(told.cli.work / FOLDER, database) as port:
        assert ask(port, "POST", "/todos", {"title": " milk "}) == (201, {"id": 1, "title": "milk", "done": False})
        assert ask(port, "POST", "/todos", {"title": 7})[0] == 400
        assert ask(port, "DELETE", "/todos/x")[0] == 404
        assert ask(port, "POST", "/todos/1/done") == (200, {"id": 1, "title": "milk", "done": True})
    with served(told.cli.work / FOLDER, database) as port:
        assert ask(port, "GET", "/todos") == (200, [{"id": 1, "title": "milk", "done": True}])
        assert ask(port, "DELETE", "/todos/1") == (204, None)
        assert ask(port, "DELETE", "/todos/1")[0] == 404


@contextmanager
def served(folder: Path, database: Path) -> Generator[int]:
    """The program as a person starts it, on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    env = {**os.environ, "TODO_PORT": str(port), "TODO_DB": str(database), "PYTHONDONTWRITEBYTECODE": "1"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=env, stdout=quiet, stderr=quiet) as process:
        try:
            give_up = time.monotonic() + PATIENCE
            while not _answers(port):
                assert process.poll() is None
                assert time.monotonic() < give_up
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """One request, and what came back."""
    asked = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    asked.request(method, path, json.dumps(body))
    answer = asked.getresponse()
    said = answer.read()
    asked.close()
    return answer.status, json.loads(said) if said else None
