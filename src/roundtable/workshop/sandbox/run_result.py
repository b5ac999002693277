"""The result of a whole run, for callers that do not follow it line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing

import msgspec

from roundtable.core.effects import CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Exit, Job, Limit, Output


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run: its exit code or why it was stopped, and the end of its output."""

    code: int | None
    output: bytes
    seconds: float
    stopped: str = ""
    limit: Limit | None = None
    processor_seconds: float = 0.0

    def as_check(self, name: str, argv: Sequence[str]) -> CheckOutcome:
        """Return the result as the outcome of a check; the reason for a stop is the last line of its output."""
        words = filter(None, (self.output.decode(errors="replace").strip("\n"), self.stopped))
        return CheckOutcome(name, tuple(argv), self.code, "\n".join(words), round(self.seconds, 3), self.limit)


async def run_sandbox_job(
    sandbox: Sandbox, job: Job, on_output: Callable[[bytes], None] = lambda data: None
) -> RunResult:
    """Run a job to its end; `on_output` receives the output as it comes."""
    tail = _Tail(job.bounds.output)
    async with aclosing(sandbox.run(job)) as run:
        async for event in run:
            match event:
                case Output(data):
                    tail.add(data)
                    on_output(data)
                case Exit(code, seconds, stopped, limit, processor_seconds):
                    return RunResult(code, tail.content(), seconds, stopped, limit, processor_seconds)
    raise AssertionError("The run ended without an exit event.")


class _Tail:
    """The end of a run's output; earlier bytes are dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail = b""
        self._dropped = 0

    def add(self, data: bytes) -> None:
        self._tail += data
        self._dropped += max(0, len(self._tail) - self._limit)
        self._tail = self._tail[-self._limit :]

    def content(self) -> bytes:
        return f"[{self._dropped:,} earlier bytes left out]\n".encode() + self._tail if self._dropped else self._tail
