"""One way to follow a session: first the record, then what is being said right now, then live."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TypeAlias

from roundtable.app.runs.live_socket import listen_to_live_session
from roundtable.core.events import Delta, Recorded, SessionEnded
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Store
from roundtable.engine.feed import Feed

LOOK_SECONDS = 1.0
BACKLOG = 10_000
News: TypeAlias = "asyncio.Queue[Recorded | Delta | RoundtableError]"


async def watch_session(
    store: Store, feed: Feed, socket: Path, session: str, after: int, here: bool = False
) -> AsyncGenerator[Recorded | Delta]:
    """Facts after `after`, and words, until the session ends; the reader may leave at any time."""
    here = here or feed.runs(session)
    following = _here(store, feed, session, after) if here else _elsewhere(store, socket, session, after)
    async with contextlib.aclosing(following):
        async for item in following:
            yield item
            if isinstance(item, Recorded) and isinstance(item.event, SessionEnded):
                return


async def _here(store: Store, feed: Feed, session: str, after: int) -> AsyncGenerator[Recorded | Delta]:
    """The session runs in this process. Listening starts before reading, so nothing falls in between."""
    subscription = feed.subscribe(session)
    try:
        for recorded in await store.read(session, after):
            after = recorded.seq
            yield recorded
        facts = [item for item in subscription.take() if isinstance(item, Recorded)]
        batches = subscription.batches()
        items: Sequence[Recorded | Delta] | None = [*facts, *feed.snapshot(session)]
        while items is not None:
            for item in items:
                if isinstance(item, Delta):
                    yield item
                elif item.seq > after:
                    # What others wrote before the run had read its record is not on the feed: read up to this fact.
                    for recorded in [item] if item.seq == after + 1 else await store.read(session, after):
                        after = recorded.seq
                        yield recorded
            items = await anext(batches, None)
    finally:
        feed.unsubscribe(session, subscription)


async def _elsewhere(store: Store, socket: Path, session: str, after: int) -> AsyncGenerator[Recorded | Delta]:
    """The session runs in another process, or in none: facts from the store, words from the socket."""
    for recorded in await store.read(session, after):
        after = recorded.seq
        yield recorded
    news: News = asyncio.Queue(BACKLOG)
    tasks = (asyncio.create_task(_facts(store, session, after, news)), asyncio.create_task(_words(socket, news)))
    try:
        while True:
            item = await news.get()
            if isinstance(item, RoundtableError):
                raise item
            yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _facts(store: Store, session: str, after: int, news: News) -> None:
    try:
        while True:
            await store.changed(session, after, LOOK_SECONDS)
            for recorded in await store.read(session, after):
                after = recorded.seq
                await news.put(recorded)
    except RoundtableError as error:
        await news.put(error)


async def _words(socket: Path, news: News) -> None:
    """What is being said, whenever some process runs the session; a reader too far behind misses words."""
    while True:
        async for delta in listen_to_live_session(socket):
            if not news.full():
                news.put_nowait(delta)
        await asyncio.sleep(LOOK_SECONDS / 20)
