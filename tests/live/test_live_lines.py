"""The lines of a live display: one event at a time, and the decision at the end."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.core.events import (
    CallFailed,
    DecisionMade,
    MoveMade,
    Recorded,
    SeatMissed,
    SessionOpened,
    TurnAsked,
)
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.values import (
    Decision,
    Dissent,
    Outcome,
    Prompt,
    Proposal,
    Turns,
)
from roundtable.core.verdict import Stance, Verdict
from roundtable.live.event_lines import (
    EventNarrator,
    LiveLine,
    live_decision_lines,
    live_lines_as_text,
)
from roundtable.report.html import render_session_page
from roundtable.report.transcript import render_transcript
from tests.live.test_board import BLIND, CHARTER, round_opened


def test_a_fallback_names_every_failed_voice() -> None:
    narrator = EventNarrator()
    for voice, why in (("cli:claude", "claude is not installed."), ("lab:big", "The key was rejected.")):
        fault = Fault.of(FaultKind.MISSING, why)
        assert narrator.lines(CallFailed(BLIND, "x", "c1", voice, fault)) == []
    (line,) = narrator.lines(TurnAsked(BLIND, "x", "c2", "lab:small", 1, purpose="fallback"))
    expected = "cli:claude: claude is not installed. lab:big: The key was rejected. Asking the next voice, lab:small."
    assert line.plain() == f"[x] {expected}"
    narrator.lines(round_opened("council/3-reconsider"))
    (again,) = narrator.lines(TurnAsked("council/3-reconsider", "x", "c3", "lab:small", 1, purpose="fallback"))
    assert again.plain() == "[x] Asking lab:small again."


@pytest.mark.parametrize(("line", "target"), [("A: REST", "A"), ("gpt, grok and claude: REST", "grok")])
def test_a_choice_is_shown_with_the_chosen_proposal(line: str, target: str) -> None:
    narrator = EventNarrator()
    offered = Prompt("reconsider", lists={"proposals": (line, "B: GraphQL")})
    opening = narrator.lines(msgspec.structs.replace(round_opened("council/3-reconsider"), prompt=offered))
    assert opening
    verdict = Verdict(Stance.SUPPORT, target=target, confidence=0.8)
    lines = narrator.lines(MoveMade("council/3-reconsider", "claude", "c1", "I hold.", "x:y", verdict))
    assert lines[1].text == f"Position: {target} (REST), 80% sure"


def test_the_confidence_of_a_diagnosis_is_shown_with_the_cause() -> None:
    verdict = Verdict(key="stale-token", confidence=0.9)
    lines = EventNarrator().lines(MoveMade("code-red/2-blind", "claude", "c1", "The token.", "x:y", verdict))
    assert lines[1].text == "Root cause: stale-token, 90% sure"


def test_a_ballot_is_secret_from_the_seats_and_not_from_the_person() -> None:
    secret = msgspec.structs.replace(round_opened("vote/3-ballot"), turns=Turns(secret=True))
    (line,) = EventNarrator().lines(secret)
    assert line.text == "Round vote/3-ballot (secret ballot): claude, gpt"


@pytest.mark.parametrize("text", ["Keep it.", "Keep it.\n\nIt works."])
def test_the_position_of_a_minority_is_shown_once(text: str) -> None:
    dissent = Dissent("gpt", "Keep it.", text)
    decision = Decision(
        Outcome.REACHED, (Said("Most agree."),), position="Move", text="Move.", author="claude", dissent=(dissent,)
    )
    session = Session.fold(
        "s", [Recorded(1, "", "s", SessionOpened(CHARTER)), Recorded(2, "", "s", DecisionMade(decision))]
    )
    for shown in (
        live_lines_as_text(live_decision_lines(session, "here")),
        render_transcript(session),
        render_session_page(session),
    ):
        assert shown.count("Keep it.") == 1
        assert shown.count("It works.") == text.count("It works.")


def test_a_huge_partial_answer_is_cut_and_its_length_given() -> None:
    fault = Fault.of(FaultKind.TIMEOUT, "Too slow.")
    _, partial = EventNarrator().lines(SeatMissed(BLIND, "x", fault, partial="number\n" * 500_000))
    assert partial.plain().startswith("[x] Partial answer: number number ")
    assert partial.plain().endswith("… (3,500,000 characters)")
    assert len(partial.plain()) < 300


def test_the_decision_shows_its_basis() -> None:
    decision = Decision(
        Outcome.REACHED,
        (Said("2 of 3 counted seats agree."),),
        winner="A",
        position="REST",
        text="Use \x1b[31mREST\x1b[0m.",
        author="claude",
        electorate=("claude", "gpt", "grok"),
        counted=("claude", "gpt", "grok"),
        proposals=(Proposal("A", "REST"), Proposal("B", "GraphQL")),
        blind_vote={"A": 1, "B": 2},
        tally={"A": 2, "B": 1},
        conformity=("grok",),
        notices=(Said("Changed without a named reason, counted at the blind position: grok."),),
    )
    session = Session.fold(
        "s", [Recorded(1, "", "s", SessionOpened(CHARTER)), Recorded(2, "", "s", DecisionMade(decision))]
    )
    lines = [line.plain() for line in live_decision_lines(session, "here")]
    assert lines[1] == "DEGRADED: counted 3 of 3; read the notices."
    assert lines.index("Decision reached: REST") > 1
    assert (
        "Counted 3 of 3 seats (claude, gpt, grok†; † counted at the blind position because the change had no stated "
        "reason)." in lines
    )
    assert " *A   1 → 2   REST" in lines
    assert "  Use REST." in lines
    assert lines[-1] == "Show the session again: roundtable show here"


def test_every_line_of_a_seat_carries_its_name() -> None:
    assert LiveLine("one\ntwo\r\nthree\x07", seat="a").plain() == "[a] one\n[a] two\n[a] three"
