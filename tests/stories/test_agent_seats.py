"""Command-line agents sit in one meeting with other voices; a fallback voice answers if an agent fails."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import CallFailed, MoveMade
from roundtable.core.faults import FaultKind
from roundtable.core.values import Limits, Outcome, Seat
from tests.stories.session_harness import position_reply
from tests.voices.agents import PROGRAM, RECORDINGS, read_agent_starts


def install(folder: Path, name: str, recording: str) -> Path:
    """Install a program with this name that replays a recording."""
    program = folder / name
    says = RECORDINGS / name / f"{recording}.jsonl"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} --says {says} --notes {folder}/notes -- "$@"\n')
    program.chmod(0o755)
    return program


async def test_agents_and_other_voices_sit_in_one_meeting(tmp_path: Path) -> None:
    places, workspace = Places(tmp_path / "home", tmp_path / "home"), tmp_path / "work"
    (workspace / ".git").mkdir(parents=True)
    places.user_config.parent.mkdir(parents=True)
    claude, codex = install(tmp_path, "claude", "not_logged_in"), install(tmp_path, "codex", "answer")
    places.user_config.write_text(f'[agents.claude]\ncommand = "{claude}"\n[agents.codex]\ncommand = "{codex}"\n')
    (workspace / "table.json").write_bytes(
        msgspec.json.encode({"turns": [{"round": "*", "text": position_reply("Use REST")}]})
    )
    seats = (
        Seat("claude", ("cli:claude", "script:table.json")),
        Seat("gpt", ("cli:codex",)),
        Seat("plain", ("script:table.json",)),
    )
    async with await Roundtable.open(workspace, places) as desk:
        session = await desk.meetings.open(Agenda("REST or GraphQL?", seats, headless=True, limits=Limits(retries=0)))
        decision = await desk.meetings.run(session)
        facts = [fact.event for fact in await desk.sessions.records(session)]
    assert decision.outcome is Outcome.REACHED
    failed = next(fact for fact in facts if isinstance(fact, CallFailed))
    assert (failed.seat, failed.voice, failed.fault.kind) == ("claude", "cli:claude", FaultKind.UNAUTHORIZED)
    assert "log in" in failed.fault.help
    moves = {fact.seat: fact for fact in facts if isinstance(fact, MoveMade)}
    assert (moves["claude"].voice, moves["gpt"].voice, moves["gpt"].vendor) == (
        "script:table.json",
        "cli:codex",
        "openai",
    )
    assert moves["gpt"].usage.plan_tokens > 0
    assert all("REST or GraphQL?" not in " ".join(given["argv"]) for given in read_agent_starts(tmp_path / "notes"))
