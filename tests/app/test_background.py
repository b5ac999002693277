"""Meetings that run in a background process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.runs.background import read_background_run_failure
from roundtable.app.settings.places import Places
from roundtable.core.faults import RoundtableError
from roundtable.core.session import Session
from roundtable.core.values import Outcome
from tests.app.test_desk import AGREE, agenda, seats, write_script
from tests.stories.session_harness import position_reply, reconsider_reply

PATIENCE = 60.0
SLOW: dict[str, Any] = {"defaults": {"latency": 1.0}, "turns": [{"text": position_reply("Use REST")}]}
SPLIT: dict[str, Any] = {
    "seats": {
        name: {
            "turns": [
                {"round": "*1-blind", "text": position_reply(option)},
                {"round": "*reconsider", "text": reconsider_reply(stand)},
            ]
        }
        for name, option, stand in (("claude", "REST", "A"), ("gpt", "GraphQL", "B"))
    }
}


@pytest.fixture(autouse=True)
async def _leave_no_process(desk: Roundtable) -> AsyncGenerator[None]:
    """End every meeting that a test left running."""
    yield
    for row in await desk.sessions.list():
        if holder := await desk.sessions.holder(row.id):
            with suppress(ProcessLookupError):
                os.kill(pid_of(holder), signal.SIGTERM)


async def wait_for_session(desk: Roundtable, session: str, what: str) -> Session:
    """Wait until a property of the session is true."""
    async with asyncio.timeout(PATIENCE):
        while not getattr(state := await desk.sessions.get(session), what):
            await desk.sessions.wait_for_facts(session, state.seq, 1.0)
    return state


async def wait_until_idle(desk: Roundtable, session: str) -> None:
    """Wait until no process runs the session."""
    async with asyncio.timeout(PATIENCE):
        while await desk.sessions.holder(session):
            await desk.sessions.wait_for_facts(session, 1 << 60, 0.05)


def pid_of(holder: str | None) -> int:
    """Return the process id in `host:pid:start:boot`."""
    assert holder is not None
    return int(holder.split(":")[1])


async def test_a_background_meeting_runs_in_its_own_workspace_wherever_it_is_started(
    desk: Roundtable, workspace: Path, tmp_path: Path
) -> None:
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda())
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)
    async with await Roundtable.open(tmp_path / "elsewhere", desk.setup.places) as other:
        await other.meetings.run_in_background(session)
    state = await wait_for_session(desk, session, "ended")
    assert state.decision is not None
    assert state.decision.outcome is Outcome.REACHED, "the script that its seats speak by lies in its own workspace"


async def test_a_background_meeting_runs_in_a_process_session_of_its_own(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, SLOW)
    session = await desk.meetings.open(agenda())
    await desk.meetings.run_in_background(session)
    runner = pid_of(await desk.sessions.holder(session))
    assert runner != os.getpid()
    assert os.getsid(runner) == runner
    await desk.meetings.run_in_background(session)
    assert pid_of(await desk.sessions.holder(session)) == runner
    state = await wait_for_session(desk, session, "ended")
    assert state.decision is not None
    assert state.decision.outcome is Outcome.REACHED
    assert desk.meetings.background_failure(session) == ""
    await desk.meetings.run_in_background(session)


async def test_a_gate_of_a_background_meeting_can_be_answered_from_another_process(
    desk: Roundtable, workspace: Path
) -> None:
    write_script(workspace, SPLIT)
    session = await desk.meetings.open(Agenda("Which?", seats()[:2], options=("REST", "GraphQL")))
    await desk.meetings.run_in_background(session)
    state = await wait_for_session(desk, session, "open_gates")
    assert state.open_gates
    await desk.gates.answer(session, state.open_gates[0].id, "A")
    state = await wait_for_session(desk, session, "ended")
    assert state.decision is not None
    assert state.decision.position == "REST"


async def test_an_unanswered_gate_ends_the_background_process_and_can_be_answered_later(
    desk: Roundtable, workspace: Path
) -> None:
    write_script(workspace, SPLIT)
    session = await desk.meetings.open(Agenda("Which?", seats()[:2], options=("REST", "GraphQL")))
    await desk.meetings.run_in_background(session, gate_wait=0.2)
    await wait_for_session(desk, session, "open_gates")
    await wait_until_idle(desk, session)
    state = await desk.sessions.get(session)
    assert state.open_gates
    assert not state.ended
    assert desk.meetings.background_failure(session) == ""
    await desk.gates.answer(session, state.open_gates[0].id, "A")
    await desk.meetings.run_in_background(session, gate_wait=0.2)
    state = await wait_for_session(desk, session, "ended")
    assert state.decision is not None
    assert state.decision.position == "REST"


async def test_the_wait_limit_of_gates_does_not_limit_the_seats(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, SLOW)
    session = await desk.meetings.open(agenda())
    await desk.meetings.run_in_background(session, gate_wait=0.05)
    assert (await wait_for_session(desk, session, "ended")).runs == 1


async def test_a_stopped_background_run_is_recorded_and_can_be_resumed(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, {"turns": [{"hang": True}]})
    session = await desk.meetings.open(agenda())
    await desk.meetings.run_in_background(session)
    await wait_for_session(desk, session, "rounds")
    os.kill(pid_of(await desk.sessions.holder(session)), signal.SIGTERM)
    state = await wait_for_session(desk, session, "stopped")
    assert state.stopped is not None
    assert state.stopped.reason == "interrupted"
    write_script(workspace, AGREE)
    await wait_until_idle(desk, session)
    await desk.meetings.run_in_background(session)
    assert (await wait_for_session(desk, session, "ended")).runs == 2


async def test_a_background_run_that_cannot_start_gives_the_reason(
    desk: Roundtable, places: Places, workspace: Path
) -> None:
    write_script(workspace, AGREE)
    session = await desk.meetings.open(agenda())
    places.user_config.write_text("langage = 'en'")
    with pytest.raises(RoundtableError, match=r"could not be run\..*langage"):
        await desk.meetings.run_in_background(session)
    assert "langage" in read_background_run_failure(places, session)
    places.user_config.unlink()
    await desk.meetings.run_in_background(session)
    await wait_for_session(desk, session, "ended")
    assert read_background_run_failure(places, session) == ""


async def test_a_python_module_in_the_workspace_is_not_executed(
    desk: Roundtable, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(workspace, AGREE)
    (workspace / "msgspec.py").write_text("raise SystemExit('out of the workspace')")
    session = await desk.meetings.open(agenda())
    monkeypatch.chdir(workspace)
    await desk.meetings.run_in_background(session)
    assert (await wait_for_session(desk, session, "ended")).decision is not None
