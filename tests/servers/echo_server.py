"""A chat server that cannot keep a secret: it repeats the headers of its client in every way a server can."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

PIECE = 3
BLOCK = '\n\n```json\n{"position": "A", "confidence": 8, "stand": "A", "error": "", "evidence": []}\n```'


class EchoHandler(BaseHTTPRequestHandler):
    """The model's name chooses the behaviour: echo, error, broken, refuse, cut or slow."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self._said()
        match body["model"]:
            case "error":
                self._whole(401, {"error": {"message": f"Bad key. {text}", "code": f"bad {text}"}})
            case "page":
                self._whole(500, f"upstream said: {text}")
            case "broken":
                self._stream([*_words("Well, ", text[:30]), {"error": {"message": text, "code": 500}}])
            case "refuse":
                self._stream([{"choices": [{"delta": {"refusal": f"I will not. {text}"}, "finish_reason": "stop"}]}])
            case "cut":
                key = self.headers["authorization"]
                self._stream(_words(f"The header is {key}"[: -len(key) // 3]))
            case _:
                end: Any = {"choices": [{"finish_reason": "stop"}]}
                self._stream([*_words(f"I was sent {text}. That is all.{BLOCK}"), end, "[DONE]"])

    def _said(self) -> str:
        """Everything that came in, raw and in each coding that servers use."""
        told = f"{self.headers['authorization']} and {self.headers['x-team']}"
        key = self.headers["authorization"].removeprefix("Bearer ")
        coded = base64.b64encode(f"me:{key}".encode()).decode()
        escaped = json.dumps(key).replace("/", "\\/")
        return f"{told}, as {quote(key, safe='')}, {escaped}, Basic {coded}"

    def _whole(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def _words(*texts: str) -> list[Any]:
    text = "".join(texts)
    pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    return [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]


@contextmanager
def echo_server() -> Generator[str]:
    """Serve on 127.0.0.1; the base URL is given."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), EchoHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
