"""A chat server that answers as a function says, for judges who must read what is before them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JudgeServer(ThreadingHTTPServer):
    """Serves on loopback; `asked` is every last message it was sent."""

    daemon_threads = True

    def __init__(self, says: Callable[[str], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.says = says
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, JudgeServer)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt: str = body["messages"][-1]["content"]
        self.server.asked.append(prompt)
        answer = self.server.says(prompt)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        words = {"choices": [{"delta": {"content": answer}}]}
        end = {"choices": [{"finish_reason": "stop"}]}
        for event in (json.dumps(words), json.dumps(end), "[DONE]"):
            self.wfile.write(f"data: {event}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@contextmanager
def judge_server(says: Callable[[str], str]) -> Generator[JudgeServer]:
    """One that serves meanwhile."""
    with JudgeServer(says) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
