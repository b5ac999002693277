"""Runs every kind of configured voice against the local fault server and checks the faults that it reports."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from roundtable.app.parts import Parts
from roundtable.core.faults import Fault
from roundtable.core.ports import Voice
from roundtable.core.values import Message, Request
from roundtable.voices.agents.acp import adapt_agent_cli_to_acp
from roundtable.voices.agents.agent_voice import AgentKind as Way
from roundtable.voices.agents.agent_voice import find_agent_cli_program
from roundtable.voices.agents.catalog import Agent, LocalServerSetup
from roundtable.voices.agents.roster import AgentVoices, point_agent_cli_at_endpoint
from roundtable.voices.endpoints import parse_voice_endpoint
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.fault_server.expectations import AGENT_EXPECTATIONS, EXPECTATIONS, FaultExpectation
from roundtable.voices.registry import VoiceRegistry, ask_voice_outside_meeting

FAULT_CHECK_KEY = "sk-fault-check-0123456789"
ENDLESS_SECONDS = {"api": 1.0, "agent": 15.0}
"""Seconds to wait for a call that never ends; an agent needs some of them to start."""

BOUND_SECONDS = 60.0
AGENTS_AT_ONCE = 2

CheckedKind = Literal["api", "agent"]


class Finding(msgspec.Struct, frozen=True):
    """The result of one voice for one fault: `told` is the reported fault, `note` says what is wrong with it."""

    voice: str
    kind: CheckedKind
    fault: str
    told: str
    passed: bool
    note: str
    seconds: float


class FaultReport(msgspec.Struct, frozen=True):
    """All findings, and the agents that could not be checked with the reason."""

    ok: bool
    findings: tuple[Finding, ...]
    skipped: dict[str, str]


async def run_machine_fault_check(parts: Parts, on_finding: Callable[[Finding], None]) -> FaultReport:
    """Check every voice concurrently; `on_finding` receives each finding at once."""
    dialects = sorted({endpoint.dialect for endpoint in parts.endpoints.values()})
    agents = list_machine_agents_to_check(parts)
    ways: list[tuple[Way, Agent, LocalServerSetup]] = [
        (way, item, item.local) for way, item in agents if item.local is not None
    ]
    room = asyncio.Semaphore(AGENTS_AT_ONCE)
    with _hold_silent_stdin():
        groups = await asyncio.gather(
            *(_check_dialect(dialect, on_finding) for dialect in dialects),
            *(_check_agent(way, agent, local, room, on_finding) for way, agent, local in ways),
        )
    findings = tuple(finding for group in groups for finding in group)
    skipped = {
        f"{way}:{item.name}": "its calls cannot be redirected to a local server"
        for way, item in agents
        if item.local is None
    }
    return FaultReport(all(finding.passed for finding in findings), findings, skipped)


def list_machine_agents_to_check(parts: Parts) -> list[tuple[Way, Agent]]:
    """Return every installed agent by its command line, and by ACP if a seat is configured so."""
    seated = {tuple(voice.split(":")[:2]) for seat in parts.settings.config.seats.values() for voice in seat.voices}
    agents = parts.agents().values()
    by_line: list[tuple[Way, Agent]] = [("cli", agent) for agent in agents if _is_installed(agent)]
    by_protocol = [agent for agent in agents if ("acp", agent.name) in seated and agent.acp is not None]
    return by_line + [("acp", agent) for agent in by_protocol if _is_installed(adapt_agent_cli_to_acp(agent))]


def _is_installed(agent: Agent) -> bool:
    return not isinstance(find_agent_cli_program(agent, os.environ), Fault)


async def _check_dialect(dialect: str, on_finding: Callable[[Finding], None]) -> list[Finding]:
    findings: list[Finding] = []
    async with FaultServer(key=FAULT_CHECK_KEY) as server:
        data = {"base_url": server.base(dialect), "dialect": dialect, "key": "env:KEY", "local": True}
        endpoint = parse_voice_endpoint(dialect, data)
        for expected in EXPECTATIONS:
            # Each call has its own registry, because a requested wait would delay the next call.
            voices = VoiceRegistry({dialect: endpoint}, {endpoint.key: FAULT_CHECK_KEY}.get, models_dir=Path())
            voice = voices.find(f"{dialect}:{expected.behaviour}")
            findings.append(await _check_one_fault(dialect, "api", voice, expected, server))
            await voices.close()
            on_finding(findings[-1])
    return findings


async def _check_agent(
    way: Way, agent: Agent, local: LocalServerSetup, room: asyncio.Semaphore, on_finding: Callable[[Finding], None]
) -> list[Finding]:
    findings: list[Finding] = []
    environ = {"PATH": os.environ.get("PATH", os.defpath)}
    async with room, FaultServer(key=FAULT_CHECK_KEY) as server:
        for expected in AGENT_EXPECTATIONS:
            with tempfile.TemporaryDirectory(prefix="roundtable-", ignore_cleanup_errors=True) as home:
                pointed = point_agent_cli_at_endpoint(agent, local, server.root, Path(home), FAULT_CHECK_KEY)
                voice = AgentVoices({agent.name: pointed}, environ).find_voice(agent.name, way)
                server.behave, server.target = expected.behaviour, f"{home}/written-by-the-model.txt"
                finding = await _check_one_fault(f"{way}:{agent.name}", "agent", voice, expected, server)
                if "written-by-the-model.txt" in os.listdir(home):
                    finding = msgspec.structs.replace(
                        finding, passed=False, note="it wrote a file that it must not write"
                    )
                findings.append(finding)
                on_finding(finding)
    return findings


async def _check_one_fault(
    name: str, kind: CheckedKind, voice: Voice | Fault, expected: FaultExpectation, server: FaultServer
) -> Finding:
    clock = asyncio.get_running_loop().time
    began, seen = clock(), len(server.seen)
    if isinstance(voice, Fault):
        end = voice
    else:
        limit = ENDLESS_SECONDS[kind] if expected.is_endless else BOUND_SECONDS
        question = Message("user", "Reply with the single word: ready")
        end = await ask_voice_outside_meeting(voice, Request(f"faults/{name}#1", name, (question,), timeout=limit))
        await voice.close()
    seconds = round(clock() - began, 2)
    note = expected.find_objection(end, FAULT_CHECK_KEY, agent=kind == "agent")
    if not note and len(server.seen) == seen:
        note = "its call never reached the server"
    if not note and not await server.is_left_alone():
        note = "it continued after its last message"
    reported = end.kind.value if isinstance(end, Fault) else "answer"
    return Finding(name, kind, expected.title, reported, not note, note, seconds)


@contextmanager
def _hold_silent_stdin() -> Generator[None]:
    """Replace standard input by an open, silent pipe: a child process that reads it would wait forever."""
    reading, writing = os.pipe()
    kept = os.dup(0)
    os.dup2(reading, 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        for number in (reading, writing, kept):
            os.close(number)
