"""The real `claude`, `codex`, `gemini` and `opencode` against the fault server, without a network."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

import pytest

from roundtable.core.ports import Voice
from roundtable.core.values import Reply
from roundtable.voices.agents.agent_voice import AgentKind, AgentVoice, find_agent_cli_program
from roundtable.voices.agents.catalog import Agent, LocalServerSetup, load_shipped_agent_clis
from roundtable.voices.agents.roster import AgentVoices, point_agent_cli_at_endpoint
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.fault_server.scripted_answer import DEFAULT_ANSWER_TEXT
from tests.kits.fault_kit import SECRET, FaultKit, FaultStage
from tests.kits.voice_kit import collect_events, last_event, make_request
from tests.voices.agents import find_processes_by_variable, make_conversation, wait_until_gone

pytestmark = pytest.mark.real

BIN = Path(__file__).parent.parent.parent / "build" / "agents" / "node_modules" / ".bin"
NAMES = ("claude", "codex", "gemini", "opencode")


@pytest.fixture(autouse=True)
def _alone() -> None:
    isolate_network()


def isolate_network() -> None:
    """These programs are somebody else's: they run only where they can reach nobody."""
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    if interfaces or not BIN.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("`make test-real` runs this in a network of its own")


def local_of(agent: Agent) -> LocalServerSetup:
    assert agent.local is not None
    return agent.local


def environ(temporary: Path) -> dict[str, str]:
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", "TMPDIR": str(temporary)}


def real(
    voice: str, server: FaultServer, home: Path, kind: AgentKind = "cli", temporary: Path | None = None
) -> AgentVoice:
    """The agent as it is shipped, in a home of its own; `voice` is its name, with a model or without."""
    home.mkdir(exist_ok=True)
    name = voice.partition(":")[0]
    agent = load_shipped_agent_clis()[name]
    near = point_agent_cli_at_endpoint(agent, local_of(agent), server.root, home, SECRET)
    real_voice = AgentVoices({name: near}, environ(temporary or home)).find_voice(voice, kind)
    assert isinstance(real_voice, AgentVoice), real_voice
    return real_voice


@pytest.fixture
async def server() -> AsyncGenerator[FaultServer, None]:
    async with FaultServer(key=SECRET) as server:
        yield server


class RealStage(FaultStage):
    """One agent."""

    agent = True
    patience = 20.0
    bound = 60.0

    def __init__(self, name: str, kind: AgentKind, server: FaultServer, folder: Path) -> None:
        self.server = server
        self.home = folder / "home"
        self._name = name
        self._kind: AgentKind = kind

    def voice(self, behaviour: str) -> Voice:
        self.server.behave = behaviour
        return real(self._name, self.server, self.home, self._kind)


SPEAKER = """
import asyncio, sys
from pathlib import Path
from roundtable.voices.fault_server import FaultServer
from tests.kits.voice_kit import collect_events
from tests.real.test_agents import real
name, kind, port, home = sys.argv[1:]
asyncio.run(collect_events(real(name, FaultServer(port=int(port)), Path(home), kind)))
"""


class RealKit(FaultKit):
    """Every fault told truthfully, nothing written, and no process left."""

    name: ClassVar[str]
    kind: ClassVar[AgentKind] = "cli"

    @pytest.fixture
    async def fault_stage(self, server: FaultServer, tmp_path: Path) -> AsyncGenerator[FaultStage, None]:
        yield RealStage(self.name, self.kind, server, tmp_path)
        assert await wait_until_gone(*find_processes_by_variable("HOME", str(tmp_path / "home")))

    async def test_a_model_that_tries_to_write_a_file_cannot(self, server: FaultServer, tmp_path: Path) -> None:
        server.behave, server.target = "write", str(tmp_path / "written.txt")
        end = last_event(
            await collect_events(real(self.name, server, tmp_path / "home", self.kind), make_request(timeout=60))
        )
        assert isinstance(end, Reply), end
        assert len([request for request in server.seen if request.behaviour == "write"]) > 1, "it was told to write"
        assert not (tmp_path / "written.txt").exists()

    async def test_no_agent_process_survives_when_roundtable_is_killed(
        self, server: FaultServer, tmp_path: Path
    ) -> None:
        server.behave = "hang"
        home = tmp_path / "home"
        arguments = (self.name, self.kind, str(server.port), str(home))
        us = await asyncio.create_subprocess_exec(sys.executable, "-c", SPEAKER, *arguments)
        async with asyncio.timeout(60):
            while not server.at_once:  # noqa: ASYNC110 (the call comes from another process)
                await asyncio.sleep(0.05)
        family = find_processes_by_variable("HOME", str(home))
        assert family
        us.send_signal(signal.SIGKILL)
        await us.wait()
        assert await wait_until_gone(*family)
        assert find_processes_by_variable("HOME", str(home)) == []


class TestClaude(RealKit):
    name = "claude"


class TestCodex(RealKit):
    name = "codex"


class TestGemini(RealKit):
    name = "gemini"


class TestOpencode(RealKit):
    name = "opencode"


@pytest.mark.parametrize("name", NAMES)
async def test_the_installed_agent_has_the_checked_version(name: str, tmp_path: Path) -> None:
    agent = load_shipped_agent_clis()[name]
    program = find_agent_cli_program(agent, environ(tmp_path))
    assert isinstance(program, str)
    command = [program, *agent.version]
    process = await asyncio.create_subprocess_exec(
        *command, env={**environ(tmp_path), "HOME": str(tmp_path)}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert agent.checked in out.decode()


@pytest.mark.parametrize("name", NAMES)
async def test_a_real_agent_answers_and_continues_its_native_session(
    name: str, server: FaultServer, tmp_path: Path
) -> None:
    voice = real(name, server, tmp_path / "home")
    first = last_event(await collect_events(voice, make_conversation("One?", timeout=60)))
    second = last_event(await collect_events(voice, make_conversation("One?", DEFAULT_ANSWER_TEXT, "Two?", timeout=60)))
    assert isinstance(first, Reply), first
    assert isinstance(second, Reply), second
    assert first.text == second.text == DEFAULT_ANSWER_TEXT
    assert first.usage.input_tokens == second.usage.input_tokens > 0
    bodies = [str(request.body) for request in server.seen if request.behaviour]
    assert len(bodies) == 2
    assert "Be brief." in bodies[0]
    assert "said so far" not in bodies[1]
    assert all(word in bodies[1] for word in ("One?", "plain word", "Two?"))
    await voice.close()


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_a_real_agent_is_asked_for_an_answer_in_a_schema(name: str, server: FaultServer, tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"stand": {"type": "string"}},
        "required": ["stand"],
        "additionalProperties": False,
    }
    await collect_events(real(name, server, tmp_path / "home"), make_request(schema=schema, timeout=60))
    assert "stand" in str(server.seen[-1].body)
