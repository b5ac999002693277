"""The conformance kit for sandboxes. A sandbox joins with a class of one line: `use = "bubblewrap"`."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, aclosing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec
import pytest

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Exit, Job, Limit, Output
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job
from roundtable.workshop.sandbox.escape_attempts import (
    EXHAUSTION_ATTEMPTS,
    QUICK_ESCAPE_ATTEMPTS,
    EscapeAttempt,
    run_escape_attempts,
)
from roundtable.workshop.sandbox.seccomp import SYSTEM_CALLS
from tests.repository import write

INTERPRETER = os.path.realpath(sys.executable)

KILLED = """
import asyncio, sys
from roundtable.core.sandbox import Job
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox

async def main():
    sandbox = await find_sandbox(SandboxSettings(use=sys.argv[1]))
    job = Job(("sh", "-c", f"echo begun; (setsid sleep {sys.argv[3]} &); sleep {sys.argv[3]}"), sys.argv[2],
              files={"a.txt": "a"})
    async for it in sandbox.run(job):
        print(it, flush=True)

asyncio.run(main())
"""


NEXT = """
import asyncio, sys
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox

sys.exit(isinstance(asyncio.run(find_sandbox(SandboxSettings(use=sys.argv[1]))), str))
"""

ATTEMPT_READS = """
import json, sys
found = {}
for path in sys.argv[1:]:
    try:
        with open(path) as file:
            found[path] = file.read()
    except OSError:
        pass
print(json.dumps(found))
"""

REFUSED_CALLS = """
import ctypes, json, os, socket, sys
numbers = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
buffer = ctypes.create_string_buffer(4096)
def refusal(name, *arguments):
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return 0 if libc.syscall(ctypes.c_long(numbers[name]), *values) != -1 else ctypes.get_errno()
def socket_refusal(family, kind):
    try:
        socket.socket(family, kind).close()
    except OSError as error:
        return error.errno
    return 0
calls = {
    "keyctl": (0, -3, 0), "add_key": (b"user", b"roundtable", b"x", 1, -2),
    "request_key": (b"user", b"roundtable", None, 0), "ptrace": (0, 0, 0, 0), "bpf": (0, buffer, 72),
    "userfaultfd": (1,), "io_uring_setup": (1, buffer), "io_uring_enter": (-1, 0, 0, 0, None, 0),
    "io_uring_register": (-1, 0, None, 0), "perf_event_open": (buffer, 0, -1, -1, 0),
    "process_vm_readv": (os.getpid(), None, 0, None, 0, 0), "process_vm_writev": (os.getpid(), None, 0, None, 0, 0),
    "kcmp": (os.getpid(), os.getpid(), 1, 0, 0), "pidfd_getfd": (-1, 0, 0), "setns": (-1, 0),
    "open_by_handle_at": (-1, None, 0), "unshare": (0x10000000,), "clone": (0x10000000 | 17, None, None, None, None),
    "sched_setaffinity": (0, 8, buffer), "clone3": (buffer, 64),
}
refusals = {name: refusal(name, *arguments) for name, arguments in calls.items()}
if os.getpid() == 1 or refusals["clone"] == 0:
    os._exit(0)
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_RDM)
families = {family: sorted({socket_refusal(family, kind) for kind in kinds}) for family in range(64)}
print(json.dumps([refusals, families]))
"""


def shell(
    script: str, folder: Path, *, copied: bool = False, files: dict[str, str] | None = None, bounds: Bounds = Bounds()
) -> Job:
    return Job(("sh", "-c", script), str(folder), copied, files or {}, bounds)


def is_running(command: str) -> bool:
    """Whether any process of this machine has this text in its command line."""
    lines: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes())
    return any(command.encode() in line for line in lines)


def wait_until_gone(command: str) -> None:
    """Wait until no process has this text in its command line; fail after a minute."""
    deadline = time.monotonic() + 60
    while is_running(command):
        assert time.monotonic() < deadline, f"{command} still runs"
        time.sleep(0.05)


def read_files(folder: Path) -> dict[str, str]:
    """Return the files of a folder by name."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def unique_seconds() -> str:
    """Return a number of seconds to sleep that no other test uses."""
    return f"3607.{time.monotonic_ns()}"


class SandboxKit:
    """The contract of the port Sandbox, tested on a real one."""

    use: Literal["docker", "podman", "bubblewrap"]

    @pytest.fixture
    async def sandbox(self) -> Sandbox:
        sandbox = await find_sandbox(SandboxSettings(use=self.use))
        if isinstance(sandbox, str):
            (pytest.fail if os.environ.get("CI") else pytest.skip)(sandbox)
        return sandbox

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "work space, with a comma"
        folder.mkdir()
        (folder / "a.txt").write_text("hello")
        return folder

    def left_behind(self, pid: int) -> list[str]:
        """Return what remains of the runs of a process: control groups, and containers if there are any."""
        groups = os.walk("/sys/fs/cgroup")  # which others make and take away meanwhile: `rglob` would stumble over that
        return [
            f"{place}/{name}" for place, names, _ in groups for name in names if name.startswith(f"roundtable-{pid}-")
        ]

    # --- running -------------------------------------------------------------------------------

    @pytest.mark.feature("S0.57")
    async def test_output_is_streamed_during_a_run_and_one_exit_ends_it(self, sandbox: Sandbox, folder: Path) -> None:
        seconds = unique_seconds()
        async with aclosing(sandbox.run(shell(f"echo begun; sleep {seconds}", folder))) as run:
            assert await anext(run) == Output(b"begun\n"), "heard while it sleeps"
            assert is_running(seconds)
        events = [item async for item in sandbox.run(shell("echo out; echo err >&2; exit 3", folder))]
        assert b"".join(item.data for item in events if isinstance(item, Output)) in (b"out\nerr\n", b"err\nout\n")
        assert [type(item) for item in events].count(Exit) == 1
        last = events[-1]
        assert isinstance(last, Exit)
        assert (last.code, last.stopped, last.limit) == (3, "", None)

    @pytest.mark.parametrize("code", [1, 125, 126, 127, 137, 193, 194, 195, 255])
    async def test_every_exit_code_is_that_of_the_program(self, sandbox: Sandbox, folder: Path, code: int) -> None:
        end = await run_sandbox_job(sandbox, shell(f"echo ended disk >&2; exit {code}", folder))
        assert (end.code, end.stopped, end.limit, end.output) == (code, "", None, b"ended disk\n")

    async def test_a_missing_program_exits_with_127_and_arguments_are_passed_unchanged(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        assert (await run_sandbox_job(sandbox, Job(("no-such-program",), str(folder)))).code == 127
        end = await run_sandbox_job(sandbox, Job(("printf", "%s|", "$(touch x)", "`id`", "a  b", ""), str(folder)))
        assert end.output == b"$(touch x)|`id`|a  b||"

    async def test_a_run_can_connect_to_itself_on_localhost(self, sandbox: Sandbox, folder: Path) -> None:
        program = """
import socket
server = socket.create_server(("localhost", 0))
client = socket.create_connection(("localhost", server.getsockname()[1]), 5)
server.accept()[0].sendall(b"heard")
print(client.recv(5).decode())
"""
        end = await run_sandbox_job(sandbox, Job((sys.executable, "-c", program), str(folder)))
        assert (end.code, end.output) == (0, b"heard\n")

    async def test_the_folder_of_a_run_is_read_only_and_a_copy_is_writable(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        end = await run_sandbox_job(sandbox, shell("cat a.txt; echo changed > a.txt; touch b", folder))
        assert end.output.startswith(b"hello")
        assert end.code not in (0, None)
        end = await run_sandbox_job(
            sandbox, shell("echo changed > a.txt && touch b && cat a.txt && ls", folder, copied=True)
        )
        assert (end.code, end.output) == (0, b"changed\na.txt\nb\n")
        assert read_files(folder) == {"a.txt": "hello"}

    async def test_a_copy_keeps_file_modes_and_links_whoever_owns_the_files(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        (folder / "run.sh").write_text("#!/bin/sh\necho ran\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "link").symlink_to("run.sh")
        if os.getuid() == 0:
            os.chown(folder / "a.txt", 1234, 1234)
        end = await run_sandbox_job(sandbox, shell("./link; readlink link; cat a.txt", folder, copied=True))
        assert (end.code, end.output) == (0, b"ran\nrun.sh\nhello")

    async def test_a_copy_can_appear_at_another_path_without_changing_that_folder(
        self, sandbox: Sandbox, folder: Path, tmp_path: Path
    ) -> None:
        (there := tmp_path / "there").mkdir()
        (there / "a.txt").write_text("mine")
        (there / "secret.txt").write_text("secret")
        script = f"pwd; ls; cat {there}/a.txt; echo more > {there}/a.txt; ls {tmp_path}"
        (folder / "run.sh").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "run.sh").chmod(0o755)
        end = await run_sandbox_job(sandbox, Job(("./run.sh",), str(folder), copied=True, place=str(there)))
        assert (end.code, end.output.decode()) == (0, f"{there}\na.txt\nrun.sh\nhellothere\n")
        assert read_files(there) == {"a.txt": "mine", "secret.txt": "secret"}

    async def test_folders_lent_to_a_copy_are_visible_and_read_only(
        self, sandbox: Sandbox, folder: Path, tmp_path: Path
    ) -> None:
        (there := tmp_path / "installed").mkdir()
        (there / "one.txt").write_text("lent")
        (folder / "own").mkdir()
        lent = {"modules": str(there), "own": str(there), "a.txt/modules": str(there)}
        job = shell("cat modules/one.txt; touch modules/x || ls . own; echo mine > own/y", folder, copied=True)
        end = await run_sandbox_job(sandbox, msgspec.structs.replace(job, lent=lent))
        assert end.code == 0
        assert end.output.startswith(b"lent")
        assert end.output.endswith(b"\n.:\na.txt\nmodules\nown\n\nown:\n")
        assert read_files(there) == {"one.txt": "lent"}
        assert (
            await run_sandbox_job(sandbox, msgspec.structs.replace(shell("ls", folder), lent=lent))
        ).output == b"a.txt\nown\n"

    @pytest.mark.feature("S0.55")
    async def test_files_added_to_a_copy_are_gone_after_the_run(self, sandbox: Sandbox, folder: Path) -> None:
        files = {"a.txt": "other", "deep/er/ü.txt": "new\n"}
        end = await run_sandbox_job(sandbox, shell("cat a.txt deep/er/*; echo x > deep/y", folder, files=files))
        assert (end.code, end.output) == (0, b"othernew\n")
        assert read_files(folder) == {"a.txt": "hello"}

    @pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", ""])
    async def test_a_file_with_a_path_outside_the_copy_is_refused(
        self, sandbox: Sandbox, folder: Path, path: str
    ) -> None:
        end = await run_sandbox_job(sandbox, shell("ls", folder, files={path: "x"}))
        assert end.code is None
        assert "not a path inside the folder of the run" in end.stopped
        assert not (folder.parent / "out.txt").exists()

    async def test_sensitive_files_are_empty_in_the_sandbox(self, sandbox: Sandbox, folder: Path) -> None:
        (folder / ".env").write_text("PASSWORD=tulip")
        (folder / ".ssh").mkdir()
        (folder / ".ssh/id_rsa").write_text("tulip")
        for copied in (False, True):
            end = await run_sandbox_job(
                sandbox, shell("cat .env .ssh/*; grep -r tulip .; echo done", folder, copied=copied)
            )
            assert b"PASSWORD" not in end.output
            assert b"tulip" not in end.output.replace(b"grep", b"")
            assert end.output.endswith(b"done\n")

    @pytest.fixture
    def service_folders(self) -> Generator[list[Path]]:
        """Folders next to programs, in which services keep settings and data."""
        folders: list[Path] = []
        with ExitStack() as stack:
            for place in ("/opt", "/usr/local/etc", "/usr/local/share", "/srv", "/var/lib"):
                with suppress(OSError):
                    folders.append(Path(stack.enter_context(TemporaryDirectory(prefix="roundtable-", dir=place))))
            if Path("/opt") not in [folder.parent for folder in folders]:
                pytest.skip("This user cannot write to /opt.")
            yield folders

    async def read_in_sandbox(self, sandbox: Sandbox, folder: Path, paths: Sequence[Path]) -> dict[str, str]:
        """Return what a sandboxed program can read of these files."""
        argv = (sys.executable, "-I", "-S", "-c", ATTEMPT_READS, *map(str, paths))
        end = await run_sandbox_job(sandbox, Job(argv, str(folder)))
        assert end.code == 0, end.output
        return msgspec.json.decode(end.output, type=dict[str, str])

    async def test_files_of_other_services_are_not_visible(
        self, sandbox: Sandbox, folder: Path, service_folders: list[Path]
    ) -> None:
        paths = [place / name for place in service_folders for name in (".env", "settings.toml", "data/lib/x.db")]
        for path in paths:
            write(path.parent, {path.name: "a password"})
            path.parent.chmod(0o755)
        for place in service_folders:
            place.chmod(0o755)
        assert await self.read_in_sandbox(sandbox, folder, [folder / "a.txt", *paths]) == {
            str(folder / "a.txt"): "hello"
        }

    async def test_a_toolchain_in_a_home_folder_runs_without_the_rest_of_the_home_folder(
        self, folder: Path, service_folders: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = service_folders[0] / "home"
        version = home / ".pyenv/versions/3.x"
        for name in ("bin", "lib"):
            (version / name).mkdir(parents=True)
        (version / "bin/python-of-home").symlink_to(INTERPRETER)
        secrets = {
            ".ssh/id_ed25519": "key", ".netrc": "key", ".config/roundtable/secrets.key": "seal", "notes.txt": "note",
            ".pyenv/versions/3.x/lib/data/roundtable.db": "record", ".pyenv/versions/3.x/share/x": "x",
        }  # fmt: skip
        write(home, {**secrets, ".pyenv/versions/3.x/lib/shown.py": "shown"})
        manager = f'#!/bin/sh\necho "{version}/bin/$2"\n'
        write(home / ".pyenv", {"shims/python-of-home": "#!/bin/sh\nexit 1\n", "bin/pyenv": manager})
        for program in ("shims/python-of-home", "bin/pyenv"):
            (home / ".pyenv" / program).chmod(0o755)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("PATH", f"{home / '.pyenv/shims'}:{os.environ['PATH']}")
        sandbox = await find_sandbox(SandboxSettings(use=self.use), (str(version / "lib/data"),))
        assert not isinstance(sandbox, str), sandbox
        paths = [str(home / name) for name in (*secrets, ".pyenv/versions/3.x/lib/shown.py")]
        end = await run_sandbox_job(
            sandbox, Job(("python-of-home", "-I", "-S", "-c", ATTEMPT_READS, *paths), str(folder))
        )
        assert (end.code, msgspec.json.decode(end.output)) == (0, {paths[-1]: "shown"})

    async def test_private_folders_are_hidden_wherever_they_are(self, folder: Path, tmp_path: Path) -> None:
        home = folder / "home"
        write(home, {"data/roundtable.db": "record", "config/secrets.key": "seal", "shown.txt": "shown"})
        (folder / "linked").symlink_to(home / "data")
        private = (str(home / "data"), str(folder / "linked/../config"))
        sandbox = await find_sandbox(SandboxSettings(use=self.use), private)
        assert not isinstance(sandbox, str), sandbox
        for copied in (False, True):
            end = await run_sandbox_job(
                sandbox, shell("cat home/*/* linked/*; cat home/shown.txt", folder, copied=copied)
            )
            assert end.output.endswith(b"shown")
            assert b"record" not in end.output
            assert b"seal" not in end.output

    async def test_system_calls_and_sockets_that_no_check_needs_are_refused(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        numbers = SYSTEM_CALLS.get(os.uname().machine)
        if numbers is None:
            pytest.skip("The numbers of this machine's system calls are not known.")
        argv = (sys.executable, "-I", "-S", "-c", REFUSED_CALLS, json.dumps(numbers))
        end = await run_sandbox_job(sandbox, Job(argv, str(folder)))
        refusals, families = msgspec.json.decode(end.output, type=tuple[dict[str, int], dict[int, list[int]]])
        assert refusals == {
            **dict.fromkeys(numbers.keys() - {"socket"}, errno.EPERM),
            "clone3": errno.ENOSYS,
        }
        assert {family for family, errors in families.items() if errors != [errno.EAFNOSUPPORT]} == {
            socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK,
        }  # fmt: skip
        assert all(0 in families[family] for family in (socket.AF_UNIX, socket.AF_INET))

    async def test_the_keys_of_the_person_are_not_listed(self, sandbox: Sandbox, folder: Path) -> None:
        end = await run_sandbox_job(sandbox, shell("cat /proc/keys 2>/dev/null; echo read", folder))
        assert end.output == b"read\n"

    async def test_programs_of_checks_need_no_refused_system_call(self, sandbox: Sandbox, folder: Path) -> None:
        program = """
import concurrent.futures, multiprocessing, os, socket, subprocess, threading
with concurrent.futures.ThreadPoolExecutor() as threads, concurrent.futures.ProcessPoolExecutor(2) as processes:
    assert list(threads.map(abs, (-1, 2))) == list(processes.map(abs, (-1, 2))) == [1, 2]
socket.socketpair()[0].close()
assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
print(len(socket.if_nameindex()), bool(os.sched_getaffinity(0)))
"""
        end = await run_sandbox_job(sandbox, Job((sys.executable, "-c", program), str(folder), copied=True))
        assert (end.code, end.output) == (0, b"1 True\n")

    async def test_no_environment_variable_of_ours_is_visible_in_the_sandbox(
        self, sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LAB_KEY", "a-key-nobody-may-see")
        end = await run_sandbox_job(sandbox, shell("env; cat /proc/*/environ", folder))
        assert b"HOME=/tmp" in end.output
        assert b"LAB_KEY" not in end.output

    async def test_concurrent_runs_are_isolated_from_each_other(self, sandbox: Sandbox, folder: Path) -> None:
        jobs = [shell(f"echo {n} > /tmp/it; sleep 0.2; cat /tmp/it", folder) for n in range(4)]
        assert [result.output for result in await asyncio.gather(*(run_sandbox_job(sandbox, job) for job in jobs))] == [
            f"{n}\n".encode() for n in range(4)
        ]

    async def test_a_run_gets_no_more_processor_time_than_its_limit(self, sandbox: Sandbox, folder: Path) -> None:
        if sandbox.unenforced:
            pytest.skip("Without control groups, the limit is rounded up to whole processors.")
        bounds = Bounds(seconds=2, processors=0.25)
        end = await run_sandbox_job(sandbox, shell("while :; do :; done", folder, bounds=bounds))
        assert end.limit is Limit.TIME
        assert 0 < end.processor_seconds < 1.2

    # --- ending --------------------------------------------------------------------------------

    @pytest.mark.feature("S0.61")
    @pytest.mark.parametrize("how", ["closed", "cancelled"])
    async def test_stopping_a_run_ends_all_its_processes(self, sandbox: Sandbox, folder: Path, how: str) -> None:
        seconds = unique_seconds()
        job = shell(f"(setsid sleep {seconds} &) ; echo begun; sleep {seconds}", folder, copied=True)
        output_seen = asyncio.Event()

        async def listen() -> None:
            async with aclosing(sandbox.run(job)) as run:
                async for _ in run:
                    output_seen.set()

        if how == "closed":
            async with aclosing(sandbox.run(job)) as run:
                await anext(run)
        else:
            task = asyncio.create_task(listen())
            await output_seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not is_running(seconds)
        assert self.left_behind(os.getpid()) == []

    async def test_stopping_a_run_before_its_first_output_leaves_nothing(self, sandbox: Sandbox, folder: Path) -> None:
        seconds = unique_seconds()
        task = asyncio.create_task(run_sandbox_job(sandbox, shell(f"sleep {seconds}", folder)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        wait_until_gone(seconds)
        assert self.left_behind(os.getpid()) == []

    async def test_a_finished_run_leaves_no_process_running(self, sandbox: Sandbox, folder: Path) -> None:
        seconds = unique_seconds()
        end = await run_sandbox_job(sandbox, shell(f"(setsid sleep {seconds} >/dev/null 2>&1 &); exit 4", folder))
        assert end.code == 4
        wait_until_gone(seconds)
        assert self.left_behind(os.getpid()) == []

    async def test_a_killed_process_of_ours_ends_its_runs(self, sandbox: Sandbox, folder: Path, tmp_path: Path) -> None:
        seconds, temporary = unique_seconds(), tmp_path / "temporary"
        temporary.mkdir()
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", KILLED, self.use, str(folder), seconds),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        assert child.stdout is not None
        assert b"begun" in await child.stdout.readline()
        assert is_running(seconds)
        child.send_signal(signal.SIGKILL)
        await child.wait()
        wait_until_gone(f"sleep\0{seconds}")
        assert read_files(temporary) == {}
        the_next = await asyncio.create_subprocess_exec(sys.executable, "-c", NEXT, self.use)
        assert await the_next.wait() == 0
        assert self.left_behind(child.pid) == []

    # --- breaking out --------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "attempt", [*QUICK_ESCAPE_ATTEMPTS, *EXHAUSTION_ATTEMPTS], ids=lambda attempt: attempt.name
    )
    async def test_every_escape_attempt_is_blocked(self, sandbox: Sandbox, attempt: EscapeAttempt) -> None:
        (outcome,) = await run_escape_attempts(sandbox, (attempt,))
        assert outcome.blocked or attempt.resource in sandbox.unenforced, outcome.note
        assert self.left_behind(os.getpid()) == []

    async def test_the_disk_limit_applies_to_a_copy(self, sandbox: Sandbox, folder: Path) -> None:
        bounds = Bounds(seconds=30, disk=4 << 20)
        filled = await run_sandbox_job(sandbox, shell("cat /dev/zero > full", folder, copied=True, bounds=bounds))
        assert (filled.code, filled.limit) == (None, Limit.DISK)
        assert filled.stopped == "Stopped: the program wrote more than 4 MB."
        (folder / "large").write_bytes(bytes(8 << 20))
        too_large = await run_sandbox_job(sandbox, shell("echo run", folder, copied=True, bounds=bounds))
        assert (too_large.code, too_large.limit) == (None, Limit.DISK)
        assert b"run\n" not in too_large.output

    async def test_a_server_inside_the_sandbox_is_not_reachable_from_this_machine(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        program = "import socket; it = socket.create_server(('127.0.0.1', 0)); print(it.getsockname()[1], flush=True)"
        job = Job((sys.executable, "-c", f"{program}; it.accept()"), str(folder), bounds=Bounds(seconds=30))
        async with aclosing(sandbox.run(job)) as run:
            event = await anext(run)
            assert isinstance(event, Output)
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", int(event.data)), 2)
