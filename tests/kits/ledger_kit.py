"""The conformance kit for ledgers. An implementation joins by subclassing `LedgerKit`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from roundtable.core.events import EntryWritten, NoteSaid, SessionEnded
from roundtable.core.ledger import Entry, EntryKind, EntryState
from roundtable.core.ports import Ledger
from tests.kits.store_kit import Record, open_session, opening

HERE, ELSEWHERE = "/w", "/elsewhere"


class Books(Record, Ledger, Protocol):
    """A record with a ledger."""


def decision(session: str, text: str, **more: Any) -> Entry:
    """Return the decision of a session as a ledger entry."""
    fields: dict[str, Any] = {"workspace": HERE, "at": "2026-11-15T10:00:00.000000Z", "state": "reached", **more}
    return Entry(f"D-{session}", EntryKind.DECISION, text, session=session, **fields)


def error(session: str, text: str, **fields: Any) -> Entry:
    """Return an error that a session diagnosed, without a number."""
    return msgspec.structs.replace(
        decision(session, text, **fields), id="", kind=EntryKind.ERROR, state=EntryState.LOGGED
    )


class LedgerKit(ABC):
    """The contract of the port Ledger."""

    @abstractmethod
    async def make(self, folder: Path) -> Books:
        """Return a new ledger; the kit closes it."""

    @pytest.fixture
    async def books(self, tmp_path: Path) -> Any:
        books = await self.make(tmp_path)
        yield books
        await books.close()

    async def test_a_session_is_unfiled_once_it_has_ended_or_received_an_entry(self, books: Books) -> None:
        lease = await open_session(books, "s1")
        await books.append("s2", opening())
        await books.append("s1", NoteSaid("not yet"))
        assert await books.unfiled() == []
        ended = await books.append("s1", SessionEnded("reached"), lease)
        await books.append("s2", EntryWritten(decision("s2", "Use REST")))
        assert await books.unfiled() == ["s2", "s1"], "newest first"
        await books.file("s1", ended.seq - 1, [])
        assert await books.unfiled() == ["s2", "s1"], "what was filed before its end is not filed"
        await books.file("s1", ended.seq, [])
        await books.file("s2", 2, [decision("s2", "Use REST")])
        assert await books.unfiled() == []
        await books.append("s2", EntryWritten(decision("s2", "Use GraphQL")))
        assert await books.unfiled() == ["s2"]

    async def test_filing_a_session_twice_has_no_further_effect(self, books: Books) -> None:
        entries = [decision("s1", "Use REST"), error("s1", "stale token")]
        first = await books.file("s1", 9, entries)
        assert await books.file("s1", 9, entries) == first
        assert await books.entries(HERE) == list(reversed(first))
        assert [entry.id for entry in first] == ["D-s1", "CR-001"]
        assert len(await books.search("rest token", HERE)) == 2

    async def test_errors_are_numbered_per_workspace_and_keep_their_number(self, books: Books) -> None:
        for number in range(3):
            await books.file(f"s{number}", 1, [error(f"s{number}", "boom")])
        (other,) = await books.file("t", 1, [error("t", "boom", workspace=ELSEWHERE)])
        assert other.id == "CR-001"
        (again,) = await books.file("s1", 5, [error("s1", "boom, understood")])
        assert (again.id, again.text) == ("CR-002", "boom, understood")
        assert {entry.id for entry in await books.entries(HERE)} == {"CR-001", "CR-002", "CR-003"}

    async def test_concurrent_filing_gives_each_error_one_number(self, books: Books) -> None:
        sessions = [f"s{number}" for number in range(20)] * 3
        filed = await asyncio.gather(*(books.file(session, 1, [error(session, "boom")]) for session in sessions))
        numbers = {session: entry.id for session, (entry,) in zip(sessions, filed, strict=True)}
        assert sorted(numbers.values()) == [f"CR-{number:03}" for number in range(1, 21)]
        assert len(await books.entries(HERE)) == 20

    async def test_a_taken_entry_id_gets_a_number_as_suffix(self, books: Books) -> None:
        await books.file("s1", 1, [decision("s1", "Use REST")])
        twin = msgspec.structs.replace(decision("s2", "Use GraphQL"), id="D-s1")
        (filed,) = await books.file("s2", 1, [twin])
        assert filed.id == "D-s1-2"
        assert await books.file("s2", 2, [twin]) == [filed]
        assert {entry.text for entry in await books.entries(HERE)} == {"Use REST", "Use GraphQL"}

    async def test_filing_a_session_again_does_not_undo_a_persons_entry(self, books: Books) -> None:
        (filed,) = await books.file("s1", 3, [error("s1", "stale token")])
        closed = msgspec.structs.replace(filed, state=EntryState.CLOSED)
        await books.file("notebook", 2, [closed])
        assert await books.file("s1", 4, [error("s1", "stale token")]) == [closed]
        assert await books.entries(HERE) == [closed]
        await books.file("notebook", 3, [filed])
        await books.file("notebook", 2, [closed])
        assert await books.entries(HERE) == [filed], "an older state of the notebook came too late"

    async def test_ledger_entries_are_listed_newest_first_up_to_the_limit(self, books: Books) -> None:
        for day in (12, 14, 13):
            await books.file(f"s{day}", 1, [decision(f"s{day}", "x", at=f"2026-11-{day}T10:00:00.000000Z")])
        assert [entry.id for entry in await books.entries(HERE)] == ["D-s14", "D-s13", "D-s12"]
        assert [entry.id for entry in await books.entries(HERE, limit=1)] == ["D-s14"]
        assert len(await books.entries(HERE, limit=None)) == len(await books.search("x", HERE, limit=None)) == 3
        assert await books.entries(HERE, (EntryKind.ERROR,)) == []
        assert await books.search("x", HERE, limit=0) == []

    async def test_ledger_entries_of_another_workspace_are_not_found(self, books: Books) -> None:
        await books.file("s1", 1, [decision("s1", "Use REST", workspace=ELSEWHERE)])
        assert await books.entries(HERE) == []
        assert await books.search("rest", HERE) == []
        assert len(await books.search("rest", ELSEWHERE)) == 1

    async def test_ledger_entries_that_share_more_words_come_first(self, books: Books) -> None:
        texts = ("Cache sessions in Redis", "Sessions live in Postgres", "Paint the shed")
        for number, text in enumerate(texts):
            await books.file(f"s{number}", 1, [decision(f"s{number}", text)])
        entries = await books.search("Should we cache sessions?", HERE)
        assert [entry.text for entry in entries] == list(texts[:2])
        assert await books.search("should we", HERE) == []

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("我们采用GraphQL接口，不用REST", "接口用什么？"),
            ("数据库选择PostgreSQL", "数据库"),
            ("세션은 레디스에 저장한다", "레디스"),
            ("Größe der Straße", "STRASSE"),
            ("Add indexes for slow queries", "which index for the query"),
            ('He said "NEAR(x)" AND left', '"near" AND (left OR'),
            ("C# or C++", "c*"),
        ],
    )
    async def test_words_of_any_script_are_found_and_never_used_as_query_syntax(
        self, books: Books, text: str, asked: str
    ) -> None:
        await books.file("s1", 1, [decision("s1", text), decision("s2", "Etwas ganz anderes: 天气")])
        assert [entry.text for entry in await books.search(asked, HERE)][:1] == [text]

    @pytest.mark.parametrize("asked", ["", "   ", '"', "* - ^ :", "()", "\x00", "'; DROP TABLE ledger; --"])
    async def test_a_search_without_known_words_finds_nothing(self, books: Books, asked: str) -> None:
        await books.file("s1", 1, [decision("s1", "Use REST")])
        assert await books.search(asked, HERE) == []
        assert len(await books.entries(HERE)) == 1

    async def test_a_changed_ledger_entry_is_found_by_its_new_words_only(self, books: Books) -> None:
        await books.file("s1", 1, [decision("s1", "Use REST")])
        await books.file("s1", 2, [decision("s1", "Use GraphQL")])
        assert await books.search("rest", HERE) == []
        assert len(await books.search("graphql", HERE)) == 1
