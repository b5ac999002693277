"""The conformance kit for the index of sessions and gates. An implementation joins by subclassing `IndexKit`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.effects import ChangeApplied, ChangePlanned
from roundtable.core.events import (
    ChangeUndone,
    DecisionMade,
    EffectDone,
    GateAnswered,
    GateOpened,
    NoteSaid,
    SessionEnded,
    SessionForgotten,
)
from roundtable.core.index import WaitingGate
from roundtable.core.reasons import Said
from roundtable.core.values import Decision, Gate, Outcome
from tests.kits.store_kit import Record, open_session, opening

HERE, ELSEWHERE = "/w", "/elsewhere"


def gate(id: str, **fields: Any) -> GateOpened:
    """Return a gate that only a person may answer."""
    return GateOpened(Gate(id, "Shall it go on?", ("continue", "stop"), "stop", **fields))


def gate_names(waiting: list[WaitingGate]) -> list[tuple[str, str]]:
    """Return each gate with its session."""
    return [(waits.session.id, waits.gate.id) for waits in waiting]


class IndexKit(ABC):
    """The contract of the port Index."""

    @abstractmethod
    async def make(self, folder: Path) -> Record:
        """Return a new record with its index; the kit closes it."""

    @pytest.fixture
    async def index(self, tmp_path: Path) -> Any:
        index = await self.make(tmp_path)
        yield index
        await index.close()

    # --- the list of sessions ------------------------------------------------------------------

    async def test_a_session_list_is_read_page_by_page(self, index: Record) -> None:
        for number in range(5):
            await index.append(f"s{number}", opening(workspace=HERE))
        first = await index.sessions(HERE, 2)
        assert [row.id for row in first] == ["s4", "s3"]
        second = await index.sessions(HERE, 2, after=first[-1].offset)
        assert [row.id for row in second] == ["s2", "s1"]
        assert [row.id for row in await index.sessions(HERE, 2, after=second[-1].offset)] == ["s0"]

    async def test_a_lookup_can_be_limited_to_the_sessions_of_one_person(self, index: Record) -> None:
        await index.append("0193aaaa-1", opening(owner="ada", name="api", workspace=HERE))
        await index.append("0193aaaa-2", opening(owner="bob", name="api", workspace=HERE))
        assert [row.owner for row in await index.sessions(HERE)] == ["bob", "ada"]
        assert [row.id for row in await index.sessions(HERE, owner="ada")] == ["0193aaaa-1"]
        assert await index.sessions(ELSEWHERE, owner="ada") == []
        for address in ("api", "last", "0193aaaa"):
            assert await index.find(address, HERE, "ada") == ["0193aaaa-1"]
            assert await index.find(address, HERE, "eve") == []
        assert await index.find("0193aaaa-2", HERE, "ada") == [], "not even by its id"

    async def test_the_children_of_a_session_are_found_in_order_without_its_branches(self, index: Record) -> None:
        await index.append("s1", opening())
        for session in ("s3", "s2"):
            await index.append(session, opening(parent="s1"))
        await index.append("s4", opening(parent="s1", branched_at=1))
        await index.append("s5", opening(parent="s2"))
        await index.append("s3", NoteSaid("the newest fact is here"))
        assert [row.id for row in await index.children("s1")] == ["s3", "s2"]
        assert [row.id for row in await index.children("s2")] == ["s5"]
        assert await index.children("s4") == await index.children("nobody") == await index.children("") == []

    # --- gates ---------------------------------------------------------------------------------

    async def test_every_open_gate_is_listed_until_it_is_answered(self, index: Record) -> None:
        lease = await open_session(index, "s1", workspace=HERE)
        first = await index.append("s1", gate("b-gate"), lease)
        await index.append("s1", gate("a-gate"), lease)
        other = await open_session(index, "s2", workspace=ELSEWHERE)
        await index.append("s2", gate("b-gate"), other)
        assert gate_names(await index.open_gates()) == [("s2", "b-gate"), ("s1", "b-gate"), ("s1", "a-gate")]
        waiting = (await index.open_gates(HERE))[0]
        assert (waiting.since, waiting.gate.options) == (first.at, ("continue", "stop"))
        assert waiting.session.workspace == HERE
        await index.append("s1", GateAnswered("b-gate", "maybe"))
        await index.append("s1", GateAnswered("no-such-gate", "stop"))
        assert gate_names(await index.open_gates(HERE)) == [("s1", "b-gate"), ("s1", "a-gate")], "no valid answer"
        await index.append("s1", GateAnswered("b-gate", "continue"))
        await index.append("s1", gate("b-gate"), lease)
        assert gate_names(await index.open_gates(HERE)) == [("s1", "a-gate")], "an answered gate stays answered"

    async def test_open_gates_can_be_limited_to_the_sessions_of_one_person(self, index: Record) -> None:
        for session, owner in (("s1", "ada"), ("s2", "bob")):
            lease = await open_session(index, session, owner=owner, workspace=HERE)
            await index.append(session, gate("decide"), lease)
        assert gate_names(await index.open_gates(owner="ada")) == [("s1", "decide")]
        assert gate_names(await index.open_gates(HERE, "bob")) == [("s2", "decide")]
        assert await index.open_gates(ELSEWHERE, "bob") == []

    async def test_an_ended_or_forgotten_session_has_no_open_gates(self, index: Record) -> None:
        for session in ("decided", "ended", "forgotten", "removed"):
            lease = await open_session(index, session)
            await index.append(session, gate("decide"), lease)
            if session == "decided":
                await index.append(session, DecisionMade(Decision(Outcome.REACHED, (Said("council"),))), lease)
            if session == "ended":
                await index.append(session, SessionEnded("cancelled"), lease)
            await index.release(lease)
        await index.append("forgotten", SessionForgotten())
        await index.remove(["removed"])
        assert await index.open_gates() == []

    # --- applied changes -----------------------------------------------------------------------

    async def test_every_change_that_a_session_wrote_is_listed_with_what_became_of_it(self, index: Record) -> None:
        for session in ("s1", "s2", "forgotten"):
            lease = await open_session(index, session, workspace=HERE, settings={"of": "council-1"})
            for change in ("first", "second"):
                await index.append(
                    session, EffectDone(f"apply/{change}", ChangeApplied(change, commit="c0ffee")), lease
                )
            await index.append(session, EffectDone("plan", ChangePlanned((), (), (), "", ())), lease)
        await index.append("forgotten", SessionForgotten())
        await index.append("s1", ChangeUndone("first"))
        await index.append("s1", ChangeUndone("never written"))
        changes = await index.applied_changes(HERE)
        assert [(applied.session.id, applied.change, applied.commit, applied.undone) for applied in changes] == [
            ("s1", "first", "c0ffee", True),
            ("s1", "second", "c0ffee", False),
            ("s2", "first", "c0ffee", False),
            ("s2", "second", "c0ffee", False),
        ]
        assert {applied.session.applies for applied in changes} == {"council-1"}
        assert await index.applied_changes(ELSEWHERE) == []
        await index.rebuild()
        assert await index.applied_changes(HERE) == changes

    async def test_sessions_are_looked_up_by_their_ids(self, index: Record) -> None:
        for session in ("s1", "s2", "s3"):
            await index.append(session, opening())
        assert [row.id for row in await index.rows(["s1", "unknown", "s3", "s1"])] == ["s3", "s1"]
        assert await index.rows([]) == []

    # --- rebuilding ----------------------------------------------------------------------------

    async def test_the_index_can_be_rebuilt_from_the_record(self, index: Record) -> None:
        for session in ("s1", "s2"):
            lease = await open_session(index, session, owner="ada", workspace=HERE, name="n" * 9000)
            await index.append(session, gate("first"), lease)
            await index.append(session, gate("second", details={"text": "long " * 4000}), lease)
            await index.append(session, GateAnswered("first", "stop"))
        before = await index.sessions(), await index.open_gates()
        assert gate_names(before[1]) == [("s2", "second"), ("s1", "second")]
        await index.rebuild()
        assert (await index.sessions(), await index.open_gates()) == before
