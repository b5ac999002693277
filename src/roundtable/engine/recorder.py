"""Keeps the minutes: writes facts, takes in what people say from elsewhere, and knows when to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from roundtable.core.events import Event, Recorded
from roundtable.core.ports import Lease, Store
from roundtable.core.session import Session
from roundtable.core.values import Digest
from roundtable.engine.feed import Feed

LISTEN_TIMEOUT = 30.0
MIN_REFRESH_SECONDS = 0.05


class SessionRecorder:
    """One running session: its fold, its lease, and the only place where its facts are written."""

    def __init__(self, session: Session, store: Store, lease: Lease, feed: Feed) -> None:
        self.session = session
        self.feed = feed
        self.texts: dict[Digest, str] = {}
        self._kept: dict[str, Digest] = {}
        self._store = store
        self._lease = lease
        self._news = asyncio.Condition()
        self._deferred: list[Event] = []
        self._looked = time.monotonic()
        self.on_cancel: Callable[[], None] = lambda: None

    async def record(self, *events: Event) -> None:
        """Write facts, all or none; when this returns they are on the record, in the fold and on the feed."""
        deferred, self._deferred = self._deferred, []
        try:
            records = await self._store.append_many(self.session.id, (*deferred, *events), self._lease)
        except Exception:
            self._deferred = deferred + self._deferred
            raise
        if records[0].seq == self.session.seq + 1:
            self._take(records)
        elif records[-1].seq > self.session.seq:
            await self.catch_up()

    def record_with_next(self, event: Event) -> None:
        """Write a fact together with the one that follows from it, in one step."""
        self._deferred.append(event)

    async def catch_up(self) -> None:
        """Take in every fact others have written meanwhile."""
        self._take(await self._store.read(self.session.id, self.session.seq))

    async def drain(self) -> None:
        """Wait until everything handed in so far is written, and take it in: the record is kept in order."""
        await self._store.keep(b"")
        await self.catch_up()

    async def refresh(self) -> None:
        """Catch up, unless a read or a write of ours has just shown that nobody else has spoken."""
        if time.monotonic() - self._looked > MIN_REFRESH_SECONDS:
            await self.catch_up()

    def _take(self, records: list[Recorded]) -> None:
        self._looked = time.monotonic()
        cancelled_before = self.session.cancel is not None
        for recorded in records:
            if recorded.seq == self.session.seq + 1:
                self.session.apply(recorded)
                self.feed.publish(recorded)
        if self.session.cancel is not None and not cancelled_before:
            self.on_cancel()

    async def listen(self) -> None:
        """Hear what people say from other processes, for as long as the run lasts; it has just read the record."""
        await asyncio.sleep(MIN_REFRESH_SECONDS)
        while True:
            if await self._store.changed(self.session.id, self.session.seq, LISTEN_TIMEOUT, self._lease):
                await self.catch_up()
            async with self._news:
                self._news.notify_all()

    async def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait until something holds of the session."""
        if self._deferred:
            await self.record()
        async with self._news:
            await self._news.wait_for(true)

    async def store_text(self, text: str) -> Digest:
        """Store a text once and remember it; nothing to say needs no digest."""
        if text and text not in self._kept:
            self._kept[text] = await self._store.keep(text.encode())
            self.texts[self._kept[text]] = text
        return self._kept.get(text, "")

    async def load_texts(self, digests: set[Digest]) -> None:
        """Have these texts at hand for the prompts."""
        missing = sorted(digests - self.texts.keys())
        blobs = await asyncio.gather(*(self._store.fetch(digest) for digest in missing)) if missing else ()
        self.texts |= {digest: blob.decode(errors="replace") for digest, blob in zip(missing, blobs, strict=True)}
