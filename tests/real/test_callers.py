"""Real agents as callers of Roundtable: they find the installed skill and connect to the MCP server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.command_line import ROUNDTABLE
from tests.real.test_agents import BIN, isolate_network

pytestmark = pytest.mark.real

PATIENCE = 120.0
LISTS = {
    "codex": ("debug", "prompt-input", "hello"),
    "gemini": ("skills", "list"),
    "opencode": ("debug", "skill"),
}
"""How each tells which skills it knows; claude tells nobody but its model."""


@pytest.fixture(autouse=True)
def _alone() -> None:
    isolate_network()


class Person:
    """A home, a project, and the programs in it; nothing of this machine's own environment comes in."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)

    def run(self, *argv: str) -> str:
        bin_folder = str(Path(sys.executable).parent)
        completed = subprocess.run(
            argv,
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": f"{BIN}:{bin_folder}:{os.environ['PATH']}", "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return completed.stdout


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.mark.parametrize("agent", LISTS)
def test_a_real_agent_finds_the_installed_skill(person: Person, agent: str) -> None:
    asks = (str(BIN / agent), *LISTS[agent])
    assert "Put a question, plan, design or change to several AI models" not in person.run(*asks)
    person.run(*ROUNDTABLE, "skill", "install", "--agent", agent)
    output = person.run(*asks)
    assert "Put a question, plan, design or change to several AI models" in output
    assert "圆桌会议讨论这个设计" in output


@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_a_real_agent_finds_the_skill_of_a_project(person: Person, agent: str) -> None:
    person.run(*ROUNDTABLE, "skill", "install", "--project", "--agent", agent)
    assert "several AI models" in person.run(str(BIN / agent), *LISTS[agent])


def test_claude_connects_to_the_mcp_server(person: Person) -> None:
    claude = str(BIN / "claude")
    person.run(claude, "mcp", "add", "roundtable", "--", *ROUNDTABLE, "mcp")
    assert "✔ Connected" in person.run(claude, "mcp", "list")


def test_opencode_connects_to_the_mcp_server(person: Person) -> None:
    server = '{"mcp": {"roundtable": {"type": "local", "command": ["roundtable", "mcp"], "enabled": true}}}'
    (person.project / "opencode.json").write_text(server)
    assert "✓ roundtable" in person.run(str(BIN / "opencode"), "mcp", "list")
