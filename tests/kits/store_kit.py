"""The conformance kit for stores. An implementation joins by subclassing `StoreKit`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from roundtable.core.events import (
    DecisionMade,
    MoveMade,
    NoteSaid,
    Recorded,
    RunStarted,
    SessionAmended,
    SessionEnded,
    SessionForgotten,
    SessionOpened,
    UnknownEvent,
)
from roundtable.core.faults import LeaseLost, NotFound, RecordError, SessionHeld, UsageError
from roundtable.core.index import SessionRow
from roundtable.core.ports import Index, Lease, Leases, Store
from roundtable.core.reasons import Said
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Charter, Decision, Outcome, Seat
from roundtable.store.leases import lease_holder_of_this_process

HANG = 30.0
"""Seconds after which something that should happen at once is taken not to happen at all."""


class Record(Store, Index, Leases, Protocol):
    """The ports that one record implements together, with the methods that only tests use."""

    async def rebuild(self) -> None: ...

    async def close(self) -> None: ...


def opening(question: str = "REST or GraphQL?", **fields: Any) -> SessionOpened:
    """Return the first fact of a session."""
    return SessionOpened(Charter(question, (Seat("one", ("script:one",)),), "council", 1, **fields))


def move(text: str, seat: str = "one") -> MoveMade:
    """Return a fact that only the holder of the lease may write."""
    return MoveMade("council/1-blind", seat, f"council/1-blind/{seat}#1", text, "script:one")


async def open_session(store: Record, session: str, **fields: Any) -> Lease:
    """Open a session and acquire its lease."""
    await store.append(session, opening(**fields))
    lease, _ = await store.acquire(session, lease_holder_of_this_process())
    return lease


def sequence_numbers(records: Sequence[Recorded]) -> list[int]:
    """Return the sequence numbers of facts."""
    return [recorded.seq for recorded in records]


def killed_process() -> str:
    """Return the id of a process that has just ended."""
    code = "from roundtable.store import leases; print(leases.lease_holder_of_this_process(), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        name = child.stdout.readline().decode().strip()
        os.kill(child.pid, signal.SIGKILL)
    return name


class StoreKit(ABC):
    """The contract of the ports Store and Leases."""

    @abstractmethod
    async def make(
        self, folder: Path, redact: Redactor | None = None, *, max_blob_bytes: int = 1 << 20, lease_seconds: float = 30
    ) -> Record:
        """Return a new record; the kit closes it."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> Any:
        store = await self.make(tmp_path)
        yield store
        await store.close()

    # --- facts ---------------------------------------------------------------------------------

    async def test_concurrent_facts_are_numbered_without_gaps(self, store: Record) -> None:
        await store.append("s1", opening())
        notes = await asyncio.gather(*(store.append("s1", NoteSaid(f"note {n}")) for n in range(200)))
        assert sorted(sequence_numbers(notes)) == list(range(2, 202))
        records = await store.read("s1")
        assert sequence_numbers(records) == list(range(1, 202))
        assert sorted(notes, key=lambda note: note.seq) == records[1:]
        assert len({recorded.at for recorded in records}) > 1
        assert all(len(recorded.at) == 27 and recorded.at.endswith("Z") for recorded in records)

    async def test_facts_appended_in_sequence_keep_their_order(self, store: Record) -> None:
        await store.append("s1", opening())
        tasks = [asyncio.ensure_future(store.append("s1", NoteSaid(str(n)))) for n in range(50)]
        await asyncio.gather(*tasks)
        texts = [recorded.event.text for recorded in await store.read("s1", 1) if isinstance(recorded.event, NoteSaid)]
        assert texts == [str(n) for n in range(50)]

    async def test_reading_continues_after_the_last_fact_that_was_read(self, store: Record) -> None:
        await store.append("s1", opening())
        await store.append("s1", NoteSaid("a"))
        assert sequence_numbers(await store.read("s1", 1)) == [2]
        assert await store.read("s1", 2) == []
        assert await store.read("nobody") == []

    async def test_a_session_is_opened_first_and_only_once(self, store: Record) -> None:
        with pytest.raises(NotFound):
            await store.append("s1", NoteSaid("too early"))
        await store.append("s1", opening())
        with pytest.raises(RecordError, match="already been opened"):
            await store.append("s1", opening())
        assert sequence_numbers(await store.read("s1")) == [1]

    @pytest.mark.feature("S1.89")
    async def test_without_a_lease_only_facts_of_people_are_accepted(self, store: Record) -> None:
        await store.append("s1", opening())
        with pytest.raises(RecordError, match=r"move\.made"):
            await store.append("s1", move("not mine to say"))
        assert (await store.append("s1", NoteSaid("always taken"))).seq == 2

    async def test_several_facts_are_appended_together_or_not_at_all(self, store: Record) -> None:
        lease, _ = await store.acquire("s1", lease_holder_of_this_process())
        records = await store.append_many("s1", [opening(), move("a"), move("b")], lease)
        assert sequence_numbers(records) == [1, 2, 3]
        with pytest.raises(RecordError):
            await store.append_many("s1", [move("c"), opening()], lease)
        assert await store.read("s1") == records
        assert await store.append_many("s1", []) == []

    async def test_a_refused_fact_does_not_affect_other_facts(self, store: Record) -> None:
        lease = await open_session(store, "s1")
        stale = Lease("s1", lease.token - 1)
        results = await asyncio.gather(
            *(store.append("s1", move(str(n)), stale if n % 3 == 0 else lease) for n in range(30)),
            return_exceptions=True,
        )
        assert [isinstance(result, LeaseLost) for result in results] == [n % 3 == 0 for n in range(30)]
        assert sequence_numbers(await store.read("s1")) == list(range(1, 22))

    async def test_a_cancelled_append_leaves_the_fact_complete_or_absent(self, store: Record) -> None:
        await store.append("s1", opening())
        tasks = [asyncio.ensure_future(store.append("s1", NoteSaid(str(n)))) for n in range(40)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        last = await store.append("s1", NoteSaid("after"))
        records = await store.read("s1")
        assert sequence_numbers(records) == list(range(1, last.seq + 1))
        texts = [recorded.event.text for recorded in records if isinstance(recorded.event, NoteSaid)]
        assert set(texts) >= {str(n) for n in range(1, 40, 2)}
        assert len(texts) == len(set(texts))

    async def test_the_global_offset_runs_through_all_sessions(self, store: Record) -> None:
        for session in ("s1", "s2"):
            await store.append(session, opening())
        await asyncio.gather(*(store.append(f"s{n % 2 + 1}", NoteSaid(str(n))) for n in range(20)))
        facts: list[tuple[int, Recorded]] = []
        while page := await store.facts(facts[-1][0] if facts else 0, limit=7):
            assert len(page) <= 7
            facts += page
        offsets = [offset for offset, _ in facts]
        assert offsets == sorted(set(offsets))
        for session in ("s1", "s2"):
            assert [r for _, r in facts if r.session == session] == await store.read(session)

    async def test_a_fact_of_an_unknown_kind_is_kept_unchanged(self, store: Record) -> None:
        lease = await open_session(store, "s1")
        event = UnknownEvent("table.polished", {"by": "someone", "shine": 0.5, "where": [{"$blob": "x"}, {"$$": None}]})
        recorded = await store.append("s1", event, lease)
        assert recorded.event == event
        assert (await store.read("s1", 1))[0].event == event

    # --- long texts and blobs ------------------------------------------------------------------

    @pytest.mark.parametrize(
        "text", ["a" * 8192, "a" * 8193, "é" * 4097, '"\n' * 5000, "🟢" * 30_000, '{"$blob":"x"}' * 700]
    )
    async def test_long_texts_are_read_back_unchanged(self, store: Record, text: str) -> None:
        lease = await open_session(store, "s1")
        unknown = UnknownEvent("long.told", {"text": text, "$blob": "mine", "$$blob": [text, {"$blob": text}]})
        for event in (move(text), unknown):
            recorded = await store.append("s1", event, lease)
            assert recorded.event == event
            assert (await store.read("s1", recorded.seq - 1))[0] == recorded

    async def test_a_stored_blob_can_be_fetched(self, store: Record) -> None:
        data = bytes(range(256)) * 100
        digest = await store.keep(data)
        assert digest.startswith("sha256:")
        assert len(digest) == 71
        assert await store.keep(data) == digest
        assert await store.fetch(digest) == data
        assert await store.fetch(await store.keep(b"")) == b""
        with pytest.raises(NotFound):
            await store.fetch("sha256:" + "0" * 64)

    async def test_a_blob_has_a_size_limit(self, tmp_path: Path) -> None:
        store = await self.make(tmp_path, max_blob_bytes=100)
        await store.keep(b"a" * 100)
        with pytest.raises(UsageError, match="101"):
            await store.keep(b"a" * 101)
        await store.close()

    async def test_text_that_is_not_valid_unicode_is_refused_with_the_reason(self, store: Record) -> None:
        await store.append("s1", opening())
        with pytest.raises(UsageError, match="Unicode"):
            await store.append("s1", NoteSaid("\ud800"))
        assert (await store.append("s1", NoteSaid("fine"))).seq == 2

    async def test_secrets_are_redacted_in_the_record_and_in_the_result_of_append(self, tmp_path: Path) -> None:
        secret = 'hunter-"2"-hunter'
        store = await self.make(tmp_path, Redactor([secret]))
        lease = await open_session(store, "s1", question=f"Is {secret} a good password?")
        texts = [f"it is {secret}", f"{secret} " * 1000, "nothing here"]
        written = [await store.append("s1", move(text), lease) for text in texts]
        records = await store.read("s1")
        assert records[1:] == written
        assert secret not in str(records)
        assert secret not in str(await store.sessions())
        assert written[2].event == move("nothing here")
        assert written[0].event == move("it is [redacted:known-key]")
        data = f"a file with {secret}".encode()
        assert await store.fetch(await store.keep(data)) == data
        await store.close()

    # --- waiting -------------------------------------------------------------------------------

    async def test_waiting_for_an_existing_fact_returns_at_once(self, store: Record) -> None:
        await store.append("s1", opening())
        assert await store.changed("s1", 0, HANG)

    async def test_waiting_for_a_fact_ends_at_its_timeout(self, store: Record) -> None:
        await store.append("s1", opening())
        assert not await store.changed("s1", 1, 0.05)
        assert not await store.changed("nobody", 0, 0.0)

    async def test_a_new_fact_wakes_every_waiter_of_its_session(self, store: Record) -> None:
        for session in ("s1", "s2"):
            await store.append(session, opening())
        waiting = [asyncio.ensure_future(store.changed("s1", 1, HANG)) for _ in range(5)]
        other = asyncio.ensure_future(store.changed("s2", 1, HANG))
        await asyncio.sleep(0.05)
        await store.append("s1", NoteSaid("wake up"))
        assert await asyncio.wait_for(asyncio.gather(*waiting), HANG) == [True] * 5
        assert not other.done()
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)

    async def test_a_reader_that_waits_and_reads_misses_no_fact(self, store: Record) -> None:
        await store.append("s1", opening())

        async def follow() -> list[int]:
            facts: list[int] = []
            while len(facts) < 101:
                assert await store.changed("s1", len(facts), HANG)
                facts += sequence_numbers(await store.read("s1", len(facts)))
            return facts

        async def speak() -> None:
            for n in range(100):
                await store.append("s1", NoteSaid(str(n)))
                await asyncio.sleep(0.001 * (n % 3))

        async with asyncio.timeout(HANG):
            readers = [asyncio.ensure_future(follow()) for _ in range(3)]
            await speak()
            assert await asyncio.gather(*readers) == [list(range(1, 102))] * 3

    # --- leases --------------------------------------------------------------------------------

    async def test_a_session_has_one_holder(self, store: Record) -> None:
        lease = await open_session(store, "s1")
        assert await store.holder("s1") == lease_holder_of_this_process()
        with pytest.raises(SessionHeld, match=str(os.getpid())) as refused:
            await store.acquire("s1", lease_holder_of_this_process())
        assert refused.value.help
        await store.release(lease)
        assert await store.holder("s1") is None
        assert (await store.acquire("s1", lease_holder_of_this_process()))[0].token > lease.token
        assert await store.holder("nobody") is None

    async def test_only_one_of_many_concurrent_holders_gets_the_lease(self, store: Record) -> None:
        results = await asyncio.gather(
            *(store.acquire("s1", lease_holder_of_this_process()) for _ in range(20)), return_exceptions=True
        )
        assert sum(not isinstance(result, BaseException) for result in results) == 1

    @pytest.mark.feature("S0.71")
    async def test_acquiring_a_session_returns_its_record(self, store: Record) -> None:
        first = await open_session(store, "s1")
        await store.append("s1", move("before"), first)
        await store.release(first)
        _, records = await store.acquire("s1", lease_holder_of_this_process())
        assert records == await store.read("s1")
        assert sequence_numbers(records) == [1, 2]

    async def test_an_expired_lease_is_fenced_off_once_another_is_acquired(self, tmp_path: Path) -> None:
        store = await self.make(tmp_path, lease_seconds=0.05)
        slow = await open_session(store, "s1")
        await asyncio.sleep(0.06)
        assert await store.holder("s1") is None
        await store.append("s1", move("late, but nobody else came"), slow)
        await store.renew(slow)
        await asyncio.sleep(0.06)
        quick, _ = await store.acquire("s1", "elsewhere:1:2:3")
        for attempt in (store.append("s1", move("too late"), slow), store.renew(slow)):
            with pytest.raises(LeaseLost):
                await attempt
        await store.release(slow)
        await store.append("s1", move("mine now"), quick)
        assert sequence_numbers(await store.read("s1")) == [1, 2, 3]
        await store.close()

    async def test_a_released_lease_cannot_write(self, store: Record) -> None:
        lease = await open_session(store, "s1")
        await store.release(lease)
        for attempt in (store.append("s1", move("gone"), lease), store.renew(lease)):
            with pytest.raises(LeaseLost):
                await attempt

    async def test_a_lease_is_valid_for_its_own_session_only(self, store: Record) -> None:
        lease = await open_session(store, "s1")
        await open_session(store, "s2")
        with pytest.raises(LeaseLost):
            await store.append("s2", move("wrong room"), lease)

    async def test_the_lease_of_a_killed_process_is_free_at_once(self, store: Record) -> None:
        holder = await asyncio.to_thread(killed_process)
        dead, _ = await store.acquire("s1", holder)
        assert await store.holder("s1") is None
        assert (await store.acquire("s1", lease_holder_of_this_process()))[0].token == dead.token + 1

    async def test_a_lease_of_another_machine_is_never_assumed_dead(self, store: Record) -> None:
        await store.acquire("s1", "another-host:1:2:3")
        with pytest.raises(SessionHeld, match="process 1 on another-host"):
            await store.acquire("s1", lease_holder_of_this_process())

    # --- the list of sessions ------------------------------------------------------------------

    async def test_the_session_list_shows_the_newest_first(self, store: Record) -> None:
        lease = await open_session(store, "s1", question="q" * 300, name="api", slug="2026-api", workspace="/w")
        await store.append("s2", opening(workspace="/elsewhere"))
        await store.append("s1", RunStarted(lease_holder_of_this_process()), lease)
        await store.append("s1", SessionAmended(name="api-2"))
        await store.append("s1", DecisionMade(Decision(Outcome.REACHED, (Said("council"),))), lease)
        first, second = await store.sessions()
        assert (first.id, second.id) == ("s1", "s2")
        assert (first.name, first.outcome, first.last_seq, len(first.question)) == ("api-2", "reached", 4, 200)
        assert first.opened_at < first.updated_at
        await store.append("s1", SessionEnded("cancelled"), lease)
        assert [row.outcome for row in await store.sessions("/w")] == ["cancelled"]
        assert [row.id for row in await store.sessions(limit=1)] == ["s1"]
        assert [row.id for row in await store.sessions(limit=None)] == ["s1", "s2"]

    async def test_the_session_list_can_be_rebuilt(self, store: Record) -> None:
        for n in range(5):
            await store.append(f"s{n}", opening(name=f"name-{n}"))
            await store.append("s0", NoteSaid("x" * 9000))
        before = await store.sessions()
        await store.rebuild()
        assert await store.sessions() == before

    async def test_a_session_is_found_in_its_workspace_and_where_it_was_opened(self, store: Record) -> None:
        await store.append("s1", opening(name="api", workspace="/w", opened_in="/v"))
        for workspace, found in (("/w", ["s1"]), ("/v", ["s1"]), ("/u", [])):
            assert [row.id for row in await store.sessions(workspace)] == found
            assert await store.find("last", workspace) == await store.find("api", workspace) == found

    async def test_a_session_is_found_by_every_kind_of_address(self, store: Record) -> None:
        await store.append("0193aaaa-1", opening(name="api", slug="2026-rest", workspace="/w"))
        await store.append("0193aaab-2", opening(name="api", slug="2026-tabs", workspace="/v"))
        await store.append("0193aaab-3", opening(workspace="/w", slug="0193aaaa-1"))
        await store.append("0193child-4", opening(workspace="/w", parent="0193aaaa-1"))

        async def found(address: str, workspace: str | None = "/w") -> list[str]:
            return [session[-1] for session in await store.find(address, workspace)]

        assert await found("0193aaaa-1") == ["1"]
        assert await found("0193aa") == ["1", "2", "3"]
        assert await found("0193aaaa") == ["1"]
        assert await found("0193a") == []
        assert await found("api") == ["1"]
        assert await found("api", "/v") == ["2"]
        assert await found("2026-rest") == ["1"]
        assert await found("2026-tabs") == ["2"], "a slug leads there from everywhere"
        assert await found("last") == ["3"]
        assert await found("last", None) == ["3"]
        assert await found("last", "/empty") == []
        assert await found("") == []
        assert await found("%") == []
        await store.append("0193branch-5", opening(workspace="/w", parent="0193aaaa-1", branched_at=2))
        assert await found("last") == ["5"]
        await store.append("0193aaaa-1", NoteSaid("back to this one"))
        assert await found("last") == ["1"]

    async def test_a_slug_prefix_that_fits_one_session_finds_it(self, store: Record) -> None:
        await store.append("s1", opening(slug="2026-11-16-tiny", workspace="/w"))
        await store.append("s2", opening(slug="2026-11-16-tall", workspace="/w"))
        await store.append("s3", opening(slug="2026-11-16-timid", workspace="/v"))
        await store.append("s4", opening(slug="2026-11-16-tiny-2", workspace="/w"))
        assert await store.find("2026-11-16-ta", "/w") == ["s2"]
        assert await store.find("2026-11-16-tiny", "/w") == ["s1"], "a whole slug means itself"
        assert await store.find("2026-11-16-ti", "/v") == ["s3"], "those of this workspace come first"
        assert await store.find("2026-11-16-tim", "/w") == ["s3"]
        assert await store.find("2026-11-16-ti", "/w") == ["s1", "s4"]
        assert await store.find("2026-", "/w") == [], "too little to go by"
        await store.append("s4", SessionForgotten())
        assert await store.find("2026-11-16-ti", "/w") == ["s1"], "what is off the list is not in the way"

    @pytest.mark.feature("S2.24", "S2.27")
    async def test_a_reused_name_finds_the_session_that_was_opened_last(self, store: Record) -> None:
        for session, workspace in (("s3", "/w"), ("s1", "/w"), ("s2", "/v")):
            await store.append(session, opening(name="rollout", workspace=workspace))
        await store.append("s3", NoteSaid("an afterthought to the older one"))
        assert await store.find("rollout", "/w") == ["s1"]
        assert await store.find("rollout", "/v") == ["s2"]

    async def test_sessions_opened_concurrently_with_one_slug_get_different_slugs(self, store: Record) -> None:
        openings = (store.append(f"s{n}", opening(slug="2026-rest")) for n in range(8))
        slugs = [
            fact.event.charter.slug for fact in await asyncio.gather(*openings) if isinstance(fact.event, SessionOpened)
        ]
        assert sorted(slugs) == ["2026-rest", *(f"2026-rest-{n}" for n in range(2, 9))]
        assert sorted(row.slug for row in await store.sessions()) == sorted(slugs)
        for n, slug in enumerate(slugs):
            assert await store.find(slug) == [f"s{n}"]

    async def test_sessions_without_a_slug_are_not_given_one(self, store: Record) -> None:
        await store.append("s1", opening())
        await store.append("s2", opening())
        assert [row.slug for row in await store.sessions()] == ["", ""]

    async def test_a_forgotten_session_is_not_listed_and_its_name_is_free(self, store: Record) -> None:
        await store.append("0193aaaa-1", opening(name="api", slug="2026-rest", workspace="/w"))
        await store.append("0193aaaa-2", opening(workspace="/w"))
        await store.append("0193aaaa-1", SessionForgotten())
        assert [row.id for row in await store.sessions("/w")] == ["0193aaaa-2"]
        assert [row.id for row in await store.sessions(forgotten=True)] == ["0193aaaa-1", "0193aaaa-2"]
        assert await store.find("api", "/w") == []
        assert await store.find("last", "/w") == ["0193aaaa-2"]
        for address in ("0193aaaa-1", "2026-rest"):
            assert await store.find(address, "/w") == ["0193aaaa-1"], "its id still leads to it"
        before = await store.sessions(forgotten=True)
        await store.rebuild()
        assert await store.sessions(forgotten=True) == before

    # --- removing ------------------------------------------------------------------------------

    async def test_removing_a_session_deletes_only_the_blobs_it_alone_used(self, store: Record) -> None:
        shared, own = await store.keep(b"shared template"), await store.keep(b"its own file")
        await store.append("s1", opening(templates={"system": shared, "blind": own}, name="api", slug="old"))
        await store.append("s1", NoteSaid("a long note " * 1000))
        await store.append("s2", opening(templates={"system": shared}))
        last = (await store.facts(0))[-1][0]
        removed = await store.remove(["s1", "s1", "nobody"])
        assert removed.sessions == ("s1",)
        assert removed.size > 12_000
        assert await store.read("s1") == []
        assert [row.id for row in await store.sessions()] == ["s2"]
        assert await store.find("old") == []
        assert await store.fetch(shared) == b"shared template"
        with pytest.raises(NotFound):
            await store.fetch(own)
        assert [offset for offset, _ in await store.facts(0)] == [last], "offsets stay what they were"
        await store.append("s2", NoteSaid("goes on"))
        assert (await store.facts(last))[0][0] > last
        assert sequence_numbers(await store.read("s2")) == [1, 2]

    async def test_a_blob_keeps_the_blobs_that_it_names(self, store: Record) -> None:
        file = await store.keep(b"a file of a draft")
        draft = await store.keep(f'{{"files": [{{"after": "{file}"}}]}}'.encode())
        await store.append("s1", opening(templates={"blind": draft}))
        await store.append("s2", opening())
        await store.remove(["s2"])
        assert await store.fetch(file) == b"a file of a draft"
        await store.remove(["s1"])
        with pytest.raises(NotFound):
            await store.fetch(file)

    async def test_a_running_session_is_not_removed_and_no_blob_is_deleted(self, store: Record) -> None:
        digest = await store.keep(b"a form about to be named")
        await store.append("s1", opening(templates={"blind": digest}))
        lease = await open_session(store, "s2")
        assert (await store.remove(["s1", "s2"])).sessions == ("s1",)
        assert sequence_numbers(await store.read("s2")) == [1]
        assert await store.fetch(digest) == b"a form about to be named"
        await store.release(lease)
        assert (await store.remove(["s2"])).sessions == ("s2",)
        assert await store.read("s2") == []
        with pytest.raises(NotFound):
            await store.fetch(digest)

    async def test_session_rows_can_be_written_as_json(self, store: Record) -> None:
        await store.append("s1", opening())
        assert msgspec.json.decode(msgspec.json.encode(await store.sessions()), type=list[SessionRow])
