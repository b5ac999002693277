"""The fault server itself: connections, requests, and the dialect of each path."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, cast
from urllib.parse import unquote

from roundtable.voices.fault_server.anthropic import AnthropicWire
from roundtable.voices.fault_server.behaviours import find_fault_server_behaviour
from roundtable.voices.fault_server.gemini import GeminiWire
from roundtable.voices.fault_server.openai_chat import ChatWire
from roundtable.voices.fault_server.openai_responses import ResponsesWire
from roundtable.voices.fault_server.scripted_answer import AnswerSettings, ReceivedRequest, ServerAnswer
from roundtable.voices.fault_server.wire import INPUT_TOKENS, ProviderError, Wire

WIRES_BY_DIALECT: dict[str, type[Wire]] = {
    "openai-chat": ChatWire,
    "openai-responses": ResponsesWire,
    "anthropic": AnthropicWire,
    "gemini": GeminiWire,
}
"""The wire format of each dialect, by the dialect's name in an endpoint's data."""

_BASE_PATHS = {"anthropic": "", "gemini": "/v1beta"}
_DIALECTS_BY_PATH = {"/chat/completions": "openai-chat", "/responses": "openai-responses", "/messages": "anthropic"}
_DEFAULT_MODEL = "alpha"


@dataclass
class FaultServer(AnswerSettings):
    """Serves on 127.0.0.1 until closed; `seen` keeps every request.

    An `x-behave` header chooses what it does, else `behave`, else the model's name: one of `BEHAVIOURS`; any other
    name gets a normal answer.
    """

    port: int = 0
    seen: list[ReceivedRequest] = field(default_factory=list[ReceivedRequest])
    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._serve_connection, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def root(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL of the OpenAI dialects."""
        return f"{self.root}/v1"

    def base(self, dialect: str) -> str:
        """Return the base URL of one dialect for an endpoint's data."""
        return self.root + _BASE_PATHS.get(dialect, "/v1")

    async def is_left_alone(self, within: float = 2.0) -> bool:
        """Return whether no client waits for an answer, now or within the given seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.at_once:  # noqa: ASYNC110 (the client may be another process)
                    await asyncio.sleep(0.02)
        return self.at_once == 0

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._serve_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The stream protocol's callback would log a cancelled handler as an error.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = _decode_body(await _read_body(reader, headers))
        path = unquote(target.partition("?")[0])
        request = ReceivedRequest(path, headers, body)
        self.seen.append(request)
        dialect = _find_dialect(path) if method == "POST" else ""
        if not dialect:
            await self._serve_information(
                method, ServerAnswer(self, request, WIRES_BY_DIALECT[_guess_dialect(path)](_DEFAULT_MODEL, 0), writer)
            )
            return method != "HEAD"
        request.model = _find_model(path, body)
        request.behaviour = headers.get("x-behave") or self.behave or request.model
        request.streamed = bool(body.get("stream")) or path.endswith(":streamGenerateContent")
        wire = WIRES_BY_DIALECT[dialect](request.model, len(self.words()))
        return await self._run_behaviour(ServerAnswer(self, request, wire, writer), reader)

    async def _serve_information(self, method: str, answer: ServerAnswer) -> None:
        """Answer requests for models and token counts; these never fail."""
        path = answer.seen.path
        if method == "GET" and path.endswith("/models"):
            await answer.send_response(200, _build_model_list())
        elif path.endswith("/count_tokens"):
            await answer.send_response(200, {"input_tokens": INPUT_TOKENS})
        elif path.endswith(":countTokens"):
            await answer.send_response(200, {"totalTokens": INPUT_TOKENS})
        else:
            await answer.send_error(ProviderError(404, f"There is nothing at {path}"))
        answer.seen.finished = True

    async def _run_behaviour(self, answer: ServerAnswer, reader: asyncio.StreamReader) -> bool:
        request = answer.seen
        work = asyncio.ensure_future(find_fault_server_behaviour(request.behaviour, request.streamed)(answer))
        disconnect = asyncio.ensure_future(reader.read(1))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.wait({work, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            error = work.exception() if work.done() else None
            request.finished = work.done() and error is None
            request.disconnected = not work.done() or isinstance(error, ConnectionError)
            if error is not None:
                raise error
            return request.finished and not answer.closes
        finally:
            self.at_once -= 1
            for task in (work, disconnect):
                task.cancel()
            await asyncio.gather(work, disconnect, return_exceptions=True)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def _decode_body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _find_dialect(path: str) -> str:
    """Return the dialect of a request's path, whatever its base path."""
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return "gemini"
    return next((dialect for end, dialect in _DIALECTS_BY_PATH.items() if path.endswith(end)), "")


def _guess_dialect(path: str) -> str:
    return "gemini" if path.startswith("/v1beta") else "anthropic" if "/messages" in path else "openai-chat"


def _find_model(path: str, body: dict[str, Any]) -> str:
    if ":" in path:
        return path.rpartition("/")[2].partition(":")[0]
    return str(body.get("model", ""))


def _build_model_list() -> dict[str, Any]:
    """Return the list of models in the formats of OpenAI, Anthropic and Google at once."""
    entry = {"id": _DEFAULT_MODEL, "object": "model", "type": "model", "display_name": _DEFAULT_MODEL}
    named = {"name": f"models/{_DEFAULT_MODEL}", "supportedGenerationMethods": ["generateContent"]}
    return {"object": "list", "data": [entry], "has_more": False, "models": [named]}
