"""`doctor --faults` as a person sees it: who tells the truth about a fault, and who does not."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roundtable.doors.cli.main import cli
from roundtable.voices.agents.catalog import load_shipped_agent_clis

DIALECTS = ["anthropic", "gemini", "openai-chat", "openai-responses"]

LIAR = f"""#!{sys.executable}
import json, pathlib, sys
prompt = sys.stdin.read()
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s", "model": "m"}}))
print(json.dumps({{"type": "result", "is_error": False, "result": "All went well.", "usage": {{}}}}))
"""
"""An agent that asks nobody and is always pleased, in the words of `claude`."""


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A person with a home, no keys, and no programs but those in this folder."""
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for folder in ("work/.git", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("ROUNDTABLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", "--faults", *args])


def table(result: Result) -> dict[str, dict[str, str]]:
    """The rows by fault, the cells by voice."""
    head, *rows = (line.split("\t") for line in result.stdout.splitlines())
    return {fault: dict(zip(head[1:], cells, strict=True)) for fault, *cells in rows}


def test_every_dialect_reports_failures_correctly() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    rows = table(result)
    assert {"429", "429, Retry-After", "hang", "slow drip", "refusal", "context overflow"} < set(rows)
    assert all(row == dict.fromkeys(DIALECTS, "pass") for row in rows.values())
    assert "✓ gemini: cut stream → truncated (" in result.stderr
    assert "Every voice reports failures correctly." in result.stderr
    assert "Agents" not in result.stderr


def test_an_agent_that_reports_a_failure_wrongly_is_detected(programs: Path) -> None:
    (programs / "claude").write_text(LIAR)
    (programs / "claude").chmod(0o755)
    (programs / "agy").write_text(LIAR)
    (programs / "agy").chmod(0o755)
    result = run("--json")
    assert result.exit_code == 1, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["ok"] is False
    assert report["skipped"] == {"cli:agy": "its calls cannot be redirected to a local server"}
    lies = {finding["fault"]: finding["note"] for finding in report["findings"] if finding["voice"] == "cli:claude"}
    assert lies["a good answer"] == lies["stdin trap"] == "its call never reached the server"
    assert lies["500"] == lies["hang"] == lies["empty"] == "counted as an answer"
    assert all(finding["passed"] for finding in report["findings"] if finding["kind"] == "api")
    assert "✗ cli:claude: 500 → answer (" in result.stderr
    assert "Each of these agents takes one or two minutes: cli:agy, cli:claude." in result.stderr


def test_the_fault_check_covers_the_agent_client_protocol(programs: Path, tmp_path: Path) -> None:
    (programs / "gemini").write_text("#!/bin/sh\nexit 1\n")
    (programs / "gemini").chmod(0o755)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[seats.gemini]\nvoices = ["acp:gemini:flash"]\n')
    report: dict[str, Any] = json.loads(run("--json").stdout)
    assert {finding["voice"] for finding in report["findings"] if finding["kind"] == "agent"} == {
        "cli:gemini",
        "acp:gemini",
    }


def test_an_installed_adapter_is_checked_without_the_command_line_it_wraps(programs: Path, tmp_path: Path) -> None:
    adapter = load_shipped_agent_clis()["claude"].acp
    assert adapter is not None
    (programs / adapter.command).write_text("#!/bin/sh\nexit 1\n")
    (programs / adapter.command).chmod(0o755)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[seats.claude]\nvoices = ["acp:claude", "acp:gemini"]\n')
    report: dict[str, Any] = json.loads(run("--json").stdout)
    assert {finding["voice"] for finding in report["findings"] if finding["kind"] == "agent"} == {"acp:claude"}


def test_the_fault_check_cannot_be_combined_with_other_checks() -> None:
    result = CliRunner().invoke(cli, ["doctor", "--faults", "--deep"])
    assert result.exit_code == 2
    assert "cannot be combined with" in result.stderr
