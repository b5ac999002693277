"""One process of an agent: started under the watcher, fed with the prompt, read line by line within limits."""

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
"""Maximum bytes of one line and of one run."""

EXIT_GRACE_SECONDS = 2.0
"""Seconds an agent has to exit after its last word."""

_TERMINATION_SECONDS = 3.0
"""Seconds the watcher has to end all processes; it needs about one."""

_WATCHER = str(Path(__file__).with_name("watcher.py"))
_CHUNK = 64 * 1024


class AgentOutput(msgspec.Struct, frozen=True):
    """One piece of output: a line of the answer, a line of standard error, an overflow, or the end."""

    kind: Literal["line", "stderr", "overflow", "end"]
    text: bytes = b""


class AgentProcess:
    """A running agent. The caller must call `terminate`; if the caller dies, the watcher ends the agent."""

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
        """Start the program at `argv[0]` in a folder with exactly these variables.

        With `stays`, standard input remains open for more input after the prompt.
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
        """Write to the agent's standard input; ignored if the agent has exited."""
        if words and self._process.stdin is not None:
            self._process.stdin.write(words)

    async def read_output(self, patience: float) -> AgentOutput | None:
        """Return the next output, or None if there is none within `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                return await self._output.get()
        except TimeoutError:
            return None

    async def wait_for_exit(self, patience: float = EXIT_GRACE_SECONDS) -> int | None:
        """Close standard input and return the exit code, or None if the agent does not exit in time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await self._process.wait()
        return None

    async def terminate(self) -> None:
        """End the agent and every process it started; does nothing if it has ended."""
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
        """Write the prompt and close standard input: an agent that waits for more input would wait forever."""
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
        """Queue standard error line by line; an endless line is cut."""
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
        """Read a pipe to its end: a full pipe would keep its process from exiting."""
        while stream is not None and await stream.read(_CHUNK):
            pass
