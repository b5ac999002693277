"""Reads the output of a run and enforces its limits, however it was started."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Protocol

from roundtable.core.sandbox import Bounds, Exit, Limit, Output
from roundtable.workshop.sandbox.init_script import InitReport, send_sandbox_job_files

METER_INTERVAL = 0.1
"""Seconds between two measurements of resource use."""

_CHUNK_BYTES = 64 * 1024
_EXTRA_OUTPUT_BYTES = 16 << 20
"""Bytes of output accepted beyond those that are kept."""


class ResourceMeter(Protocol):
    """Measures what a run uses. Both methods are called in a thread, during the run and once at its end."""

    def exceeded_limit(self) -> Limit | None: ...

    def processor_seconds(self) -> float: ...


StopRun = Callable[[], Awaitable[None]]


def kill_process_group(process: Process) -> None:
    """Kill a program and its process group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _describe_sandbox_limit(limit: Limit, bounds: Bounds) -> str:
    """Return one sentence that says which limit stopped a run."""
    match limit:
        case Limit.TIME:
            return f"Stopped after {bounds.seconds:g} seconds."
        case Limit.MEMORY:
            return f"Stopped: the program used more than {bounds.memory >> 20:,} MB of memory."
        case Limit.PROCESSES:
            return f"Stopped: the program started more than {bounds.processes} processes."
        case Limit.DISK:
            return f"Stopped: the program wrote more than {bounds.disk >> 20:,} MB."
        case Limit.OUTPUT:
            return f"Stopped: the program printed more than {(bounds.output + _EXTRA_OUTPUT_BYTES) >> 20:,} MB."


class RunSupervisor:
    """Supervises one run until it ends; the caller says how to stop it. Not every run has an init script that
    reports."""

    def __init__(
        self, process: Process, bounds: Bounds, meter: ResourceMeter, report: InitReport | None = None
    ) -> None:
        self._process = process
        self._bounds = bounds
        self._meter = meter
        self._report = report
        self._started_at = time.monotonic()
        self.limit: Limit | None = None

    async def run(self, stop_run: StopRun, files: bytes = b"") -> AsyncGenerator[Output | Exit]:
        """Send the job its files and yield its output; call `stop_run` in every case before the final event."""
        feeding = asyncio.create_task(send_sandbox_job_files(self._process, files)) if files else None
        try:
            async with aclosing(self.outputs()) as outputs:
                async for output in outputs:
                    yield output
        finally:
            if feeding is not None:
                feeding.cancel()
            await stop_run()
        yield await self.exit()

    async def outputs(self) -> AsyncGenerator[Output]:
        """Yield the output until the run ends or reaches a limit."""
        assert self._process.stdout is not None
        received = 0
        ended = asyncio.ensure_future(self._process.wait())
        reading: asyncio.Future[bytes] | None = asyncio.ensure_future(self._process.stdout.read(_CHUNK_BYTES))
        last_check = self._started_at
        try:
            while reading is not None or not ended.done():
                await asyncio.wait({reading or ended}, timeout=METER_INTERVAL)
                if reading is not None and reading.done():
                    chunk = reading.result()
                    reading = asyncio.ensure_future(self._process.stdout.read(_CHUNK_BYTES)) if chunk else None
                    received += len(chunk)
                    if chunk:
                        yield Output(chunk)
                if received > self._bounds.output + _EXTRA_OUTPUT_BYTES:
                    self.limit = Limit.OUTPUT
                elif time.monotonic() - last_check >= METER_INTERVAL:
                    last_check = time.monotonic()
                    self.limit = await self._find_limit(last_check)
                if self.limit is not None:
                    return
        finally:
            for waiting in (ended, reading):
                if waiting is not None:
                    waiting.cancel()
                    with suppress(asyncio.CancelledError):
                        await waiting

    async def _find_limit(self, now: float) -> Limit | None:
        if now - self._started_at > self._bounds.seconds:
            return Limit.TIME
        return await asyncio.to_thread(self._meter.exceeded_limit)

    async def drain(self) -> None:
        """Wait until a stopped run is gone; its remaining output is read and dropped, or it would block."""
        assert self._process.stdout is not None
        while await self._process.stdout.read(_CHUNK_BYTES):
            pass
        await self._process.wait()
        if self._report is not None:
            await self._report.complete()

    async def exit(self) -> Exit:
        """Return how the run ended; call it once nothing of it runs any more."""
        limit = (
            self.limit or await asyncio.to_thread(self._meter.exceeded_limit) or (self._report and self._report.limit)
        )
        processor_seconds_used = await asyncio.to_thread(self._meter.processor_seconds)
        seconds = time.monotonic() - self._started_at
        if limit is not None:
            return Exit(None, seconds, _describe_sandbox_limit(limit, self._bounds), limit, processor_seconds_used)
        if self._report is not None and (failure := self._report.failure):
            return Exit(None, seconds, failure, processor_seconds=processor_seconds_used)
        return Exit(self._process.returncode, seconds, processor_seconds=processor_seconds_used)
