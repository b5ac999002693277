"""Bubblewrap joins the kit."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox import ended
from roundtable.workshop.sandbox.bubblewrap import Bubblewrap
from roundtable.workshop.sandbox.first_program import first_program
from tests.kits.sandbox_kit import SandboxKit, moment, running, until_gone
from tests.repository import sandbox


class TestBubblewrap(SandboxKit):
    use = "bubblewrap"


async def test_a_run_knows_its_user_by_name(tmp_path: Path) -> None:
    found = await sandbox()
    program = "import grp, os, pwd; print(pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)"
    end = await ended(found, Job((sys.executable, "-c", program), str(tmp_path)))
    assert (end.code, end.output) == (0, b"nobody nogroup\n")


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
