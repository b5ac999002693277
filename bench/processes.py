"""The processes of a bench run: the model server, the contestants, and commands that are timed as a whole."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from select import select
from statistics import median
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
PEERS = ROOT / "build" / "bench-peers"

QUIET = {
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LLM_COUNCIL_OFFLINE": "true",
    "OTEL_SDK_DISABLED": "true",
}
"""How the peers are told to report nothing to anybody."""


class BenchError(Exception):
    """Something without which the bench has no result; one sentence for the person."""


def clean_environment() -> dict[str, str]:
    """What every measured process gets: a path, a home of its own, and nothing of the person's."""
    home = OUT / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8", "USER": "bench", **QUIET}


@contextmanager
def alone() -> Generator[Path]:
    """A folder of this run's own, while no other run measures on this machine: two would distort each other."""
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "running.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError("Another bench is running here; wait for it to end and start again.") from None
        with tempfile.TemporaryDirectory(prefix="run-", dir=OUT, ignore_cleanup_errors=True) as folder:
            yield Path(folder)


class ModelServer:
    """The local server, in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.server"],
            cwd=ROOT,
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}/v1"

    def calls(self) -> list[dict[str, Any]]:
        """The calls since this was last asked."""
        with urllib.request.urlopen(f"{self.url}/calls") as answer:
            return json.load(answer)

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate("", timeout=10)


class Worker:
    """One contestant in a process of its own, doing one job after the other."""

    def __init__(self, module: str, python: Path | None = None, **always: Any) -> None:
        self.name = module.rpartition(".")[2]
        self._always = always
        self._errors = OUT / f"{self.name}.log"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [str(python or sys.executable), "-m", "bench.contestants.worker", module],
                cwd=ROOT,
                env=clean_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.import_seconds: float = self._line()["import"]

    def do(self, job: str, **arguments: Any) -> dict[str, Any]:
        """Have one job done and get its measurements."""
        self._tell(job, arguments)
        return self._line()

    def do_within(self, seconds: float, job: str, **arguments: Any) -> dict[str, Any] | None:
        """The same, but whoever has not returned by then is ended; one that was is of no use afterwards."""
        self._tell(job, arguments)
        assert self._process.stdout is not None
        if select([self._process.stdout], [], [], seconds)[0]:
            return self._line()
        self._process.kill()
        return None

    def _tell(self, job: str, arguments: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": job, **self._always, **arguments}) + "\n")
        self._process.stdin.flush()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            last = self._errors.read_text().strip().splitlines()[-1:]
            raise BenchError(f"The contestant {self.name} died: {' '.join(last)} ({self._errors}).")
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate("", timeout=20)


def sync_seconds(times: int = 20) -> float:
    """How long this disk takes to make a small write last: what one durable commit costs at least."""
    durations: list[float] = []
    with (OUT / "sync.tmp").open("wb") as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            durations.append(time.perf_counter() - began)
    return median(durations)


def timed(argv: list[str]) -> tuple[float, float]:
    """The wall and processor seconds of a whole command."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, cwd=ROOT, env=clean_environment(), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchError(f"The command {' '.join(argv)} failed.")
    return wall, used.ru_utime + used.ru_stime
