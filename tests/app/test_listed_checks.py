"""Checks that seats request: by name only, in a sandbox that can read the workspace and change nothing."""

from __future__ import annotations

import socket
import sys
import venv
from contextlib import suppress
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable, Setup
from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.core.effects import CheckOutcome, ChecksRun, RunChecks
from roundtable.core.faults import ConfigError
from roundtable.core.sandbox import Bounds, Limit
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.sandbox import SandboxSettings
from roundtable.workshop.trial.listed_checks import ListedChecks
from tests.repository import repository, sandbox, write

PYTHON = sys.executable


def python(program: str) -> tuple[str, ...]:
    return (PYTHON, "-c", program)


def running(command: bytes) -> bool:
    """Whether any process of this machine has this in its command line."""
    lines: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes())
    return any(command in line for line in lines)


async def check(
    workspace: Path, *argv: str, bounds: Bounds = Bounds(seconds=20), secrets: tuple[str, ...] = ()
) -> CheckOutcome:
    """Run one check in a real sandbox."""
    await sandbox()
    ran = await ListedChecks({"it": argv}, workspace, Redactor(secrets), bounds=bounds).run(("it",))
    assert ran.refused == {}
    return ran.outcomes[0]


async def test_a_check_reports_what_it_found(workspace: Path) -> None:
    write(workspace, {"test_it.py": "def test_it():\n    assert 1 + 1 == 3\n"})
    outcome = await check(workspace, PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert outcome.code == 1
    assert "assert (1 + 1) == 3" in outcome.output
    assert outcome.seconds > 0


async def test_a_check_can_read_the_workspace_and_write_nowhere_in_it(workspace: Path) -> None:
    write(workspace, {"a.txt": "hello"})
    outcome = await check(
        workspace, "sh", "-c", "cat a.txt; echo x > /tmp/b && echo own tmp; touch b.txt /b /usr/b /dev/b /etc/b"
    )
    assert outcome.output.startswith("helloown tmp\n")
    assert outcome.output.count("Read-only file system") == 5
    assert outcome.code == 1
    assert not (workspace / "b.txt").exists()


async def test_a_check_has_no_network_home_or_variables(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "a-key-nobody-may-see")
    home = tmp_path / "person"
    write(home, {"notes.txt": "private"})
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = await check(workspace, *python(_prying(home, server.getsockname()[1])))
    assert outcome.code == 0, outcome.output
    assert "LAB_KEY" not in outcome.output
    assert "False False False" in outcome.output
    assert "no neighbour\nno names\nalone" in outcome.output


def _prying(home: Path, port: int) -> str:
    """A check that looks for what it should not see, and says what it found."""
    return f"""
import os, socket
print(sorted(os.environ))
print(os.path.exists({str(home)!r}), os.path.exists(os.path.expanduser('~/.bashrc')), os.path.exists('/etc/shadow'))
try: socket.create_connection(('127.0.0.1', {port}), 1); print('connected')
except OSError as error: print('no neighbour')
try: socket.getaddrinfo('example.com', 80); print('resolved')
except OSError as error: print('no names')
print('alone' if len([it for it in os.listdir('/proc') if it.isdigit()]) < 5 else 'among others')
"""


async def test_a_check_does_not_see_the_sensitive_files_of_the_workspace(workspace: Path) -> None:
    repository(workspace, {"a.py": "", ".env": "PASSWORD=tulip", "deploy/.ssh/config": "Host tulip", "k.pem": "tulip"})
    with (workspace / ".git/config").open("a") as file:
        file.write('[remote "origin"]\n\turl = https://me:tulip@example.com/x\n')
    outcome = await check(workspace, "sh", "-c", "cat .env k.pem .git/config; find deploy; grep -r tulip . ; echo done")
    assert "tulip" not in outcome.output
    assert outcome.output.endswith("done")


async def test_a_check_that_times_out_is_stopped_with_its_children(workspace: Path) -> None:
    outcome = await check(
        workspace, "sh", "-c", "echo begun; (setsid sleep 4711 &); sleep 4711", bounds=Bounds(seconds=1)
    )
    assert outcome.code is None
    assert outcome.output == "begun\nStopped after 1 seconds."
    assert outcome.limit is Limit.TIME
    assert not running(b"sleep\x004711")


async def test_a_check_that_exceeds_its_limits_is_stopped(workspace: Path) -> None:
    many = await check(workspace, "sh", "-c", "while :; do sleep 60 & done", bounds=Bounds(processes=40))
    assert many.code is None
    assert many.output.endswith("Stopped: the program started more than 40 processes.")
    much = await check(
        workspace, *python("x = bytearray(300 << 20); import time; time.sleep(60)"), bounds=Bounds(memory=100 << 20)
    )
    assert much.code is None
    assert much.output.endswith("Stopped: the program used more than 100 MB of memory.")


async def test_only_the_end_of_long_output_is_kept(workspace: Path) -> None:
    outcome = await check(workspace, *python("print('x' * 5_000_000); print('the end')"), bounds=Bounds(output=2_000))
    assert "earlier bytes left out]" in outcome.output
    assert outcome.output.endswith("the end")
    assert len(outcome.output) < 2_100


async def test_check_output_is_sanitized_and_redacted(workspace: Path) -> None:
    program = "print('\\x1b[2J\\x1b]0;title\\x07the key is tulips-and-daffodils')"
    outcome = await check(workspace, *python(program), secrets=("tulips-and-daffodils",))
    assert outcome.output == "the key is [redacted:known-key]"


async def test_arguments_are_passed_without_a_shell(workspace: Path) -> None:
    outcome = await check(workspace, "echo", "$(touch x); `id` && $HOME > y")
    assert outcome.output == "$(touch x); `id` && $HOME > y"


async def test_a_missing_program_is_a_failed_check(workspace: Path) -> None:
    outcome = await check(workspace, "no-such-program")
    assert outcome.code == 127
    assert outcome.output == "Program not found: no-such-program."


async def test_invalid_arguments_are_a_check_that_did_not_start(workspace: Path) -> None:
    outcome = await check(workspace, "echo", "x" * 3_000_000)
    assert outcome.code is None
    assert outcome.output == "The program could not be started: Argument list too long."


async def test_a_check_of_a_project_with_its_own_environment_finds_its_libraries(workspace: Path) -> None:
    venv.create(workspace / ".venv", symlinks=True)
    bundle = workspace / ".venv/lib/site-packages/bundle.pem"
    write(workspace, {str(bundle.relative_to(workspace)): "public certificates"})
    program = f"import sys; print(sys.prefix == {str(workspace / '.venv')!r}, open({str(bundle)!r}).read())"
    outcome = await check(workspace, ".venv/bin/python", "-c", program)
    assert outcome.output == "True public certificates"


async def test_only_listed_checks_can_be_run(workspace: Path) -> None:
    ran = await ListedChecks({"tests": ("true",)}, workspace, Redactor()).run(("rm -rf /", "lint"))
    assert ran.outcomes == ()
    assert set(ran.refused) == {"rm -rf /", "lint"}
    assert "Available checks: tests." in ran.refused["lint"]


@pytest.mark.parametrize("works", [None, False])
async def test_without_a_working_sandbox_nothing_is_run(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool | None
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if works is False:
        (programs / "bwrap").write_text("#!/bin/sh\necho bwrap: No permissions to create a new namespace >&2\nexit 1\n")
        (programs / "bwrap").chmod(0o755)
        (programs / "true").symlink_to("/bin/true")
        (programs / "touch").symlink_to("/bin/touch")
    monkeypatch.setenv("PATH", str(programs))
    ran = await ListedChecks({"it": ("touch", "ran")}, workspace, Redactor()).run(("it",))
    assert ran.outcomes == ()
    assert ("No permissions" if works is False else "not installed") in ran.refused["it"]
    assert not (workspace / "ran").exists()


async def test_a_workspace_may_list_checks_only_once_it_is_trusted(places: Places, workspace: Path) -> None:
    write(workspace, {".roundtable/config.toml": '[checks]\ntests = ["./evil"]\n'})
    assert config.find_trust_request(places, workspace).settings == {"checks.tests": '["./evil"]'}
    async with await Roundtable.open(workspace, places) as desk:
        assert desk.setup.settings.withheld == ("checks.tests",)
        ran = await desk.wiring.performer.perform("session/step", RunChecks(("tests",)))
    assert isinstance(ran, ChecksRun)
    assert "No checks are listed here." in ran.refused["tests"]
    config.trust_workspace(places, workspace)
    assert config.load_settings(places, workspace).config.checks == {"tests": ("./evil",)}


@pytest.mark.parametrize("line", ['tests = "pytest -q"', "tests = []", 'tests = [""]', "tests = [1]"])
def test_a_check_is_a_list_of_arguments_and_nothing_else(places: Places, workspace: Path, line: str) -> None:
    places.config.mkdir(parents=True)
    places.user_config.write_text(f"[checks]\n{line}\n")
    with pytest.raises(ConfigError) as wrong:
        config.load_settings(places, workspace)
    assert "checks" in wrong.value.message


def test_a_workspace_may_choose_the_sandbox_only_once_it_is_trusted(places: Places, workspace: Path) -> None:
    write(workspace, {".roundtable/config.toml": '[sandbox]\nuse = "docker"\nimage = "theirs"\n'})
    assert config.load_settings(places, workspace).config.sandbox == SandboxSettings()
    config.trust_workspace(places, workspace)
    assert config.load_settings(places, workspace).config.sandbox == SandboxSettings("docker", "theirs")


async def test_the_person_sets_the_time_limit_of_a_check(places: Places, workspace: Path) -> None:
    places.config.mkdir(parents=True)
    places.user_config.write_text('[sandbox]\nuse = "bubblewrap"\nseconds = 0.5\n')
    settings = config.load_settings(places, workspace).config.sandbox
    sleeper = {"slow": (sys.executable, "-c", "import time; time.sleep(60)")}
    [outcome] = (await ListedChecks(sleeper, workspace, Redactor(), settings).run(["slow"])).outcomes
    assert outcome.limit is Limit.TIME


@pytest.mark.parametrize("line", ['use = "bare"', "image = 1", "network = true", "seconds = 0"])
def test_a_check_cannot_be_run_without_a_sandbox(places: Places, workspace: Path, line: str) -> None:
    places.config.mkdir(parents=True)
    places.user_config.write_text(f"[sandbox]\n{line}\n")
    with pytest.raises(ConfigError) as wrong:
        config.load_settings(places, workspace)
    assert "sandbox" in wrong.value.message


async def test_doctor_says_whether_checks_can_be_run(
    places: Places, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox()
    assert (await Setup(places, workspace).examine()).isolation.missing == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Bubblewrap is not installed." in (await Setup(places, workspace).examine()).isolation.missing
