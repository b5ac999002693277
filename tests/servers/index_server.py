"""A real local package index and file server that cuts connections, lies about files, and counts what it served."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass
class IndexServer:
    """Serves `files` at /files/NAME and lists them by project at /simple/PROJECT/."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    html: bool = False
    ranges: bool = True
    cut_after: int = 0
    cuts: int = 0
    delay: threading.Event | None = None
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    served: int = 0
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> IndexServer:
        outer = self

        class Handler(_Handler):
            owner = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def base(self) -> str:
        """Where it is."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def index(self) -> str:
        """The address of the index."""
        return f"{self.base}/simple"


class _Handler(BaseHTTPRequestHandler):
    owner: IndexServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """One request."""
        self.owner.requests.append((self.path, self.headers.get("range", "")))
        if self.path.startswith("/simple/"):
            self._project(self.path.split("/")[2])
        elif self.path.startswith("/moved/"):
            self._reply(302, b"", "text/plain", location=self.path.replace("/moved/", "/files/"))
        elif self.path.removeprefix("/files/") in self.owner.files:
            self._file(self.owner.files[self.path.removeprefix("/files/")])
        else:
            self._reply(404, b"not found", "text/plain")

    def _project(self, project: str) -> None:
        stem = re.sub(r"[-_.]+", "_", project)
        names = [name for name in self.owner.files if name.startswith(f"{stem}-")]
        if not names:
            self._reply(404, b"no such project", "text/plain")
        elif self.owner.html:
            links = "".join(f'<a href="../../files/{name}#sha256=0">{name}</a>' for name in names)
            self._reply(200, f"<html><body>{links}</body></html>".encode(), "text/html")
        else:
            listed = [{"filename": name, "url": f"/files/{name}"} for name in names]
            body = json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": listed}).encode()
            self._reply(200, body, "application/vnd.pypi.simple.v1+json")

    def _file(self, data: bytes) -> None:
        match = re.match(r"bytes=(\d+)-", self.headers.get("range", ""))
        start = int(match.group(1)) if match and self.owner.ranges else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("content-range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("content-length", str(len(data) - start))
        self.end_headers()
        if self.owner.delay is not None:
            self.owner.delay.wait(10)
        rest = data[start:]
        if self.owner.cuts > 0 and len(rest) > self.owner.cut_after:
            self.owner.cuts -= 1
            rest = rest[: self.owner.cut_after]
            self.close_connection = True
        self.owner.served += len(rest)
        self.wfile.write(rest)

    def _reply(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print enough."""
