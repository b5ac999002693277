"""The agents' data files, a person's own settings over them, and how an agent is pointed at a server nearby."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.faults import ConfigError
from roundtable.voices.agents.catalog import load_shipped_agent_clis, merge_agent_cli_catalog, parse_agent_cli
from roundtable.voices.agents.roster import point_agent_cli_at_endpoint

WHOLE: dict[str, Any] = {
    "command": "sixth",
    "argv": ["--json"],
    "reads": [{"when": {"type": "text"}, "message": "text"}],
}


def test_the_agents_of_the_shipped_catalog() -> None:
    agents = load_shipped_agent_clis()
    assert set(agents) == {"claude", "codex", "gemini", "agy", "opencode"}
    for agent in agents.values():
        assert agent.checked or agent.unverified, agent.name
        assert agent.help
        assert agent.keeps_session
        assert any(rule.ends for rule in agent.reads)
        assert any(rule.is_failure for rule in agent.reads)
    assert [agent.name for agent in agents.values() if agent.structured] == ["claude", "codex"]


def test_the_vendor_of_an_agent_is_the_maker_of_its_model() -> None:
    agents = load_shipped_agent_clis()
    assert agents["claude"].find_vendor("opus") == "anthropic"
    assert agents["opencode"].find_vendor("openai/gpt-5") == "openai"
    assert agents["opencode"].find_vendor("") == "opencode"


@pytest.mark.feature("S3.20", "S4.60")
def test_a_persons_settings_override_the_catalog() -> None:
    agents = merge_agent_cli_catalog({"claude": {"command": "~/bin/claude", "default_model": "opus"}, "sixth": WHOLE})
    assert agents["claude"].command == "~/bin/claude"
    assert agents["claude"].default_model == "opus"
    assert agents["claude"].reads == load_shipped_agent_clis()["claude"].reads
    assert agents["sixth"].find_vendor("") == "sixth"


MISTAKES: list[tuple[dict[str, dict[str, Any]], str, str]] = [
    ({"cluade": {"command": "x"}}, "Did you mean `claude`?", "Known agents: agy, claude"),
    ({"claude": {"commands": "x"}}, "commands", "command"),
    ({"claude": {"concurrency": 0}}, "concurrency", "Remove `concurrency`"),
    ({"sixth": {**WHOLE, "reads": [{"when": {}, "sayz": "x"}]}}, "sayz", "says"),
]


@pytest.mark.parametrize(("sections", "words", "help"), MISTAKES)
def test_a_mistake_is_reported_with_its_place(sections: dict[str, dict[str, Any]], words: str, help: str) -> None:
    with pytest.raises(ConfigError) as caught:
        merge_agent_cli_catalog(sections, "config.toml: ")
    assert words in caught.value.message
    assert caught.value.message.startswith("config.toml: agents.")
    assert help in caught.value.help


def test_an_agent_can_be_pointed_at_a_local_server(tmp_path: Path) -> None:
    gemini = load_shipped_agent_clis()["gemini"]
    assert gemini.local is not None
    near = point_agent_cli_at_endpoint(gemini, gemini.local, "http://127.0.0.1:9", tmp_path)
    assert near.set["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:9"
    assert near.set["HOME"] == str(tmp_path)
    assert near.default_model == gemini.local.model
    settings = tmp_path / ".gemini" / "settings.json"
    assert "gemini-api-key" in settings.read_text()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


def test_an_agent_without_output_rules_is_rejected() -> None:
    with pytest.raises(ConfigError):
        parse_agent_cli("sixth", {"command": "sixth", "argv": []})
