"""An sdlc process is killed in every stage at every kind of step, and resumed until it is done."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.effects import RehearseChange, RunProject, TryCandidates, TryMerged
from roundtable.core.events import EffectDone, EffectStarted, GateAnswered, MoveMade, Recorded, TurnAsked
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.values import Outcome
from roundtable.workshop.edit.stored_drafts import DraftStore
from tests.app.test_background import pid_of
from tests.repository import sandbox
from tests.sampling import IS_FULL
from tests.servers.judge_server import judge_server
from tests.stories.todo_api_seats import IDEA, STAGES, expected_project, judge_reply, write_config

PATIENCE = 300.0
RUNS_SOMETHING = (TryCandidates, TryMerged, RehearseChange, RunProject)
ANSWERS = {"architecture-dispute": "option-1", "execution-rerun": "yes", "deliver": "folder"}


def crash_points(records: Sequence[Recorded]) -> Iterator[tuple[str, ...]]:
    """Return one event for each kind of fact in each stage and for each kind of step."""
    for record in records:
        match record.event:
            case MoveMade() | EffectDone() if not IS_FULL:
                pass
            case TurnAsked() | MoveMade():
                yield record.event.round.partition("/")[0], type(record.event).__name__
            case EffectStarted():
                yield record.event.step.partition("/")[0], "started", type(record.event.effect).__name__
            case EffectDone():
                yield record.event.step.partition("/")[0], "done", type(record.event.result).__name__
            case GateAnswered():
                yield record.event.gate, "answered"
            case _:
                pass


def kill_process_tree(pid: int) -> None:
    """Kill a process and check that its descendants end."""
    family = [pid, *_children(pid)]
    os.kill(pid, signal.SIGKILL)
    give_up = time.monotonic() + PATIENCE
    while rest := [process for process in family if _runs(process)]:
        assert time.monotonic() < give_up, rest
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    parents = {int(path.name): _stat(int(path.name))[1] for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = [child for child, parent in parents.items() if parent == str(pid)]
    return [*found, *(process for child in found for process in _children(child))]


def _stat(pid: int) -> tuple[str, str]:
    """Return the state and the parent of a process, if it exists."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", ""
    return state, parent


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _runs(pid: int) -> bool:
    return _stat(pid)[0] != "Z"


class CrashingSession:
    """A session that is killed and resumed many times while a person answers its gates."""

    def __init__(self, desk: Roundtable, session: str, target: Path) -> None:
        self._desk = desk
        self._session = session
        self._target = target
        self._met: set[tuple[str, ...]] = set()
        self.records: list[Recorded] = []
        self.deaths = 0
        self.deaths_in_a_sandbox = 0

    async def live(self) -> bool:
        """Run the session until a new kind of event occurs and kill it; return whether it must run again."""
        await self._desk.meetings.run_in_background(self._session)
        async with asyncio.timeout(PATIENCE):
            while not (new := await self._unmet()):
                state = Session.fold(self._session, self.records)
                if state.ended:
                    return False
                for gate in state.open_gates:
                    await self._desk.gates.answer(self._session, gate.id, ANSWERS.get(gate.id, "continue"))
                while not await self._desk.sessions.wait_for_facts(self._session, state.seq, 0.02):
                    assert not (reason := self._desk.meetings.background_failure(self._session)), reason
        self._met |= new
        if holder := await self._desk.sessions.holder(self._session):
            self.deaths_in_a_sandbox += await self._in_a_sandbox(pid_of(holder))
            kill_process_tree(pid_of(holder))
            self.deaths += 1
        assert delivered_files(self._target) in ({}, expected_project()), "all of it is handed over or nothing"
        return True

    async def _in_a_sandbox(self, pid: int) -> bool:
        """If the last event is a step in the sandbox, wait until its program runs; return whether it does."""
        event = self.records[-1].event
        if not isinstance(event, EffectStarted) or not isinstance(event.effect, RUNS_SOMETHING):
            return False
        async with asyncio.timeout(PATIENCE):
            while not await self._news(0.005):
                if any(_name(child) == "bwrap" for child in _children(pid)):
                    return True
        return False

    async def end(self) -> None:
        """Kill all processes of the session."""
        if holder := await self._desk.sessions.holder(self._session):
            kill_process_tree(pid_of(holder))

    async def _unmet(self) -> set[tuple[str, ...]]:
        await self._news()
        return set(crash_points(self.records)) - self._met

    async def _news(self, seconds: float = 0.0) -> list[Recorded]:
        """Return the events since the last call."""
        last_seq = self.records[-1].seq if self.records else 0
        if seconds and not await self._desk.sessions.wait_for_facts(self._session, last_seq, seconds):
            return []
        results = await self._desk.sessions.records(self._session, last_seq)
        self.records += results
        return results


def delivered_files(target: Path) -> dict[str, str]:
    """Return the files of the delivered project without its decisions."""
    return {path.name: path.read_text() for path in target.glob("*") if path.is_file()}


@pytest.mark.feature("S0.68", "S0.144")
async def test_an_sdlc_session_killed_in_every_stage_repeats_nothing_and_yields_an_equal_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox()
    work, home, scratch = (tmp_path / name for name in ("work", "home", "scratch"))
    work.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    home.mkdir()
    with judge_server(judge_reply) as judges:
        (home / "config.toml").write_text(write_config(home, judges.url, defaults={"latency": 0.05}))
        async with await Roundtable.open(work, Places(home, home)) as desk:
            agenda = Agenda(IDEA, meeting="sdlc", settings={"into": "todo"})
            lives = CrashingSession(desk, await desk.meetings.open(agenda), work / "todo")
            try:
                while await lives.live():
                    pass
            finally:
                await lives.end()
            for end in session_stage_ends(Session.fold("", lives.records)):
                files = {
                    file.path: (file.after or b"").decode()
                    for file in await DraftStore(desk.parts.record).load_files(end.draft)
                }
                assert files == expected_project(end.stage), end.stage
    assert check_nothing_repeated(lives.records)
    assert delivered_files(work / "todo") == expected_project()
    assert sorted(path.name for path in work.iterdir()) == ["todo"]
    rest = [path for path in scratch.rglob("*") if path.parent != scratch or path.name != f"roundtable-{os.getuid()}"]
    assert rest == [], "what a killed process left was cleared away by the next one"
    assert lives.deaths > (4 if IS_FULL else 2) * len(STAGES)
    assert lives.deaths_in_a_sandbox >= len(STAGES[2:]), "one at least in each stage that runs something"


def check_nothing_repeated(records: Sequence[Recorded]) -> bool:
    """Check that no recorded turn or step was repeated and that the session ended."""
    settled: set[str] = set()
    for record in records:
        match record.event:
            case TurnAsked() | MoveMade():
                turn = f"{record.event.round}/{record.event.seat}"
                assert turn not in settled, turn
                settled |= {turn} if isinstance(record.event, MoveMade) else set()
            case EffectStarted() | EffectDone():
                assert record.event.step not in settled, record.event.step
                settled |= {record.event.step} if isinstance(record.event, EffectDone) else set()
            case _:
                pass
    decision = Session.fold("", records).decision
    return decision is not None and decision.outcome is Outcome.REACHED
