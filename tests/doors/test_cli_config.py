"""Settings at the command line: what is in force and why, and one of them changed without an editor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat

MINE = """\
# What I like.
language = "en"  # the tongue

[table] # who
seats = [
    "a",
    "b", # second
]  # in this order

[limits]
seat_timeout = 120 # seconds # per turn
quorum = { seats = 2, vendors = 1 }

[seats.a]
voices = ["script:s.toml#1"]
[seats.b]
voices = ["script:s.toml"]
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    cli.home.mkdir()
    return cli


def person(cli: Cli) -> Path:
    return cli.home / "config.toml"


def workspace(cli: Cli) -> Path:
    return cli.work / ".roundtable" / "config.toml"


def in_force(cli: Cli, *args: str) -> dict[str, tuple[Any, str]]:
    settings = json.loads(cli.run("config", *args, "--json").stdout)["settings"]
    return {setting["key"]: (setting["value"], setting["source"]) for setting in settings}


@pytest.mark.feature("S3.35")
def test_every_setting_is_shown_with_its_source(cli: Cli) -> None:
    person(cli).write_text("[limits]\nseat_timeout = 90\nretries = 1\n")
    workspace(cli).parent.mkdir()
    workspace(cli).write_text('[limits]\nretries = 0\n[seats.x]\nvoices = ["script:s.toml"]\npriority = 1\n')
    settings = in_force(cli)
    assert settings["limits.retries"] == settings["seats.x.voices"] == (None, "withheld")
    cli.run("trust", "--yes")
    settings = in_force(cli)
    assert settings["limits.seat_timeout"] == (90, "you")
    assert settings["limits.retries"] == (0, "workspace")
    assert settings["limits.max_tokens"] == (2048, "default")
    assert settings["meetings.knights.rounds"] == (5, "default")
    assert settings["seats.x.priority"] == (1, "workspace")
    assert settings["seats.x.voices"] == (["script:s.toml"], "workspace")
    assert "limits.retries\tworkspace config\t0" in cli.run("config").stdout.splitlines()


@pytest.mark.feature("S3.35")
def test_an_invalid_config_is_refused_with_every_error(cli: Cli) -> None:
    person(cli).write_text('langage = "en"\n[limits]\nseat_timeout = "long"\n')
    refused = cli.run("config", code=2).stderr
    assert "langage" in refused
    assert "seat_timeout must be a number" in refused


def test_a_broken_config_is_reported_with_its_path_and_old_sessions_stay_readable(cli: Cli) -> None:
    cli.run("discuss", "REST?", *cli.script(a=council_seat("REST"), b=council_seat("REST")))
    workspace(cli).parent.mkdir()
    workspace(cli).write_text("limits = [")
    output = f"{workspace(cli)} is not valid TOML"
    for args in (("config",), ("config", "get", "limits"), ("init", "--yes"), ("discuss", "x?")):
        assert output in cli.run(*args, code=2).stderr
    assert cli.run("config", "path").stdout == f"{workspace(cli)}\n"
    for args, words in {("list",): "REST?", ("status",): "REST", ("show",): "REST"}.items():
        result = cli.run(*args)
        assert words in result.stdout
        assert result.stderr.startswith(f"The config is invalid and was ignored. {output}")


def test_values_that_a_command_fills_in_are_not_settings(cli: Cli) -> None:
    settings = in_force(cli)
    assert {key for key in settings if key.startswith(("meetings.apply", "meetings.review"))} == {
        "meetings.apply.mends",
        "meetings.apply.repairs",
    }
    refused = cli.run("config", "set", "meetings.apply.draft", "e3b0c442", code=2).stderr
    assert "[meetings.apply]: draft is set when the meeting is opened" in refused
    assert not workspace(cli).exists()


def test_a_single_setting_is_printed_without_decoration(cli: Cli) -> None:
    person(cli).write_text(MINE)
    assert cli.run("config", "get", "language").stdout == "en\n"
    assert cli.run("config", "get", "table.seats").stdout == '["a", "b"]\n'
    assert in_force(cli, "get", "limits.quorum")["limits.quorum.seats"] == (2, "you")
    assert "Did you mean `limits`?" in cli.run("config", "get", "limit", code=2).stderr


def test_changing_a_setting_keeps_every_comment(cli: Cli) -> None:
    person(cli).write_text(MINE)
    for key, value in {
        "language": "de",
        "table.seats": "b,a",
        "limits.seat_timeout": "60",
        "limits.quorum.seats": "1",
        "limits.budget_usd": "2.5",
        "meetings.council.rounds": "1",
        "seats.a.priority": "3",
    }.items():
        cli.run("config", "set", key, value, "--user")
    text = person(cli).read_text()
    assert text.startswith('# What I like.\nlanguage = "de"  # the tongue\n\n[table] # who\nseats = ["b", "a"]  # in')
    assert "seat_timeout = 60 # seconds # per turn\nquorum = { seats = 1, vendors = 1 }\nbudget_usd = 2.5\n" in text
    assert 'voices = ["script:s.toml#1"]\npriority = 3\n[seats.b]' in text
    assert text.endswith("\n[meetings.council]\nrounds = 1\n")


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("limits.seat_timeout", "long", "seat_timeout must be a number"),
        ("limits.seat_timeout", "0", "limits.seat_timeout cannot be 0"),
        ("limits.seat_timout", "60", "there is no setting seat_timout"),
        ("table.meeting.name", "x", "meeting"),
        ("table.meeting", "knigts", "Did you mean `knights`?"),
        ("", "x", "is not a valid setting name"),
        ("language = 1\nx", "y", "is not a valid setting name"),
        ("endpoints.lab.key", "sk-" + "a1B2" * 10, "it must name a key, not contain one"),
    ],
)
def test_an_invalid_setting_is_not_written(cli: Cli, key: str, value: str, why: str) -> None:
    person(cli).write_text(MINE)
    refused = cli.run("config", "set", key, value, "--user", code=2)
    assert why in refused.stderr
    assert "a1B2" not in refused.stderr
    assert person(cli).read_text() == MINE


def test_a_config_that_is_not_toml_is_left_unchanged(cli: Cli) -> None:
    person(cli).write_text("limits = [")
    assert "is not valid TOML" in cli.run("config", "set", "language", "de", "--user", code=2).stderr
    assert person(cli).read_text() == "limits = ["


def test_a_private_config_file_stays_private(cli: Cli) -> None:
    person(cli).write_text(MINE)
    person(cli).chmod(0o600)
    cli.run("config", "set", "language", "de", "--user")
    assert person(cli).stat().st_mode & 0o777 == 0o600


def test_a_changed_workspace_config_stays_trusted_only_if_it_was(cli: Cli) -> None:
    cli.run("config", "set", "seats.a.voices", "script:s.toml")
    assert in_force(cli)["seats.a.voices"] == (["script:s.toml"], "workspace")
    workspace(cli).write_text(workspace(cli).read_text() + '[endpoints.evil]\nbase_url = "http://127.0.0.1:9"\n')
    cli.run("config", "set", "language", "de")
    assert in_force(cli)["endpoints.evil"] == (None, "withheld")


def test_the_path_of_the_config_is_printed_for_an_editor(cli: Cli) -> None:
    assert cli.run("config", "path").stdout == f"{workspace(cli)}\n"
    assert cli.run("config", "path", "--user").stdout == f"{person(cli)}\n"
