"""Follows a session: first its record, then the text that is being written, then live events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TypeAlias

from roundtable.app.runs.live_socket import listen_to_running_session
from roundtable.core.events import Delta, Recorded, SessionEnded
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Store
from roundtable.engine.feed import Feed

POLL_SECONDS = 1.0
MAX_BACKLOG = 10_000
News: TypeAlias = "asyncio.Queue[Recorded | Delta | RoundtableError]"


async def watch_session_run(
    store: Store, feed: Feed, socket: Path, session: str, after: int, here: bool = False
) -> AsyncGenerator[Recorded | Delta]:
    """Yield the facts after a sequence number and the live text, until the session ends or the reader stops."""
    here = here or feed.runs(session)
    following = (
        _watch_in_process(store, feed, session, after) if here else _watch_other_process(store, socket, session, after)
    )
    async with contextlib.aclosing(following):
        async for item in following:
            yield item
            if isinstance(item, Recorded) and isinstance(item.event, SessionEnded):
                return


async def _watch_in_process(store: Store, feed: Feed, session: str, after: int) -> AsyncGenerator[Recorded | Delta]:
    """Watch a session of this process. The subscription starts before the read, so that nothing is missed."""
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
                    # Facts that others wrote before the run read its record are not on the feed: read up to here.
                    for recorded in [item] if item.seq == after + 1 else await store.read(session, after):
                        after = recorded.seq
                        yield recorded
            items = await anext(batches, None)
    finally:
        feed.unsubscribe(session, subscription)


async def _watch_other_process(
    store: Store, socket: Path, session: str, after: int
) -> AsyncGenerator[Recorded | Delta]:
    """Watch a session of another process, or of none: facts come from the store, text from the socket."""
    for recorded in await store.read(session, after):
        after = recorded.seq
        yield recorded
    news: News = asyncio.Queue(MAX_BACKLOG)
    tasks = (
        asyncio.create_task(_read_facts(store, session, after, news)),
        asyncio.create_task(_read_text(socket, news)),
    )
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


async def _read_facts(store: Store, session: str, after: int, news: News) -> None:
    try:
        while True:
            await store.changed(session, after, POLL_SECONDS)
            for recorded in await store.read(session, after):
                after = recorded.seq
                await news.put(recorded)
    except RoundtableError as error:
        await news.put(error)


async def _read_text(socket: Path, news: News) -> None:
    """Read live text while a process runs the session; a reader that is too slow misses text."""
    while True:
        async for delta in listen_to_running_session(socket):
            if not news.full():
                news.put_nowait(delta)
        await asyncio.sleep(POLL_SECONDS / 20)
