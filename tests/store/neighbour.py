"""A second process on one record: `python -m tests.store.neighbour PATH VERB …` prints one line of JSON per result."""

from __future__ import annotations

import asyncio
import json
import resource
import sys

from roundtable.core.events import NoteSaid
from roundtable.core.faults import RoundtableError
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.sqlite import SqliteStore
from tests.kits.store_kit import move, open_session, opening


def say(*words: object) -> None:
    print(json.dumps(words), flush=True)


async def note(store: SqliteStore, session: str, count: str) -> None:
    """Write many notes concurrently."""
    notes = await asyncio.gather(*(store.append(session, NoteSaid(f"{n}")) for n in range(int(count))))
    say("noted", [recorded.seq for recorded in notes])


async def hold(store: SqliteStore, session: str) -> None:
    """Acquire the session, wait until a line comes in, then try to write."""
    lease, _ = await store.acquire(session, lease_holder_of_this_process())
    say("holding", lease.token)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        say("wrote", (await store.append(session, move("from the neighbour"), lease)).seq)
    except RoundtableError as error:
        say(type(error).__name__)


async def flood(store: SqliteStore, session: str) -> None:
    """Write without end, and print each fact once it is recorded."""
    lease, _ = await store.acquire(session, lease_holder_of_this_process())

    async def write(writer: int) -> None:
        for n in range(1_000_000):
            text = f"{writer}/{n} " * (1 if n % 5 else 3000)
            say("wrote", (await store.append(session, move(text), lease)).seq)

    await asyncio.gather(*(write(writer) for writer in range(20)))


async def fill(store: SqliteStore, session: str) -> None:
    """Write until the disk is full, then again when there is space."""
    lease = await open_session(store, session)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        while True:
            await store.append(session, move("x" * 8000), lease)
    except RoundtableError as error:
        say(type(error).__name__, error.message, error.help)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    say("wrote", (await store.append(session, move("room again"), lease)).seq)


async def start(store: SqliteStore, session: str) -> None:
    """Open a new session."""
    say("opened", (await store.append(session, opening())).seq)


async def main(path: str, verb: str, *words: str) -> None:
    async with await SqliteStore.open(path) as store:
        await {"note": note, "hold": hold, "flood": flood, "fill": fill, "start": start}[verb](store, *words)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
