"""Hears a run out and holds it to its bounds, however it was started."""

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
from roundtable.workshop.sandbox.init_script import InitReport, send_job_files

METER_INTERVAL = 0.1
"""Seconds between two looks at how much a run uses."""

_CHUNK = 64 * 1024
_FLOOD = 16 << 20
"""Bytes of output beyond those that are kept."""


class ResourceMeter(Protocol):
    """Knows what a run uses. Both are asked in a thread, while it runs and once more at its end."""

    def met(self) -> Limit | None: ...

    def processor_seconds(self) -> float: ...


StopRun = Callable[[], Awaitable[None]]


def kill_process_group(process: Process) -> None:
    """End a program and what it started in its group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def describe_sandbox_limit(limit: Limit, bounds: Bounds) -> str:
    """Why a run was stopped, in one sentence."""
    match limit:
        case Limit.TIME:
            return f"It was stopped after {bounds.seconds:g} seconds."
        case Limit.MEMORY:
            return f"It was stopped for using more than {bounds.memory >> 20:,} MB of memory."
        case Limit.PROCESSES:
            return f"It was stopped for starting more than {bounds.processes} processes."
        case Limit.DISK:
            return f"It was stopped for writing more than {bounds.disk >> 20:,} MB."
        case Limit.OUTPUT:
            return f"It was stopped for saying more than {(bounds.output + _FLOOD) >> 20:,} MB."


class RunSupervisor:
    """One run from its start to its end; who made it also stops it. Not every run has a first program to report."""

    def __init__(
        self, process: Process, bounds: Bounds, meter: ResourceMeter, report: InitReport | None = None
    ) -> None:
        self._process = process
        self._bounds = bounds
        self._meter = meter
        self._report = report
        self._begun = time.monotonic()
        self.limit: Limit | None = None

    async def run(self, end: StopRun, files: bytes = b"") -> AsyncGenerator[Output | Exit]:
        """Give it its files and hear it out; `end` ends what is left of it, whatever happens, before the last word."""
        feeding = asyncio.create_task(send_job_files(self._process, files)) if files else None
        try:
            async with aclosing(self.outputs()) as outputs:
                async for output in outputs:
                    yield output
        finally:
            if feeding is not None:
                feeding.cancel()
            await end()
        yield await self.exit()

    async def outputs(self) -> AsyncGenerator[Output]:
        """What the run says until it has ended, or has to be stopped for the `limit` it met."""
        assert self._process.stdout is not None
        said = 0
        ended = asyncio.ensure_future(self._process.wait())
        reading: asyncio.Future[bytes] | None = asyncio.ensure_future(self._process.stdout.read(_CHUNK))
        looked = self._begun
        try:
            while reading is not None or not ended.done():
                await asyncio.wait({reading or ended}, timeout=METER_INTERVAL)
                if reading is not None and reading.done():
                    chunk = reading.result()
                    reading = asyncio.ensure_future(self._process.stdout.read(_CHUNK)) if chunk else None
                    said += len(chunk)
                    if chunk:
                        yield Output(chunk)
                if said > self._bounds.output + _FLOOD:
                    self.limit = Limit.OUTPUT
                elif time.monotonic() - looked >= METER_INTERVAL:
                    looked = time.monotonic()
                    self.limit = await self._look(looked)
                if self.limit is not None:
                    return
        finally:
            for waiting in (ended, reading):
                if waiting is not None:
                    waiting.cancel()
                    with suppress(asyncio.CancelledError):
                        await waiting

    async def _look(self, now: float) -> Limit | None:
        if now - self._begun > self._bounds.seconds:
            return Limit.TIME
        return await asyncio.to_thread(self._meter.met)

    async def over(self) -> None:
        """Wait until a run that has been ended is gone; what it still had to say is let go, or it would wait for us."""
        assert self._process.stdout is not None
        while await self._process.stdout.read(_CHUNK):
            pass
        await self._process.wait()
        if self._report is not None:
            await self._report.complete()

    async def exit(self) -> Exit:
        """How it ended; asked once nothing of it runs any more."""
        limit = self.limit or await asyncio.to_thread(self._meter.met) or (self._report and self._report.limit)
        used = await asyncio.to_thread(self._meter.processor_seconds)
        seconds = time.monotonic() - self._begun
        if limit is not None:
            return Exit(None, seconds, describe_sandbox_limit(limit, self._bounds), limit, used)
        if self._report is not None and (why := self._report.failure):
            return Exit(None, seconds, why, processor_seconds=used)
        return Exit(self._process.returncode, seconds, processor_seconds=used)
