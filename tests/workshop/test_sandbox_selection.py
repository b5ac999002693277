"""Choosing a sandbox that works, and the escape attempts that would reveal a leak."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.app.machine.isolation import run_machine_sandbox_check
from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.identity import is_orphaned_workshop_name, make_workshop_temp_name
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox
from roundtable.workshop.sandbox.cgroups import ControlGroup, remove_orphaned_cgroups
from roundtable.workshop.sandbox.escape_attempts import EXHAUSTION_ATTEMPTS, QUICK_ESCAPE_ATTEMPTS, run_escape_attempts
from roundtable.workshop.sandbox.visible_files import find_sandbox_toolchain_paths, resolve_shim_for_sandbox
from tests.repository import sandbox

FAKE_ENGINE = """#!/bin/sh
echo "$*" >>"$0.asked"
case "$*" in
  context*) echo unix:///nowhere;;
  *) echo "Cannot connect to the engine" >&2; exit 1;;
esac
"""
SANDBOX_SCRIPT = """
import asyncio, sys
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job

async def main():
    sandbox = await find_sandbox(SandboxSettings(use="bubblewrap"))
    print(getattr(sandbox, "name", sandbox))
    for argv, bounds in (
        (("sh", "-c", "while :; do sleep 60 & done"), Bounds(seconds=60, processes=40)),
        ((sys.executable, "-c", "x = bytearray(300 << 20); import time; time.sleep(60)"), Bounds(memory=100 << 20)),
    ):
        end = await run_sandbox_job(sandbox, Job(argv, sys.argv[1], bounds=bounds))
        print(end.code, end.limit)

asyncio.run(main())
"""


async def test_an_engine_that_does_not_answer_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await sandbox()
    for name in ("docker", "podman"):
        (tmp_path / name).write_text(FAKE_ENGINE)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    box = await find_sandbox()
    assert not isinstance(box, str)
    assert box.name.startswith("bubblewrap")
    commands = (tmp_path / "docker.asked").read_text()
    assert await find_sandbox() is box
    assert (tmp_path / "docker.asked").read_text() == commands, "what works is found out once"
    for use in ("docker", "podman"):
        wanted = await find_sandbox(SandboxSettings(use=use))
        assert isinstance(wanted, str)
        assert wanted.startswith(f"The {use.capitalize()} engine does not answer (Cannot connect to the engine).")
        assert "programs are never run without a sandbox" in wanted
    assert len((tmp_path / "docker.asked").read_text()) > len(commands), "what does not work may work next time"


async def test_without_a_sandbox_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    box = await find_sandbox()
    assert isinstance(box, str)
    assert "Docker is not installed. Podman is not installed. Bubblewrap is not installed. Install bubblewrap" in box


async def test_the_doctor_tests_the_sandbox_with_escape_attempts() -> None:
    await sandbox()
    isolation = await run_machine_sandbox_check(SandboxSettings(use="bubblewrap"), deep=False)
    assert isolation.sandbox.startswith("bubblewrap, limits ")
    assert isolation.held == tuple(attempt.name for attempt in QUICK_ESCAPE_ATTEMPTS)
    assert (isolation.broken, isolation.untried) == ({}, {})


async def test_a_leaking_sandbox_is_detected() -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    leaky = BubblewrapSandbox(program, ("--share-net", "--proc", "/proc"))
    outcomes = {outcome.attempt: outcome for outcome in await run_escape_attempts(leaky, QUICK_ESCAPE_ATTEMPTS)}
    assert outcomes["reach servers on this machine"].blocked is False
    assert outcomes["reach servers on this machine"].note == "a server of the machine"
    assert outcomes["read files outside the sandbox"].blocked is True
    if os.getuid() == 0:
        assert outcomes["reach the kernel through /proc, /sys and /dev"].blocked is False


async def test_an_escape_attempt_that_could_not_run_proves_nothing() -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    outcomes = await run_escape_attempts(
        BubblewrapSandbox(program, ("--no-such-option",)), (QUICK_ESCAPE_ATTEMPTS[0], EXHAUSTION_ATTEMPTS[0])
    )
    assert [outcome.blocked for outcome in outcomes] == [None, False]


def test_without_control_groups_limits_are_enforced_by_polling(tmp_path: Path) -> None:
    covered = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    script = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    if subprocess.run([*covered, "mount -t tmpfs none /sys/fs/cgroup"], capture_output=True).returncode:
        pytest.skip("Nobody may make a mount namespace here.")
    argv = [*covered, script, "sh", sys.executable, "-c", SANDBOX_SCRIPT, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [
        "bubblewrap, limits checked by polling",
        f"None {Limit.PROCESSES}",
        f"None {Limit.MEMORY}",
    ], done.stderr


def test_leftovers_of_killed_processes_are_recognized_by_name_and_removed() -> None:
    mine = make_workshop_temp_name()
    assert not is_orphaned_workshop_name(mine)
    assert not is_orphaned_workshop_name("roundtable-empty")
    orphan_name = mine.replace(f"-{os.getpid()}-", "-4194305-")
    assert is_orphaned_workshop_name(orphan_name)
    assert is_orphaned_workshop_name(f"{orphan_name}-web-1")
    group = ControlGroup.create(Bounds())
    if group is None:
        pytest.skip("Nobody lets us make control groups here.")
    folder = Path(group.join_paths()[0]).parent
    orphan = folder.with_name(orphan_name)
    orphan.mkdir()
    try:
        remove_orphaned_cgroups()
        assert not orphan.exists()
        assert folder.exists(), "one that is in use stays"
    finally:
        group.remove()
    assert not folder.exists()


def test_the_program_behind_a_version_manager_script_is_found(tmp_path: Path) -> None:
    root = tmp_path / ".anyenv"
    for name, says in {"shims/tool": "exit 1", "bin/anyenv": 'echo "/opt/versions/$2"'}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"#!/bin/sh\n{says}\n")
        (root / name).chmod(0o755)
    assert resolve_shim_for_sandbox(root / "shims" / "tool") == "/opt/versions/tool"
    (root / "bin/anyenv").write_text("#!/bin/sh\nexit 1\n")
    assert resolve_shim_for_sandbox(root / "shims" / "tool") == str(root / "shims" / "tool"), (
        "it does not know it either"
    )
    assert resolve_shim_for_sandbox(Path("/usr/bin/env")) == "/usr/bin/env"


@pytest.mark.parametrize("how", ["symlink_to", "hardlink_to"])
def test_the_program_behind_a_rustup_link_is_found(tmp_path: Path, how: str) -> None:
    rustup = tmp_path / "rustup"
    rustup.write_text('#!/bin/sh\necho "/opt/toolchain/bin/$2"\n')
    rustup.chmod(0o755)
    getattr(tmp_path / "cargo", how)(rustup)
    (tmp_path / "other").write_text("#!/bin/sh\n")
    assert resolve_shim_for_sandbox(tmp_path / "cargo") == "/opt/toolchain/bin/cargo"
    assert resolve_shim_for_sandbox(tmp_path / "other") == str(tmp_path / "other")
    assert resolve_shim_for_sandbox(rustup) == str(rustup)


def test_a_link_next_to_a_program_does_not_expose_other_folders(tmp_path: Path) -> None:
    secret = tmp_path / "home" / "secret"
    secret.mkdir(parents=True)
    root = tmp_path / "project" / ".venv"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "python").write_text("#!/bin/sh\n")
    (root / "lib64").mkdir()
    (root / "lib").symlink_to(secret)
    paths = find_sandbox_toolchain_paths(str(root / "bin" / "python"), tmp_path / "tree")
    assert str(root / "lib64") in paths
    assert str(root / "lib") not in paths
