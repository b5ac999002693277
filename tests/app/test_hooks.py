"""Hooks: a person's own programs that run when a debate starts, agrees, and is carried out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.runs.hooks import find_run_hook_for_event
from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.core.effects import ApplyChange, ChangeApplied, ChecksRun, Effect, EffectResult, RunChecks
from roundtable.core.events import DecisionMade, EffectDone, SessionOpened
from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Charter, Decision, Outcome, Seat
from roundtable.engine.run import MeetingRules
from tests.doors.command_line import PATIENCE, Cli
from tests.doors.scripted_seats import council_seat
from tests.stories.test_debate import AGREEING, SPLIT, create_harness, hold_meeting

HOOKS = ("debate_started", "consensus_reached", "execution_complete")
LISTENER = """
import json, os, sys
told = json.loads(sys.stdin.readline())
told |= {"rest": sys.stdin.read(), "pid": os.getpid(), "argv": sys.argv[2:], "env": dict(os.environ)}
with open(sys.argv[1], "a") as heard:
    heard.write(json.dumps(told) + "\\n")
"""


class Listener:
    """A small real program that records its input."""

    def __init__(self, folder: Path, text: str = LISTENER) -> None:
        self.program = folder / "listener.py"
        self.program.write_text(text)
        self._heard = folder / "heard"

    def toml(self, *hooks: str) -> str:
        argv = json.dumps([sys.executable, str(self.program), str(self._heard), "a; touch b", "$HOME"])
        return "[hooks]\n" + "".join(f"{name} = {argv}\n" for name in hooks)

    async def heard(self, times: int) -> list[dict[str, Any]]:
        """Wait for that many calls and return their input in the order of the hooks."""
        async with asyncio.timeout(PATIENCE):
            while True:
                *lines, _half = self._heard.read_text().split("\n") if self._heard.exists() else [""]
                if len(lines) >= times:
                    return sorted(map(json.loads, lines), key=lambda call: HOOKS.index(call["hook"]))
                await asyncio.sleep(0.02)


def agreed(places: Places) -> Agenda:
    """Return a debate of two seats that agree."""
    block = '```json\n{"position": "Use REST", "confidence": 8}\n```'
    turns = [{"round": "debate/1*", "text": f"Because.\n{block}"}, {"round": "*", "text": "AGREE: a"}]
    places.data.mkdir(parents=True, exist_ok=True)
    script = places.data / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    seats = tuple(Seat(name, (f"script:{script}",)) for name in ("a", "b"))
    return Agenda("REST or GraphQL?\nReally?", seats, meeting="debate", headless=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.feature("S4.99", "S4.100")
async def test_a_hook_runs_when_a_debate_starts_and_when_its_seats_agree(
    places: Places, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    listener = Listener(tmp_path)
    write(places.user_config, listener.toml(*HOOKS))
    async with await Roundtable.open(workspace, places) as desk:
        session, decision = await desk.meetings.hold(agreed(places))
        started, consensus = await listener.heard(2)
        assert await desk.meetings.hook_problems() == []
    assert decision.outcome is Outcome.REACHED
    said = {"session": session, "question": "REST or GraphQL?\nReally?", "rest": "", "argv": ["a; touch b", "$HOME"]}
    assert started.items() >= {**said, "hook": "debate_started", "outcome": "", "position": ""}.items()
    reached = {"hook": "consensus_reached", "outcome": "reached", "position": "Use REST"}
    assert consensus.items() >= {**said, **reached}.items()
    assert "PATH" in consensus["env"]
    assert "OPENAI_API_KEY" not in consensus["env"]


class ChangeWriter:
    """Performs effects without doing anything: a change counts as applied, everything else fails."""

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        return ChangeApplied("u-1") if isinstance(effect, ApplyChange) else Fault.of(FaultKind.MISSING, "No checks.")

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        return None


@pytest.mark.feature("S4.101")
async def test_a_hook_runs_when_the_decision_has_been_carried_out(
    places: Places, workspace: Path, tmp_path: Path
) -> None:
    async def carried_out(table: Table) -> Decision:
        await table.do("debate/2-objections/checks", RunChecks(("tests",)))
        await table.do("debate/execute", ApplyChange("", "approve"))
        return Decision(Outcome.CANCELLED, how=(Said("enough"),))

    listener = Listener(tmp_path)
    write(places.user_config, listener.toml("execution_complete"))
    async with await Roundtable.open(workspace, places, performer=ChangeWriter()) as desk:
        session = await desk.meetings.open(agreed(places))
        version = (await desk.sessions.get(session)).charter.version
        await desk.wiring.engine.run(session, lambda _: MeetingRules("debate", version, carried_out), "test")
    assert [(call["hook"], call["session"]) for call in await listener.heard(1)] == [("execution_complete", session)]


async def test_a_resumed_meeting_runs_no_hook_twice(places: Places, workspace: Path, tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    write(places.user_config, listener.toml(*HOOKS))
    async with await Roundtable.open(workspace, places) as desk:
        session, _ = await desk.meetings.hold(agreed(places))
        await listener.heard(2)
        await desk.meetings.run(session)
        await desk.meetings.hook_problems()
    assert len(await listener.heard(2)) == 2


async def test_a_hook_that_fails_or_never_ends_does_not_affect_the_meeting(
    places: Places, workspace: Path, tmp_path: Path
) -> None:
    endless = Listener(tmp_path, f"{LISTENER}\nimport time\ntime.sleep(600)")
    write(places.user_config, f"{endless.toml('debate_started')}consensus_reached = ['/no/such/program']\n")
    async with await Roundtable.open(workspace, places) as desk:
        _, decision = await desk.meetings.hold(agreed(places))
        (trouble,) = await desk.meetings.hook_problems()
        assert await desk.meetings.hook_problems() == [], "each is told once"
    (told,) = await endless.heard(1)
    os.kill(told["pid"], signal.SIGKILL)
    assert decision.outcome is Outcome.REACHED
    assert trouble.startswith("The hook consensus_reached failed: /no/such/program cannot be started (No such file")


def test_a_failed_hook_prints_one_note_at_the_terminal(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    seats = cli.script(a=council_seat("Yes"), b=council_seat("Yes"))
    write(cli.home / "config.toml", "[hooks]\ndebate_started = ['sh', '-c', 'exit 3']\n")
    told = cli.run("discuss", "Why?", *seats, "--headless")
    assert told.stderr.count("hook") == 1
    assert "The hook debate_started failed: sh ended with exit code 3." in told.stderr


async def test_hooks_of_a_cloned_workspace_do_not_run_before_it_is_trusted(
    places: Places, workspace: Path, tmp_path: Path
) -> None:
    listener = Listener(tmp_path)
    write(config.workspace_config_path(workspace), listener.toml("debate_started"))
    async with await Roundtable.open(workspace, places) as desk:
        assert desk.setup.settings.withheld == ("hooks.debate_started",)
        await desk.meetings.open(agreed(places))
        await desk.meetings.hook_problems()
        assert await listener.heard(0) == []
    assert "hooks.debate_started" in config.find_trust_request(places, workspace).settings
    config.trust_workspace(places, workspace)
    async with await Roundtable.open(workspace, places) as desk:
        await desk.meetings.open(agreed(places))
    assert [call["hook"] for call in await listener.heard(1)] == ["debate_started"]


@pytest.mark.parametrize(
    "line", ["consensus = ['true']", "debate_started = 'notify-send Roundtable'", "debate_started = []"]
)
def test_a_hook_is_one_of_three_names_and_a_list_of_arguments(places: Places, workspace: Path, line: str) -> None:
    write(places.user_config, f"[hooks]\n{line}\n")
    with pytest.raises(ConfigError, match="hooks"):
        config.load_settings(places, workspace)


async def test_hooks_run_at_the_start_at_consensus_and_at_execution() -> None:
    harness = create_harness(**AGREEING)
    await hold_meeting(harness)
    hooks = [name for record in await harness.records() if (name := find_run_hook_for_event(record.event))]
    assert hooks == ["debate_started", "consensus_reached"]
    assert find_run_hook_for_event(EffectDone("debate/execute", ChangeApplied("c-1", ()))) == "execution_complete"
    assert find_run_hook_for_event(EffectDone("debate/2-objections/checks", ChecksRun())) == ""

    split = create_harness(**SPLIT)
    await split.open(seats=tuple(SPLIT), answers={"choose": "gpt"})
    await split.run()
    hooks = [name for record in await split.records() if (name := find_run_hook_for_event(record.event))]
    assert hooks == ["debate_started"], "what the person had to choose is no consensus of the seats"
    assert find_run_hook_for_event(SessionOpened(Charter("?", (), "debate", 1))) == "debate_started"
    assert find_run_hook_for_event(DecisionMade(Decision(Outcome.DEADLOCK, (Said("no"),)))) == ""
