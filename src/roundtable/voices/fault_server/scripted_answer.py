"""One answer being written: the HTTP around what a dialect says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from roundtable.voices.fault_server.wire import AnswerContent, ProviderError, Wire, WireEvent

DEFAULT_ANSWER_TEXT = "The table hears: naïve café, 東京, 🦉 and a plain word."


@dataclass
class AnswerSettings:
    """How the server answers: how fast, how much, and to whom."""

    latency: float = 0.0
    """Seconds before the first word."""
    rate: float = 0.0
    """Tokens a second; 0 is as fast as it goes."""
    text: str = DEFAULT_ANSWER_TEXT
    tokens: int = 0
    """Tokens of an answer; 0 says the text once."""
    key: str = ""
    """The only key that is let in; without one, everybody is."""
    behave: str = ""
    """What every request gets, whatever its model is called."""
    target: str = "written-by-the-model.txt"
    """The file that the behaviour `write` tries to write."""

    def words(self) -> tuple[str, ...]:
        """What a normal answer consists of, one token each."""
        words = [word + " " for word in self.text.split(" ")]
        words[-1] = words[-1].rstrip()
        if self.tokens:
            words = [words[index % len(words)] for index in range(self.tokens)]
        return tuple(words)


@dataclass
class ReceivedRequest:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    model: str = ""
    behaviour: str = ""
    streamed: bool = False
    finished: bool = False
    disconnected: bool = False
    written: int = 0

    @property
    def key(self) -> str:
        """The key that came along, in whichever header this dialect has it."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return bearer or next((self.headers[it] for it in ("x-api-key", "x-goog-api-key") if it in self.headers), "")


@dataclass
class ServerAnswer:
    """One answer in one dialect, streamed or whole, as the client asked for it."""

    manner: AnswerSettings
    seen: ReceivedRequest
    wire: Wire
    writer: asyncio.StreamWriter
    closes: bool = False
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.words = self.manner.words()

    async def say(self, speech: AnswerContent) -> None:
        """All of a speech, and the proper end."""
        if not self.seen.streamed:
            await asyncio.sleep(self.manner.latency)
            await self.whole(200, self.wire.whole(speech))
            return
        await self.start()
        await self.events(self.wire.opening())
        if speech.thought:
            await self.events(self.wire.thought(speech.thought))
        await self.pieces(speech.words)
        if speech.refusal:
            await self.events(self.wire.refusal(speech.refusal))
        if speech.tool is not None:
            await self.events(self.wire.tool(speech.tool))
        await self.events(self.wire.closing(speech.finish))
        await self.events(self.wire.mark())
        await self.stop()

    async def begin(self, words: Iterable[str]) -> None:
        """The head and some words, with more to follow; of a whole answer, its first half."""
        if self.seen.streamed:
            await self.start()
            await self.events(self.wire.opening())
            await self.pieces(words)
        else:
            data = json.dumps(self.wire.whole(AnswerContent(self.words))).encode()
            await self.send(_head(200, "application/json", {"content-length": str(len(data))}) + data[: len(data) // 2])

    async def pieces(self, words: Iterable[str]) -> None:
        """Words at the server's rate."""
        rate = self.manner.rate
        clock = asyncio.get_running_loop().time
        start = clock()
        for index, word in enumerate(words):
            if rate:
                await asyncio.sleep(max(0.0, start + index / rate - clock()))
            await self.events(self.wire.word(word))
            self.seen.written += 1

    async def trouble(self, trouble: ProviderError, **headers: str) -> None:
        """An error object with its status."""
        await self.whole(trouble.status, self.wire.error(trouble), **headers)

    async def whole(self, status: int, body: Any, *, kind: str = "application/json", **headers: str) -> None:
        """A response with a length."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.send(_head(status, kind, {**named, "content-length": str(len(data))}) + data)

    async def start(self, kind: str = "text/event-stream") -> None:
        """The head of a stream, after the latency."""
        await asyncio.sleep(self.manner.latency)
        await self.send(_head(200, kind, {"cache-control": "no-cache", "transfer-encoding": "chunked"}))

    async def events(self, events: Iterable[WireEvent]) -> None:
        """Events of the stream."""
        for event in events:
            await self.chunk(encode_server_event(event))

    async def chunk(self, data: bytes) -> None:
        """One piece of the transfer encoding."""
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def stop(self) -> None:
        """The end of the transfer."""
        await self.send(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        """Write and wait until the kernel has it."""
        self.writer.write(data)
        await self.writer.drain()


def encode_server_event(event: WireEvent) -> bytes:
    """One event as it goes over the wire."""
    name, data = event
    line = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    title = f"event: {name}\n" if name else ""
    return f"{title}data: {line}\n\n".encode()


def _head(status: int, kind: str, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"content-type: {kind}", *(f"{name}: {it}" for name, it in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()
