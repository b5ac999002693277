"""The parts of the live display and the outlet that can be looked at without a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time

import msgspec
import pytest

from roundtable.core.effects import CandidatesTried, FilesRead, ReadFiles, TryCandidates
from roundtable.core.events import (
    CallFailed,
    DecisionMade,
    Delta,
    EffectDone,
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    MoveMade,
    Recorded,
    RoundOpened,
    SeatMissed,
    SessionOpened,
    TurnAsked,
)
from roundtable.core.faults import Fault, FaultKind, SessionHeld
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.text.wording import add_full_stop, format_count, format_seconds
from roundtable.core.values import (
    Charter,
    Decision,
    Dissent,
    Expect,
    Gate,
    Outcome,
    Prompt,
    Proposal,
    Seat,
    Turns,
    Usage,
)
from roundtable.core.verdict import Stance, Verdict
from roundtable.doors.cli.output import print_error_with_help
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.doors.cli.panels import assign_terminal_colors, fit_panels_to_terminal
from roundtable.live.board import Board
from roundtable.live.event_lines import (
    ERROR,
    RESPONDING,
    TIMED_OUT,
    WAITING,
    EventNarrator,
    LiveLine,
    live_decision_lines,
    live_lines_as_text,
)
from roundtable.live.gate_options import match_gate_option
from roundtable.report.html import render_session_page
from roundtable.report.transcript import render_transcript

CHARTER = Charter("Which?", (Seat("claude", ("x:y",)), Seat("gpt", ("x:y",))), "council", 1)
BLIND = "council/1-blind"


class Told:
    """A board that is told facts, numbered as they come."""

    def __init__(self) -> None:
        self.board = Board(CHARTER, time.time)
        self._seq = 0

    def __call__(self, *events: Event) -> None:
        for event in events:
            self._seq += 1
            self.board.apply(Recorded(self._seq, f"2026-11-15T18:00:{self._seq:02}.000000Z", "s", event))

    def says(self, offset: int, text: str, *, round: str = BLIND, call: str = "c1") -> None:
        self.board.apply(Delta("s", round, "claude", call, offset, text))


def opened(round: str) -> RoundOpened:
    return RoundOpened(round, ("claude", "gpt"), ("claude", "gpt"), Turns(), Expect(), Prompt("blind"), "")


def test_the_output_of_a_step_is_shown_only_while_it_runs() -> None:
    told = Told()
    told(SessionOpened(CHARTER), opened(BLIND))
    told.board.apply(Delta("s", "build/try", "", "build/try", 0, "too early"))
    told(EffectStarted("build/try", TryCandidates((BLIND,), ("claude", "gpt"))))
    told.board.apply(Delta("s", "build/try", "", "build/try", 0, "tests passed with claude\n"))
    (step,) = told.board.steps.values()
    assert step.description == "Running the candidates of claude, gpt in the sandbox."
    assert step.output == "tests passed with claude\n"
    told(EffectDone("build/try", CandidatesTried(())))
    assert told.board.steps == {}


def test_several_gates_and_steps_can_be_open_at_once() -> None:
    told = Told()
    told(SessionOpened(CHARTER), opened(BLIND))
    told(
        GateOpened(Gate("first", "Go on?", ("yes", "no"), "no")),
        GateOpened(Gate("second", "Write it?", ("yes", "no"), "no")),
    )
    told(EffectStarted("build/one", ReadFiles(("a.py",))), EffectStarted("build/two", ReadFiles(("b.py",))))
    told.board.apply(Delta("s", "build/two", "", "build/two", 0, "from the second step\n"))
    assert [step.output for step in told.board.steps.values()] == ["", "from the second step\n"]
    told(GateAnswered("first", "yes"), EffectDone("build/two", FilesRead(())))
    assert (list(told.board.gates), list(told.board.steps)) == (["second"], ["build/one"])


@pytest.mark.feature("S4.45", "S4.46", "S4.47", "S4.48")
def test_a_seat_goes_through_its_signs() -> None:
    told = Told()
    told(SessionOpened(CHARTER), opened(BLIND))
    claude, gpt = told.board.seats.values()
    assert (RESPONDING, WAITING, TIMED_OUT, ERROR) == ("●", "○", "◌", "✗")
    assert (claude.glyph, claude.word) == (WAITING, "waiting")
    told(TurnAsked(BLIND, "claude", "c1", "x:y", 1), TurnAsked(BLIND, "gpt", "g1", "x:y", 1))
    told.says(0, "Use REST")
    assert (claude.glyph, claude.tail(100), claude.tokens) == (RESPONDING, "Use REST", 2)
    told(MoveMade(BLIND, "claude", "c1", "Use REST.", "x:y", usage=Usage(900, 100, cost_usd=0.5)))
    assert (claude.word, claude.tokens, claude.cost) == ("done", 1000, "$0.5000")
    told(SeatMissed(BLIND, "gpt", Fault.of(FaultKind.TIMEOUT, "Too slow.")))
    assert gpt.glyph == TIMED_OUT
    told(opened("council/3-reconsider"), SeatMissed("council/3-reconsider", "gpt", Fault.of(FaultKind.QUOTA, "Empty.")))
    assert (gpt.glyph, claude.tail(100)) == (ERROR, "")


def test_words_are_never_doubled_and_may_arrive_before_their_events() -> None:
    told = Told()
    told(SessionOpened(CHARTER))
    claude = told.board.seats["claude"]
    told.says(0, "Use RE")
    told.says(4, "REST ")
    told(opened(BLIND), TurnAsked(BLIND, "claude", "c1", "x:y", 1))
    told.says(9, "now")
    assert claude.tail(100) == "Use REST now"
    assert claude.tail(3) == "now"
    told(opened("council/3-reconsider"))
    told.says(12, " late words", call="c1")
    assert claude.tail(100) == ""
    told.says(0, "Again", round="council/3-reconsider", call="c2")
    assert claude.tail(100) == "Again"


def test_the_closing_block_is_not_shown_while_it_is_being_written() -> None:
    told = Told()
    told(SessionOpened(CHARTER), opened(BLIND), TurnAsked(BLIND, "claude", "c1", "x:y", 1))
    claude = told.board.seats["claude"]
    said = 'Send ```json\n{"a": 1}\n``` to it.\n\n```json\n{"position": "REST"}\n```'
    for cut in (len(said) - 4, len(said)):
        told.says(claude.length, said[claude.length : cut])
        assert claude.tail(1000) == 'Send ```json\n{"a": 1}\n``` to it.'
    told(opened("council/2-ballot"))
    told.says(0, '{"ratings": {"A"', round="council/2-ballot", call="c2")
    assert claude.tail(1000) == ""


def test_a_fallback_names_every_failed_voice() -> None:
    teller = EventNarrator()
    for voice, why in (("cli:claude", "claude is not installed."), ("lab:big", "The key was rejected.")):
        fault = Fault.of(FaultKind.MISSING, why)
        assert teller.facts(CallFailed(BLIND, "x", "c1", voice, fault)) == []
    (line,) = teller.facts(TurnAsked(BLIND, "x", "c2", "lab:small", 1, purpose="fallback"))
    told = "cli:claude: claude is not installed. lab:big: The key was rejected. Asking the next voice, lab:small."
    assert line.plain() == f"[x] {told}"
    teller.facts(opened("council/3-reconsider"))
    (again,) = teller.facts(TurnAsked("council/3-reconsider", "x", "c3", "lab:small", 1, purpose="fallback"))
    assert again.plain() == "[x] asking lab:small again"


@pytest.mark.parametrize(("line", "target"), [("A: REST", "A"), ("gpt, grok and claude: REST", "grok")])
def test_a_choice_is_shown_with_the_chosen_proposal(line: str, target: str) -> None:
    teller = EventNarrator()
    offered = Prompt("reconsider", lists={"proposals": (line, "B: GraphQL")})
    told = teller.facts(msgspec.structs.replace(opened("council/3-reconsider"), prompt=offered))
    assert told
    said = Verdict(Stance.SUPPORT, target=target, confidence=0.8)
    lines = teller.facts(MoveMade("council/3-reconsider", "claude", "c1", "I hold.", "x:y", said))
    assert lines[1].text == f"Position: {target} (REST), 80% sure"


def test_the_confidence_of_a_diagnosis_is_shown_with_the_cause() -> None:
    said = Verdict(key="stale-token", confidence=0.9)
    lines = EventNarrator().facts(MoveMade("code-red/2-blind", "claude", "c1", "The token.", "x:y", said))
    assert lines[1].text == "Root cause: stale-token, 90% sure"


def test_a_ballot_is_secret_from_the_seats_and_not_from_the_person() -> None:
    secret = msgspec.structs.replace(opened("vote/3-ballot"), turns=Turns(secret=True))
    (line,) = EventNarrator().facts(secret)
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


def test_a_huge_partial_is_a_few_words_and_a_count() -> None:
    fault = Fault.of(FaultKind.TIMEOUT, "Too slow.")
    _, partial = EventNarrator().facts(SeatMissed(BLIND, "x", fault, partial="number\n" * 500_000))
    assert partial.plain().startswith("[x] Partial answer: number number ")
    assert partial.plain().endswith("… (3,500,000 characters)")
    assert len(partial.plain()) < 300


@pytest.mark.parametrize(("width", "height"), [(80, 24), (110, 35), (40, 12), (200, 60), (20, 8)])
@pytest.mark.parametrize("seats", [1, 2, 3, 5, 9])
def test_panels_fit_the_terminal(seats: int, width: int, height: int) -> None:
    columns, rows, tall = fit_panels_to_terminal(seats, width, height)
    assert columns * rows >= seats
    assert rows * tall + 3 <= max(height, rows * 3 + 3)


@pytest.mark.feature("S4.38", "S4.39", "S4.40", "S4.41")
def test_seats_have_the_colours_people_know_them_by() -> None:
    names = ("claude", "gpt-4o", "gemini", "grok", "llama", "mistral")
    colors = assign_terminal_colors(
        [*(Seat(name, ()) for name in names), Seat("own", (), color="orange"), Seat("bad", (), color="?")]
    )
    assert [colors[name] for name in names[:4]] == ["cyan", "green", "magenta", "dark_orange"]
    assert colors["llama"] != colors["mistral"]
    assert colors["own"] == "dark_orange"
    assert colors["bad"]


def test_a_gate_is_answered_by_number_name_or_nothing() -> None:
    gate = Gate("choose", "Which?", ("A", "B", "none"), default="none")
    typed = {"": "none", "1": "A", "b": "B", "none": "none", "4": None, "C": None}
    assert {text: match_gate_option(gate, text) for text in typed} == typed
    assert match_gate_option(Gate("n", "?", ("2", "1"), default="1"), "1") == "1"


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
    assert lines[1] == "DEGRADED: counted 3 of 3, see the notices."
    assert lines.index("Decision reached: REST") > 1
    assert (
        "Counted 3 of 3 (claude, gpt, grok†; † counted at the blind position because the change had no stated reason)."
        in lines
    )
    assert " *A   1 → 2   REST" in lines
    assert "  Use REST." in lines
    assert lines[-1] == "Show it again: roundtable show here"


def test_every_line_of_a_seat_carries_its_name() -> None:
    assert LiveLine("one\ntwo\r\nthree\x07", seat="a").plain() == "[a] one\n[a] two\n[a] three"


def test_errors_are_two_sentences_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_error_with_help(SessionHeld("It is held", "Watch it")) == 5
    assert capsys.readouterr().err == "Error: It is held.\nWatch it.\n"
    assert print_error_with_help(ZeroDivisionError("by zero")) == 1
    assert "Internal error: ZeroDivisionError: by zero." in capsys.readouterr().err


def test_figures() -> None:
    assert [format_count(number) for number in (999, 1234, 12_345)] == ["999", "1.2k", "12k"]
    assert [format_seconds(elapsed) for elapsed in (1.23, 48.7, 185)] == ["1.2s", "48s", "3m05s"]
    assert [add_full_stop(text) for text in ("a", "a.", "`b`", "c?")] == ["a.", "a.", "`b`", "c?"]


async def test_the_outlet_waits_for_its_reader_and_for_nobody_else() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    outlet = OutputQueue(writing)
    sent = b"x" * 300_000
    outlet.put(sent)
    assert outlet.behind
    draining = asyncio.create_task(outlet.drained())
    got = b""
    while len(got) < len(sent):
        with contextlib.suppress(BlockingIOError):
            got += os.read(reading, 65536)
        await asyncio.sleep(0)
    await draining
    assert got == sent
    assert not outlet.behind
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        outlet.put(b"y")
    os.close(writing)


def test_json_output_needs_no_rich() -> None:
    looks = "print([name for name in ('rich', 'httpx2') if name in sys.modules])"
    code = f"import sys, roundtable.doors.cli.meeting_commands, roundtable.app.desk.roundtable; {looks}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
