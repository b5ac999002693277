"""One answer of the fault server: the HTTP around the events of a dialect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from roundtable.voices.fault_server.wire import AnswerContent, ProviderError, Wire, WireEvent

DEFAULT_ANSWER_TEXT = "The table hears: naïve café, 東京, 🦉 and a plain word."


@dataclass
class AnswerSettings:
    """How the server answers: speed, length, required key, and behaviour."""

    latency: float = 0.0
    """Seconds before the first word."""
    rate: float = 0.0
    """Tokens a second; 0 means without delay."""
    text: str = DEFAULT_ANSWER_TEXT
    tokens: int = 0
    """Tokens of an answer; 0 sends the text once."""
    key: str = ""
    """The only accepted key; without one, every request is accepted."""
    behave: str = ""
    """The behaviour for every request, whatever its model is called."""
    target: str = "written-by-the-model.txt"
    """The file that the behaviour `write` tries to write."""

    def words(self) -> tuple[str, ...]:
        """Return the tokens of a normal answer."""
        words = [word + " " for word in self.text.split(" ")]
        words[-1] = words[-1].rstrip()
        if self.tokens:
            words = [words[index % len(words)] for index in range(self.tokens)]
        return tuple(words)


@dataclass
class ReceivedRequest:
    """One request that the server received."""

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
        """The key of the request, from the header of its dialect."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return bearer or next(
            (self.headers[header] for header in ("x-api-key", "x-goog-api-key") if header in self.headers), ""
        )


@dataclass
class ServerAnswer:
    """One answer in one dialect, streamed or whole as the client asked."""

    manner: AnswerSettings
    seen: ReceivedRequest
    wire: Wire
    writer: asyncio.StreamWriter
    closes: bool = False
    usage_factor: int = 1
    """Factor of all reported counts and costs, to misreport them."""
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.words = self.manner.words()

    async def send_answer(self, speech: AnswerContent) -> None:
        """Send a whole answer with its regular end."""
        if not self.seen.streamed:
            await asyncio.sleep(self.manner.latency)
            await self.send_response(200, self._misreport_usage(self.wire.whole_body(speech)))
            return
        await self.start_stream()
        await self.send_events(self.wire.start_events())
        if speech.thought:
            await self.send_events(self.wire.thought_events(speech.thought))
        await self.send_words(speech.words)
        if speech.refusal:
            await self.send_events(self.wire.refusal_events(speech.refusal))
        if speech.tool is not None:
            await self.send_events(self.wire.tool_events(speech.tool))
        await self.send_events(self.wire.end_events(speech.finish))
        await self.send_events(self.wire.end_mark_events())
        await self.end_stream()

    async def start_answer(self, words: Iterable[str]) -> None:
        """Send the head and some words, with more to follow; of an answer in one piece, its first half."""
        if self.seen.streamed:
            await self.start_stream()
            await self.send_events(self.wire.start_events())
            await self.send_words(words)
        else:
            data = json.dumps(self.wire.whole_body(AnswerContent(self.words))).encode()
            await self.send_bytes(
                _build_head(200, "application/json", {"content-length": str(len(data))}) + data[: len(data) // 2]
            )

    async def send_words(self, words: Iterable[str]) -> None:
        """Send words at the server's rate."""
        rate = self.manner.rate
        clock = asyncio.get_running_loop().time
        start = clock()
        for index, word in enumerate(words):
            if rate:
                await asyncio.sleep(max(0.0, start + index / rate - clock()))
            await self.send_events(self.wire.word_events(word))
            self.seen.written += 1

    async def send_error(self, error: ProviderError, **headers: str) -> None:
        """Send an error object with its status."""
        await self.send_response(error.status, self.wire.error_body(error), **headers)

    async def send_response(self, status: int, body: Any, *, kind: str = "application/json", **headers: str) -> None:
        """Send a response with a length."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.send_bytes(_build_head(status, kind, {**named, "content-length": str(len(data))}) + data)

    async def start_stream(self, kind: str = "text/event-stream") -> None:
        """Send the head of a stream after the latency."""
        await asyncio.sleep(self.manner.latency)
        await self.send_bytes(_build_head(200, kind, {"cache-control": "no-cache", "transfer-encoding": "chunked"}))

    async def send_events(self, events: Iterable[WireEvent]) -> None:
        """Send events of the stream."""
        for name, data in events:
            await self.send_chunk(encode_fault_server_event((name, self._misreport_usage(data))))

    def _misreport_usage(self, data: Any, *, is_usage: bool = False) -> Any:
        """Return the data with every count of its usage multiplied, and with a cost."""
        if self.usage_factor == 1:
            return data
        if isinstance(data, dict):
            fields = cast("dict[str, Any]", data)
            changed = {
                name: self._misreport_usage(value, is_usage=is_usage or name in ("usage", "usageMetadata"))
                for name, value in fields.items()
            }
            return {**changed, "cost": float(self.usage_factor)} if is_usage else changed
        if isinstance(data, int) and is_usage:
            return data * self.usage_factor
        return data

    async def send_chunk(self, data: bytes) -> None:
        """Send one chunk of the transfer encoding."""
        await self.send_bytes(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        """Send the end of the transfer encoding."""
        await self.send_bytes(b"0\r\n\r\n")

    async def send_bytes(self, data: bytes) -> None:
        """Write bytes and wait until the kernel has them."""
        self.writer.write(data)
        await self.writer.drain()


def encode_fault_server_event(event: WireEvent) -> bytes:
    """Encode one event of the fault server as a server-sent event."""
    name, data = event
    line = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    title = f"event: {name}\n" if name else ""
    return f"{title}data: {line}\n\n".encode()


def _build_head(status: int, kind: str, headers: dict[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} Said",
        f"content-type: {kind}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()
