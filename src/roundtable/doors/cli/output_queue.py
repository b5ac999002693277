"""A queue for standard output, so that a slow reader never blocks a running meeting."""

from __future__ import annotations

import asyncio
import os
import select

CHUNK_BYTES = 4096
"""A pipe that is ready for writing accepts this many bytes without blocking."""


class OutputQueue:
    """Queue bytes and text for a file descriptor; acts as a text file that Rich can print to."""

    encoding = "utf-8"

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._waiting = bytearray()
        self._ready = select.poll()
        self._ready.register(fd, select.POLLOUT)
        self._draining = asyncio.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether output is still queued."""
        return bool(self._waiting)

    def put(self, data: bytes) -> None:
        """Write bytes at once if the reader accepts them, and queue the rest for `drained`."""
        if not self._waiting and len(data) <= CHUNK_BYTES and self._ready.poll(0):
            data = data[self._send(data) :]
        if data:
            self._waiting += data
            self._push()

    def write(self, text: str) -> int:
        """Write or queue text."""
        self.put(text.encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing: output is written as soon as the reader accepts it."""

    def fileno(self) -> int:
        """The file descriptor."""
        return self._fd

    def isatty(self) -> bool:
        """Whether the output is a terminal."""
        return os.isatty(self._fd)

    async def wait_until_drained(self) -> None:
        """Wait until all output is written."""
        async with self._draining:  # an event loop accepts only one writer per descriptor
            while self._push():
                await _writable(self._fd)

    def _push(self) -> bool:
        while self._waiting and self._ready.poll(0):
            sent = self._send(bytes(self._waiting[:CHUNK_BYTES]))
            if not sent:
                break
            del self._waiting[:sent]
        return bool(self._waiting)

    def _send(self, data: bytes) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:  # another process made the terminal non-blocking
            return 0


async def _writable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(fd, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(fd)
