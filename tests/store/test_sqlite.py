"""Tests of the record in a file that several processes share."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.events import NoteSaid, UnknownEvent
from roundtable.core.faults import DamagedRecord, LeaseLost, NotFound, RecordError, RecordTooNew, SessionHeld
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import ContextItem
from roundtable.store.database import APPLICATION_ID, MIGRATIONS, migrate_database
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.sqlite import SqliteStore
from tests.kits.index_kit import gate
from tests.kits.store_kit import HANG, move, open_session, opening, sequence_numbers

REPO = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "roundtable.db"


@pytest.fixture
async def store(path: Path) -> AsyncGenerator[SqliteStore]:
    async with await SqliteStore.open(path) as store:
        yield store


class Neighbour:
    """Another process on one record file."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def read_line(self) -> list[Any]:
        """Return its next output line; empty at the end."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), HANG)
        return json.loads(line) if line.endswith(b"\n") else []

    async def resume(self) -> None:
        """Let it continue."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()

    async def kill(self) -> None:
        """Kill it."""
        self.process.send_signal(signal.SIGKILL)
        assert await self.process.wait() == -signal.SIGKILL


@asynccontextmanager
async def neighbour(path: Path, *words: str) -> AsyncGenerator[Neighbour]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.store.neighbour", str(path), *words,
        cwd=REPO, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Neighbour(process)
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            await asyncio.wait_for(process.wait(), HANG)


def run_query(path: Path, sql: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(sql, values).fetchall()


def read_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:-4096] = os.urandom(len(data) - 12288)
    path.write_bytes(data)


# --- several processes -------------------------------------------------------------------------


async def test_concurrent_processes_write_without_gaps(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    async with neighbour(path, "note", "s1", "300") as one, neighbour(path, "note", "s1", "300") as other:
        here = await asyncio.gather(*(store.append("s1", NoteSaid(f"here {n}")) for n in range(300)))
        there = [(await process.read_line())[1] for process in (one, other)]
    assert sorted([1, *sequence_numbers(here), *there[0], *there[1]]) == list(range(1, 902))
    assert sequence_numbers(await store.read("s1")) == list(range(1, 902))
    assert run_query(path, "SELECT last_seq FROM listed") == [(901,)]


async def test_concurrent_processes_can_create_the_record_file(path: Path) -> None:
    async with (
        neighbour(path, "start", "a") as a,
        neighbour(path, "start", "b") as b,
        neighbour(path, "start", "c") as c,
    ):
        assert [await process.read_line() for process in (a, b, c)] == [["opened", 1]] * 3


@pytest.mark.feature("S1.106")
async def test_facts_of_another_process_wake_waiting_readers(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    waiting = [asyncio.ensure_future(store.changed("s1", 1, HANG)) for _ in range(3)]
    async with neighbour(path, "note", "s1", "1") as process:
        assert await process.read_line() == ["noted", [2]]
        assert await asyncio.gather(*waiting) == [True] * 3
    assert sequence_numbers(await store.read("s1", 1)) == [2]


async def test_a_live_process_keeps_its_lease_until_it_is_killed(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    async with neighbour(path, "hold", "s1") as process:
        assert await process.read_line() == ["holding", 1]
        with pytest.raises(SessionHeld, match=str(process.process.pid)):
            await store.acquire("s1", lease_holder_of_this_process())
        await process.kill()
        assert await store.holder("s1") is None
        assert (await store.acquire("s1", lease_holder_of_this_process()))[0].token == 2


async def test_a_process_that_lost_its_lease_cannot_write(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        await store.append("s1", opening())
        async with neighbour(path, "hold", "s1") as process:
            assert await process.read_line() == ["holding", 1]
            run_query(path, "UPDATE leases SET expires_uptime = 1")  # as if it had not been renewed in time
            lease, _ = await store.acquire("s1", lease_holder_of_this_process())
            await process.resume()
            assert await process.read_line() == ["LeaseLost"]
        await store.append("s1", move("ours"), lease)
        assert sequence_numbers(await store.read("s1")) == [1, 2]


async def test_a_clock_that_is_set_forward_takes_no_session_from_a_live_process(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        await store.append("s1", opening())
        async with neighbour(path, "hold", "s1") as process:
            assert await process.read_line() == ["holding", 1]
            run_query(path, "UPDATE leases SET expires = 0")  # as if the clock were set forward by a day
            with pytest.raises(SessionHeld):
                await store.acquire("s1", lease_holder_of_this_process())
            assert await store.holder("s1")


async def test_a_holder_on_another_machine_is_judged_by_the_clock(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        await store.append("s1", opening())
        await store.acquire("s1", "elsewhere:7:1:another-boot")
        with pytest.raises(SessionHeld, match="process 7 on elsewhere"):
            await store.acquire("s1", lease_holder_of_this_process())
        run_query(path, "UPDATE leases SET expires = 0")
        assert (await store.acquire("s1", lease_holder_of_this_process()))[0].token == 2


async def test_a_killed_process_loses_no_confirmed_fact(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        await store.append("s1", opening())
    confirmed = 0
    for _ in range(2):
        async with neighbour(path, "flood", "s1") as process:
            for _ in range(400):
                confirmed = max(confirmed, (await process.read_line())[1])
            await process.kill()
    assert run_query(path, "PRAGMA integrity_check") == [("ok",)]
    async with await SqliteStore.open(path) as store:
        records = await store.read("s1")
        assert sequence_numbers(records) == list(range(1, len(records) + 1))
        assert len(records) >= confirmed > 400
        lease, _ = await store.acquire("s1", lease_holder_of_this_process())
        assert (await store.append("s1", move("resumed"), lease)).seq == len(records) + 1


# --- what is on the disk -----------------------------------------------------------------------


async def test_only_the_owner_can_read_the_record_file(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"roundtable.db": 0o600, "roundtable.db-shm": 0o600, "roundtable.db-wal": 0o600}


async def test_secrets_never_reach_the_disk(path: Path) -> None:
    secret, shape = "correct-horse-battery-staple", "ghp_" + "a1B2" * 9
    async with await SqliteStore.open(path, Redactor([secret])) as store:
        lease = await open_session(store, "s1", question=f"{secret}?", name=secret)
        for text in (f"{secret} {shape}", f"{shape}\n{secret} " * 1000):
            await store.append("s1", move(text), lease)
        await store.append("s1", UnknownEvent("x.y", {secret: [shape]}), lease)
        assert b"redacted" in read_disk(path)
        assert secret.encode() not in read_disk(path)
        assert shape.encode() not in read_disk(path)
    assert secret.encode() not in read_disk(path)


async def test_a_long_text_is_stored_once(store: SqliteStore, path: Path) -> None:
    text = "long " * 5000
    lease = await open_session(store, "s1")
    for _ in range(3):
        await store.append("s1", move(text), lease)
    await store.keep(text.encode())
    await store.append("s1", move("short"), lease)
    assert run_query(path, "SELECT count(*), max(length(data)) FROM blobs") == [(1, 25_000)]
    assert run_query(path, "SELECT max(length(body)) < 300 FROM events WHERE kind = 'move.made'") == [(1,)]
    assert [packed for (packed,) in run_query(path, "SELECT packed FROM events ORDER BY pos")] == [0, 1, 1, 1, 0]


async def test_closing_the_store_writes_pending_facts(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.append("s1", opening())
    waiting = asyncio.ensure_future(store.changed("s1", 500, HANG))
    tasks = [asyncio.ensure_future(store.append("s1", NoteSaid(str(n)))) for n in range(100)]
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert sequence_numbers(await asyncio.gather(*tasks)) == list(range(2, 102))
    for attempt in (waiting, store.append("s1", NoteSaid("late")), store.read("s1")):
        with pytest.raises(RecordError, match="closed"):
            await attempt
    assert run_query(path, "SELECT count(*) FROM events") == [(101,)]


async def test_two_stores_in_one_process_see_each_other(store: SqliteStore, path: Path) -> None:
    async with await SqliteStore.open(path) as other:
        await store.append("s1", opening())
        waiting = asyncio.ensure_future(other.changed("s1", 1, HANG))
        await store.append("s1", NoteSaid("hello"))
        assert await waiting
        assert await other.read("s1") == await store.read("s1")


def test_one_store_serves_several_event_loops(path: Path) -> None:
    async def start() -> SqliteStore:
        store = await SqliteStore.open(path)
        await store.append("s1", opening())
        abandoned = asyncio.ensure_future(store.changed("s1", 1, HANG))
        await asyncio.sleep(0)
        abandoned.cancel()
        return store

    async def finish(store: SqliteStore) -> None:
        assert (await store.append("s1", NoteSaid("from another loop"))).seq == 2
        await store.close()

    store = asyncio.run(start())
    asyncio.run(finish(store))


# --- files that cannot be used -----------------------------------------------------------------


async def test_a_fact_of_a_newer_version_is_refused(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    run_query(path, "UPDATE events SET v = 99")
    with pytest.raises(RecordTooNew, match="99"):
        await store.read("s1")


async def test_an_unknown_kind_of_fact_from_another_process_is_kept(store: SqliteStore, path: Path) -> None:
    await store.append("s1", opening())
    body = '{"kind":"table.polished","shine":3}'
    run_query(
        path, "INSERT INTO events (session, seq, at, v, kind, body, packed) VALUES (?, 2, '', 1, '', ?, 0)", "s1", body
    )
    assert (await store.read("s1", 1))[0].event == UnknownEvent("table.polished", {"shine": 3})
    assert (await store.append("s1", NoteSaid("next"))).seq == 3


@pytest.mark.parametrize("body", ["{", '{"kind":"move.made"}', "[]", "\udcff"])
async def test_an_unreadable_fact_is_reported(store: SqliteStore, path: Path, body: str) -> None:
    await store.append("s1", opening())
    run_query(path, "UPDATE events SET body = CAST(? AS TEXT)", body.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError):
        await store.read("s1")


async def test_one_damaged_fact_harms_one_session(store: SqliteStore, path: Path) -> None:
    for session in ("s1", "s2", "s3"):
        await store.append(session, opening(), None)
        await store.append(session, NoteSaid(f"hello {session}"))
    run_query(path, "UPDATE events SET body = '{oops' WHERE session = 's2' AND seq = 1")
    run_query(path, "UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE session = 's3' AND seq = 2")
    for session in ("s2", "s3"):
        with pytest.raises(DamagedRecord, match=f"of session {session} is damaged"):
            await store.read(session)
    assert [fact.seq for fact in await store.read("s1")] == [1, 2]
    assert [(fact.session, fact.seq) for _, fact in await store.facts()] == [("s1", 1), ("s1", 2), ("s2", 2), ("s3", 1)]
    assert [(fact.session, fact.seq) for _, fact in await store.facts(2, 1)] == [("s2", 2)]
    assert [(fact.session, fact.seq) for fact in await store.damaged()] == [("s2", 1), ("s3", 2)]
    opened, note = await store.recover("s2")
    assert isinstance(opened.event, UnknownEvent)
    assert opened.event.kind_name == "damaged"
    assert note.event == NoteSaid("hello s2")
    assert {row.id for row in await store.sessions()} == {"s1", "s2", "s3"}


async def test_a_damaged_file_of_a_session_is_found(store: SqliteStore, path: Path) -> None:
    digest = await store.keep(b"as it was")
    await store.append("s1", opening(context=(ContextItem("notes.md", digest, 9),)))
    assert await store.damaged() == []
    run_query(path, "UPDATE blobs SET data = ?", b"as it is not")
    (fact,) = await store.damaged()
    assert (fact.session, fact.seq) == ("s1", 1)
    assert digest in fact.problem


async def test_a_damaged_blob_is_reported(store: SqliteStore, path: Path) -> None:
    digest = await store.keep(b"as it was")
    run_query(path, "UPDATE blobs SET data = ?", b"as it is not")
    async with await SqliteStore.open(path) as later:
        with pytest.raises(RecordError, match="damaged"):
            await later.fetch(digest)


async def test_a_missing_long_text_is_a_record_error(store: SqliteStore, path: Path) -> None:
    lease = await open_session(store, "s1")
    await store.append("s1", move("x" * 9000), lease)
    run_query(path, "DELETE FROM blobs")
    with pytest.raises(RecordError) as refused:
        await store.read("s1")
    assert not isinstance(refused.value, NotFound | LeaseLost)


async def test_tables_of_a_newer_version_are_refused(store: SqliteStore, path: Path) -> None:
    await store.close()
    run_query(path, "PRAGMA user_version = 99")
    with pytest.raises(RecordTooNew, match="version 99"):
        await SqliteStore.open(path)


async def test_a_file_that_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(RecordError, match="is not a database") as refused:
        await SqliteStore.open(path)
    assert refused.value.help
    assert path.read_text() == "Dear diary, " * 100


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    run_query(path, "CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(RecordError, match="another program"):
        await SqliteStore.open(path)
    assert path.read_bytes() == before


async def test_a_damaged_record_file_is_reported_in_one_sentence(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        lease = await open_session(store, "s1")
        await store.append_many("s1", [move("x" * 3000) for _ in range(100)], lease)
    damage(path)
    with pytest.raises(RecordError, match="damaged"):
        async with await SqliteStore.open(path) as store:
            await store.read("s1")


def replace_file(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """Change the content of a file; returns what it was."""
    before = path.read_bytes()
    path.write_bytes(change(before))
    return before


async def test_a_truncated_record_is_refused_and_not_written_to(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        lease = await open_session(store, "s1")
        await store.append_many("s1", [move("x" * 3000) for _ in range(100)], lease)
    whole = replace_file(path, lambda whole: whole[: len(whole) // 2])
    with pytest.raises(RecordError, match="is truncated") as refused:
        await SqliteStore.open(path)
    assert refused.value.help
    assert replace_file(path, lambda left: whole) == whole[: len(whole) // 2]
    async with await SqliteStore.open(path) as store:
        assert len(await store.read("s1")) == 101


async def test_an_impossible_record_path_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "roundtable.db"):
        with pytest.raises(RecordError, match="cannot be opened"):
            await SqliteStore.open(path)


async def test_a_locked_record_file_is_reported_in_one_sentence_and_works_again(path: Path) -> None:
    async with await SqliteStore.open(path, busy_seconds=0.05) as store:
        await store.append("s1", opening())
        with closing(sqlite3.connect(path, isolation_level=None)) as rude:
            rude.execute("BEGIN EXCLUSIVE")
            with pytest.raises(RecordError, match="locked by another process"):
                await store.append("s1", NoteSaid("not now"))
            rude.rollback()
        assert (await store.append("s1", NoteSaid("now"))).seq == 2


async def test_a_full_disk_is_reported_in_one_sentence_and_the_record_works_again(path: Path) -> None:
    async with neighbour(path, "fill", "s1") as process:
        name, message, help = await process.read_line()
        assert (name, bool(message and help)) == ("RecordError", True)
        _, seq = await process.read_line()
    assert run_query(path, "PRAGMA integrity_check") == [("ok",)]
    async with await SqliteStore.open(path) as store:
        assert sequence_numbers(await store.read("s1")) == list(range(1, seq + 1))


# --- migrations --------------------------------------------------------------------------------


def test_an_older_database_is_migrated_and_keeps_its_facts(tmp_path: Path) -> None:
    later = (*MIGRATIONS, ("ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT ''", "CREATE TABLE extra (a)"))
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as db:
        migrate_database(db)
        db.execute("INSERT INTO blobs VALUES ('sha256:x', 'kept')")
        migrate_database(db, later)
        migrate_database(db, later)
        assert db.execute("PRAGMA user_version").fetchone() == (len(later),)
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert db.execute("SELECT data FROM blobs").fetchone() == ("kept",)
        with pytest.raises(RecordTooNew):
            migrate_database(db)


async def test_an_older_database_gets_its_index_of_owners_and_open_gates(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    async with await SqliteStore.open(path) as store:
        lease = await open_session(store, "s1", owner="ada")
        await store.append("s1", gate("decide"), lease)
        await open_session(store, "s2")
        before = await store.sessions(), await store.open_gates()
    run_query(path, "UPDATE events SET v = 99 WHERE session = 's2'")
    for statement in (
        "DROP TABLE gates",
        "DROP TABLE changes",
        "DROP INDEX sessions_by_parent",
        "ALTER TABLE sessions DROP COLUMN owner",
        "ALTER TABLE sessions DROP COLUMN applies",
        "ALTER TABLE leases DROP COLUMN expires_uptime",
    ):
        run_query(path, statement)
    run_query(path, "PRAGMA user_version = 3")
    async with await SqliteStore.open(path) as store:
        assert (await store.sessions(), await store.open_gates()) == before, "an unreadable session stays listed"
        assert [row.owner for row in await store.sessions()] == ["", "ada"]


def test_a_failed_migration_leaves_the_database_unchanged(tmp_path: Path) -> None:
    broken = (*MIGRATIONS, ("CREATE TABLE extra (a)", "CREATE TABLE extra (a)"))
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as db:
        migrate_database(db)
        with pytest.raises(sqlite3.OperationalError):
            migrate_database(db, broken)
        migrate_database(db)
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").fetchone() == (0,)
