"""`roundtable doctor` as a person sees it, at a terminal and without one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from roundtable.voices.fault_server import FaultServer
from tests.doors.command_line import PATIENCE, Cli
from tests.doors.scripted_seats import council_seat
from tests.ordinary_user import run_without_control_groups
from tests.repository import sandbox

SCRIPT = '[[turns]]\ntext = "ready"'


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    cli.home.mkdir()
    (tmp_path / "bin").mkdir()
    cli.env["PATH"] = str(tmp_path / "bin")
    (cli.work / "s.toml").write_text(SCRIPT)
    configure(cli, '[seats.a]\nvoices = ["cli:nowhere", "script:s.toml"]\n[seats.b]\nvoices = ["script:s.toml"]')
    return cli


def configure(cli: Cli, text: str) -> None:
    (cli.home / "config.toml").write_text(text)


def test_every_voice_has_a_line_and_none_is_called_ok_without_being_asked(cli: Cli) -> None:
    output = cli.run("doctor").stdout
    assert "– seat a: cli:nowhere: missing. There is no agent called `nowhere`." in output
    assert "✓ seat a: script:s.toml: script read (not tested)" in output
    assert "All is well" not in output
    assert "`roundtable doctor --deep` asks every seat a question." in output
    data = json.loads(cli.run("doctor", "--json").stdout)
    assert (data["ok"], data["session_state"], data["roundtable_home"]["writable"]) == (True, "skipped", True)


def test_the_doctor_shows_the_sandbox_in_use_and_the_blocked_escape_attempts(cli: Cli) -> None:
    asyncio.run(sandbox())
    assert "sandbox: none, so checks and candidates cannot run." in cli.run("doctor").stdout
    cli.env["PATH"] = os.environ["PATH"]
    configure(cli, '[sandbox]\nuse = "bubblewrap"\n[seats.a]\nvoices = ["script:s.toml"]')
    output = cli.run("doctor").stdout
    (line,) = [line for line in output.splitlines() if "sandbox: bubblewrap" in line]
    assert line.split()[0] == ("–" if "limits not enforced" in line else "✓")
    assert "; 9 of 9 escape attempts blocked" in line


def test_the_deep_check_says_which_limits_are_not_enforced_and_how_they_were_exceeded(cli: Cli) -> None:
    asyncio.run(sandbox())
    cli.env["PATH"] = os.environ["PATH"]
    configure(cli, '[sandbox]\nuse = "bubblewrap"\n[seats.a]\nvoices = ["script:s.toml"]')
    variables = [f"{name}={value}" for name, value in cli.env.items()]
    folder = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(cli.work)]
    doctor = [sys.executable, "-m", "roundtable", "doctor", "--deep", "--yes"]
    output = run_without_control_groups(["env", *variables, *folder, *doctor]).stdout
    (summary,) = [line for line in output.splitlines() if "sandbox: bubblewrap" in line]
    assert "– sandbox: bubblewrap, limits not enforced: memory, processes" in summary
    exceeded = [line for line in output.splitlines() if line.endswith("; this limit is not enforced here")]
    memory = "escape attempt hold memory in unnamed files succeeded: 384 MB of memory; this limit is not enforced here"
    assert f"– sandbox: {memory}" in output
    assert f"; {18 - len(exceeded)} of 18 escape attempts blocked" in summary
    assert "✗ sandbox" not in output


def test_a_chosen_sandbox_that_is_not_available_is_a_problem(cli: Cli) -> None:
    configure(cli, '[sandbox]\nuse = "docker"\n[seats.a]\nvoices = ["script:s.toml"]')
    output = cli.run("doctor", code=2).stdout
    assert "✗ sandbox: [sandbox] use = docker, which is not available, so checks and candidates cannot run." in output
    assert 'set `use` in [sandbox] to "auto"' in output
    assert "Install bubblewrap" not in output, "that is not what was asked for"
    assert "Problems found." in output
    assert json.loads(cli.run("doctor", "--json", code=2).stdout)["isolation"]["chosen"] == "docker"


@pytest.mark.feature("S2.26", "S2.38", "S2.39", "S2.40")
def test_the_json_report_contains_the_status_the_home_folder_and_available_seats(cli: Cli, tmp_path: Path) -> None:
    data = json.loads(cli.run("doctor", "--workspace", str(cli.work), "--json").stdout)
    assert data["ok"] is True
    assert data["roundtable_home"] == {"path": str(cli.home), "readable": True, "writable": True}
    assert {name: seat["status"] for name, seat in data["participants"].items()} == {"a": "ok", "b": "ok"}
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    cli.env["ROUNDTABLE_HOME"] = str(blocked / "home")
    data = json.loads(cli.run("doctor", "--json", code=2).stdout)
    assert data["ok"] is False
    assert data["roundtable_home"] == {"path": str(blocked / "home"), "readable": False, "writable": False}


@pytest.mark.feature("S2.42")
def test_a_seat_whose_program_is_not_on_the_path_is_missing(cli: Cli, tmp_path: Path) -> None:
    configure(cli, '[seats.claude]\nvoices = ["cli:claude"]\n[seats.opencode]\nvoices = ["cli:opencode"]')
    (tmp_path / "bin" / "claude").write_text("#!/bin/sh\necho 2.1.197\n")
    (tmp_path / "bin" / "claude").chmod(0o755)
    data = json.loads(cli.run("doctor", "--json", code=2).stdout)
    assert {name: seat["status"] for name, seat in data["participants"].items()} == {
        "claude": "ok",
        "opencode": "missing",
    }
    assert data["ok"] is False


@pytest.mark.feature("S2.26", "S2.41")
def test_the_check_of_a_session_is_ok_missing_skipped_or_error(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    cli.run("discuss", "REST?", "--session", "architecture", *seats)

    def state(*args: str, code: int = 0) -> str:
        return json.loads(cli.run("doctor", *args, "--json", code=code).stdout)["session_state"]

    assert state() == "skipped"
    assert state("--workspace", str(cli.work), "--session", "architecture") == "ok"
    assert state("--session", "nobody", code=2) == "missing"
    (cli.home / "roundtable.db").write_bytes(b"this is no database" * 100)
    assert state("--session", "architecture", code=1) == "error"


def test_a_seat_without_voices_and_a_broken_config_end_with_2(cli: Cli) -> None:
    configure(cli, '[table]\nseats = ["c"]')
    assert "✗ seat c: unusable. [seats.c] has no voices" in cli.run("doctor", code=2).stdout
    configure(cli, "langage = 'en'")
    assert json.loads(cli.run("doctor", "--json", code=2).stdout)["ok"] is False


def test_an_unusable_record_exits_with_1_and_reports_no_other_problem(cli: Cli) -> None:
    (cli.home / "roundtable.db").write_bytes(b"this is no database" * 100)
    output = cli.run("doctor", code=1).stdout
    assert "is not a database" in output
    assert "✗ seats: not checked" in output
    assert "No seat can speak" not in output


async def test_without_configured_seats_doctor_and_discuss_name_the_same_voices(cli: Cli) -> None:
    async with FaultServer() as server:
        configure(cli, f'[endpoints.lab]\nbase_url = "{server.url}"\nlocal = true')
        await asyncio.to_thread(doctor_and_discuss, cli)


def doctor_and_discuss(cli: Cli) -> None:
    output = cli.run("doctor").stdout
    assert "in a script, add `--seat`." in output
    assert "--seat ada=lab:alpha" in cli.run("discuss", "Why?", code=2).stderr
    with cli.terminal("discuss", "Why?") as terminal:
        screen = terminal.expect("Which seats?")
    assert "cost money" not in screen
    for number, name in enumerate(("ada", "grace", "alan"), 1):
        assert f"✓ seat {name}: lab:alpha: the server answers (model not tested)" in output
        assert f"{number}. {name} (lab:alpha)" in screen


def test_each_seat_gets_a_line_as_soon_as_it_has_answered(cli: Cli) -> None:
    result = cli.run("doctor", "--deep", "--yes")
    assert "✗ seat a: cli:nowhere: missing" in result.stderr
    assert "✓ seat a: script:s.toml: answered in" in result.stderr
    assert "✓ seat b: script:s.toml: answered in" in result.stderr
    assert "in place of cli:nowhere" in result.stdout
    assert "No problems found." in result.stdout


def test_the_deep_check_asks_before_it_starts(cli: Cli) -> None:
    for answer, is_asked in (("n", False), ("y", True)):
        with cli.terminal("doctor", "--deep") as terminal:
            assert "a fraction of a cent" in terminal.expect("Ask the seats?")
            terminal.type(answer + "\n")
            assert ("answered in" in terminal.end(0)) == is_asked


def test_without_a_terminal_the_deep_check_needs_yes(cli: Cli) -> None:
    result = cli.run("doctor", "--deep", code=2, input="y\n")
    assert "Add --yes to run it without asking." in result.stderr
    assert result.stdout == ""


def test_a_version_check_ends_its_program_when_it_is_killed(cli: Cli, tmp_path: Path) -> None:
    program, born = tmp_path / "bin" / "claude", tmp_path / "born"
    program.write_text(f"#!/bin/sh\necho $$ > {born}\nexec /bin/sleep {2 * PATIENCE:.0f}\n")
    program.chmod(0o755)
    give_up = time.monotonic() + PATIENCE
    with cli.started("doctor") as running:
        while not (born.exists() and born.read_text().strip()):
            assert time.monotonic() < give_up
            time.sleep(0.02)
        running.process.kill()
    pid = int(born.read_text())
    while is_alive(pid):
        assert time.monotonic() < give_up, "it is still there"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
