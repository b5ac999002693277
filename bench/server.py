"""A small, fast server of the OpenAI chat dialect that notes when a model would have been busy.

What it does is in the model's name: `session` answers in 200 ms altogether, streamed in ten pieces or whole;
`paced-N` streams N tokens at 50 a second. `GET /calls` hands out what was noted and forgets it. As a script it
prints its port as one line and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, cast

BUSY_SECONDS = 0.2
TOKENS_PER_SECOND = 50.0
ANSWER_PIECES = (
    "REST, because every client we have speaks it already. ",
    "GraphQL would let them ask for exactly what they need, ",
    "but the five screens we know ask for the same few things, ",
    "and a cache in front of plain URLs is worth more to us. ",
    "What would change my mind: a second team with its own app, ",
    "or a measurement that shows round trips to be the problem. ",
    "I am sure about the cache and the tools; ",
    "I am not sure how the traffic will grow. ",
    "Start with REST, keep the read side thin, ",
    "and decide again when the numbers are in.",
)
TOKEN = "token "

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_STREAM_END = b"0\r\n\r\n"


class Call:
    """One answer: what was asked, and from when to when the model was busy with it."""

    def __init__(self, body: dict[str, Any], size: int, began: float) -> None:
        self.model = str(body.get("model", ""))
        self.streamed = bool(body.get("stream"))
        options: dict[str, Any] = body.get("stream_options") or {}
        self.wants_usage = bool(options.get("include_usage"))
        self.prompt_bytes = prompt_bytes(body)
        self.body_bytes = size
        self.began = began
        self.ended = 0.0

    def noted(self) -> dict[str, Any]:
        """The call as a line of the notes."""
        return {
            "began": self.began,
            "ended": self.ended,
            "prompt_bytes": self.prompt_bytes,
            "body_bytes": self.body_bytes,
            "streamed": self.streamed,
        }


class Connection(asyncio.Protocol):
    """One kept-alive connection; requests are answered one after the other."""

    def __init__(self, notes: list[Call]) -> None:
        self._notes = notes
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop in mid-sentence when nobody listens."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and answer once the request is whole; the model is busy from the first byte on."""
        if not self._buffer:
            self._began = time.monotonic()
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < _length(head):
            return
        self._buffer = b""
        if head.startswith(b"GET"):
            self._whole([call.noted() for call in self._notes])
            self._notes.clear()
        else:
            self._answer(Call(json.loads(body), len(body), self._began))

    def _answer(self, call: Call) -> None:
        if not call.streamed:
            self._at(call.began + BUSY_SECONDS, lambda: self._finish_whole(call))
        elif call.model.startswith("paced-"):
            words = [TOKEN] * int(call.model.removeprefix("paced-"))
            self._stream(call, words, 1 / TOKENS_PER_SECOND)
        else:
            self._stream(call, list(ANSWER_PIECES), BUSY_SECONDS / len(ANSWER_PIECES))

    def _stream(self, call: Call, words: list[str], step: float) -> None:
        """Send one piece every `step` seconds; the last one takes the end of the stream along."""
        pieces = [event(call.model, {"content": word}) for word in words]
        pieces[0] = event(call.model, {"role": "assistant", "content": ""}) + pieces[0]
        pieces[-1] += ending(call, len(words))
        self._write(_STREAM_HEAD)
        self._next(call, pieces, 0, step)

    def _next(self, call: Call, pieces: list[bytes], index: int, step: float) -> None:
        if index:
            self._write(pieces[index - 1])
        if index == len(pieces):
            self._note(call)
        else:
            self._at(call.began + (index + 1) * step, lambda: self._next(call, pieces, index + 1, step))

    def _finish_whole(self, call: Call) -> None:
        message = {"role": "assistant", "content": "".join(ANSWER_PIECES)}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        whole = {**frame(call.model, "chat.completion"), "choices": [choice], "usage": usage(call, len(ANSWER_PIECES))}
        self._whole(whole)
        self._note(call)

    def _note(self, call: Call) -> None:
        call.ended = time.monotonic()
        self._notes.append(call)

    def _whole(self, value: Any) -> None:
        data = json.dumps(value).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        self._write(head.encode() + data)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _at(self, moment: float, act: Any) -> None:
        if self._transport is not None:
            self._timer = asyncio.get_running_loop().call_at(moment, act)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def prompt_bytes(body: dict[str, Any]) -> int:
    """The bytes of everything the model is given to read."""
    return sum(len(_content(message.get("content")).encode()) for message in body.get("messages", []))


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in cast("list[dict[str, Any]]", content))
    return content or ""


def frame(model: str, kind: str) -> dict[str, Any]:
    """What real servers put around every answer."""
    return {"id": "chatcmpl-1", "object": kind, "created": 1789500000, "model": model, "system_fingerprint": "fp_1"}


def event(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of a stream, as one piece of the transfer."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _piece({**frame(model, "chat.completion.chunk"), "choices": [choice]})


def _piece(value: dict[str, Any] | str) -> bytes:
    line = value if isinstance(value, str) else json.dumps(value)
    data = f"data: {line}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def usage(call: Call, tokens: int) -> dict[str, Any]:
    """What the call used."""
    prompt_tokens = call.prompt_bytes // 4
    return {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}


def ending(call: Call, tokens: int) -> bytes:
    """Everything after the last word."""
    used: dict[str, Any] = {**frame(call.model, "chat.completion.chunk"), "choices": [], "usage": usage(call, tokens)}
    last = _piece(used) if call.wants_usage else b""
    return event(call.model, {}, "stop") + last + _piece("[DONE]") + _STREAM_END


async def serve() -> None:
    """Serve until standard input is closed."""
    loop = asyncio.get_running_loop()
    notes: list[Call] = []
    server = await loop.create_server(lambda: Connection(notes), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
