"""Bubblewrap joins the kit."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox import ended
from roundtable.workshop.sandbox.bubblewrap import Bubblewrap
from roundtable.workshop.sandbox.first_program import first_program
from tests.kits.sandbox_kit import SandboxKit, moment, running, until_gone
from tests.repository import repository, sandbox, write


class TestBubblewrap(SandboxKit):
    use = "bubblewrap"


async def test_a_run_knows_its_user_by_name(tmp_path: Path) -> None:
    found = await sandbox()
    program = "import grp, os, pwd; print(pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)"
    end = await ended(found, Job((sys.executable, "-c", program), str(tmp_path)))
    assert (end.code, end.output) == (0, b"nobody nogroup\n")


@pytest.mark.parametrize(
    ("tool", "fetched", "kept"),
    [
        ("cargo", ".cargo/registry/cache/one.crate", ".cargo/credentials.toml"),
        ("go", "go/pkg/mod/cache/one.zip", "go/bin/one"),
        ("mvn", ".m2/repository/one.jar", ".m2/settings.xml"),
    ],
)
async def test_a_build_tool_has_what_it_fetched_before_and_nothing_else_of_the_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, fetched: str, kept: str
) -> None:
    found = await sandbox()
    home, work, programs = (tmp_path / it for it in ("home", "work", "programs"))
    work.mkdir()
    write(home, {fetched: "fetched", kept: "secret"})
    write(programs, {tool: f"#!/bin/sh\ncat ~/{fetched}; touch ~/{fetched} || cat ~/{kept} || echo no\n"})
    (programs / tool).chmod(0o755)
    for name in ("CARGO_HOME", "GOPATH", "GOMODCACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    said = (await ended(found, Job((tool,), str(work), copied=True))).output.decode()
    assert said.startswith("fetched")
    assert said.endswith("\nno\n")
    assert "secret" not in said


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not here")
async def test_a_project_in_rust_is_built_with_a_dependency_that_was_fetched_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await sandbox()
    package = '[package]\nname = "{}"\nversion = "1.0.0"\nedition = "2021"\n'
    library = repository(
        tmp_path / "twice",
        {"Cargo.toml": package.format("twice"), "src/lib.rs": "pub fn twice(n: i64) -> i64 { n + n }\n"},
    )
    needs = f'[dependencies]\ntwice = {{ git = "file://{library}" }}\n'
    test = "#[test]\nfn it_is_four() { assert_eq!(twice::twice(2), 4); }\n"
    write(work := tmp_path / "work", {"Cargo.toml": package.format("shop") + needs, "src/lib.rs": test})
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "fetched"))
    fetch = await asyncio.create_subprocess_exec("cargo", "fetch", "--quiet", cwd=work)
    assert await fetch.wait() == 0
    end = await ended(found, Job(("cargo", "test", "--offline"), str(work), copied=True))
    assert end.code == 0, end.output
    assert b"1 passed" in end.output


async def test_what_is_inside_ends_by_itself_when_nobody_holds_its_input_any_more() -> None:
    await sandbox()
    seconds = moment()
    apart = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    job = ("/bin/sh", "-c", f"(setsid sleep {seconds} &); echo begun; sleep {seconds}")
    alone = await asyncio.create_subprocess_exec(
        *("bwrap", *apart, "--", *first_program(False, b""), *job),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert alone.stdin is not None
    assert alone.stdout is not None
    assert await alone.stdout.readline() == b"begun\n"
    async with asyncio.timeout(60):
        while not running(f"sleep\0{seconds}"):  # noqa: ASYNC110 (another process comes to it)
            await asyncio.sleep(0.05)
    alone.stdin.close()
    await asyncio.to_thread(until_gone, f"sleep\0{seconds}")
    assert await alone.wait() != 0


async def test_a_sandbox_that_cannot_be_made_says_so_and_is_no_exit_code_of_the_program(tmp_path: Path) -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    end = await ended(Bubblewrap(program, ("--no-such-option",)), Job(("true",), str(tmp_path)))
    assert (end.code, end.limit, end.output) == (None, None, b"")
    assert end.stopped == "It could not be run: bwrap: Unknown option --no-such-option."
