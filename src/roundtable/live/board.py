"""The state of a live room: every seat, the round, open gates and running steps, folded from events and deltas."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import reduce

import msgspec

from roundtable.core.events import (
    CallFailed,
    ContinueAsked,
    DecisionMade,
    Delta,
    EffectDone,
    EffectFailed,
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    MoveMade,
    PauseAsked,
    Recorded,
    RoundOpened,
    RunStopped,
    SeatMissed,
    SessionAmended,
    TurnAsked,
    TurnDelayed,
    TurnInterrupted,
)
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Gate, Usage
from roundtable.live.event_lines import DONE, ERROR, RESPONDING, TIMED_OUT, WAITING, live_fault_glyph, live_fault_line
from roundtable.report.costs import NO_VALUE, render_price
from roundtable.report.step_words import running_step_sentence

_GLYPH_WORDS = {RESPONDING: "responding", WAITING: "waiting", DONE: "done", TIMED_OUT: "timed out", ERROR: "error"}
_LONGEST_STEP_OUTPUT = 4000
"""Largest number of characters kept of what a step prints."""


class SessionView(msgspec.Struct, frozen=True):
    """How a viewer joined a session: what is already known, and whether the session runs in this process."""

    charter: Charter
    address: str
    brief_until: int = 0
    live_from: int = 0
    own: bool = True


class SeatPanel(msgspec.Struct):
    """One seat: its state, its words in the current turn, and its usage."""

    name: str
    color: str = ""
    glyph: str = WAITING
    round: str = ""
    call: str = ""
    pieces: list[str] = []
    length: int = 0
    remark: str = ""
    spent: Usage = Usage()
    calls: int = 0
    priced: bool = True
    since: float = 0.0
    seconds: float = 0.0
    off: bool = False

    @property
    def word(self) -> str:
        """The state in a word."""
        return "off" if self.off else _GLYPH_WORDS[self.glyph]

    @property
    def tokens(self) -> int:
        """Tokens used so far, with an estimate for the words being written."""
        return self.spent.tokens + (self.length // BYTES_PER_TOKEN if self.glyph == RESPONDING else 0)

    @property
    def cost(self) -> str:
        """The cost so far, in words."""
        return render_price(self.spent, priced=self.priced) if self.calls else NO_VALUE

    def elapsed(self, now: float) -> float:
        """The duration of the current or last turn in seconds."""
        return max(0.0, now - self.since) if self.glyph == RESPONDING else self.seconds

    def tail(self, most: int) -> str:
        """The last `most` characters of the words, without the closing block while it is being written."""
        ending: list[str] = []
        length = 0
        for piece in reversed(self.pieces):
            ending.append(piece)
            length += len(piece)
            if length >= most:
                break
        words = "".join(reversed(ending))[-most:]
        return _prose(words) if self.glyph == RESPONDING else words

    def add_text(self, delta: Delta, now: float) -> None:
        """Add words; the offset of a delta shows which are already known."""
        if delta.call != self.call:
            self.start_call(delta.call, delta.round, now)
        new = delta.text[max(0, self.length - delta.offset) :]
        if new:
            self.pieces.append(new)
            self.length += len(new)
            self.remark = ""

    def start_call(self, call: str, round: str, at: float) -> None:
        """Start a new call, unless its words arrived before the event."""
        if call == self.call and self.glyph == RESPONDING:
            self.since = at
            return
        self.call, self.round, self.since = call, round, at
        self.glyph, self.pieces, self.length, self.remark, self.seconds = RESPONDING, [], 0, "", 0.0

    def start_round(self, round: str) -> None:
        """Start a new round, unless its words arrived before the event."""
        if self.round != round:
            self.glyph, self.round, self.call = WAITING, round, ""
            self.pieces, self.length, self.remark, self.seconds = [], 0, "", 0.0

    def end_turn(self, glyph: str, now: float) -> None:
        """End the turn with this state."""
        if self.glyph == RESPONDING:
            self.seconds = max(0.0, now - self.since)
        self.glyph = glyph

    def add_usage(self, usage: Usage) -> None:
        """Add the usage of a call."""
        self.spent = self.spent.plus(usage)
        self.calls += 1
        self.priced = self.priced and usage.has_known_price


class RunningStep(msgspec.Struct):
    """A step that is being performed, and the end of what it has printed."""

    description: str
    output: str = ""


class Board:
    """The seats, the round, open gates and running steps."""

    def __init__(self, charter: Charter, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.question = charter.question
        self.seats = {seat.name: SeatPanel(seat.name, seat.color) for seat in charter.seats}
        self.round = ""
        self.earlier_rounds: set[str] = set()
        self.electorate: tuple[str, ...] = ()
        self.done: set[str] = set()
        self.paused = False
        self.gates: dict[str, Gate] = {}
        """The open gates by id, oldest first."""
        self.steps: dict[str, RunningStep] = {}
        """The running steps by name, oldest first."""
        self.ended = False
        self.started = 0.0

    @property
    def cost(self) -> str:
        """The cost of all seats so far, in words."""
        asked_seats = [seat for seat in self.seats.values() if seat.calls]
        total = reduce(Usage.plus, (seat.spent for seat in asked_seats), Usage())
        return render_price(total, priced=all(seat.priced for seat in asked_seats)) if asked_seats else NO_VALUE

    def apply(self, item: Recorded | Delta) -> None:
        """Add one event or delta."""
        if isinstance(item, Delta):
            is_over = item.round in self.earlier_rounds or (item.round == self.round and item.seat in self.done)
            if item.seat in self.seats and not is_over:
                self.seats[item.seat].add_text(item, self._clock())
            elif step := self.steps.get(item.round):
                step.output = (step.output + item.text)[-_LONGEST_STEP_OUTPUT:]
            return
        at = _parse_record_time(item.at)
        self.started = self.started or at
        event = item.event
        match event:
            case TurnAsked() | CallFailed() | TurnInterrupted() | MoveMade() | SeatMissed():
                self._turn(event, at)
            case TurnDelayed() if event.seat in self.seats:
                self.seats[event.seat].remark = event.words
            case RoundOpened():
                self.earlier_rounds.add(self.round)
                self.round, self.electorate, self.done = event.round, event.electorate, set()
                for seat in self.seats.values():
                    seat.start_round(event.round)
            case _:
                self._session(event)

    def _turn(self, event: TurnAsked | CallFailed | TurnInterrupted | MoveMade | SeatMissed, at: float) -> None:
        seat = self.seats.get(event.seat)
        if seat is None:
            return
        match event:
            case TurnAsked():
                if event.purpose == "repair":
                    seat.call, seat.remark = event.call, "repairing its reply"
                else:
                    seat.start_call(event.call, event.round, at)
            case MoveMade():
                seat.end_turn(DONE, at)
                seat.pieces, seat.length, seat.seconds = [event.text], len(event.text), event.timing.total
                seat.add_usage(event.usage)
                self.done.add(event.seat)
            case SeatMissed():
                seat.end_turn(live_fault_glyph(event.fault), at)
                seat.remark = live_fault_line(event.fault)
                self.done.add(event.seat)
            case CallFailed():
                seat.end_turn(live_fault_glyph(event.fault), at)
                retry = f" Retrying in {event.delay:.1f} s." if event.delay is not None else ""
                seat.remark = live_fault_line(event.fault) + retry
                if event.usage.tokens:
                    seat.add_usage(event.usage)
            case TurnInterrupted():
                seat.end_turn(WAITING, at)
                seat.remark = "interrupted"

    def _session(self, event: Event) -> None:
        match event:
            case PauseAsked():
                self.paused = True
            case ContinueAsked():
                self.paused = False
            case GateOpened():
                self.gates[event.gate.id] = event.gate
            case GateAnswered():
                self.gates.pop(event.gate, None)
            case EffectStarted():
                self.steps[event.step] = RunningStep(running_step_sentence(event.effect))
            case EffectDone() | EffectFailed():
                self.steps.pop(event.step, None)
            case SessionAmended():
                for name, seat in self.seats.items():
                    seat.off = (seat.off or name in event.seats_off) and name not in event.seats_on
            case RunStopped():
                for seat in self.seats.values():
                    seat.end_turn(DONE if seat.glyph == DONE else WAITING, seat.since)
            case DecisionMade():
                self.ended = True
            case _:
                pass


def _parse_record_time(at: str) -> float:
    """A recorded time as seconds, to compute durations."""
    return datetime.fromisoformat(at).timestamp()


def _prose(words: str) -> str:
    """The words without the machine-readable block at their end."""
    prose, fence, block = words.rpartition("```json")
    if fence and not block.partition("```")[2].strip():
        return prose.rstrip()
    return "" if words.lstrip().startswith('{"') else words
