"""The board of a live display: seats, streamed text, running steps and open gates."""

from __future__ import annotations

import time

import pytest

from roundtable.core.effects import CandidatesTried, FilesRead, ReadFiles, TryCandidates
from roundtable.core.events import (
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
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import (
    Charter,
    Expect,
    Gate,
    Prompt,
    Seat,
    Turns,
    Usage,
)
from roundtable.live.board import Board
from roundtable.live.event_lines import (
    ERROR,
    RESPONDING,
    TIMED_OUT,
    WAITING,
)

CHARTER = Charter("Which?", (Seat("claude", ("x:y",)), Seat("gpt", ("x:y",))), "council", 1)
BLIND = "council/1-blind"


def round_opened(round: str) -> RoundOpened:
    return RoundOpened(round, ("claude", "gpt"), ("claude", "gpt"), Turns(), Expect(), Prompt("blind"), "")


class BoardFeed:
    """A board that receives events, numbered in order."""

    def __init__(self) -> None:
        self.board = Board(CHARTER, time.time)
        self._seq = 0

    def apply(self, *events: Event) -> None:
        for event in events:
            self._seq += 1
            self.board.apply(Recorded(self._seq, f"2026-11-15T18:00:{self._seq:02}.000000Z", "s", event))

    def stream(self, offset: int, text: str, *, round: str = BLIND, call: str = "c1") -> None:
        self.board.apply(Delta("s", round, "claude", call, offset, text))


def test_the_output_of_a_step_is_shown_only_while_it_runs() -> None:
    feed = BoardFeed()
    feed.apply(SessionOpened(CHARTER), round_opened(BLIND))
    feed.board.apply(Delta("s", "build/try", "", "build/try", 0, "too early"))
    feed.apply(EffectStarted("build/try", TryCandidates((BLIND,), ("claude", "gpt"))))
    feed.board.apply(Delta("s", "build/try", "", "build/try", 0, "tests passed with claude\n"))
    (step,) = feed.board.steps.values()
    assert step.description == "Running the candidates of claude, gpt in the sandbox."
    assert step.output == "tests passed with claude\n"
    feed.apply(EffectDone("build/try", CandidatesTried(())))
    assert feed.board.steps == {}


def test_several_gates_and_steps_can_be_open_at_once() -> None:
    feed = BoardFeed()
    feed.apply(SessionOpened(CHARTER), round_opened(BLIND))
    feed.apply(
        GateOpened(Gate("first", "Go on?", ("yes", "no"), "no")),
        GateOpened(Gate("second", "Write it?", ("yes", "no"), "no")),
    )
    feed.apply(EffectStarted("build/one", ReadFiles(("a.py",))), EffectStarted("build/two", ReadFiles(("b.py",))))
    feed.board.apply(Delta("s", "build/two", "", "build/two", 0, "from the second step\n"))
    assert [step.output for step in feed.board.steps.values()] == ["", "from the second step\n"]
    feed.apply(GateAnswered("first", "yes"), EffectDone("build/two", FilesRead(())))
    assert (list(feed.board.gates), list(feed.board.steps)) == (["second"], ["build/one"])


@pytest.mark.feature("S4.45", "S4.46", "S4.47", "S4.48")
def test_the_glyph_of_a_seat_shows_its_state() -> None:
    feed = BoardFeed()
    feed.apply(SessionOpened(CHARTER), round_opened(BLIND))
    claude, gpt = feed.board.seats.values()
    assert (RESPONDING, WAITING, TIMED_OUT, ERROR) == ("●", "○", "◌", "✗")
    assert (claude.glyph, claude.word) == (WAITING, "waiting")
    feed.apply(TurnAsked(BLIND, "claude", "c1", "x:y", 1), TurnAsked(BLIND, "gpt", "g1", "x:y", 1))
    feed.stream(0, "Use REST")
    assert (claude.glyph, claude.tail(100), claude.tokens) == (RESPONDING, "Use REST", 2)
    feed.apply(MoveMade(BLIND, "claude", "c1", "Use REST.", "x:y", usage=Usage(900, 100, cost_usd=0.5)))
    assert (claude.word, claude.tokens, claude.cost) == ("done", 1000, "$0.5000")
    feed.apply(SeatMissed(BLIND, "gpt", Fault.of(FaultKind.TIMEOUT, "Too slow.")))
    assert gpt.glyph == TIMED_OUT
    feed.apply(
        round_opened("council/3-reconsider"),
        SeatMissed("council/3-reconsider", "gpt", Fault.of(FaultKind.QUOTA, "Empty.")),
    )
    assert (gpt.glyph, claude.tail(100)) == (ERROR, "")


def test_streamed_text_is_never_repeated_and_may_arrive_before_its_events() -> None:
    feed = BoardFeed()
    feed.apply(SessionOpened(CHARTER))
    claude = feed.board.seats["claude"]
    feed.stream(0, "Use RE")
    feed.stream(4, "REST ")
    feed.apply(round_opened(BLIND), TurnAsked(BLIND, "claude", "c1", "x:y", 1))
    feed.stream(9, "now")
    assert claude.tail(100) == "Use REST now"
    assert claude.tail(3) == "now"
    feed.apply(round_opened("council/3-reconsider"))
    feed.stream(12, " late words", call="c1")
    assert claude.tail(100) == ""
    feed.stream(0, "Again", round="council/3-reconsider", call="c2")
    assert claude.tail(100) == "Again"


def test_the_closing_block_is_not_shown_while_it_is_being_written() -> None:
    feed = BoardFeed()
    feed.apply(SessionOpened(CHARTER), round_opened(BLIND), TurnAsked(BLIND, "claude", "c1", "x:y", 1))
    claude = feed.board.seats["claude"]
    reply = 'Send ```json\n{"a": 1}\n``` to it.\n\n```json\n{"position": "REST"}\n```'
    for cut in (len(reply) - 4, len(reply)):
        feed.stream(claude.length, reply[claude.length : cut])
        assert claude.tail(1000) == 'Send ```json\n{"a": 1}\n``` to it.'
    feed.apply(round_opened("council/2-ballot"))
    feed.stream(0, '{"ratings": {"A"', round="council/2-ballot", call="c2")
    assert claude.tail(1000) == ""
