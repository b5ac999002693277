"""The recorder of one running session: writes facts, reads what people wrote from other processes, notices a cancel."""

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
        self._digests: dict[str, Digest] = {}
        self._store = store
        self._lease = lease
        self._updated = asyncio.Condition()
        self._deferred: list[Event] = []
        self._refreshed_at = time.monotonic()
        self.on_cancel: Callable[[], None] = lambda: None

    async def record(self, *events: Event) -> None:
        """Write facts, all or none; afterwards they are recorded, folded and published."""
        deferred, self._deferred = self._deferred, []
        try:
            records = await self._store.append_many(self.session.id, (*deferred, *events), self._lease)
        except Exception:
            self._deferred = deferred + self._deferred
            raise
        if records[0].seq == self.session.seq + 1:
            self._apply(records)
        elif records[-1].seq > self.session.seq:
            await self.catch_up()

    def record_with_next(self, event: Event) -> None:
        """Write this fact together with the next one, in one transaction."""
        self._deferred.append(event)

    async def catch_up(self) -> None:
        """Read every fact that others have written meanwhile."""
        self._apply(await self._store.read(self.session.id, self.session.seq))

    async def drain(self) -> None:
        """Wait until everything submitted so far is written, and read it."""
        await self._store.keep(b"")
        await self.catch_up()

    async def refresh(self) -> None:
        """Catch up, unless the record was read or written a moment ago."""
        if time.monotonic() - self._refreshed_at > MIN_REFRESH_SECONDS:
            await self.catch_up()

    def _apply(self, records: list[Recorded]) -> None:
        self._refreshed_at = time.monotonic()
        was_cancelled = self.session.cancel is not None
        for recorded in records:
            if recorded.seq == self.session.seq + 1:
                self.session.apply(recorded)
                self.feed.publish(recorded)
        if self.session.cancel is not None and not was_cancelled:
            self.on_cancel()

    async def listen(self) -> None:
        """Read what people write from other processes, for as long as the run lasts."""
        await asyncio.sleep(MIN_REFRESH_SECONDS)
        while True:
            if await self._store.changed(self.session.id, self.session.seq, LISTEN_TIMEOUT, self._lease):
                await self.catch_up()
            async with self._updated:
                self._updated.notify_all()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition of the session is true."""
        if self._deferred:
            await self.record()
        async with self._updated:
            await self._updated.wait_for(condition)

    async def store_text(self, text: str) -> Digest:
        """Store a text once and return its digest; an empty text has none."""
        if text and text not in self._digests:
            self._digests[text] = await self._store.keep(text.encode())
            self.texts[self._digests[text]] = text
        return self._digests.get(text, "")

    async def load_texts(self, digests: set[Digest]) -> None:
        """Load these texts for the prompts."""
        missing = sorted(digests - self.texts.keys())
        blobs = await asyncio.gather(*(self._store.fetch(digest) for digest in missing)) if missing else ()
        self.texts |= {digest: blob.decode(errors="replace") for digest, blob in zip(missing, blobs, strict=True)}
