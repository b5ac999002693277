"""The live feed of this process: facts once they are recorded, and text while it is being written."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from roundtable.core.events import Delta, EffectDone, EffectFailed, MoveMade, Recorded, SeatMissed, SessionEnded
from roundtable.core.text.redaction import Redactor

MAX_BACKLOG = 10_000
"""A reader this far behind loses text (the whole move still comes as a fact), but never facts."""


class Subscription:
    """One reader of the feed of one session."""

    def __init__(self) -> None:
        self._items: deque[Recorded | Delta] = deque()
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, item: Recorded | Delta) -> None:
        """Add an item; called by the feed."""
        if isinstance(item, Delta) and len(self._items) > MAX_BACKLOG:
            return
        self._items.append(item)
        self._ready.set()

    def take(self) -> list[Recorded | Delta]:
        """Everything that has arrived, without waiting."""
        items = list(self._items)
        self._items.clear()
        self._ready.clear()
        return items

    def end(self) -> None:
        """Close the subscription: no more items will come."""
        self._closed = True
        self._ready.set()

    async def batches(self) -> AsyncIterator[list[Recorded | Delta]]:
        """Wait for items and yield all that have arrived at once, until the run ends."""
        while not (self._closed and not self._items):
            await self._ready.wait()
            if items := self.take():
                yield items
            if self._closed:
                self._ready.set()


class Feed:
    """The subscriptions of this process, and the text of turns in progress; `redactor` knows the secrets to hide."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self.redactor = redactor or Redactor()
        self._readers: dict[str, set[Subscription]] = {}
        self._turns_in_progress: dict[str, dict[tuple[str, str], tuple[Delta, list[str]]]] = {}

    def start(self, session: str) -> None:
        """A run of this session begins in this process."""
        self._turns_in_progress[session] = {}

    def stop(self, session: str) -> None:
        """The run has ended; its readers are closed."""
        self._turns_in_progress.pop(session, None)
        for reader in self._readers.get(session, ()):
            reader.end()

    def runs(self, session: str) -> bool:
        """Whether this process runs the session."""
        return session in self._turns_in_progress

    def subscribe(self, session: str) -> Subscription:
        """Subscribe to a session; everything published from now on is delivered."""
        reader = Subscription()
        self._readers.setdefault(session, set()).add(reader)
        return reader

    def unsubscribe(self, session: str, reader: Subscription) -> None:
        """End a subscription."""
        readers = self._readers.get(session)
        if readers is not None:
            readers.discard(reader)
            if not readers:
                del self._readers[session]

    def publish(self, item: Recorded | Delta) -> None:
        """Deliver an item to every reader of its session."""
        in_progress = self._turns_in_progress.get(item.session)
        if in_progress is not None:
            if isinstance(item, Delta):
                current = in_progress.get((item.round, item.seat))
                if current is None or current[0].call != item.call:
                    in_progress[item.round, item.seat] = (item, [item.text])
                else:
                    current[1].append(item.text)
            elif isinstance(item.event, MoveMade | SeatMissed):
                in_progress.pop((item.event.round, item.event.seat), None)
            elif isinstance(item.event, EffectDone | EffectFailed):
                in_progress.pop((item.event.step, ""), None)
            elif isinstance(item.event, SessionEnded):
                in_progress.clear()
        for reader in self._readers.get(item.session, ()):
            reader.put(item)

    def snapshot(self, session: str) -> list[Delta]:
        """The text of every turn in progress, from its first word."""
        return [
            Delta(session, first.round, first.seat, first.call, 0, "".join(pieces))
            for first, pieces in self._turns_in_progress.get(session, {}).values()
        ]
