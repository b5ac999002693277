"""The live feed of this process: facts once they are on the record, words while they are being said."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from roundtable.core.events import Delta, EffectDone, EffectFailed, MoveMade, Recorded, SeatMissed, SessionEnded
from roundtable.core.text.redaction import Redactor

MAX_BACKLOG = 10_000
"""A reader this far behind misses words (the move still comes as a fact), never facts."""


class Subscription:
    """One reader's place at the feed of one session."""

    def __init__(self) -> None:
        self._items: deque[Recorded | Delta] = deque()
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, item: Recorded | Delta) -> None:
        """Hand one item over; called by the feed."""
        if isinstance(item, Delta) and len(self._items) > MAX_BACKLOG:
            return
        self._items.append(item)
        self._ready.set()

    def take(self) -> list[Recorded | Delta]:
        """Everything that has come so far, without waiting."""
        items = list(self._items)
        self._items.clear()
        self._ready.clear()
        return items

    def end(self) -> None:
        """No more will come."""
        self._closed = True
        self._ready.set()

    async def batches(self) -> AsyncIterator[list[Recorded | Delta]]:
        """Wait for items and give out all there are at once, until the run ends."""
        while not (self._closed and not self._items):
            await self._ready.wait()
            if items := self.take():
                yield items
            if self._closed:
                self._ready.set()


class Feed:
    """Who is listening to what in this process; `redactor` knows what nobody may hear."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self.redactor = redactor or Redactor()
        self._readers: dict[str, set[Subscription]] = {}
        self._speaking: dict[str, dict[tuple[str, str], tuple[Delta, list[str]]]] = {}

    def start(self, session: str) -> None:
        """A run of this session begins in this process."""
        self._speaking[session] = {}

    def stop(self, session: str) -> None:
        """The run is over; readers are told."""
        self._speaking.pop(session, None)
        for reader in self._readers.get(session, ()):
            reader.end()

    def runs(self, session: str) -> bool:
        """Whether this process runs the session now."""
        return session in self._speaking

    def subscribe(self, session: str) -> Subscription:
        """Start listening; nothing published from now on is missed."""
        reader = Subscription()
        self._readers.setdefault(session, set()).add(reader)
        return reader

    def unsubscribe(self, session: str, reader: Subscription) -> None:
        """Stop listening."""
        readers = self._readers.get(session)
        if readers is not None:
            readers.discard(reader)
            if not readers:
                del self._readers[session]

    def publish(self, item: Recorded | Delta) -> None:
        """Tell everyone listening to this session."""
        speaking = self._speaking.get(item.session)
        if speaking is not None:
            if isinstance(item, Delta):
                current = speaking.get((item.round, item.seat))
                if current is None or current[0].call != item.call:
                    speaking[item.round, item.seat] = (item, [item.text])
                else:
                    current[1].append(item.text)
            elif isinstance(item.event, MoveMade | SeatMissed):
                speaking.pop((item.event.round, item.event.seat), None)
            elif isinstance(item.event, EffectDone | EffectFailed):
                speaking.pop((item.event.step, ""), None)
            elif isinstance(item.event, SessionEnded):
                speaking.clear()
        for reader in self._readers.get(item.session, ()):
            reader.put(item)

    def snapshot(self, session: str) -> list[Delta]:
        """What is being said right now, from the first word of each turn."""
        return [
            Delta(session, first.round, first.seat, first.call, 0, "".join(pieces))
            for first, pieces in self._speaking.get(session, {}).values()
        ]
