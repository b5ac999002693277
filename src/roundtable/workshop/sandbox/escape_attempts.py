"""Programs that try to escape from a sandbox, and the test that runs them and reports which were blocked."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job, Limit, Resource
from roundtable.workshop.sandbox.run_result import RunResult, run_sandbox_job
from roundtable.workshop.sandbox.seccomp import SYSTEM_CALLS
from roundtable.workshop.sandbox.visible_files import (
    find_home_folders_hidden_from_sandbox,
    find_sandbox_toolchain_paths,
    is_inside_sandbox_mount,
)

ESCAPED_MARK, BLOCKED_EXIT_CODE = "OUT: ", 7
"""The prefix of an attempt's output if it escaped, and its exit code if it was blocked."""

_PRELUDE = f"""
import ctypes, glob, json, os, socket, stat, subprocess, sys
targets = json.loads(sys.argv[1])
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
_EPILOGUE = f"\nsys.exit({BLOCKED_EXIT_CODE})\n"

_NETWORK = """
attempt('there is a way to the network', connected, socket.AF_INET, socket.SOCK_DGRAM, ('192.0.2.1', 9))
attempt('there is a way to the network', connected, socket.AF_INET6, socket.SOCK_DGRAM, ('2001:db8::1', 9))
"""
_NEIGHBOURS = """
attempt('a server of the machine', connected, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', targets['port']))
attempt('an abstract socket', connected, socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + targets['abstract'])
for path in ('/run/docker.sock', '/var/run/docker.sock', '/run/podman/podman.sock', '/run/dbus/system_bus_socket'):
    attempt(path, connected, socket.AF_UNIX, socket.SOCK_STREAM, path)
"""
_FILES = """
for path in (targets['secret'], *targets['private'], '/etc/shadow', '/etc/gshadow', '/etc/sudoers'):
    attempt(path, read, path)
"""
_ENVIRONMENT = """
for path in glob.glob('/proc/[0-9]*/environ'):
    try:
        with open(path, 'rb') as file:
            if targets['token'].encode() in file.read():
                out(path)
    except OSError:
        pass
"""
_WRITING = """
for folder in (targets['folder'], '/', '/usr', '/usr/bin', '/etc', '/opt', os.path.dirname(sys.executable)):
    attempt(folder, make, folder)
attempt('its own program', write, '/proc/self/exe')
attempt('its interpreter', write, os.path.realpath(sys.executable))
attempt('a file of its folder', write, os.path.join(targets['folder'], 'kept.txt'))
"""
_SIGNALS = """
attempt('a signal', lambda: os.kill(targets['victim'], 9) or 'sent')
attempt('a handle', os.pidfd_open, targets['victim'])
attempt('traced', libc.ptrace, 16, targets['victim'], 0, 0)
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
    attempt(root, read, root + targets['secret'])
for path in glob.glob('/proc/[0-9]*/cwd'):
    attempt(path, read, os.path.join(path, targets['secret'].lstrip('/')))
for path in ('sysrq-trigger', 'sys/kernel/core_pattern', 'sys/kernel/modprobe', 'sys/vm/overcommit_memory', 'mtrr'):
    attempt(path, write, '/proc/' + path)
for path in ('/proc/kcore', '/proc/kmsg', '/dev/mem', '/dev/kmem', '/dev/sda', '/dev/vda'):
    attempt(path, read, path)
for path in ('/sys/power/state', '/sys/kernel/uevent_helper', *glob.glob('/sys/fs/cgroup/**/cgroup.procs'),
             *glob.glob('/sys/fs/cgroup/**/release_agent'), '/sys/fs/cgroup/cgroup.procs'):
    attempt(path, write, path)
attempt('the terminal', write, '/dev/tty')
"""
_KERNEL = f"""
numbers = {SYSTEM_CALLS.get(os.uname().machine, {})!r}
libc.syscall.restype = ctypes.c_long
buffer = ctypes.create_string_buffer(4096)
def reached(name, *arguments):
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    ended = libc.syscall(ctypes.c_long(numbers[name]), *values)
    return -1 if ended == -1 and ctypes.get_errno() in (1, 38) else ended + 2
for name, *arguments in (
    ('keyctl', 0, -3, 0), ('add_key', b'user', b'roundtable', b'x', 1, -2), ('request_key', b'user', b'x', None, 0),
    ('ptrace', 0, 0, 0, 0), ('bpf', 0, buffer, 72), ('userfaultfd', 1), ('io_uring_setup', 1, buffer),
    ('process_vm_readv', os.getpid(), None, 0, None, 0, 0), ('kcmp', os.getpid(), os.getpid(), 1, 0, 0),
):
    if name in numbers:
        attempt('the system call ' + name, reached, name, *arguments)
for family in range(64):
    if family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            attempt('sockets of address family ' + str(family), socket.socket, family, kind)
"""
_UNNAMED_FILES = """
sending, receiving = socket.socketpair()
for number in range(96):
    file = os.memfd_create('unnamed')
    os.write(file, bytes(4 << 20))
    socket.send_fds(sending, [b'x'], [file])
    os.close(file)
out('384 MB of memory')
"""
_PROCESSES = """
import time
try:
    while True:
        os.fork()
except OSError:
    time.sleep(10)
"""
_THREADS = """
import threading, time
try:
    for number in range(500):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
except RuntimeError:
    time.sleep(10)
else:
    out('500 threads')
"""
_PROCESSORS = """
import time
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
begun = time.monotonic()
children = []
for number in range(2):
    children.append(os.fork())
    if children[-1] == 0:
        while time.monotonic() < begun + 1:
            pass
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
used = sum(os.times()[2:4]) / (time.monotonic() - begun)
if used > 1.4:
    out(f'{used:.1f} processors')
"""
_MANY_FILES = """
for place in ('/dev/shm', '/tmp'):
    try:
        for number in range(400_000):
            os.close(os.open(f'{place}/{number}', os.O_CREAT))
    except OSError:
        continue
    out(f'400,000 files in {place}')
"""


class EscapeAttempt(msgspec.Struct, frozen=True):
    """One escape attempt. An attempt at exhaustion must end by reaching one of its `limits`; the others must report
    that they were blocked. `resource` is what the attempt takes too much of, if not every machine can limit it."""

    name: str
    program: str
    limits: tuple[Limit, ...] = ()
    resource: Resource | None = None
    bounds: Bounds = Bounds(seconds=10, memory=512 << 20, processes=32, disk=16 << 20)

    @property
    def source(self) -> str:
        """The complete program."""
        return _PRELUDE + self.program + _EPILOGUE


def _exhaustion(
    name: str, program: str, *limits: Limit, resource: Resource | None = None, seconds: float = 20
) -> EscapeAttempt:
    bounds = Bounds(seconds, memory=128 << 20, processes=32, disk=16 << 20, output=1000)
    return EscapeAttempt(name, program, limits, resource, bounds)


QUICK_ESCAPE_ATTEMPTS = (
    EscapeAttempt("reach the network", _NETWORK),
    EscapeAttempt("reach servers on this machine", _NEIGHBOURS),
    EscapeAttempt("read files outside the sandbox", _FILES),
    EscapeAttempt("read the environment of other processes", _ENVIRONMENT),
    EscapeAttempt("write to read-only files", _WRITING),
    EscapeAttempt("signal or trace other processes", _SIGNALS),
    EscapeAttempt("gain privileges", _RIGHTS),
    EscapeAttempt("reach the kernel through /proc, /sys and /dev", _PROC),
    EscapeAttempt("use system calls and sockets that no check needs", _KERNEL),
)
"""The attempts that `doctor` always makes."""
EXHAUSTION_ATTEMPTS = (
    _exhaustion("start processes without end", _PROCESSES, Limit.PROCESSES, Limit.MEMORY, resource=Resource.PROCESSES),
    _exhaustion("start threads without end", _THREADS, Limit.PROCESSES, resource=Resource.PROCESSES),
    _exhaustion(
        "allocate memory without end",
        "taken = []\nwhile True:\n    taken.append(bytearray(1 << 20))",
        Limit.MEMORY,
        resource=Resource.MEMORY,
    ),
    _exhaustion("hold memory in unnamed files", _UNNAMED_FILES, Limit.MEMORY, resource=Resource.MEMORY),
    _exhaustion("use several processors", _PROCESSORS, resource=Resource.PROCESSORS),
    _exhaustion("fill the disk", "to = open('/tmp/full', 'wb')\nwhile True:\n    to.write(bytes(1 << 16))", Limit.DISK),
    _exhaustion("create files without end", _MANY_FILES, Limit.DISK, Limit.MEMORY, resource=Resource.FILES),
    _exhaustion("never end", "import time\ntime.sleep(3600)", Limit.TIME, seconds=1),
    _exhaustion("print without end", "while True:\n    os.write(1, bytes(1 << 16))", Limit.OUTPUT),
)
"""The attempts at exhausting resources, which take a little longer."""


_UNCHANGED = "as it was"
_SERVICE_FOLDERS = ("/opt", "/usr/local/etc", "/srv", "/var/lib", "/var/backups")
"""Folders in which services keep their settings and data."""
_MAX_FILES_PER_FOLDER = 20


class EscapeOutcome(msgspec.Struct, frozen=True):
    """Whether an escape attempt was blocked; None, with the reason in `note`, if it could not be made. `resource` is
    what the attempt takes too much of, if not every machine can limit it."""

    attempt: str
    blocked: bool | None
    note: str = ""
    resource: Resource | None = None


class EscapeTargets(msgspec.Struct, frozen=True):
    """Files, servers and a process of this machine that an attempt knows of and must not reach."""

    folder: str
    secret: str
    private: tuple[str, ...]
    port: int
    abstract: str
    victim: int
    token: str


async def run_escape_attempts(
    sandbox: Sandbox, attempts: Sequence[EscapeAttempt], private: Sequence[str] = ()
) -> list[EscapeOutcome]:
    """Make the escape attempts, one after another. `private` are folders that the sandbox was told to hide."""
    async with _prepare_targets(private) as targets:
        return [await _make_attempt(sandbox, targets, attempt) for attempt in attempts]


async def _make_attempt(sandbox: Sandbox, targets: EscapeTargets, attempt: EscapeAttempt) -> EscapeOutcome:
    description = json.dumps(msgspec.to_builtins(targets))
    argv = (sys.executable, "-I", "-S", "-c", attempt.source, description)
    result = await run_sandbox_job(sandbox, Job(argv, targets.folder, bounds=attempt.bounds))
    blocked, note = _judge_attempt(result, attempt, _find_damage(targets))
    return EscapeOutcome(attempt.name, blocked, note, attempt.resource)


def _judge_attempt(result: RunResult, attempt: EscapeAttempt, damage: str) -> tuple[bool | None, str]:
    """Return whether an attempt was blocked, or None if it could not be made, and the reason."""
    output = result.output.decode(errors="replace")
    if damage:
        return False, damage
    if ESCAPED_MARK in output:
        return False, output.partition(ESCAPED_MARK)[2].strip()
    if _ended_as_expected(result, attempt):
        return True, ""
    if attempt.limits:
        return False, f"The attempt ended, but this limit did not stop it: {' or '.join(attempt.limits)}."
    return None, output.strip()[-200:] or result.stopped


def _ended_as_expected(result: RunResult, attempt: EscapeAttempt) -> bool:
    return result.limit in attempt.limits if attempt.limits else result.code == BLOCKED_EXIT_CODE


def _find_damage(targets: EscapeTargets) -> str:
    """Return what was changed outside the sandbox; empty if nothing was."""
    if (
        sorted(os.listdir(targets.folder)) != ["kept.txt"]
        or (Path(targets.folder) / "kept.txt").read_text() != _UNCHANGED
    ):
        return "The attempt wrote to a read-only folder."
    with open(f"/proc/{targets.victim}/stat", "rb") as file:
        return (
            "The attempt killed another process." if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X") else ""
        )


@asynccontextmanager
async def _prepare_targets(private: Sequence[str]) -> AsyncGenerator[EscapeTargets]:
    """Set up the targets: a secret file, two servers, another process with a token in its environment, and a folder."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        secret_folder, folder = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
        (secret_folder / "secret.txt").write_text(token)
        (folder / "kept.txt").write_text(_UNCHANGED)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{token}")
        abstract.listen()
        victim = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()",
            stdin=asyncio.subprocess.PIPE, stdout=DEVNULL, stderr=DEVNULL, env={"WITNESS": token},
        )  # fmt: skip
        private_files = await asyncio.to_thread(lambda: tuple(_list_private_files(private)))
        try:
            yield EscapeTargets(
                folder=str(folder),
                secret=str(secret_folder / "secret.txt"),
                private=private_files,
                port=server.getsockname()[1],
                abstract=token,
                victim=victim.pid,
                token=token,
            )
        finally:
            if victim.returncode is None:
                victim.kill()
            await victim.wait()


def _list_private_files(private: Sequence[str]) -> Iterator[str]:
    """Yield some files of home folders, of private folders and of other services, except the toolchain in use."""
    shown = find_sandbox_toolchain_paths(sys.executable, Path("/nonexistent"))
    homes = [
        folder for home in find_home_folders_hidden_from_sandbox() for folder in (home, os.path.join(home, ".ssh"))
    ]
    for folder, deep in (*((home, False) for home in homes), *((path, True) for path in (*private, *_SERVICE_FOLDERS))):
        yield from islice(_list_files(folder, deep, shown), _MAX_FILES_PER_FOLDER)


def _list_files(folder: str, deep: bool, shown: Sequence[str]) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if deep and os.path.join(place, name) not in shown]
        for path in (os.path.join(place, name) for name in names):
            if path not in shown and not any(is_inside_sandbox_mount(path, root) for root in shown):
                yield path
