"""The command line with a home and a workspace of its own: called in this process, as a program, and at a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

import roundtable
from roundtable.doors.cli.main import main

PATIENCE = 60.0
ROUNDTABLE = [sys.executable, "-m", "roundtable"]
PROGRAM = str(Path(roundtable.__file__).with_name("__main__.py"))
AT_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)

Finished = subprocess.CompletedProcess[str]


class Cli:
    """One person, one workspace, one script file."""

    def __init__(self, folder: Path, *, in_process: bool = True) -> None:
        self.in_process = in_process
        self.home = folder / "home"
        self.work = folder / "work"
        (self.work / ".git").mkdir(parents=True)
        self.env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.env |= {"ROUNDTABLE_HOME": str(self.home), "TERM": "xterm-256color"}
        for name in ("CI", "NO_COLOR", "COLUMNS", "LINES"):
            self.env.pop(name, None)

    def script(self, **seats: dict[str, Any]) -> list[str]:
        """Write the script of the seats; returns the options that name them on the command line."""
        (self.work / "s.json").write_text(json.dumps({"seats": seats}))
        return [part for name in seats for part in ("--seat", f"{name}=script:s.json")]

    def run(self, *args: str, code: int = 0, input: str = "") -> Finished:
        """Run a command to its end in this process and check its exit code.

        Inside a running event loop, where a second one cannot start, the command runs as a program.
        """
        if self.in_process and _can_run_here():
            return _checked(run_in_process(args, self.work, self.env, input), code)
        return self.run_program(*args, code=code, input=input)

    def run_program(self, *args: str, code: int = 0, input: str = "") -> Finished:
        """Run a command to its end in a Python of its own and check its exit code."""
        return _checked(
            subprocess.run(
                [*ROUNDTABLE, *args],
                cwd=self.work,
                env=self.env,
                input=input,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            ),
            code,
        )

    def json(self, *args: str, code: int = 0) -> list[dict[str, Any]]:
        """Run a command with --json; returns its lines."""
        return [json.loads(line) for line in self.run(*args, "--json", code=code).stdout.splitlines()]

    @contextlib.contextmanager
    def started(self, *args: str) -> Generator[Running]:
        """A command that runs in the background, its output read line by line."""
        process = subprocess.Popen(
            [*ROUNDTABLE, *args],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield Running(process)
            finally:
                process.kill()

    @contextlib.contextmanager
    def terminal(self, *args: str, columns: int = 100, lines: int = 30) -> Generator[Terminal]:
        """A command at a terminal of its own."""
        own_end, program_end = pty.openpty()
        fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        command = [sys.executable, "-c", AT_A_TERMINAL, *ROUNDTABLE, *args]
        process = subprocess.Popen(
            command,
            cwd=self.work,
            env=self.env,
            stdin=program_end,
            stdout=program_end,
            stderr=program_end,
            start_new_session=True,
        )
        os.close(program_end)
        try:
            yield Terminal(process, own_end)
        finally:
            process.kill()
            process.wait()
            os.close(own_end)


def _checked(finished: Finished, code: int) -> Finished:
    assert finished.returncode == code, f"exit {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
    assert "Traceback" not in finished.stderr
    return finished


def _can_run_here() -> bool:
    """Signals are heard in the main thread only, and one thread runs one event loop."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def run_in_process(args: Sequence[str], folder: Path, env: Mapping[str, str], input: str = "") -> Finished:
    """Call `main` as Python would for a program of its own: arguments, environment, folder and the three streams.

    The streams are files behind descriptors 0, 1 and 2, because the command line writes to the descriptors themselves.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(input.encode())
        stdin.seek(0)
        with (
            _streams(stdin.fileno(), stdout.fileno(), stderr.fileno()),
            _surroundings([PROGRAM, *args], folder, env),
            _time_limit(),
        ):
            try:
                main()
            except SystemExit as left:
                code = left.code
            else:
                code = 0
        printed, errors = _text(stdout), _text(stderr)
    return subprocess.CompletedProcess([*args], code if isinstance(code, int) else 1, printed, errors)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


@contextlib.contextmanager
def _streams(stdin: int, stdout: int, stderr: int) -> Generator[None]:
    """Let the standard streams and their descriptors lead to these files."""
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    saved = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate((stdin, stdout, stderr)):
            os.dup2(file, number)
        with (
            open(0, encoding="utf-8", errors="surrogateescape", closefd=False) as sys.stdin,
            open(1, "w", encoding="utf-8", closefd=False) as sys.stdout,
            open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False) as sys.stderr,
        ):
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, file in enumerate(saved):
            os.dup2(file, number)
            os.close(file)


@contextlib.contextmanager
def _surroundings(argv: list[str], folder: Path, env: Mapping[str, str]) -> Generator[None]:
    before = sys.argv, os.getcwd(), dict(os.environ)
    try:
        sys.argv = argv
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        yield
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
        os.environ.clear()
        os.environ.update(before[2])


@contextlib.contextmanager
def _time_limit() -> Generator[None]:
    def end(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"The command did not end within {PATIENCE} seconds.")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Running:
    """A command in a pipe."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    def until(self, kind: str, **fields: str) -> dict[str, Any]:
        """Read JSON lines until one of that kind comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            item = json.loads(line)
            self.lines.append(item)
            if item["kind"] == kind and all(item.get(name) == value for name, value in fields.items()):
                return item
        raise AssertionError(f"no {kind} in {[item['kind'] for item in self.lines]}")

    def rest(self, code: int) -> str:
        """Read to the end; what it said on standard error is returned."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.lines += [json.loads(line) for line in self.process.stdout]
        err = self.process.stderr.read()
        assert self.process.wait(PATIENCE) == code, err
        return err

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)


class Terminal:
    """A command at a terminal, and a person who reads and types."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self.seen = ""
        self._fd = fd

    def expect(self, text: str) -> str:
        """Read until a text has been shown, escape sequences aside."""
        give_up = time.monotonic() + PATIENCE
        while text not in strip_escapes(self.seen):
            assert time.monotonic() < give_up, f"no {text!r} in:\n{strip_escapes(self.seen)[-3000:]}"
            assert self._read(1.0), f"ended without {text!r}:\n{strip_escapes(self.seen)[-3000:]}"
        return strip_escapes(self.seen)

    def look_away(self) -> None:
        """Read nothing until more was said than a terminal keeps for its reader."""
        before, now = -1, 0
        while before < now or not now:
            time.sleep(1.0)
            before, now = now, int.from_bytes(fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4)), sys.byteorder)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def end(self, code: int) -> str:
        """Read to the end and check the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(PATIENCE):
            assert time.monotonic() < until, f"It does not end:\n{strip_escapes(self.seen)[-3000:]}"
        assert self.process.wait(PATIENCE) == code, strip_escapes(self.seen)[-3000:]
        return strip_escapes(self.seen)

    def _read(self, seconds: float) -> bool:
        """False when the other side is gone."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


def strip_escapes(text: str) -> str:
    """What a terminal shows of it, more or less."""
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\r", "", text)
