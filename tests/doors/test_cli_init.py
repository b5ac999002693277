"""From nothing to a table of one's own: what `init` finds, asks, shows, writes, keeps and takes over from others."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli

KEY = "sk-" + "a1B2" * 10


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A machine with one agent and one key."""
    cli = Cli(tmp_path)
    agent = tmp_path / "bin" / "claude"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\nexit 1\n")
    agent.chmod(0o755)
    cli.env |= {"PATH": f"{agent.parent}:/bin:/usr/bin", "OPENAI_API_KEY": KEY}
    return cli


def written(cli: Cli) -> dict[str, Any]:
    return tomllib.loads(config(cli).read_text())


def own_model(cli: Cli) -> None:
    """A model file of the person's own."""
    (cli.home / "models").mkdir(parents=True)
    (cli.home / "models" / "mine.gguf").write_bytes(b"GGUF" + bytes(100))


def config(cli: Cli) -> Path:
    return cli.work / ".roundtable" / "config.toml"


@pytest.mark.feature("S3.27")
def test_the_wizard_finds_agents_and_keys_shows_the_file_and_offers_a_first_question(cli: Cli) -> None:
    with cli.terminal("init") as terminal:
        screen = terminal.expect("Which seats? [numbers or names, Enter for all, q to quit]:")
        assert "1. claude (cli:claude): Claude Code," in screen
        assert "2. openai (openai:gpt-4o): OpenAI, key from OPENAI_API_KEY" in screen
        terminal.type("1\n")
        display = terminal.expect("Write the config? [Y/n]:")
        assert '| voices = ["cli:claude"]' in display
        assert not config(cli).exists()
        terminal.type("\n")
        terminal.expect("Type a first question for the table [Enter to skip]:")
        terminal.type("REST or GraphQL?\n")
        terminal.expect("REST or GraphQL?")
        terminal.end(6)
    assert written(cli) == {
        "table": {"meeting": "council", "seats": ["claude"]},
        "seats": {"claude": {"voices": ["cli:claude"]}},
    }
    assert "already trusted" in cli.run("trust").stderr
    assert json.loads(cli.run("list", "--json").stdout)["sessions"][0]["question"] == "REST or GraphQL?"


def test_answering_no_writes_nothing(cli: Cli) -> None:
    with cli.terminal("init") as terminal:
        terminal.expect("Which seats?")
        terminal.type("\n")
        terminal.expect("Write the config?")
        terminal.type("n\n")
        assert "Nothing was written." in terminal.end(0)
    assert not config(cli).parent.exists()


def test_leaving_the_wizard_writes_nothing_and_exits_normally(cli: Cli) -> None:
    with cli.terminal("init") as terminal:
        terminal.expect("Which seats?")
        terminal.type("q\n")
        assert "Nothing was written." in terminal.end(0)
    assert not config(cli).parent.exists()


def test_a_single_key_is_offered_three_personas_and_the_local_models(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bin" / "claude").unlink()
    own_model(cli)
    with cli.terminal("init") as terminal:
        screen = terminal.expect("Which seats? [numbers or names, Enter for the first 3, q to quit]:")
        assert "openai:gpt-4o can fill 3 seats, each with its own persona." in screen
        assert "4. mine (embedded:mine): installed" in screen
        terminal.type("1,4\n")
        terminal.expect("Write the config?")
        terminal.type("\n")
        terminal.expect("Type a first question for the table [Enter to skip]:")
        terminal.type("\n")
        terminal.end(0)
    assert written(cli)["table"]["seats"] == ["ada", "mine"]


def test_a_second_run_with_yes_adds_no_embedded_model(cli: Cli) -> None:
    cli.run("init", "--yes")
    before = config(cli).read_text()
    own_model(cli)
    assert "No new voices were found" in cli.run("init", "--yes").stderr
    assert config(cli).read_text() == before


def test_with_yes_a_paid_seat_adds_a_budget_but_never_its_key(cli: Cli) -> None:
    assert "Add --yes to write without asking." in cli.run("init", code=2).stderr
    cli.run("init", "--yes")
    assert written(cli)["table"]["seats"] == ["claude", "openai"]
    assert written(cli)["limits"] == {"budget_usd": 1.0}
    text = config(cli).read_text()
    assert KEY not in text
    assert "# Keys are never stored in this file" in text
    assert json.loads(cli.run("config", "get", "seats.claude", "--json").stdout)["settings"][0]["source"] == "workspace"


def test_a_second_run_keeps_the_config_word_for_word_and_adds_new_seats(cli: Cli) -> None:
    config(cli).parent.mkdir()
    mine = 'language = "de" # mine\n\n[table]\nseats = ["claude"]\n\n[seats.claude]\nvoices = ["cli:claude"]'
    config(cli).write_text(mine)
    cli.run("trust", "--yes")
    output = cli.run("init", "--yes").stderr
    assert "Kept unchanged: table" in output
    assert "claude (cli:claude)" not in output
    assert config(cli).read_text().startswith(mine)
    assert written(cli)["seats"]["openai"] == {"voices": ["openai:gpt-4o"]}
    assert "already trusted" in cli.run("trust").stderr
    before = config(cli).read_text()
    assert "Your seats: claude, openai." in cli.run("init", "--yes").stderr
    assert config(cli).read_text() == before


def test_init_does_not_trust_an_existing_foreign_config(cli: Cli) -> None:
    config(cli).parent.mkdir()
    config(cli).write_text('[endpoints.evil]\nbase_url = "http://127.0.0.1:9"\n')
    assert "run `roundtable trust`" in cli.run("init", "--yes").stderr
    assert "endpoints" in cli.run("config").stdout.partition("needs `roundtable trust`")[0].splitlines()[-1]


def test_init_does_not_write_through_a_linked_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    config(cli).parent.symlink_to(tmp_path / "elsewhere")
    assert "is a link" in cli.run("init", "--yes", code=2).stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_user_config_applies_to_every_workspace(cli: Cli) -> None:
    cli.run("init", "--user", "--yes")
    assert not config(cli).exists()
    assert tomllib.loads((cli.home / "config.toml").read_text())["table"]["seats"] == ["claude", "openai"]


def test_existing_seats_of_the_user_config_are_named(cli: Cli) -> None:
    cli.run("init", "--user", "--yes")
    output = cli.run("init", "--yes").stderr
    assert "Your seats: claude, openai.\nAsk your seats something: roundtable discuss" in output
    assert not config(cli).exists()


def test_without_any_voice_init_says_how_to_get_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bin" / "claude").unlink()
    del cli.env["OPENAI_API_KEY"]
    output = cli.run("init", "--yes").stderr
    assert "roundtable keys set openai" in output
    assert "`roundtable models get smollm2-135m` downloads a small model." in output
    assert "`roundtable demo`" in output
    assert "# [seats.claude]" in config(cli).read_text()
    assert written(cli) == {}


# --- taking over ---------------------------------------------------------------------------------

THEIRS: dict[str, Any] = {
    "version": "1.0",
    "project": "MyProject",
    "language": "nl",
    "knights": [
        {
            "name": "Claude",
            "adapter": "claude-cli",
            "capabilities": ["architecture", "debugging"],
            "priority": 1,
            "fallback": "claude-api",
        },
        {"name": "GPT", "adapter": "openai-api", "capabilities": [], "priority": 2},
        {"name": "Bard", "adapter": "bard-api", "priority": 3},
    ],
    "rules": {
        "max_rounds": 4,
        "consensus_threshold": 8,
        "timeout_per_turn_seconds": 90,
        "escalate_to_user_after": 2,
        "auto_execute": True,
        "ignore": [".git", "vendor"],
        "mood": "grim",
    },
}


@pytest.fixture
def knights(cli: Cli) -> str:
    """The notes that came with importing a TheRoundtAIble config."""
    (cli.work / "config.json").write_text(json.dumps(THEIRS))
    return cli.run("init", "--import", "config.json", "--yes").stderr


@pytest.mark.feature("S3.7", "S3.73", "S3.74", "S3.75", "S3.76", "S3.77")
@pytest.mark.usefixtures("knights")
def test_the_knights_of_a_config_json_become_seats(cli: Cli) -> None:
    assert written(cli)["table"] == {"meeting": "knights", "seats": ["claude", "gpt"]}
    assert written(cli)["seats"] == {
        "claude": {
            "voices": ["cli:claude", "anthropic:claude-sonnet-4-6"],
            "capabilities": ["architecture", "debugging"],
            "priority": 1,
        },
        "gpt": {"voices": ["openai:gpt-4o"], "capabilities": [], "priority": 2},
    }


@pytest.mark.feature("S3.7", "S3.71", "S3.78", "S3.79", "S3.80", "S3.81", "S3.83")
@pytest.mark.usefixtures("knights")
def test_the_rules_of_a_config_json_become_settings(cli: Cli) -> None:
    assert written(cli)["language"] == "nl"
    assert written(cli)["meetings"] == {"knights": {"rounds": 4, "threshold": 8, "warn_after": 2}}
    assert written(cli)["limits"] == {"seat_timeout": 90}
    assert written(cli)["context"] == {"ignore": [".git", "vendor"]}


@pytest.mark.feature("S3.71", "S3.82")
def test_permissions_are_never_imported_and_omitted_settings_are_listed(cli: Cli, knights: str) -> None:
    assert "auto_execute was not imported: nothing is executed without your approval." in knights
    assert "Bard: the adapter bard-api is unknown and was left out." in knights
    assert "rules.mood is unknown and was not imported." in knights
    assert "The project's name (MyProject) was not imported" in knights
    assert "auto_execute" not in config(cli).read_text()


def test_a_config_of_another_tool_is_offered_and_never_imported_without_asking(cli: Cli) -> None:
    config(cli).parent.mkdir()
    theirs = config(cli).with_suffix(".json")
    theirs.write_text(json.dumps(THEIRS))
    with cli.terminal("init") as terminal:
        terminal.expect("Import this config? [Y/n]:")
        terminal.type("\n")
        terminal.expect("Write the config?")
        terminal.type("\n")
        terminal.expect("Type a first question for the table [Enter to skip]:")
        terminal.type("\n")
        terminal.end(0)
    assert written(cli)["table"] == {"meeting": "knights", "seats": ["claude", "gpt"]}
    assert "TheRoundtAIble" not in cli.run("init", "--yes").stderr
    config(cli).unlink()
    assert f"import it with `roundtable init --import {theirs}`." in cli.run("init", "--yes").stderr
    assert written(cli)["table"]["seats"] == ["claude", "openai"]


TERMINAL = f"""\
models:
  claude:
    enabled: true
    cli_path: claude  # or full path if needed
    default_model: opus
  gemini:
    enabled: false
    cli_path: /opt/gemini
  gpt:
    enabled: true
    api_key: "{KEY}"
    default_model: gpt-4o
  grok:
    api_key: ${{GROK_API_KEY}}
    default_model: grok-2

defaults:
  auto_debate: false
  consensus_timeout: 30  # seconds
  model_timeout: 60
"""


@pytest.mark.feature("S4.59", "S4.60", "S4.61", "S4.62", "S4.63")
def test_a_terminal_documents_config_yaml_becomes_a_debate(cli: Cli) -> None:
    (cli.work / "config.yaml").write_text(TERMINAL)
    output = cli.run("init", "--import", "config.yaml", "--yes").stderr
    assert written(cli)["table"] == {"meeting": "debate", "seats": ["claude", "gpt", "grok"]}
    assert written(cli)["meetings"] == {"debate": {"executor": "claude"}}
    assert written(cli)["limits"] == {"seat_timeout": 60}
    assert written(cli)["seats"] == {
        "claude": {"voices": ["cli:claude:opus"]},
        "gemini": {"voices": ["cli:gemini"], "enabled": False},
        "gpt": {"voices": ["openai:gpt-4o"]},
        "grok": {"voices": ["xai:grok-2"]},
    }
    assert written(cli)["endpoints"] == {"xai": {"key": "env:GROK_API_KEY"}}
    assert "xai:grok-4.7\tno\txAI: set GROK_API_KEY" in cli.run("voices").stdout
    assert KEY not in config(cli).read_text() + output
    assert "`roundtable keys set openai`" in output
    assert "gemini: its path was not imported" in output
    assert "auto_debate" in output
    assert "consensus_timeout" in output


@pytest.mark.feature("S4.58")
def test_a_config_yaml_in_the_users_config_folder_becomes_a_config_next_to_it(cli: Cli, tmp_path: Path) -> None:
    del cli.env["ROUNDTABLE_HOME"]
    cli.env |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config"), "XDG_DATA_HOME": str(cli.home)}
    theirs = tmp_path / ".config" / "roundtable" / "config.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(TERMINAL)
    cli.run("init", "--user", "--import", str(theirs), "--yes")
    assert tomllib.loads(theirs.with_suffix(".toml").read_text())["table"]["seats"] == ["claude", "gpt", "grok"]
    assert f"{theirs.with_suffix('.toml')}" in cli.run("config", "path", "--user").stdout


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("config.yaml", "models:\n  - claude\n", "line 2: only indented lines of `name: value`"),
        ("config.yaml", "models: [claude]\n", "line 1: lists, blocks, references and escapes"),
        ("config.yaml", "\tmodels: 1\n", "line 1: "),
        ("config.yaml", "talk: 1\n", "cannot be imported"),
        ("config.json", "{", "is not valid JSON"),
        ("config.json", '{"version": "1.0", "knights": [{"name": 3}]}', "cannot be imported"),
    ],
)
def test_an_invalid_import_file_is_refused_with_its_path(cli: Cli, name: str, text: str, why: str) -> None:
    (cli.work / name).write_text(text)
    assert why in cli.run("init", "--import", name, "--yes", code=2).stderr
    assert not config(cli).exists()


def test_a_missing_import_file_is_reported_in_one_sentence(cli: Cli) -> None:
    assert "cannot be read" in cli.run("init", "--import", "nowhere.json", "--yes", code=2).stderr
