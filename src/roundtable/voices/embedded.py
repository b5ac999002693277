"""The embedded voice: a model on this machine, in one child process that all its seats share."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import httpx2
import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Request
from roundtable.voices import llama_server, models
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice
from roundtable.voices.provider_text import excerpt_provider_text
from roundtable.voices.rate_limits import CallPacer

_START_TIMEOUT = 120.0
_MAX_CRASHES_IN_A_ROW = 3
_CONNECTION_FAULTS = (FaultKind.UNREACHABLE, FaultKind.TRUNCATED)
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV")
_INSTALL_HELP = "Run `roundtable models` to see how to install the runtime."


class EmbeddedModels:
    """Owns the child processes. A model is loaded at its first call and only once."""

    def __init__(self, models_dir: Path, slots: int = 4) -> None:
        self._models_dir = models_dir
        self._slots = slots
        self._servers: dict[Path, LlamaServer] = {}

    def find_voice(self, name: str) -> EmbeddedVoice | Fault:
        """Return the voice of a model by name or path; nothing is loaded yet."""
        if find_spec("xllamacpp") is None:
            return Fault.of(FaultKind.MISSING, "The runtime for embedded models is not installed.", help=_INSTALL_HELP)
        path = models.resolve_embedded_model_file(name, self._models_dir)
        if isinstance(path, Fault):
            return path
        catalog = {self._models_dir / model.file: model for model in models.load_embedded_model_catalog().values()}
        model = catalog.get(path)
        if path not in self._servers:
            window = model.window if model else models.DEFAULT_EMBEDDED_WINDOW
            self._servers[path] = LlamaServer(path, self._slots, window)
        if model is None:
            return EmbeddedVoice(name or path.stem, "embedded", self._servers[path])
        sampling = {"repeat_penalty": model.repeat_penalty}
        return EmbeddedVoice(model.name, model.vendor, self._servers[path], sampling)

    async def close(self) -> None:
        """End every child process."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.close()


class EmbeddedVoice:
    """One embedded model as a voice. A grammar can hold replies to a JSON schema."""

    structured = True
    plain_when_long = False
    edits = False

    def __init__(self, model: str, vendor: str, server: LlamaServer, sampling: Mapping[str, Any] | None = None) -> None:
        self.name = f"embedded:{model}"
        self.vendor = vendor
        self._model = model
        self._server = server
        self._sampling = dict(sampling or {})

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault, None]:
        """Load the model if necessary and ask it."""
        running = await self._server.ensure_running()
        if isinstance(running, Fault):
            yield running
            return
        endpoint = msgspec.structs.replace(running.endpoint, extra=self._sampling)
        voice = HttpVoice(endpoint, self._model, running.client, key=running.key, pace=self._server.pace)
        async with aclosing(voice.speak(_set_seed(request))) as speech:
            async for item in speech:
                if isinstance(item, Fault) and item.kind in _CONNECTION_FAULTS and await self._server.has_died(running):
                    yield self._server.record_crash(running)
                    return
                if isinstance(item, Reply):
                    self._server.record_success()
                yield item

    async def close(self) -> None:
        """Do nothing: the child process belongs to `EmbeddedModels`."""


def _set_seed(request: Request) -> Request:
    """Return the request with a seed from its call id: seats differ, and a repeated call gives the same answer."""
    if request.seed is not None:
        return request
    return msgspec.structs.replace(request, seed=zlib.crc32(request.call.encode()) & 0x7FFFFFFF)


class RunningServer(msgspec.Struct):
    """A child process that is ready for calls."""

    endpoint: Endpoint
    client: httpx2.AsyncClient
    key: str
    child: asyncio.subprocess.Process


class LlamaServer:
    """One child process: started by the first call, restarted after a crash up to a limit."""

    def __init__(self, model: Path, slots: int, context: int) -> None:
        self.pace = CallPacer(slots)
        self._model = model
        self._slots = slots
        self._context = context
        self._crashes = 0
        self._running: RunningServer | None = None
        self._counted_crash: RunningServer | None = None
        self._starting: asyncio.Task[RunningServer | Fault] | None = None

    async def ensure_running(self) -> RunningServer | Fault:
        """Return the running child, started if necessary. A cancelled caller does not stop the start for others."""
        running = self._running
        if running is not None and running.child.returncode is None:
            return running
        if self._crashes >= _MAX_CRASHES_IN_A_ROW:
            return self._create_crash_limit_fault()
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start_server())
        return await asyncio.shield(self._starting)

    async def has_died(self, running: RunningServer) -> bool:
        """Return whether the child has exited; a connection often breaks before the exit is visible."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await running.child.wait()
        return running.child.returncode is not None

    def record_crash(self, running: RunningServer) -> Fault:
        """Count a crash once for all calls that it ended, and return the fault."""
        if self._counted_crash is not running:
            self._counted_crash = running
            self._crashes += 1
        return Fault.of(FaultKind.CRASHED, f"The model {self._model.name} ended unexpectedly.")

    def record_success(self) -> None:
        """Reset the count of crashes after a complete reply."""
        self._crashes = 0

    async def close(self) -> None:
        """End the child process, or cancel its start."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        running, self._running = self._running, None
        if running is not None:
            await _end_server(running)

    async def _start_server(self) -> RunningServer | Fault:
        old, self._running = self._running, None
        if old is not None:
            await _end_server(old)
        with tempfile.TemporaryFile() as log:
            child = await self._start_child(log)
            key = secrets.token_urlsafe(16)
            try:
                url = await self._read_address(child, key)
            except asyncio.CancelledError:
                await _kill_child(child)
                raise
            if url is None:
                await _kill_child(child)
                self._crashes += 1
                return self._create_start_fault(log)
        # The server closes the connection after a stream although it announces keep-alive.
        headers = {"connection": "close"}
        endpoint = Endpoint(
            "embedded", f"{url}/v1", concurrency=self._slots, structured=True, local=True, headers=headers
        )
        self._running = RunningServer(endpoint, open_provider_http_client(endpoint), key, child)
        return self._running

    async def _start_child(self, log: IO[bytes]) -> asyncio.subprocess.Process:
        # Spinning threads make two cores ten times slower than one.
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        environment["OMP_WAIT_POLICY"] = "passive"
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            llama_server.__file__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=environment,
            start_new_session=True,
        )

    async def _read_address(self, child: asyncio.subprocess.Process, key: str) -> str | None:
        assert child.stdin is not None
        assert child.stdout is not None
        settings = llama_server.ServerSettings(
            model=str(self._model), key=key, slots=self._slots, context=self._context, parent=os.getpid()
        )
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                child.stdin.write(json.dumps(settings).encode() + b"\n")
                await child.stdin.drain()
                line = await child.stdout.readline()
            return str(json.loads(line)["url"])
        except (TimeoutError, ConnectionError, ValueError, KeyError):
            return None

    def _create_start_fault(self, log: IO[bytes]) -> Fault:
        log.seek(0)
        lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        last_line = f": {excerpt_provider_text(lines[-1])}" if lines else ""
        return Fault.of(
            FaultKind.CRASHED,
            f"The model {self._model.name} could not be loaded{last_line}",
            retryable=False,
            help="Check that there is enough memory and that the file is a chat model in GGUF format.",
        )

    def _create_crash_limit_fault(self) -> Fault:
        return Fault.of(
            FaultKind.CRASHED,
            f"The model {self._model.name} crashed {self._crashes} times in a row and is not started again.",
            retryable=False,
            help="Use a smaller model, or include fewer files.",
        )


async def _end_server(running: RunningServer) -> None:
    await running.client.aclose()
    await _kill_child(running.child)


async def _kill_child(child: asyncio.subprocess.Process) -> None:
    """Kill the child and wait until it has exited: a model has nothing to save."""
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.kill()
    if child.stdin is not None:
        child.stdin.close()
    await child.communicate()  # also closes its output, which `wait` leaves open if the child has already exited
