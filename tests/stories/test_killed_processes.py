"""Real processes on SQLite are killed with signal 9 at sampled points and resumed after edits to files and config."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import sample
from tests.stories.session_harness import position_reply

ROOT = Path(__file__).parent.parent.parent
SCRIPT: dict[str, Any] = {
    "defaults": {"latency": 0.03},
    "seats": {
        "claude": {
            "turns": [
                {"round": "*blind", "text": position_reply("REST")},
                {"round": "*", "json": {"stand": "A", "confidence": 7}},
            ]
        },
        "gpt": {
            "turns": [
                {"round": "*blind", "text": position_reply("GraphQL")},
                {"round": "*3-*", "json": {"stand": "B", "confidence": 6}},
                {"round": "*4-*", "json": {"stand": "A", "error": "The clients are few and simple", "confidence": 6}},
            ]
        },
        "gemini": {
            "turns": [
                {"round": "*blind", "text": position_reply("tRPC")},
                {"round": "*", "json": {"stand": "A", "error": "Both sides need TypeScript", "confidence": 5}},
            ]
        },
    },
}
EVENTS = 27


class Terminal:
    """One person's home and workspace, with the command line."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.workspace = folder / "work"
        (self.workspace / ".git").mkdir(parents=True)
        (self.workspace / "table.json").write_text(json.dumps(SCRIPT))
        (self.workspace / "api.md").write_text("The clients are three phones.")
        self.source = ROOT / "src"

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "ROUNDTABLE_HOME": str(self.home), "PYTHONPATH": str(self.source)}
        command = [sys.executable, "-m", "roundtable", *args]
        return subprocess.Popen(
            command,
            cwd=self.workspace,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def discuss(self) -> subprocess.Popen[bytes]:
        seats = [word for name in SCRIPT["seats"] for word in ("--seat", f"{name}=script:table.json")]
        options = [word for option in ("REST", "GraphQL", "tRPC") for word in ("--option", option)]
        return self.start("discuss", "Which one?", *seats, *options, "--file", "api.md", "--json", "--headless")

    def run(self, *args: str) -> tuple[int, list[dict[str, Any]]]:
        process = self.start(*args)
        out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err, err.decode()
        return process.returncode, [json.loads(line) for line in out.splitlines()]

    def facts(self) -> list[dict[str, Any]]:
        return [line for line in self.run("show", "last", "--format", "jsonl")[1] if "seq" in line]


def kill_at(process: subprocess.Popen[bytes], seq: int) -> None:
    """Read events as they are printed, and kill the process at this one."""
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("seq", 0) >= seq:
            break
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the source with changed templates."""
    copy = tmp_path_factory.mktemp("upgraded") / "src"
    shutil.copytree(ROOT / "src", copy)
    for template in (copy / "roundtable" / "meetings" / "prompts").rglob("*.md"):
        template.write_text("An upgraded template.\n" + template.read_text())
    return copy


def edit_everything(terminal: Terminal, upgraded: Path) -> None:
    """Change the context file, the config and the templates before the session is resumed."""
    (terminal.workspace / "api.md").write_text("Edited: the clients are mainframes.")
    (terminal.home / "config.toml").write_text(
        'language = "de"\n[meetings.council]\nrounds = 0\n[limits]\nretries = 0\n'
    )
    terminal.source = upgraded


@pytest.mark.parametrize("seq", sample([1, 2, 3, 5, 8, 11, 14, 17, 20, 23, EVENTS - 1]))
def test_a_killed_process_resumes_although_files_and_config_were_edited(
    tmp_path: Path, upgraded: Path, seq: int
) -> None:
    terminal = Terminal(tmp_path)
    kill_at(terminal.discuss(), seq)
    before = terminal.facts()
    assert len(before) >= seq
    edit_everything(terminal, upgraded)
    code, _ = terminal.run("resume", "last", "--json", "--headless")
    after = terminal.facts()
    assert after[: len(before)] == before, "the record only grows"
    decision = next(fact["decision"] for fact in after if fact["kind"] == "decision.made")
    assert (decision["outcome"], decision["position"], decision["tally"]) == ("reached", "REST", {"A": 3})
    assert code == 0
    moves = Counter((fact["round"], fact["seat"]) for fact in after if fact["kind"] == "move.made")
    assert set(moves.values()) == {1}, "no recorded call was made twice"
    asked_seats = Counter((fact["round"], fact["seat"]) for fact in after if fact["kind"] == "turn.asked")
    settled = {(fact["round"], fact["seat"]) for fact in before if fact["kind"] == "move.made"}
    assert all(asked_seats[turn] == 1 for turn in settled)
    assert sum(times - 1 for times in asked_seats.values()) <= 3, "at most the calls in flight are repeated"
