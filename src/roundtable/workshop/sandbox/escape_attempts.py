"""Programs that try to get out of a sandbox: what each one tries, and the bound it must meet if it is a greedy one.

Proves the isolation of a sandbox by trying to break out of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job, Limit
from roundtable.workshop.sandbox.run_result import RunResult, run_sandbox_job

ESCAPED_MARK, BLOCKED_EXIT_CODE = "OUT: ", 7
"""What an attempt says that got out, and its exit code if it did not."""

_BEFORE = f"""
import ctypes, glob, json, os, socket, stat, subprocess, sys
witness = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def out(what):
    print({ESCAPED_MARK!r} + str(what))
    sys.exit(0)
def attempt(what, act, *arguments):
    try:
        came = act(*arguments)
    except (OSError, ValueError):
        return
    if came not in (-1, b'', ''):
        out(what)
def read(path):
    with open(path, 'rb') as file:
        return file.read(1)
def write(path):
    os.close(os.open(path, os.O_WRONLY))
    return path
def make(folder):
    path = os.path.join(folder, 'made-by-a-sandbox')
    with open(path, 'x'):
        return path
def connected(family, kind, address):
    with socket.socket(family, kind) as it:
        it.settimeout(1)
        it.connect(address)
        return address
"""
_AFTER = f"\nsys.exit({BLOCKED_EXIT_CODE})\n"

_NETWORK = """
attempt('there is a way to the network', connected, socket.AF_INET, socket.SOCK_DGRAM, ('192.0.2.1', 9))
attempt('there is a way to the network', connected, socket.AF_INET6, socket.SOCK_DGRAM, ('2001:db8::1', 9))
"""
_NEIGHBOURS = """
attempt('a server of the machine', connected, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', witness['port']))
attempt('an abstract socket', connected, socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + witness['abstract'])
for path in ('/run/docker.sock', '/var/run/docker.sock', '/run/podman/podman.sock', '/run/dbus/system_bus_socket'):
    attempt(path, connected, socket.AF_UNIX, socket.SOCK_STREAM, path)
"""
_FILES = """
for path in (witness['secret'], *witness['home'], '/etc/shadow', '/etc/gshadow', '/etc/sudoers'):
    attempt(path, read, path)
"""
_ENVIRONMENT = """
for path in glob.glob('/proc/[0-9]*/environ'):
    try:
        with open(path, 'rb') as file:
            if witness['token'].encode() in file.read():
                out(path)
    except OSError:
        pass
"""
_WRITING = """
for folder in (witness['folder'], '/', '/usr', '/usr/bin', '/etc', '/opt', os.path.dirname(sys.executable)):
    attempt(folder, make, folder)
attempt('its own program', write, '/proc/self/exe')
attempt('its interpreter', write, os.path.realpath(sys.executable))
attempt('a file of its folder', write, os.path.join(witness['folder'], 'kept.txt'))
"""
_SIGNALS = """
attempt('a signal', lambda: os.kill(witness['victim'], 9) or 'sent')
attempt('a handle', os.pidfd_open, witness['victim'])
attempt('traced', libc.ptrace, 16, witness['victim'], 0, 0)
"""
_RIGHTS = """
for path in ('/usr/bin/su', '/bin/su', '/usr/bin/mount', '/bin/mount', '/usr/bin/passwd', '/usr/bin/chsh'):
    if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID:
        child = subprocess.Popen([path, '--help'], stdin=subprocess.DEVNULL, stdout=-3, stderr=-3)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        lines = dict(line.split(':', 1) for line in open(f'/proc/{child.pid}/status') if ':' in line)
        if lines['CapEff'].strip('\\t\\n0') or len(set(lines['Uid'].split())) > 1:
            out(path)
status = open('/proc/self/status').read()
if 'NoNewPrivs:\\t1' not in status or 'CapEff:\\t0000000000000000' not in status:
    out('it has rights or may gain some')
attempt('a device', lambda: os.mknod('/tmp/device', stat.S_IFBLK | 0o600, os.makedev(8, 0)) or 'made')
attempt('a mount', libc.mount, b'none', b'/tmp', b'tmpfs', 0, None)
attempt('another root', lambda: os.chroot('/tmp') or 'changed')
"""
_PROC = """
for root in glob.glob('/proc/[0-9]*/root'):
    attempt(root, read, root + witness['secret'])
for path in glob.glob('/proc/[0-9]*/cwd'):
    attempt(path, read, os.path.join(path, witness['secret'].lstrip('/')))
for path in ('sysrq-trigger', 'sys/kernel/core_pattern', 'sys/kernel/modprobe', 'sys/vm/overcommit_memory', 'mtrr'):
    attempt(path, write, '/proc/' + path)
for path in ('/proc/kcore', '/proc/kmsg', '/dev/mem', '/dev/kmem', '/dev/sda', '/dev/vda'):
    attempt(path, read, path)
for path in ('/sys/power/state', '/sys/kernel/uevent_helper', *glob.glob('/sys/fs/cgroup/**/cgroup.procs'),
             *glob.glob('/sys/fs/cgroup/**/release_agent'), '/sys/fs/cgroup/cgroup.procs'):
    attempt(path, write, path)
attempt('the terminal', write, '/dev/tty')
"""


class EscapeAttempt(msgspec.Struct, frozen=True):
    """One way to try it. A greedy one must end by meeting its `limit`; the others must end by saying that they held."""

    name: str
    program: str
    limit: Limit | None = None
    bounds: Bounds = Bounds(seconds=10, memory=512 << 20, processes=32, disk=16 << 20)

    @property
    def source(self) -> str:
        """The whole program."""
        return _BEFORE + self.program + _AFTER


def _greedy(name: str, program: str, limit: Limit, seconds: float = 20) -> EscapeAttempt:
    return EscapeAttempt(
        name, program, limit, Bounds(seconds, memory=128 << 20, processes=32, disk=16 << 20, output=1000)
    )


QUICK_ESCAPE_ATTEMPTS = (
    EscapeAttempt("reaching the network", _NETWORK),
    EscapeAttempt("reaching servers of this machine", _NEIGHBOURS),
    EscapeAttempt("reading files of this machine", _FILES),
    EscapeAttempt("reading the variables of other processes", _ENVIRONMENT),
    EscapeAttempt("writing to what it is shown", _WRITING),
    EscapeAttempt("signalling and tracing other processes", _SIGNALS),
    EscapeAttempt("gaining rights", _RIGHTS),
    EscapeAttempt("getting at the kernel by /proc, /sys and /dev", _PROC),
)
"""What the doctor always tries."""
EXHAUSTION_ATTEMPTS = (
    _greedy("starting processes without end", "while True:\n    os.fork()", Limit.PROCESSES),
    _greedy("taking memory without end", "taken = []\nwhile True:\n    taken.append(bytearray(1 << 20))", Limit.MEMORY),
    _greedy("filling the disk", "to = open('/tmp/full', 'wb')\nwhile True:\n    to.write(bytes(1 << 16))", Limit.DISK),
    _greedy("never ending", "import time\ntime.sleep(3600)", Limit.TIME, seconds=1),
    _greedy("talking without end", "while True:\n    os.write(1, bytes(1 << 16))", Limit.OUTPUT),
)
"""What takes a little longer."""


_KEPT = "as it was"


class EscapeOutcome(msgspec.Struct, frozen=True):
    """One attempt and whether the sandbox held; None with the reason in `note` where it could not be made."""

    attempt: str
    held: bool | None
    note: str = ""


class EscapeTargets(msgspec.Struct, frozen=True):
    """What an attempt is told of this machine: things that are really there and that it must not get at."""

    folder: str
    secret: str
    home: tuple[str, ...]
    port: int
    abstract: str
    victim: int
    token: str


async def run_escape_attempts(sandbox: Sandbox, attempts: Sequence[EscapeAttempt]) -> list[EscapeOutcome]:
    """Make the attempts, one after the other."""
    async with _witness() as witness:
        return [await _made(sandbox, witness, attempt) for attempt in attempts]


async def _made(sandbox: Sandbox, witness: EscapeTargets, attempt: EscapeAttempt) -> EscapeOutcome:
    told = json.dumps(msgspec.to_builtins(witness))
    argv = (sys.executable, "-I", "-S", "-c", attempt.source, told)
    end = await run_sandbox_job(sandbox, Job(argv, witness.folder, bounds=attempt.bounds))
    said = end.output.decode(errors="replace")
    if harm := _harm(witness):
        return EscapeOutcome(attempt.name, False, harm)
    if ESCAPED_MARK in said:
        return EscapeOutcome(attempt.name, False, said.partition(ESCAPED_MARK)[2].strip())
    if _as_wanted(end, attempt):
        return EscapeOutcome(attempt.name, True)
    if attempt.limit is not None:
        return EscapeOutcome(
            attempt.name, False, f"It should have met its bound ({attempt.limit}) and ended otherwise."
        )
    return EscapeOutcome(attempt.name, None, said.strip()[-200:] or end.stopped)


def _as_wanted(end: RunResult, attempt: EscapeAttempt) -> bool:
    return end.limit is attempt.limit if attempt.limit is not None else end.code == BLOCKED_EXIT_CODE


def _harm(witness: EscapeTargets) -> str:
    """What is not as it was, if anything."""
    if sorted(os.listdir(witness.folder)) != ["kept.txt"] or (Path(witness.folder) / "kept.txt").read_text() != _KEPT:
        return "Its folder was written to."
    with open(f"/proc/{witness.victim}/stat", "rb") as file:
        return "Another process was ended." if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X") else ""


@asynccontextmanager
async def _witness() -> AsyncGenerator[EscapeTargets]:
    """A secret elsewhere, two servers, another process with a token among its variables, and a folder of its own."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        elsewhere, folder = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
        (elsewhere / "secret.txt").write_text(token)
        (folder / "kept.txt").write_text(_KEPT)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{token}")
        abstract.listen()
        victim = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()",
            stdin=asyncio.subprocess.PIPE, stdout=DEVNULL, stderr=DEVNULL, env={"WITNESS": token},
        )  # fmt: skip
        home = tuple(str(it) for it in Path.home().iterdir() if it.is_file()) if Path.home().is_dir() else ()
        try:
            yield EscapeTargets(
                folder=str(folder),
                secret=str(elsewhere / "secret.txt"),
                home=home[:20],
                port=server.getsockname()[1],
                abstract=token,
                victim=victim.pid,
                token=token,
            )
        finally:
            if victim.returncode is None:
                victim.kill()
            await victim.wait()
