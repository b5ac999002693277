"""Keeps the minutes: writes facts, takes in what people say from elsewhere, and knows when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from roundtable.core.events import Event, Recorded
from roundtable.core.ports import Lease, Store
from roundtable.core.session import Session
from roundtable.core.values import Digest
from roundtable.engine.feed import Feed

LISTEN_SECONDS = 30.0


class Clerk:
    """One running session: its fold, its lease, and the only place where its facts are written."""

    def __init__(self, session: Session, store: Store, lease: Lease, feed: Feed) -> None:
        self.session = session
        self.feed = feed
        self.texts: dict[Digest, str] = {}
        self._store = store
        self._lease = lease
        self._news = asyncio.Condition()
        self.on_cancel: Callable[[], None] = lambda: None

    async def record(self, event: Event) -> Recorded:
        """Write one fact; when this returns it is on disk, in the fold and on the feed."""
        recorded = await self._store.append(self.session.id, event, self._lease)
        if recorded.seq == self.session.seq + 1:
            self._take([recorded])
        elif recorded.seq > self.session.seq:
            await self.catch_up()
        return recorded

    async def catch_up(self) -> None:
        """Take in every fact others have written meanwhile."""
        self._take(await self._store.read(self.session.id, self.session.seq))

    def _take(self, records: list[Recorded]) -> None:
        cancelled_before = self.session.cancel is not None
        for recorded in records:
            if recorded.seq == self.session.seq + 1:
                self.session.apply(recorded)
                self.feed.publish(recorded)
        if self.session.cancel is not None and not cancelled_before:
            self.on_cancel()

    async def listen(self) -> None:
        """Hear what people say from other processes, for as long as the run lasts."""
        while True:
            if await self._store.changed(self.session.id, self.session.seq, LISTEN_SECONDS):
                await self.catch_up()
            async with self._news:
                self._news.notify_all()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something holds of the session."""
        async with self._news:
            await self._news.wait_for(true)

    async def keep(self, text: str) -> Digest:
        """Store a text once and remember it."""
        digest = await self._store.keep(text.encode())
        self.texts[digest] = text
        return digest

    async def load(self, digests: set[Digest]) -> None:
        """Have these texts at hand for the prompts."""
        for digest in digests - self.texts.keys():
            self.texts[digest] = (await self._store.fetch(digest)).decode(errors="replace")
