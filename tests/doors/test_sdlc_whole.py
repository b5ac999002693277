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


class FinishedSdlc(NamedTuple):
    """The whole meeting: what judges were asked, what was shown, what is on the record, and what lay around before."""

    cli: Cli
    rulings: list[str]
    shown: str
    facts: list[Fact]
    around: dict[str, bytes]

    def results(self, kind: str) -> list[Fact]:
        """What came of each step of that kind."""
        results = [fact["result"] for fact in self.facts if fact["kind"] == "effect.done"]
        return [result for result in results if result["result"] == kind]


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
def finished_sdlc(tmp_path_factory: pytest.TempPathFactory, court: JudgeServer) -> FinishedSdlc:
    cli = person(tmp_path_factory.mktemp("whole"), court.url)
    before = around(cli)
    shown = held(cli, GATES, "sdlc", IDEA)
    return FinishedSdlc(cli, list(court.asked), shown, read_record(cli), before)


def held(cli: Cli, gates: dict[str, str], *command: str) -> str:
    """What is shown at a terminal while another one answers each gate."""
    with cli.terminal(*command, "--plain") as terminal:
        for gate, option in gates.items():
            terminal.expect(f"Gate {gate}:")
            cli.run("answer", "last", f"{gate}={option}")
        return terminal.end(0)


@pytest.mark.feature("S0.9", "S0.13", "S0.128")
def test_the_stages_are_held_in_order_and_the_judge_rotates(finished_sdlc: FinishedSdlc) -> None:
    ends = [result["end"] for result in finished_sdlc.results("stage_ended")]
    assert tuple(end["stage"] for end in ends) == STAGES
    assert [end["judge"] for end in ends] == JUDGES
    how = {end["stage"]: end["how"] for end in ends}
    assert how == dict.fromkeys(STAGES, "agreed") | {"architecture": "chosen", "execution": "ran"}


@pytest.mark.feature("S0.146")
def test_judges_use_their_own_voice_and_see_no_names(finished_sdlc: FinishedSdlc) -> None:
    judged = [fact for fact in finished_sdlc.facts if fact["kind"] == "move.made" and "judge" in fact["round"]]
    assert {name["voice"] for name in judged} == {"court:judge"}
    assert len(judged) == len(finished_sdlc.rulings)
    assert not any(seat in prompt for prompt in finished_sdlc.rulings for seat in SEATS)


@pytest.mark.feature("S0.2", "S0.41")
def test_every_gate_is_answered_only_from_another_terminal(finished_sdlc: FinishedSdlc) -> None:
    answered = {fact["gate"]: fact["option"] for fact in finished_sdlc.facts if fact["kind"] == "gate.answered"}
    assert answered == GATES
    assert list(answered) == list(GATES)


def test_every_seat_is_asked_once_per_round_and_synthesis_asks_none(finished_sdlc: FinishedSdlc) -> None:
    turns = [(fact["round"], fact["seat"]) for fact in finished_sdlc.facts if fact["kind"] == "turn.asked"]
    assert len(set(turns)) == len(turns)
    rounds: dict[str, list[str]] = {}
    for round, seat in turns:
        rounds.setdefault(round, []).append(seat)
    single = {name: seats for name, seats in rounds.items() if len(seats) == 1}
    judged = {name: seats for name, seats in single.items() if "judge" in name}
    assert [seats for name, seats in single.items() if name not in judged] == [["claude"]], "who mends the review"
    assert {name.partition("/")[0]: seats[0] for name, seats in judged.items()} == dict(
        zip(STAGES, JUDGES, strict=True)
    )
    assert all(sorted(seats) == sorted(SEATS) for name, seats in rounds.items() if name not in single)


@pytest.mark.feature("S0.55", "S0.58", "S0.59")
def test_the_program_fails_on_a_planted_fault_and_runs_after_the_fix(finished_sdlc: FinishedSdlc) -> None:
    first, second = finished_sdlc.results("project_ran")
    assert any(step["code"] for step in first["steps"])
    assert "no such table: todos" in json.dumps(first["steps"])
    assert [step["code"] for step in second["steps"] if step["name"] == "check"] == [0]
    assert "It works." in json.dumps(second["steps"])
    assert "no such table: todos" in finished_sdlc.shown, "what it says is seen while it runs"
    assert "Step " not in finished_sdlc.shown, "what is done is finished_sdlc in words"


@pytest.mark.feature("S0.20", "S0.5")
def test_the_exported_project_matches_the_judges_rulings_with_one_commit_per_stage(finished_sdlc: FinishedSdlc) -> None:
    folder = finished_sdlc.cli.work / FOLDER
    files = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert files == expected_project()
    subjects = git(folder, "log", "--reverse", "--format=%s").splitlines()
    assert subjects == [f"D{number} {stage}" for number, stage in enumerate(STAGES, 1)]
    for number, stage in enumerate(STAGES, 1):
        commit = f"HEAD~{len(STAGES) - number}"
        names = [line for line in git(folder, "ls-tree", "--name-only", commit).splitlines() if line != "docs"]
        assert {name: git(folder, "show", f"{commit}:{name}") for name in names} == expected_project(stage)
    assert git(folder, "status", "--porcelain") == ""


def test_nothing_else_was_written(finished_sdlc: FinishedSdlc) -> None:
    assert around(finished_sdlc.cli) == finished_sdlc.around


# --- going back ------------------------------------------------------------------------------------


class Both(NamedTuple):
    """The line that was left, and the one that left it."""

    first: FinishedSdlc
    second: FinishedSdlc

    @property
    def parted(self) -> int:
        """The last fact they share."""
        return self.second.facts[0]["charter"]["branched_at"]

    @property
    def names(self) -> tuple[str, str]:
        """The sessions."""
        return self.first.facts[0]["session"], self.second.facts[0]["session"]


@pytest.fixture(scope="module")
def both(finished_sdlc: FinishedSdlc, court: JudgeServer) -> Both:
    """The same project once more from its second stage on, with one instruction changed."""
    cli, before = finished_sdlc.cli, len(court.asked)
    cli.run("rollback", finished_sdlc.facts[0]["session"], "architecture", "--instruct", REWORK_REQUEST)
    settled = {"after-requirements", "architecture-dispute"}
    gates = {gate: option for gate, option in GATES.items() if gate not in settled} | {"deliver": "later"}
    shown = held(cli, gates, "resume", "last")
    return Both(finished_sdlc, FinishedSdlc(cli, court.asked[before:], shown, read_record(cli), finished_sdlc.around))


@pytest.mark.feature("S0.43", "S0.44")
def test_going_back_to_the_second_stage_repeats_only_it_and_later_stages(both: Both) -> None:
    again = [fact for fact in both.second.facts if fact["seq"] > both.parted]
    asked_stages = {fact["round"].partition("/")[0] for fact in again if fact["kind"] == "turn.asked"}
    started_stages = {fact["step"].partition("/")[0] for fact in again if fact["kind"] == "effect.started"}
    assert asked_stages | started_stages == set(STAGES[1:])
    requests = [REWORK_REQUEST in ruling for ruling in both.second.rulings]
    assert requests == [True, *[False] * 5], "one ruling for each of these stages: the person settled what was open"


def test_both_sessions_share_the_earlier_record_and_the_old_one_stays_readable(both: Both) -> None:
    first, second = (
        [fact for fact in line.facts if 1 < fact["seq"] <= both.parted] for line in (both.first, both.second)
    )
    shared = ({k: v for k, v in fact.items() if k not in ("session", "at")} for fact in first)
    assert list(shared) == [{k: v for k, v in fact.items() if k not in ("session", "at")} for fact in second]
    assert read_record(both.first.cli, both.names[0]) == both.first.facts
    ends = [[result["end"] for result in line.results("stage_ended")] for line in (both.first, both.second)]
    (common, first_end, *_), (same, agreed, *_) = ends
    assert common == same
    assert (first_end["how"], agreed["how"]) == ("chosen", "agreed")
    assert REWORK_REQUEST not in json.dumps(both.first.facts)


def test_both_sessions_can_be_compared_stage_by_stage(both: Both) -> None:
    cli = both.first.cli
    output = cli.run("diff-sessions", *both.names).stdout
    assert f"The sessions diverge after event {both.parted}." in output
    assert "requirements: same" in output
    assert "architecture: changed (chosen (gpt judged) → agreed (gpt judged))" in output
    assert "requests one after the other, as the person asks." in output
    text = json.loads(cli.run("diff-sessions", *both.names, "--json").stdout)
    states = {stage["name"]: stage["state"] for stage in text["stages"]}
    assert (states["requirements"], states["architecture"]) == ("same", "changed")
    assert text["files"] == [], "the same program came of both"


# --- the program -----------------------------------------------------------------------------------


def test_the_exported_program_serves_stores_and_deletes_items(finished_sdlc: FinishedSdlc, tmp_path: Path) -> None:
    database = tmp_path / "todos.db"
    with served(finished_sdlc.cli.work / FOLDER, database) as port:
        assert ask(port, "POST", "/todos", {"title": " milk "}) == (201, {"id": 1, "title": "milk", "done": False})
        assert ask(port, "POST", "/todos", {"title": 7})[0] == 400
        assert ask(port, "DELETE", "/todos/x")[0] == 404
        assert ask(port, "POST", "/todos/1/done") == (200, {"id": 1, "title": "milk", "done": True})
    with served(finished_sdlc.cli.work / FOLDER, database) as port:
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
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, json.dumps(body))
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, json.loads(said) if said else None
