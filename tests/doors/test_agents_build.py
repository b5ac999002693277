"""An agent that edits files takes part in a build: in a worktree of its own, and what it did there is its candidate."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.doors.coding_seats import CALC, RIGHT, coder, read_record
from tests.doors.command_line import PATIENCE, Cli
from tests.repository import git
from tests.voices.agents import PROGRAM, RECORDINGS, read_agent_starts

TASK = "Make double() double"
MENDED = CALC.replace("return x + x + 1", RIGHT)


class Agent:
    """A program in the place of the real one, which writes these files where it is started."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.notes = folder / "notes"
        self._folder = folder
        self._program = folder / "claude"
        cli.home.mkdir(exist_ok=True)
        (cli.home / "config.toml").write_text(f"[agents.claude]\ncommand = '{self._program}'\n")

    def runs(self, *lines: str) -> None:
        """From now on it runs these lines of shell in its folder, and says what was recorded."""
        says = f"cat {RECORDINGS / 'claude' / 'answer.jsonl'}"
        self._program.write_text("\n".join(("#!/bin/sh", "cat > /dev/null", *lines, says, "")))
        self._program.chmod(0o755)

    def writes(self, files: dict[str, str], act: str = "") -> None:
        """From now on it does this, and says what was recorded, or stays."""
        options = ["--notes", str(self.notes)]
        for number, (path, text) in enumerate(files.items()):
            source = self._folder / f"written-{number}"
            source.write_text(text)
            options += ["--writes", f"{path}={source}"]
        options += ["--act", act] if act else ["--says", str(RECORDINGS / "claude" / "answer.jsonl")]
        self._program.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} {" ".join(options)} -- "$@"\n')
        self._program.chmod(0o755)


@pytest.fixture
def cli(coding_cli: Cli) -> Cli:
    return coding_cli


@pytest.fixture
def agent(cli: Cli, tmp_path: Path) -> Agent:
    return Agent(cli, tmp_path)


@pytest.mark.feature("S1.13", "S1.51")
def test_an_agents_worktree_changes_are_its_candidate_and_need_approval_to_be_written(cli: Cli, agent: Agent) -> None:
    agent.writes({"calc.py": MENDED, "notes.md": "# Doubling\n"})
    seats = ("--seat", "ada=cli:claude", *cli.script(bob=coder("return x")))
    before = git(cli.work, "status", "--porcelain")
    result = cli.run("build", TASK, "--headless", *seats, code=3)
    assert "nobody approved it" in result.stdout
    (started,) = read_agent_starts(agent.notes)
    assert Path(started["cwd"]) != cli.work
    assert "calc.py" in started["files"], "it begins with what is committed"
    assert (cli.work / "calc.py").read_text() == CALC
    assert git(cli.work, "status", "--porcelain") == before
    (worktree,) = json.loads(cli.run("worktrees", "list", "--json").stdout)["worktrees"]
    assert worktree["name"].startswith("agents-ada-")
    assert (started["env"]["PORT"], started["env"]["ROUNDTABLE_PORT_BASE"]) == (str(worktree["port"]),) * 2
    assert sorted(worktree["unmerged"]) == ["calc.py", "notes.md"]
    tried = [
        fact["result"] for fact in read_record(cli) if fact["kind"] == "effect.done" and "candidates" in fact["result"]
    ]
    best = tried[-1]["candidates"][0]
    assert (best["seat"], sorted(best["files"])) == ("ada", ["calc.py", "notes.md"])
    cli.run("apply", "--all")
    assert (cli.work / "calc.py").read_text() == MENDED
    assert "Produced-By: ada" in git(cli.work, "log", "-1", "--format=%B")


@pytest.mark.feature("S1.51")
def test_a_killed_turn_restarts_in_a_clean_worktree(cli: Cli, agent: Agent) -> None:
    agent.writes({"calc.py": "half of it", "debris.txt": "left over"}, act="stays")
    with cli.started("build", TASK, "--all", "--seat", "ada=cli:claude") as running:
        deadline = time.monotonic() + PATIENCE
        while not (started := read_agent_starts(agent.notes)) or not (Path(started[0]["cwd"]) / "debris.txt").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
    agent.writes({"calc.py": MENDED})
    cli.run("resume", "last")
    first, second = read_agent_starts(agent.notes)
    assert second["cwd"] == first["cwd"]
    assert "debris.txt" not in second["files"]
    assert (cli.work / "calc.py").read_text() == MENDED
    assert not (cli.work / "debris.txt").exists()
    assert git(cli.work, "status", "--porcelain") == ""


MENDS = "sed -i 's/return x + x + 1/return 2 * x/' calc.py"


@pytest.mark.feature("S1.51")
def test_an_agent_that_moves_main_and_adds_a_hook_changes_nothing_in_the_persons_repository(
    cli: Cli, agent: Agent, tmp_path: Path
) -> None:
    agent.runs(
        MENDS,
        "git commit -qam Done && git update-ref refs/heads/main HEAD",
        "hooks=$(git rev-parse --git-common-dir)/hooks && mkdir -p $hooks",
        f"printf '#!/bin/sh\\ntouch {tmp_path}/ran\\n' > $hooks/post-commit && chmod +x $hooks/post-commit",
        "git config core.fsmonitor false",
    )
    before = (git(cli.work, "show-ref", "--heads", "--tags"), (cli.work / ".git/config").read_text())
    cli.run("build", TASK, "--headless", "--seat", "ada=cli:claude", code=3)
    assert (git(cli.work, "show-ref", "--heads", "--tags"), (cli.work / ".git/config").read_text()) == before
    assert git(cli.work, "status", "--porcelain") == ""
    git(cli.work, "commit", "-q", "--allow-empty", "-m", "The person's own")
    assert not (tmp_path / "ran").exists()
    cli.run("apply", "--all")
    assert (cli.work / "calc.py").read_text() == MENDED


def test_an_agent_that_creates_a_repository_or_an_image_keeps_its_turn(cli: Cli, agent: Agent) -> None:
    agent.runs(MENDS, "git init -q sub", "echo x > sub/x.txt", "printf '\\000' > logo.png")
    cli.run("build", TASK, "--all", "--seat", "ada=cli:claude")
    assert (cli.work / "calc.py").read_text() == MENDED
    assert not (cli.work / "sub").exists()
    output = cli.run("show").stdout
    assert "Not included (separate git repositories): sub" in output
    assert "Not included (not text): logo.png" in output


@pytest.mark.feature("S1.51")
def test_setup_changes_are_not_in_the_candidate_and_edits_on_top_of_them_are_listed(cli: Cli, agent: Agent) -> None:
    config = cli.home / "config.toml"
    sets_up = "echo 1 > uv.lock; echo 1 > other.lock; ln -s /tmp node_modules"
    config.write_text(f'{config.read_text()}[worktrees]\nsetup = [["sh", "-c", "{sets_up}"]]\n')
    agent.runs(MENDS, "echo 2 >> uv.lock", "ln -s calc.py link.py")
    cli.run("build", TASK, "--all", "--seat", "ada=cli:claude")
    assert (cli.work / "calc.py").read_text() == MENDED
    assert git(cli.work, "show", "--name-only", "--format=").split() == ["calc.py"]
    output = cli.run("show").stdout
    assert "Not included (already changed by `copy` or `setup` of [worktrees]): uv.lock" in output
    assert "Not included (symbolic links): link.py" in output
    assert "node_modules" not in output
    (stays,) = json.loads(cli.run("worktrees", "list", "--json").stdout)["worktrees"]
    assert stays["unmerged"] == ["link.py", "uv.lock"]
