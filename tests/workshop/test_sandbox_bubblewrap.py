"""The sandbox kit for bubblewrap, and tests of what only bubblewrap does."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox import run_sandbox_job
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox, LimitTools
from roundtable.workshop.sandbox.init_script import sandbox_init_script_arguments
from tests.kits.sandbox_kit import SandboxKit, is_running, unique_seconds, wait_until_gone
from tests.ordinary_user import ordinary_users_folder, run_as_ordinary_user
from tests.repository import sandbox, write

TWICE = "pub fn twice(n: i64) -> i64 { n + n }\n"
TEST = """
#[test]
fn it_is_four_and_sees_no_more_than_it_needs() {
    assert_eq!(twice::twice(2), 4);
    let own = std::fs::read_dir("/tmp/.cargo").unwrap().map(|it| it.unwrap());
    let folders = own.filter(|it| it.path().is_dir()).map(|it| it.file_name().into_string().unwrap());
    assert_eq!(folders.collect::<Vec<_>>(), ["registry"]);
}
"""


async def run_command(*argv: str, cwd: Path) -> None:
    process = await asyncio.create_subprocess_exec(*argv, cwd=cwd)
    assert await process.wait() == 0


@contextmanager
def serve_folder(folder: Path) -> Generator[str]:
    """Serve the files of a folder at the returned URL."""
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class TestBubblewrap(SandboxKit):
    use = "bubblewrap"


def test_bubblewrap_passes_the_whole_kit_for_an_ordinary_user() -> None:
    if os.getuid() != 0:
        pytest.skip("This suite already runs as an ordinary user.")
    with ordinary_users_folder() as folder:
        kit = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "TestBubblewrap", __file__]
        done = run_as_ordinary_user(kit, folder)
    assert done.returncode == 0, done.stdout


async def test_several_runs_without_control_groups_use_different_processors(tmp_path: Path) -> None:
    await sandbox()
    program, taskset = shutil.which("bwrap"), shutil.which("taskset")
    usable = len(os.sched_getaffinity(0))
    if taskset is None or usable < 2:
        pytest.skip("This needs taskset and two processors.")
    assert program is not None
    box = BubblewrapSandbox(program, ("--proc", "/proc", "--remount-ro", "/proc"), LimitTools(False, taskset=taskset))
    job = Job((sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"), str(tmp_path))
    seen = {(await run_sandbox_job(box, job)).output for _ in range(usable)}
    assert len(seen) == usable
    assert all(output.count(b",") == 0 for output in seen)


async def test_a_run_can_look_up_the_name_of_its_user(tmp_path: Path) -> None:
    box = await sandbox()
    program = "import grp, os, pwd; print(pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)"
    end = await run_sandbox_job(box, Job((sys.executable, "-c", program), str(tmp_path)))
    assert (end.code, end.output) == (0, b"nobody nogroup\n")


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not here")
async def test_a_rust_project_is_built_from_downloaded_crates_and_sees_no_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = await sandbox()
    monkeypatch.setenv("CARGO_HOME", str(own := tmp_path / "own"))
    package = '[package]\nname = "{}"\nversion = "1.0.0"\nedition = "2021"\n'
    write(library := tmp_path / "twice", {"Cargo.toml": package.format("twice"), "src/lib.rs": TWICE})
    await run_command("cargo", "package", "--quiet", "--offline", "--allow-dirty", "--no-verify", cwd=library)
    crate = (library / "target/package/twice-1.0.0.crate").read_bytes()
    with serve_folder(tmp_path / "index") as url:
        metadata: dict[str, object] = {
            "name": "twice",
            "vers": "1.0.0",
            "deps": [],
            "cksum": sha256(crate).hexdigest(),
            "features": {},
        }
        (tmp_path / "index/twice.crate").write_bytes(crate)
        config = json.dumps({"dl": f"{url}/twice.crate?"})
        write(tmp_path / "index", {"config.json": config, "tw/ic/twice": json.dumps(metadata | {"yanked": False})})
        needs = '[dependencies]\ntwice = { version = "1", registry = "here" }\n'
        settings = f'[registries.here]\nindex = "sparse+{url}/"\n'
        files = {"Cargo.toml": package.format("shop") + needs, "src/lib.rs": TEST, ".cargo/config.toml": settings}
        write(work := tmp_path / "work", files)
        await run_command("cargo", "fetch", "--quiet", cwd=work)
    write(own, {"credentials.toml": "token", "git/db/private/config": "token"})
    end = await run_sandbox_job(box, Job(("cargo", "test", "--offline"), str(work), copied=True))
    assert end.code == 0, end.output
    assert b"1 passed" in end.output


async def test_processes_in_the_sandbox_end_when_the_input_is_closed() -> None:
    await sandbox()
    seconds = unique_seconds()
    apart = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    job = ("/bin/sh", "-c", f"(setsid sleep {seconds} &); echo begun; sleep {seconds}")
    alone = await asyncio.create_subprocess_exec(
        *("bwrap", *apart, "--", *sandbox_init_script_arguments(False, b""), *job),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert alone.stdin is not None
    assert alone.stdout is not None
    assert await alone.stdout.readline() == b"begun\n"
    async with asyncio.timeout(60):
        while not is_running(f"sleep\0{seconds}"):  # noqa: ASYNC110 (another process comes to it)
            await asyncio.sleep(0.05)
    alone.stdin.close()
    await asyncio.to_thread(wait_until_gone, f"sleep\0{seconds}")
    assert await alone.stdout.read() == b"", "only at the end of its output is its transport closed"
    assert await alone.wait() != 0


async def test_a_sandbox_that_cannot_be_created_is_reported_without_an_exit_code(tmp_path: Path) -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    box = BubblewrapSandbox(program, ("--no-such-option",), LimitTools.find())
    end = await run_sandbox_job(box, Job(("true",), str(tmp_path)))
    assert (end.code, end.limit, end.output) == (None, None, b"")
    assert end.stopped == "The program could not be run: bwrap: Unknown option --no-such-option."
