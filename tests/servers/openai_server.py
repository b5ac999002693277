"""A real local server that speaks the OpenAI chat dialect and fails in every way one can; tests and bench use it.

What it does is chosen by the model's name (or an `x-behave` header): one of the names in `BEHAVIOURS`,
anything else answers normally. As a script: `python tests/servers/openai_server.py --port 0 --latency 0.2`
prints its base URL as one line and serves until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import TracebackType
from typing import Any

TEXT = "The table hears: naïve café, 東京, 🦉 and a plain word."


@dataclass
class Seen:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    behaviour: str
    finished: bool = False
    disconnected: bool = False
    written: int = 0


@dataclass
class OpenAIServer:
    """Serves on 127.0.0.1 until closed; `seen` keeps every request."""

    latency: float = 0.0
    rate: float = 0.0
    text: str = TEXT
    tokens: int = 0
    port: int = 0
    key: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> OpenAIServer:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
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
    def url(self) -> str:
        """The base URL of the API."""
        return f"http://127.0.0.1:{self.port}/v1"

    def words(self) -> list[str]:
        """What a normal answer consists of, one token each."""
        words = [word + " " for word in self.text.split(" ")]
        words[-1] = words[-1].rstrip()
        if self.tokens:
            words = [words[index % len(words)] for index in range(self.tokens)]
        return words

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._request(reader, writer):
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

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        body: dict[str, Any] = json.loads(raw) if raw else {}
        behaviour = headers.get("x-behave") or str(body.get("model", ""))
        seen = Seen(path, headers, body, behaviour)
        self.seen.append(seen)
        if path.endswith("/models"):
            await Answer(self, seen, writer).whole(200, {"object": "list", "data": [{"id": "alpha"}]})
            return True
        return await self._answer(seen, reader, writer)

    async def _answer(self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        answer = Answer(self, seen, writer)
        work = asyncio.ensure_future(BEHAVIOURS.get(seen.behaviour, Answer.normal)(answer))
        gone = asyncio.ensure_future(reader.read(1))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            seen.finished = work.done() and work.exception() is None
            seen.disconnected = not seen.finished
            return seen.finished and not answer.closes
        finally:
            self.at_once -= 1
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)


@dataclass
class Answer:
    """One answer being written, in any of the ways below."""

    server: OpenAIServer
    seen: Seen
    writer: asyncio.StreamWriter
    closes: bool = False

    async def whole(self, status: int, body: Any, *, kind: str = "application/json", **headers: str) -> None:
        """A response with a length."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\n{more}"
        await self.send(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)

    async def send(self, data: bytes) -> None:
        """Write and wait until the kernel has it."""
        self.writer.write(data)
        await self.writer.drain()

    async def start(self, kind: str = "text/event-stream") -> None:
        """The head of a stream, after the latency."""
        await asyncio.sleep(self.server.latency)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncache-control: no-cache\r\n"
        await self.send(f"{head}transfer-encoding: chunked\r\n\r\n".encode())

    async def chunk(self, data: bytes) -> None:
        """One piece of the transfer encoding."""
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def event(self, data: Any) -> None:
        """One event of the stream."""
        line = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        await self.chunk(f"data: {line}\n\n".encode())

    async def words(self, words: list[str]) -> None:
        """Deltas at the server's rate."""
        rate = self.server.rate
        clock = asyncio.get_running_loop().time
        start = clock()
        await self.event(self.delta({"role": "assistant", "content": ""}))
        for index, word in enumerate(words):
            if rate:
                await asyncio.sleep(max(0.0, start + index / rate - clock()))
            await self.event(self.delta({"content": word}))
            self.seen.written += 1

    def delta(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        """One chunk object with everything real servers put around the words."""
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1789500000,
            "model": self.seen.body.get("model"),
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }

    async def end(self, finish: str = "stop", *, usage: bool = True, done: bool = True) -> None:
        """The last chunks, the end mark and the end of the transfer."""
        await self.event(self.delta({}, finish))
        if usage:
            await self.event({"choices": [], "usage": self.usage()})
        if done:
            await self.event("[DONE]")
        await self.stop()

    async def stop(self) -> None:
        """The end of the transfer."""
        await self.send(b"0\r\n\r\n")

    def usage(self) -> dict[str, Any]:
        """What a normal answer used."""
        return {
            "prompt_tokens": 100,
            "completion_tokens": len(self.server.words()),
            "prompt_tokens_details": {"cached_tokens": 60},
            "cost": 0.0025,
        }

    async def normal(self) -> None:
        """A whole answer, streamed."""
        if self.server.key and self.seen.headers.get("authorization") != f"Bearer {self.server.key}":
            await self.error(401, "Incorrect API key provided", "invalid_api_key")
            return
        await self.start()
        await self.words(self.server.words())
        await self.end()

    async def error(self, status: int, message: str, code: str = "", **headers: str) -> None:
        """An error object with its status."""
        await self.whole(status, {"error": {"message": message, "type": code, "code": code}}, **headers)


async def _status(answer: Answer) -> None:
    status = int(answer.seen.behaviour)
    await answer.error(status, f"status {status} as asked")


async def _rate_limited_date(answer: Answer) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    await answer.error(429, "Rate limit reached", "rate_limit_exceeded", retry_after=moment)


_ERRORS = {
    "insufficient_quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "context_overflow": (400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"),
    "model_not_found": (400, "The model does not exist", "model_not_found"),
}


async def _named_error(answer: Answer) -> None:
    await answer.error(*_ERRORS[answer.seen.behaviour])


async def _rate_limited(answer: Answer) -> None:
    await answer.error(429, "Rate limit reached for this context window", "rate_limit_exceeded", retry_after="7")


async def _leaky(answer: Answer) -> None:
    key = answer.seen.headers.get("authorization", "").removeprefix("Bearer ")
    await answer.error(401, f"Incorrect API key provided: {key}.\x1b[31m Find yours\nelsewhere. " + "x" * 500)


async def _detail(answer: Answer) -> None:
    await answer.whole(422, {"detail": "seed: extra inputs are not permitted"})


async def _plain_error(answer: Answer) -> None:
    await answer.whole(500, b"upstream connect error", kind="text/plain")


async def _hang(answer: Answer) -> None:
    await asyncio.Event().wait()


async def _hang_midway(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:3])
    await asyncio.Event().wait()


async def _html(answer: Answer) -> None:
    await answer.whole(200, b"<!doctype html><html><body>Log in</body></html>", kind="text/html")


async def _html_error(answer: Answer) -> None:
    await answer.whole(502, b"<html>Bad gateway</html>", kind="text/html")


async def _empty(answer: Answer) -> None:
    await answer.start()
    await answer.end()


async def _blank(answer: Answer) -> None:
    await answer.start()
    await answer.words([" ", "\n\n"])
    await answer.end()


async def _nothing(answer: Answer) -> None:
    await answer.start()
    await answer.stop()


async def _truncated(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:3])
    await answer.stop()


async def _cut(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:3])
    answer.closes = True


async def _no_done(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words())
    await answer.end(done=False, usage=False)


async def _open_end(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words())
    await answer.event("[DONE]")
    await asyncio.Event().wait()


async def _no_newline(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words())
    await answer.chunk(b"data: [DONE]")
    await answer.stop()


async def _garbage(answer: Answer) -> None:
    await answer.start()
    await answer.event('{"choices": [{"delta": {"content": oops')
    await answer.end()


async def _garbage_json(answer: Answer) -> None:
    await answer.whole(200, b'{"choices": [')


async def _midstream_error(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:2])
    await answer.event({"error": {"message": "Overloaded, sorry", "code": 529}})
    await answer.end()


async def _midstream_error_text(answer: Answer) -> None:
    await answer.start()
    await answer.event({"error": "the engine fell over"})
    await answer.stop()


async def _reset(answer: Answer) -> None:
    answer.closes = True
    # A linger of zero seconds makes the kernel send RST instead of FIN.
    sock: socket.socket = answer.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    answer.writer.transport.abort()


async def _reset_midway(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:3])
    await asyncio.sleep(0.05)
    await _reset(answer)


async def _json(answer: Answer) -> None:
    message = {"role": "assistant", "content": answer.server.text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    await answer.whole(200, {"model": "whole", "choices": choices, "usage": answer.usage()})


async def _json_error(answer: Answer) -> None:
    await answer.whole(200, {"error": {"message": "no provider is free", "code": 503}})


async def _huge(answer: Answer) -> None:
    await answer.start()
    piece = "x" * 60_000
    while True:
        await answer.event(answer.delta({"content": piece}))


async def _huge_line(answer: Answer) -> None:
    await answer.start()
    while True:
        await answer.chunk(b"x" * 60_000)


async def _length(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words())
    await answer.end("length")


async def _filtered(answer: Answer) -> None:
    await answer.start()
    await answer.words(answer.server.words()[:2])
    await answer.end("content_filter")


async def _refusal(answer: Answer) -> None:
    await answer.start()
    await answer.event(answer.delta({"refusal": "I cannot "}))
    await answer.event(answer.delta({"refusal": "help with that."}))
    await answer.end()


async def _reasoning(answer: Answer) -> None:
    await answer.start()
    await answer.event(answer.delta({"reasoning_content": "Let me think.", "reasoning": "Hm."}))
    await answer.event(answer.delta({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "No."}]}]}))
    await answer.event(answer.delta({"content": [{"type": "text", "text": "Parts, "}]}))
    await answer.event(answer.delta({"content": "then words."}))
    await answer.end()


async def _bytewise(answer: Answer) -> None:
    """Every byte in its own chunk, with CRLF, comments and an event of two lines: all allowed."""
    await answer.start()
    lines = [": keep-alive", "", "event: message"]
    words = answer.server.words()
    for word in words[:-1]:
        lines += [f"data:{json.dumps(answer.delta({'content': word}), ensure_ascii=False)}", ""]
    last = json.dumps(answer.delta({"content": words[-1]}, "stop"), indent=1, ensure_ascii=False)
    lines += [*(f"data: {line}" for line in last.split("\n")), "", "data: [DONE]", "", ""]
    data = "\r\n".join(lines).encode()
    for index in range(0, len(data)):
        await answer.chunk(data[index : index + 1])
    await answer.stop()


async def _redirect(answer: Answer) -> None:
    await answer.whole(307, {}, location="http://127.0.0.1:9/v1/chat/completions")


BEHAVIOURS: dict[str, Callable[[Answer], Awaitable[None]]] = {
    **{str(status): _status for status in (400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 502, 503, 529)},
    "rate_limited": _rate_limited,
    "rate_limited_date": _rate_limited_date,
    **dict.fromkeys(_ERRORS, _named_error),
    "leaky": _leaky,
    "detail": _detail,
    "plain_error": _plain_error,
    "hang": _hang,
    "hang_midway": _hang_midway,
    "html": _html,
    "html_error": _html_error,
    "empty": _empty,
    "blank": _blank,
    "nothing": _nothing,
    "truncated": _truncated,
    "cut": _cut,
    "no_done": _no_done,
    "open_end": _open_end,
    "no_newline": _no_newline,
    "garbage": _garbage,
    "garbage_json": _garbage_json,
    "midstream_error": _midstream_error,
    "midstream_error_text": _midstream_error_text,
    "reset": _reset,
    "reset_midway": _reset_midway,
    "json": _json,
    "json_error": _json_error,
    "huge": _huge,
    "huge_line": _huge_line,
    "length": _length,
    "filtered": _filtered,
    "refusal": _refusal,
    "reasoning": _reasoning,
    "bytewise": _bytewise,
    "redirect": _redirect,
}


async def _serve(options: argparse.Namespace) -> None:
    server = OpenAIServer(options.latency, options.rate, options.text, options.tokens, options.port)
    async with server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A local server of the OpenAI chat dialect.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before the first word")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens per second; 0 is as fast as it goes")
    parser.add_argument("--tokens", type=int, default=0, help="tokens of an answer; 0 says the text once")
    parser.add_argument("--text", default=TEXT)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
