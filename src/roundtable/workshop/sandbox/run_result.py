"""A run as one answer, for those who only want to know how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing

import msgspec

from roundtable.core.effects import CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Limit, Output


class RunResult(msgspec.Struct, frozen=True):
    """How a run ended: its exit code, or why it was stopped; and the last of what it said."""

    code: int | None
    output: bytes
    seconds: float
    stopped: str = ""
    limit: Limit | None = None
    processor_seconds: float = 0.0

    def as_check(self, name: str, argv: Sequence[str]) -> CheckOutcome:
        """The same as a check of that name; why it was stopped are its last words."""
        words = filter(None, (self.output.decode(errors="replace").strip("\n"), self.stopped))
        return CheckOutcome(name, tuple(argv), self.code, "\n".join(words), round(self.seconds, 3), self.limit)


async def run_sandbox_job(sandbox: Sandbox, job: Job, hear: Callable[[bytes], None] = lambda data: None) -> RunResult:
    """Run a job to its end; `hear` is told what it says as it comes."""
    tail = _Tail(job.bounds.output)
    async with aclosing(sandbox.run(job)) as run:
        async for it in run:
            match it:
                case Output(data):
                    tail.add(data)
                    hear(data)
                case Exit(code, seconds, stopped, limit, processor_seconds):
                    return RunResult(code, tail.kept(), seconds, stopped, limit, processor_seconds)
    raise AssertionError("A run ends in an Exit.")


class _Tail:
    """The last of what a run says; the rest is let go as it comes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = b""
        self._lost = 0

    def add(self, data: bytes) -> None:
        self._kept += data
        self._lost += max(0, len(self._kept) - self._most)
        self._kept = self._kept[-self._most :]

    def kept(self) -> bytes:
        return f"[{self._lost:,} earlier bytes left out]\n".encode() + self._kept if self._lost else self._kept
