"""Runs a program on a workspace it can only read: no network, no home, few variables, and an end to everything.

What it sees is the system's programs, its own toolchain and the workspace without its sensitive files. It runs in
namespaces of its own, so that when its first process is ended, all are. Where bubblewrap cannot do that, nothing runs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import msgspec

from roundtable.core.sensitive import is_sensitive
from roundtable.core.views import one_line
from roundtable.workshop.toolchain import toolchain

PROGRAM = "bwrap"
INSTALL = "Install bubblewrap (`apt install bubblewrap`); checks are never run outside a sandbox."

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
_VARIABLES = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "LOGNAME": "nobody",
    "USER": "nobody",
    "NO_COLOR": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_APART = (
    "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
)  # fmt: skip
_SMALL, _TMP = 64 << 20, 256 << 20
_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__"})
"""Folders of other people's published code: what looks like a key there is none."""
_LOOK = 0.1
"""Seconds between two looks at how much a run uses."""
_CHUNK = 64 * 1024


class Bounds(msgspec.Struct, frozen=True):
    """What one run may use: seconds, bytes of memory and processes of all of it together, bytes of output kept."""

    seconds: float = 60.0
    memory: int = 2 << 30
    processes: int = 256
    output: int = 16_000


class Ended(msgspec.Struct, frozen=True):
    """How a run ended: its exit code, or why it was stopped; and the last of what it said."""

    code: int | None
    output: bytes
    seconds: float
    stopped: str = ""


class Bubblewrap:
    """A way to run programs that was seen to work here."""

    def __init__(self, program: str, proc: Sequence[str]) -> None:
        self._program = program
        self._proc = proc

    @classmethod
    async def find(cls) -> Bubblewrap | str:
        """The sandbox, or why there is none: it is tried, because not every machine lets it make namespaces."""
        program = shutil.which(PROGRAM)
        if program is None:
            return f"Bubblewrap is not installed. {INSTALL}"
        why = ""
        for proc in (("--proc", "/proc"), ("--dir", "/proc")):  # in some containers nobody may mount a new /proc
            found = cls(program, proc)
            with TemporaryDirectory() as folder:
                tried = await found.run(("true",), Path(folder), Bounds(seconds=10))
            if tried.code == 0:
                return found
            why = one_line(tried.output.decode(errors="replace"), 200) or tried.stopped
        return f"Bubblewrap does not work here ({why}). Let this user make namespaces; checks are never run without."

    async def run(self, argv: Sequence[str], workspace: Path, bounds: Bounds = Bounds()) -> Ended:
        """Run a program with its arguments in the workspace; whatever happens, nothing of it stays behind."""
        begun = time.monotonic()
        program = _located(argv[0], workspace)
        if program is None:
            return Ended(127, f"There is no program {argv[0]} here.".encode(), 0.0)
        tail = _Tail(bounds.output)
        with NamedTemporaryFile() as empty:
            sandbox = await asyncio.to_thread(self._sandbox, program, workspace, empty.name)
            try:
                process = await asyncio.create_subprocess_exec(
                    *(self._program, *sandbox, "--", program, *argv[1:]),
                    stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, cwd="/", env={}, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return Ended(None, b"", 0.0, f"It could not be started: {error.strerror}.")
            listening = asyncio.create_task(tail.listen(process))
            try:
                stopped = await _watched(process, bounds)
            finally:
                _end(process)
                await process.wait()
                await listening
        code = None if stopped else process.returncode
        return Ended(code, tail.kept(), time.monotonic() - begun, stopped)

    def _sandbox(self, program: str, workspace: Path, empty: str) -> list[str]:
        folder = str(workspace)
        options = [*_APART, *self._proc, "--dev", "/dev", "--size", str(_SMALL), "--tmpfs", "/dev/shm"]
        options += ["--size", str(_TMP), "--tmpfs", "/tmp", "--remount-ro", "/dev"]
        for place in (*_SYSTEM, *_SETTINGS, *toolchain(program, workspace)):
            options += ["--ro-bind-try", place, place]
        options += ["--ro-bind", folder, folder]
        for path in _sensitive(workspace):
            options += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", empty, path]
        path = os.pathsep.join((str(Path(program).parent), "/usr/local/bin", "/usr/bin", "/bin"))
        for name, value in {**_VARIABLES, "PATH": path}.items():
            options += ["--setenv", name, value]
        return [*options, "--remount-ro", "/", "--chdir", folder]


class _Tail:
    """The last of what a run says; the rest is let go as it comes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = b""
        self._lost = 0

    async def listen(self, process: Process) -> None:
        assert process.stdout is not None
        while chunk := await process.stdout.read(_CHUNK):
            self._kept += chunk
            self._lost += max(0, len(self._kept) - self._most)
            self._kept = self._kept[-self._most :]

    def kept(self) -> bytes:
        return f"[{self._lost:,} earlier bytes left out]\n".encode() + self._kept if self._lost else self._kept


async def _watched(process: Process, bounds: Bounds) -> str:
    """Wait for the end of a run; why it has to be stopped, if it has."""
    ended = asyncio.ensure_future(process.wait())
    deadline = time.monotonic() + bounds.seconds
    while True:
        done, _ = await asyncio.wait({ended}, timeout=_LOOK)
        if done:
            return ""
        if time.monotonic() > deadline:
            return f"It was stopped after {bounds.seconds:g} seconds."
        processes, memory = await asyncio.to_thread(_used, process.pid)
        if processes > bounds.processes:
            return f"It was stopped for starting more than {bounds.processes} processes."
        if memory > bounds.memory:
            return f"It was stopped for using more than {bounds.memory >> 20:,} MB of memory."


def _end(process: Process) -> None:
    """End the sandbox itself; the kernel ends with it everything that runs inside."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _used(root: int) -> tuple[int, int]:
    """How many processes run under this one, and how many bytes of memory they hold together."""
    parents: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry))
            pages[int(entry)] = int(fields[21])
    found = list(parents.get(root, ()))
    for pid in found:
        found += parents.get(pid, ())
    return len(found), sum(pages[pid] for pid in found) * os.sysconf("SC_PAGE_SIZE")


def _located(name: str, workspace: Path) -> str | None:
    """The program of that name: on the person's path, or within the workspace if it is given as a path."""
    if "/" in name:
        path = workspace / name
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name)


def _sensitive(workspace: Path) -> list[str]:
    """The sensitive files and folders of the workspace, and what its repository knows of other machines."""
    found: list[str] = []
    for folder, folders, files in os.walk(workspace):
        inside = os.path.relpath(folder, workspace)
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if name != ".git" and is_sensitive(os.path.join(inside, name)) and not os.path.islink(path):
                found.append(path)
        if ".git" in folders and os.path.isfile(config := os.path.join(folder, ".git", "config")):
            found.append(config)
        folders[:] = [it for it in folders if it not in _PASSED_OVER and it != ".git" and not is_sensitive(it)]
    return found
