"""Every ledger passes the conformance kit, with extra tests for the ledger in a file."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from roundtable.core.events import SessionEnded, SessionForgotten
from roundtable.store.database import MIGRATIONS, migrate_database
from roundtable.store.in_memory import InMemoryStore
from roundtable.store.sqlite import SqliteStore
from tests.kits.ledger_kit import HERE, Books, LedgerKit, decision, error
from tests.kits.store_kit import open_session


class TestSqliteLedger(LedgerKit):
    async def make(self, folder: Path) -> Books:
        return await SqliteStore.open(folder / "roundtable.db")


class TestMemoryLedger(LedgerKit):
    async def make(self, folder: Path) -> Books:
        return InMemoryStore()


async def test_an_older_record_is_upgraded_and_its_sessions_are_unfiled(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        migrate_database(db, MIGRATIONS[:1])
        for session, kind in (("s1", "session.ended"), ("s2", "note.said")):
            row = (session, 1, "2026-11-15T10:00:00.000000Z", 1, kind, "{}", 0)
            db.execute("INSERT INTO events (session, seq, at, v, kind, body, packed) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            listed = (session, "", "api", HERE, "q", "council", "", 0, "2026-11-15T10:00:00.000000Z", "reached")
            db.execute(f"INSERT INTO sessions VALUES ({', '.join('?' * len(listed))})", listed)
    async with await SqliteStore.open(path) as store:
        assert await store.unfiled() == ["s1"]
        assert {row.id: row.forgotten_at for row in await store.sessions(HERE)} == {"s1": "", "s2": ""}
        await store.append("s1", SessionForgotten())
        assert [row.id for row in await store.sessions(HERE)] == ["s2"]


async def test_the_ledger_survives_the_end_of_its_process(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path / "roundtable.db") as store:
        lease = await open_session(store, "s1")
        ended = await store.append("s1", SessionEnded("reached"), lease)
        (filed,) = await store.file("s1", ended.seq, [decision("s1", "Use REST")])
    async with await SqliteStore.open(tmp_path / "roundtable.db") as store:
        assert await store.search("rest", HERE) == [filed]
        assert await store.unfiled() == []
        await store.release(lease)
        assert (await store.remove(["s1"])).sessions == ("s1",)
        assert await store.search("rest", HERE) == [filed], "it outlives its session"


async def test_two_processes_can_file_the_same_sessions_concurrently(tmp_path: Path) -> None:
    path = tmp_path / "roundtable.db"
    async with await SqliteStore.open(path) as one, await SqliteStore.open(path) as other:
        filing = [store.file(f"s{n}", 1, [error(f"s{n}", "boom")]) for n in range(20) for store in (one, other)]
        filed = [entry for (entry,) in await asyncio.gather(*filing)]
        assert filed[::2] == filed[1::2]
        assert {entry.id for entry in filed} == {f"CR-{number:03}" for number in range(1, 21)}
        assert len(await other.entries(HERE)) == 20
