"""The folded session while several gates or steps are open at once."""

from __future__ import annotations

from roundtable.core.effects import RunChecks, RunProject
from roundtable.core.events import EffectStarted, Event, GateAnswered, GateOpened, Recorded, SessionEnded, SessionOpened
from roundtable.core.session import Session
from roundtable.core.values import Charter, Gate, Seat


def fold(*events: Event) -> Session:
    charter = Charter("Which?", (Seat("ada", ("script:a",)),), "council", 1)
    facts = (SessionOpened(charter), *events)
    return Session.fold("s", [Recorded(seq, "", "s", event) for seq, event in enumerate(facts, 1)])


def test_several_gates_can_wait_at_once_and_each_takes_its_own_answer() -> None:
    opened = [GateOpened(Gate(name, "Go on?", ("yes", "no"), "no")) for name in ("first", "second")]
    session = fold(*opened)
    assert [gate.id for gate in session.open_gates] == ["first", "second"]
    assert session.status == "waiting"
    session = fold(*opened, GateAnswered("second", "yes"))
    assert [gate.id for gate in session.open_gates] == ["first"]
    assert fold(*opened, SessionEnded("failed")).open_gates == ()


def test_several_steps_can_be_open_at_once() -> None:
    session = fold(EffectStarted("a", RunChecks(("lint",))), EffectStarted("b", RunProject("sha256:1")))
    assert session.open_steps == ("a", "b")
    assert session.running_programs == ("b",)
