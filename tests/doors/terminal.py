"""The real command line in a home of its own: in a pipe, and at a terminal."""

from __future__ import annotations

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
import termios
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

PATIENCE = 60.0
ROUNDTABLE = [sys.executable, "-m", "roundtable"]
AT_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def answer(position: str, text: str = "Because.") -> str:
    """A blind answer as a model writes it."""
    return f"{text}\n\n```json\n{json.dumps({'position': position, 'confidence': 8})}\n```"


def again(stand: str, text: str = "Still.") -> str:
    """A second answer."""
    block: dict[str, Any] = {"stand": stand, "position": "", "error": "", "evidence": [], "confidence": 8}
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def seat(position: str, stand: str = "", text: str = "Because.", **pace: float) -> dict[str, Any]:
    """A seat that keeps to its option."""
    turns = [{"round": "*1-blind", "text": answer(position, text)}, {"round": "*reconsider", "text": again(stand)}]
    return {"turns": turns, "defaults": pace}


HANGS: dict[str, Any] = {"turns": [{"hang": True, "text": "I was about to say", "after": 4}]}


class Cli:
    """One person, one workspace, one script file."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        (self.work / ".git").mkdir(parents=True)
        self.env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.env |= {"ROUNDTABLE_HOME": str(self.home), "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
        for name in ("CI", "NO_COLOR", "COLUMNS", "LINES"):
            self.env.pop(name, None)

    def script(self, **seats: dict[str, Any]) -> list[str]:
        """Write the script of the seats; what names them on the command line is returned."""
        (self.work / "s.json").write_text(json.dumps({"seats": seats}))
        return [part for name in seats for part in ("--seat", f"{name}=script:s.json")]

    def run(self, *args: str, code: int = 0, input: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end and check its exit code."""
        done = subprocess.run(
            [*ROUNDTABLE, *args],
            cwd=self.work,
            env=self.env,
            input=input,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def json(self, *args: str, code: int = 0) -> list[dict[str, Any]]:
        """The lines of a command with --json."""
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
        """The same at a terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        command = [sys.executable, "-c", AT_A_TERMINAL, *ROUNDTABLE, *args]
        process = subprocess.Popen(
            command, cwd=self.work, env=self.env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.kill()
            process.wait()
            os.close(ours)


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
        while text not in plain(self.seen):
            assert time.monotonic() < give_up, f"no {text!r} in:\n{plain(self.seen)[-3000:]}"
            assert self._read(1.0), f"ended without {text!r}:\n{plain(self.seen)[-3000:]}"
        return plain(self.seen)

    def look_away(self) -> None:
        """Read nothing until more was said than a terminal keeps for its reader."""
        held, full = -1, 0
        while held < full or not full:
            time.sleep(1.0)
            held, full = full, int.from_bytes(fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4)), sys.byteorder)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def end(self, code: int) -> str:
        """Read to the end and check the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(PATIENCE):
            assert time.monotonic() < until, f"It does not end:\n{plain(self.seen)[-3000:]}"
        assert self.process.wait(PATIENCE) == code, plain(self.seen)[-3000:]
        return plain(self.seen)

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


def plain(text: str) -> str:
    """What a terminal shows of it, more or less."""
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\r", "", text)
