"""The real `gemini` and `opencode`, and `claude` through its adapter, spoken to in the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

import pytest

from roundtable.core.ports import Voice
from roundtable.core.values import Reply
from roundtable.voices.agents.catalog import shipped_agents
from roundtable.voices.agents.places import write_files
from roundtable.voices.agents.voice import AgentVoice
from roundtable.voices.agents.voices import AgentVoices, pointed_at
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.fault_server.answer import TEXT
from tests.kits.fault_kit import SECRET, FaultKit, FaultStage
from tests.kits.voice_kit import ask, ending, hear
from tests.real.test_agents import RealStage, environ, local_of, stay_alone
from tests.voices.agents import gone, running_with, talk

pytestmark = pytest.mark.real

VOICES = ("claude:sonnet", "gemini", "opencode")
"""The adapter of `claude` knows models by short names alone."""


@pytest.fixture(autouse=True)
def _alone() -> None:
    stay_alone()


@pytest.fixture
async def server() -> AsyncGenerator[FaultServer, None]:
    async with FaultServer(key=SECRET) as server:
        yield server


def real(voice: str, server: FaultServer, home: Path) -> AgentVoice:
    """The agent as it is shipped, in a home of its own."""
    home.mkdir(exist_ok=True)
    name = voice.partition(":")[0]
    agent = shipped_agents()[name]
    near = pointed_at(agent, local_of(agent), server.root, home, SECRET)
    found = AgentVoices({name: near}, environ(home)).voice(voice, "acp")
    assert isinstance(found, AgentVoice), found
    return found


class AcpStage(RealStage):
    """One agent, spoken to in the protocol."""

    def __init__(self, voice: str, server: FaultServer, folder: Path) -> None:
        super().__init__(voice, server, folder)
        self._voice = voice

    def voice(self, behaviour: str) -> Voice:
        self.server.behave = behaviour
        return real(self._voice, self.server, self.home)


class AcpKit(FaultKit):
    """Every fault, told truthfully, and no process left."""

    voice: ClassVar[str]

    @pytest.fixture
    async def fault_stage(self, server: FaultServer, tmp_path: Path) -> AsyncGenerator[FaultStage, None]:
        yield AcpStage(self.voice, server, tmp_path)
        assert await gone(*running_with("HOME", str(tmp_path / "home")))


class TestClaude(AcpKit):
    voice = "claude:sonnet"


class TestGemini(AcpKit):
    voice = "gemini"


class TestOpencode(AcpKit):
    voice = "opencode"


@pytest.mark.parametrize("voice", VOICES)
async def test_it_answers_and_knows_what_was_said(voice: str, server: FaultServer, tmp_path: Path) -> None:
    speaker = real(voice, server, tmp_path / "home")
    first = ending(await hear(speaker, talk("One?", timeout=60)))
    second = ending(await hear(speaker, talk("One?", TEXT, "Two?", timeout=60)))
    assert isinstance(first, Reply), first
    assert isinstance(second, Reply), second
    assert first.text == second.text == TEXT
    assert first.usage.input_tokens == second.usage.input_tokens > 0
    asked = [str(seen.body) for seen in server.seen if seen.behaviour]
    assert len(asked) == 2
    assert "Be brief." in asked[0]
    assert all(word in asked[1] for word in ("One?", "plain word", "Two?"))
    assert ("said so far" in asked[1]) == (voice == "gemini"), "the others keep the session themselves"
    await speaker.close()


@pytest.mark.parametrize("voice", VOICES)
async def test_a_model_that_tries_to_write_does_not(voice: str, server: FaultServer, tmp_path: Path) -> None:
    server.behave, server.target = "write", str(tmp_path / "written.txt")
    end = ending(await hear(real(voice, server, tmp_path / "home"), ask(timeout=60)))
    assert isinstance(end, Reply), end
    assert len([seen for seen in server.seen if seen.behaviour == "write"]) > 1, "it was told to write"
    assert not (tmp_path / "written.txt").exists()


async def test_claude_sits_down_without_the_hooks_servers_and_words_of_its_person(
    server: FaultServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    speaker = real("claude:sonnet", server, home)
    hook = [{"hooks": [{"type": "command", "command": f"touch {tmp_path}/hooked"}]}]
    tool = {"type": "stdio", "command": "touch", "args": [f"{tmp_path}/served"]}
    own = {
        ".claude.json": json.dumps({"mcpServers": {"own": tool}}),
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": hook, "UserPromptSubmit": hook}}),
        ".claude/CLAUDE.md": "Speak of owls.",
    }
    write_files(home, own, {})
    end = ending(await hear(speaker, talk("One?", timeout=60)))
    assert isinstance(end, Reply), end
    assert not (tmp_path / "hooked").exists()
    assert not (tmp_path / "served").exists()
    (asked,) = (seen.body for seen in server.seen if seen.behaviour)
    assert "Be brief." in str(asked)
    assert "owls" not in str(asked)
    assert not asked["tools"]
    await speaker.close()


SPEAKER = """
import asyncio, sys
from pathlib import Path
from roundtable.voices.fault_server import FaultServer
from tests.kits.voice_kit import hear
from tests.real.test_acp import real
asyncio.run(hear(real(sys.argv[1], FaultServer(port=int(sys.argv[2])), Path(sys.argv[3]))))
"""


@pytest.mark.parametrize("voice", VOICES)
async def test_nobody_outlives_us_when_we_are_killed(voice: str, server: FaultServer, tmp_path: Path) -> None:
    server.behave = "hang"
    home = tmp_path / "home"
    us = await asyncio.create_subprocess_exec(sys.executable, "-c", SPEAKER, voice, str(server.port), str(home))
    async with asyncio.timeout(60):
        while not server.at_once:  # noqa: ASYNC110 (the call comes from another process)
            await asyncio.sleep(0.05)
    family = running_with("HOME", str(home))
    assert family
    us.send_signal(signal.SIGKILL)
    await us.wait()
    assert await gone(*family)
    assert running_with("HOME", str(home)) == []
