"""Standard output that never holds the meeting up: what its reader does not take yet waits here."""

from __future__ import annotations

import asyncio
import os
import select

CHUNK_BYTES = 4096
"""A pipe that says it is ready takes this much without blocking."""


class OutputQueue:
    """Bytes and text to one file descriptor; enough of a text file for Rich to print to."""

    encoding = "utf-8"

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._waiting = bytearray()
        self._ready = select.poll()
        self._ready.register(fd, select.POLLOUT)
        self._draining = asyncio.Lock()

    @property
    def behind(self) -> bool:
        """Whether something still waits for the reader."""
        return bool(self._waiting)

    def put(self, data: bytes) -> None:
        """Hand bytes over now if the reader takes them, else keep them for `drained`."""
        if not self._waiting and len(data) <= CHUNK_BYTES and self._ready.poll(0):
            data = data[self._send(data) :]
        if data:
            self._waiting += data
            self._push()

    def write(self, text: str) -> int:
        """The same for text."""
        self.put(text.encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        """Nothing is held back on purpose."""

    def fileno(self) -> int:
        """The descriptor under it."""
        return self._fd

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return os.isatty(self._fd)

    async def drained(self) -> None:
        """Wait until the reader has taken everything."""
        async with self._draining:  # the loop tells one alone that the descriptor is ready
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
        except BlockingIOError:  # somebody else made our terminal non-blocking
            return 0


async def _writable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(fd, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(fd)
