"""One run of an agent: its process under the watcher, the prompt going in, and its lines coming out within bounds."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

MAX_AGENT_LINE = 4 * 1024 * 1024
MAX_AGENT_OUTPUT = 64 * 1024 * 1024
"""Bytes of one line and of one run; more is no answer."""

EXIT_GRACE_SECONDS = 2.0
"""Seconds an agent has, after its last word, to put its things away."""

_TERMINATION_SECONDS = 3.0
"""Seconds the watcher has to end everybody; it needs about one."""

_WATCHER = str(Path(__file__).with_name("watcher.py"))
_CHUNK = 64 * 1024


class AgentOutput(msgspec.Struct, frozen=True):
    """One thing a run said: a line of its answer, a line about its troubles, too much, or nothing more."""

    kind: Literal["line", "stderr", "overflow", "end"]
    text: bytes = b""


class AgentProcess:
    """A running agent. Whoever starts one calls `end`; if we cannot, the watcher does."""

    def __init__(self, process: Process, lifeline: int, prompt: bytes, *, stays: bool) -> None:
        self._process = process
        self._lifeline = lifeline
        self._output: asyncio.Queue[AgentOutput] = asyncio.Queue(256)
        jobs = (self._send_prompt(prompt, stays), self._read_stdout(), self._read_stderr())
        self._tasks = [asyncio.ensure_future(job) for job in jobs]

    @classmethod
    async def start(
        cls, argv: Sequence[str], prompt: bytes, folder: Path, environment: Mapping[str, str], *, stays: bool = False
    ) -> AgentProcess:
        """Start the program at `argv[0]` in a folder, with these variables and no others.

        One that `stays` is told more than its prompt, until it is to leave.
        """
        end, lifeline = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _WATCHER, str(end), *argv),
                stdin=PIPE if prompt else DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                cwd=folder,
                env=environment,
                pass_fds=(end,),
                start_new_session=True,
            )
        except BaseException:
            os.close(lifeline)
            raise
        finally:
            os.close(end)
        return cls(process, lifeline, prompt, stays=stays)

    def write_input(self, words: bytes) -> None:
        """Say something more; one that has left does not hear it."""
        if words and self._process.stdin is not None:
            self._process.stdin.write(words)

    async def read_output(self, patience: float) -> AgentOutput | None:
        """The next thing it says; None if it says nothing for that long."""
        try:
            async with asyncio.timeout(patience):
                return await self._output.get()
        except TimeoutError:
            return None

    async def wait_for_exit(self, patience: float = EXIT_GRACE_SECONDS) -> int | None:
        """Let it put its things away; how it ended, None if it stays."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await self._process.wait()
        return None

    async def terminate(self) -> None:
        """End it and everything it started; does nothing if it has ended."""
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        process = self._process
        with suppress(TimeoutError):
            async with asyncio.timeout(_TERMINATION_SECONDS):
                await asyncio.gather(self._drain(process.stdout), self._drain(process.stderr), process.wait())

    async def _send_prompt(self, prompt: bytes, stays: bool) -> None:
        """Hand the prompt over and close: an agent that waits for more would wait for ever."""
        stdin = self._process.stdin
        if stdin is None:
            return
        with suppress(OSError):
            stdin.write(prompt)
            await stdin.drain()
        if stays:
            return
        with suppress(OSError):
            stdin.close()
            await stdin.wait_closed()

    async def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        total, rest = 0, b""
        while chunk := await self._process.stdout.read(_CHUNK):
            total += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                await self._output.put(AgentOutput("line", line))
            if total > MAX_AGENT_OUTPUT or len(rest) > MAX_AGENT_LINE:
                await self._output.put(AgentOutput("overflow"))
                return
        if rest:
            await self._output.put(AgentOutput("line", rest))
        await self._output.put(AgentOutput("end"))

    async def _read_stderr(self) -> None:
        """What it says on standard error, line by line; a line without end is cut."""
        assert self._process.stderr is not None
        rest = b""
        while chunk := await self._process.stderr.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_CHUNK:]
            for line in lines:
                await self._output.put(AgentOutput("stderr", line))
        if rest:
            await self._output.put(AgentOutput("stderr", rest))

    @staticmethod
    async def _drain(stream: asyncio.StreamReader | None) -> None:
        """A pipe that stays full would keep its process from ending."""
        while stream is not None and await stream.read(_CHUNK):
            pass
