"""The real `gemini` and `opencode`, and `claude` through its adapter, over the Agent Client Protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roundtable.core.values import Reply
from roundtable.voices.agents.agent_voice import AgentVoice
from roundtable.voices.agents.workdirs import write_agent_cli_files
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.fault_server.scripted_answer import DEFAULT_ANSWER_TEXT
from tests.kits.fault_kit import SECRET
from tests.kits.voice_kit import collect_events, last_event
from tests.real.test_agents import RealKit, isolate_network
from tests.real.test_agents import real as any_way
from tests.voices.agents import make_conversation

pytestmark = pytest.mark.real

VOICES = ("claude:sonnet", "gemini", "opencode")
"""The adapter of `claude` knows models by short names alone."""


@pytest.fixture(autouse=True)
def _alone() -> None:
    isolate_network()


@pytest.fixture
async def server() -> AsyncGenerator[FaultServer, None]:
    async with FaultServer(key=SECRET) as server:
        yield server


def real(voice: str, server: FaultServer, home: Path) -> AgentVoice:
    """The agent as it is shipped, spoken to in the protocol."""
    return any_way(voice, server, home, "acp")


class AcpKit(RealKit):
    """The same in the protocol."""

    kind = "acp"


class TestClaude(AcpKit):
    name = "claude:sonnet"


class TestGemini(AcpKit):
    name = "gemini"


class TestOpencode(AcpKit):
    name = "opencode"


@pytest.mark.parametrize("voice", VOICES)
async def test_an_acp_agent_answers_and_remembers_the_conversation(
    voice: str, server: FaultServer, tmp_path: Path
) -> None:
    speaker = real(voice, server, tmp_path / "home")
    first = last_event(await collect_events(speaker, make_conversation("One?", timeout=60)))
    second = last_event(
        await collect_events(speaker, make_conversation("One?", DEFAULT_ANSWER_TEXT, "Two?", timeout=60))
    )
    assert isinstance(first, Reply), first
    assert isinstance(second, Reply), second
    assert first.text == second.text == DEFAULT_ANSWER_TEXT
    assert first.usage.input_tokens == second.usage.input_tokens > 0
    bodies = [str(request.body) for request in server.seen if request.behaviour]
    assert len(bodies) == 2
    assert "Be brief." in bodies[0]
    assert all(word in bodies[1] for word in ("One?", "plain word", "Two?"))
    assert ("said so far" in bodies[1]) == (voice == "gemini"), "the others keep the session themselves"
    await speaker.close()


async def test_claude_runs_without_the_hooks_servers_and_instructions_of_the_person(
    server: FaultServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    speaker = real("claude:sonnet", server, home)
    hook = [{"hooks": [{"type": "command", "command": f"touch {tmp_path}/hooked"}]}]
    tool = {"type": "stdio", "command": "touch", "args": [f"{tmp_path}/served"]}
    own_files = {
        ".claude.json": json.dumps({"mcpServers": {"own": tool}}),
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": hook, "UserPromptSubmit": hook}}),
        ".claude/CLAUDE.md": "Speak of owls.",
    }
    write_agent_cli_files(home, own_files, {})
    end = last_event(await collect_events(speaker, make_conversation("One?", timeout=60)))
    assert isinstance(end, Reply), end
    assert not (tmp_path / "hooked").exists()
    assert not (tmp_path / "served").exists()
    (body,) = (request.body for request in server.seen if request.behaviour)
    assert "Be brief." in str(body)
    assert "owls" not in str(body)
    assert not body["tools"]
    await speaker.close()
