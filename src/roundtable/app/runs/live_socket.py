"""Streams the text of a running session to other processes of this machine, over a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from roundtable.core.events import Delta, event_from_json, event_to_json
from roundtable.engine.feed import Feed

MAX_LINE_BYTES = 16 * 1024 * 1024
START_DELAY_SECONDS = 0.03
"""The socket is created after the first calls were sent: it takes longer than a call, and there is no text yet."""


class LiveServer:
    """Serves one running session to processes of the same user."""

    def __init__(self, path: Path, session: str, feed: Feed) -> None:
        self._path = path
        self._session = session
        self._feed = feed
        self._server: asyncio.Server | None = None
        self._starting: asyncio.Task[None]
        self._readers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> LiveServer:
        """Start without waiting for the socket: until it exists, readers see the facts in the store."""
        self._starting = asyncio.create_task(self._start())
        return self

    async def _start(self) -> None:
        await asyncio.sleep(START_DELAY_SECONDS)
        with contextlib.suppress(OSError):  # then nobody can listen, but the meeting continues
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.parent.stat().st_uid == os.getuid():
                self._path.unlink(missing_ok=True)
                # There is no await between creating and storing the server, so a cancelled task can still close it.
                self._server = await asyncio.start_unix_server(self._serve, str(self._path), start_serving=False)
                self._path.chmod(0o600)
                await self._server.start_serving()

    async def __aexit__(self, *_: object) -> None:
        self._starting.cancel()
        await asyncio.wait({self._starting})
        if self._server is None:
            return
        self._server.close()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._path.unlink(missing_ok=True)

    async def _serve(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._readers.add(task)
        subscription = self._feed.subscribe(self._session)
        try:
            for delta in self._feed.snapshot(self._session):
                writer.write(event_to_json(delta) + b"\n")
            await writer.drain()
            async for items in subscription.batches():
                writer.writelines([event_to_json(item) + b"\n" for item in items if isinstance(item, Delta)])
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._feed.unsubscribe(self._session, subscription)
            self._readers.discard(task)
            writer.close()


async def listen_to_running_session(path: Path) -> AsyncGenerator[Delta]:
    """Yield the text of a running session, beginning with a snapshot; end when its process ends."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=MAX_LINE_BYTES)
    except OSError:
        return
    try:
        while line := await reader.readline():
            delta = event_from_json(line)
            if isinstance(delta, Delta):
                yield delta
    except (ConnectionError, ValueError):
        return
    finally:
        writer.close()
