"""A session, folded from its facts. The engine and every door use this fold; there is no other state."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from roundtable.core.effects import Effect, EffectResult, FilesRead, RunProject, SharedResult
from roundtable.core.events import (
    CallFailed,
    CancelAsked,
    ChangeUndone,
    ContinueAsked,
    DecisionMade,
    EffectDone,
    EffectFailed,
    EffectStarted,
    EntryWritten,
    Event,
    GateAnswered,
    GateOpened,
    LimitReached,
    MoveMade,
    NoteSaid,
    PauseAsked,
    Recorded,
    RoundClosed,
    RoundOpened,
    RunStarted,
    RunStopped,
    SeatMissed,
    SessionAmended,
    SessionEnded,
    SessionForgotten,
    SessionOpened,
    StopAsked,
    TurnAsked,
    TurnDelayed,
    TurnInterrupted,
    UnknownEvent,
)
from roundtable.core.faults import Fault, FaultKind, NotFound, RecordError
from roundtable.core.ledger import Entry
from roundtable.core.values import (
    Absence,
    Charter,
    ContextItem,
    Decision,
    Gate,
    Limits,
    Move,
    MoveStatus,
    Round,
    Seat,
    Substitution,
    Usage,
)


class SeatState(StrEnum):
    """The state of a seat in a round."""

    WAITING = "waiting"
    ASKED = "asked"
    ANSWERED = "answered"
    LATE = "late"
    MISSING = "missing"
    INTERRUPTED = "interrupted"
    OFF = "off"


class Turn(msgspec.Struct):
    """One seat in one round: its prompts, its failed calls, and its answer or the reason for having none."""

    seat: str
    asked: list[tuple[int, TurnAsked]] = []
    failures: list[CallFailed] = []
    move: MoveMade | None = None
    seq: int = 0
    missed: SeatMissed | None = None
    missed_seq: int = 0
    partial: str = ""
    interrupted: list[str] = []

    @property
    def is_settled(self) -> bool:
        """Whether this turn is settled and must not be asked again."""
        return self.move is not None or self.missed is not None

    @property
    def state(self) -> SeatState:
        """The state of the seat in this round."""
        if self.move is not None:
            return SeatState.LATE if self.move.status is MoveStatus.LATE else SeatState.ANSWERED
        if self.missed is not None:
            return SeatState.MISSING
        if self.interrupted and (not self.asked or self.asked[-1][1].call in self.interrupted):
            return SeatState.INTERRUPTED
        return SeatState.ASKED if self.asked else SeatState.WAITING

    def as_move(self) -> Move | None:
        """The answer as a decision rule sees it."""
        made = self.move
        if made is None:
            return None
        return Move(
            made.round,
            made.seat,
            made.text,
            made.verdict,
            made.usage,
            made.timing,
            made.voice,
            made.vendor,
            made.status,
        )


class RoundRecord(msgspec.Struct):
    """One round as recorded so far."""

    opened: RoundOpened
    seq: int
    turns: dict[str, Turn]
    closed: RoundClosed | None = None
    closed_seq: int = 0

    @property
    def name(self) -> str:
        """The round's name, unique within the session."""
        return self.opened.round

    def moves(self) -> list[Move]:
        """The answers that were in time, in speaking order."""
        moves = (self.turns[seat].as_move() for seat in self.opened.order)
        return [move for move in moves if move is not None and move.status is MoveStatus.MADE]

    def result(self, closed: RoundClosed) -> Round:
        """The round as the meeting gets it. Only answers that had arrived when it closed count."""
        moves = tuple(move for move in self.moves() if move.seat in closed.counted)
        missing = tuple(Absence(seat, self._absence_cause(seat)) for seat in closed.missing)
        return Round(self.name, self.opened.electorate, moves, missing, closed.quorate, self.opened.turns.purpose)

    def _absence_cause(self, seat: str) -> Fault:
        turn = self.turns[seat]
        in_time = not self.closed_seq or turn.missed_seq < self.closed_seq
        if turn.missed is not None and in_time:
            return turn.missed.fault
        return Fault.of(
            FaultKind.TIMEOUT,
            "The seat had not answered when the round closed.",
            help="Give rounds more time with limits.round_deadline.",
        )


class Session:
    """The state of one session after some fact of its record."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.seq: int = 0
        self.opened_at = ""
        self.updated_at = ""
        self.charter_or_none: Charter | None = None
        self.name = ""
        self.seats_off: set[str] = set()
        self.limits = Limits()
        self.rounds: dict[str, RoundRecord] = {}
        self.notes: list[tuple[int, NoteSaid]] = []
        self.amendments: list[tuple[int, SessionAmended]] = []
        self.context_added: list[tuple[int, ContextItem]] = []
        self.context_removed: list[tuple[int, str]] = []
        self.gates: dict[str, Gate] = {}
        self.answers: dict[str, GateAnswered] = {}
        self.gate_remarks: list[tuple[int, str]] = []
        self.effects: dict[str, Effect] = {}
        self.results: dict[str, EffectResult | Fault] = {}
        self.stop_requested: set[str] = set()
        self.shared_results: list[tuple[int, str, SharedResult]] = []
        self.entries: dict[str, Entry] = {}
        self.undone: dict[str, ChangeUndone] = {}
        self.limit_stops: dict[str, LimitReached] = {}
        self.paused = False
        self.forgotten = False
        self.cancel: CancelAsked | None = None
        self.runs = 0
        self.started_at = ""
        self.stopped: RunStopped | None = None
        self.decision: Decision | None = None
        self.decided_at = ""
        self.ended = False
        self.spent = Usage()

    @classmethod
    def fold(cls, id: str, records: Iterable[Recorded]) -> Session:
        """Fold a whole record."""
        session = cls(id)
        for recorded in records:
            session.apply(recorded)
        return session

    @property
    def charter(self) -> Charter:
        """The charter of the session; raises RecordError before the session is opened."""
        if self.charter_or_none is None:
            raise RecordError(f"Session {self.id} has no opening event.")
        return self.charter_or_none

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that are switched on now."""
        return tuple(seat for seat in self.charter.seats if seat.name not in self.seats_off)

    @property
    def open_gates(self) -> tuple[Gate, ...]:
        """The gates that wait for an answer, in the order in which they were opened."""
        if self.ended:
            return ()
        return tuple(gate for gate in self.gates.values() if gate.id not in self.answers)

    @property
    def open_steps(self) -> tuple[str, ...]:
        """The steps that were started and have no result yet."""
        return tuple(step for step in self.effects if step not in self.results)

    @property
    def running_programs(self) -> tuple[str, ...]:
        """The steps whose program is running, or was running when its process ended."""
        return tuple(step for step in self.open_steps if isinstance(self.effects[step], RunProject))

    @property
    def status(self) -> str:
        """The status in one word for lists; whether a process is alive is not recorded."""
        if self.decision is not None:
            return str(self.decision.outcome)
        if self.open_gates:
            return "waiting"
        return "paused" if self.paused else "open"

    @property
    def newest_round(self) -> RoundRecord | None:
        """The round that was opened last."""
        return next(reversed(self.rounds.values()), None)

    @property
    def seat_states(self) -> dict[str, SeatState]:
        """The state of each seat in its newest turn."""
        states = {seat.name: SeatState.WAITING for seat in self.charter.seats}
        for record in self.rounds.values():
            states |= {name: turn.state for name, turn in record.turns.items()}
        return states | dict.fromkeys(self.seats_off, SeatState.OFF)

    @property
    def last_voices(self) -> dict[str, str]:
        """The voice that gave the last answer of each seat."""
        turns = [turn for record in self.rounds.values() for turn in record.turns.values()]
        return {turn.seat: turn.move.voice for turn in turns if turn.move is not None}

    def find_round(self, address: str) -> RoundRecord:
        """The round with this name (`council/1-blind`), last part (`1-blind`) or unique number."""
        matches = [record for name, record in self.rounds.items() if _matches_address(name, address)]
        if len(matches) == 1:
            return matches[0]
        known = ", ".join(self.rounds) or "none so far"
        message = f"{len(matches)} rounds match {address}." if matches else f"This session has no round {address}."
        raise NotFound(message, f"Name one of its rounds: {known}.")

    def seat(self, name: str) -> Seat:
        """A seat of the charter by its name."""
        return next(seat for seat in self.charter.seats if seat.name == name)

    def turn(self, round: str, seat: str) -> Turn:
        """One seat's turn in one round."""
        return self.rounds[round].turns[seat]

    def substitutions(self) -> tuple[Substitution, ...]:
        """The seats that answered through another voice than their first, with the causes."""
        rounds: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        causes: dict[tuple[str, str], Fault] = {}
        for record in self.rounds.values():
            for turn in record.turns.values():
                for failure in turn.failures:
                    causes[turn.seat, failure.voice] = causes["", failure.voice] = failure.fault
                chain = self.seat(turn.seat).voice_chain(judging=record.opened.turns.judging)
                if turn.move is not None and turn.move.voice != chain[0]:
                    rounds.setdefault((turn.seat, turn.move.voice, chain), []).append(record.name)
        unknown = Fault.of(FaultKind.MISSING, "it was unavailable.")

        def cause(seat: str, voice: str) -> Fault:
            """The fault of this voice, at this seat or another: a run does not retry it after a permanent fault."""
            return causes.get((seat, voice)) or causes.get(("", voice), unknown)

        return tuple(
            Substitution(
                seat,
                voice,
                chain[0],
                tuple(names),
                cause(seat, chain[0]),
                {skipped: cause(seat, skipped) for skipped in chain[1 : chain.index(voice)]},
            )
            for (seat, voice, chain), names in rounds.items()
        )

    def context(self, heard: int | None = None) -> list[tuple[int, ContextItem]]:
        """The context after fact `heard`, or now: each item with the fact that added it, 0 for the opening."""
        until = self.seq if heard is None else heard
        added = [(0, item) for item in self.charter.context]
        added += [(seq, item) for seq, item in self.context_added if seq <= until]
        removed = {name: seq for seq, name in self.context_removed if seq <= until}
        return [(seq, item) for seq, item in added if seq >= removed.get(item.name, 0)]

    def expect_round(self, opened: RoundOpened) -> RoundRecord:
        """The round as it will be once its opening is recorded; calls may be made before that."""
        turns = {seat: Turn(seat) for seat in opened.electorate}
        return self.rounds.setdefault(opened.round, RoundRecord(opened, self.seq + 1, turns))

    def apply(self, recorded: Recorded) -> None:
        """Apply one more fact. Facts must come in order, without gaps."""
        if recorded.seq != self.seq + 1:
            raise RecordError(f"Session {self.id}: event {recorded.seq} cannot follow event {self.seq}.")
        self.seq = recorded.seq
        self.updated_at = recorded.at
        self._apply_event(recorded.event, recorded)

    def _apply_event(self, event: Event, recorded: Recorded) -> None:
        match event:
            case TurnAsked():
                self.turn(event.round, event.seat).asked.append((recorded.seq, event))
            case MoveMade() | SeatMissed() | CallFailed() | TurnInterrupted():
                self._apply_turn(event, recorded.seq)
            case RoundOpened():
                record = self.expect_round(event)
                record.opened, record.seq = event, recorded.seq
            case RoundClosed():
                record = self.rounds[event.round]
                record.closed, record.closed_seq = event, recorded.seq
            case LimitReached():
                self.limit_stops[event.round] = event
            case SessionOpened() | RunStarted() | RunStopped() | DecisionMade() | SessionEnded():
                self._apply_session(event, recorded)
            case EffectStarted():
                self.effects[event.step] = event.effect
            case EffectDone():
                self._apply_result(event, recorded.seq)
            case EffectFailed():
                self.results[event.step] = event.fault
            case GateOpened():
                self.gates[event.gate.id] = event.gate
            case TurnDelayed() | UnknownEvent():
                pass
            case _:
                self._apply_person_event(event, recorded.seq)

    def _apply_result(self, event: EffectDone, seq: int) -> None:
        """Record a result. From here on, all seats see files and check results that one seat requested."""
        self.results[event.step] = event.result
        if isinstance(event.result, SharedResult):
            self.shared_results.append((seq, event.step, event.result))
        if isinstance(event.result, FilesRead):
            self.context_added += [(seq, item) for item in event.result.items]

    def _apply_turn(self, event: MoveMade | SeatMissed | CallFailed | TurnInterrupted, seq: int) -> None:
        turn = self.turn(event.round, event.seat)
        match event:
            case MoveMade():
                turn.move, turn.seq = event, seq
                self.spent = self.spent.plus(event.usage)
            case SeatMissed():
                turn.missed, turn.missed_seq = event, seq
                turn.partial = event.partial
            case CallFailed():
                turn.failures.append(event)
                self.spent = self.spent.plus(event.usage)
            case TurnInterrupted():
                turn.partial = event.partial
                turn.interrupted.append(event.call)

    def _apply_session(
        self, event: SessionOpened | RunStarted | RunStopped | DecisionMade | SessionEnded, recorded: Recorded
    ) -> None:
        match event:
            case SessionOpened():
                self.charter_or_none = event.charter
                self.opened_at = recorded.at
                self.name = event.charter.name
                self.limits = event.charter.limits
            case RunStarted():
                self.runs += 1
                if recorded.seq > self.charter.branched_at:  # a branch starts with the runs of its parent
                    self.started_at = self.started_at or recorded.at
                self.stopped = None
            case RunStopped():
                self.stopped = event
            case DecisionMade():
                self.decision = event.decision
                self.decided_at = recorded.at
            case SessionEnded():
                self.ended = True

    def _apply_person_event(
        self,
        event: NoteSaid
        | PauseAsked
        | ContinueAsked
        | CancelAsked
        | StopAsked
        | GateAnswered
        | SessionAmended
        | EntryWritten
        | SessionForgotten
        | ChangeUndone,
        seq: int,
    ) -> None:
        match event:
            case NoteSaid():
                self.notes.append((seq, event))
            case PauseAsked():
                self.paused = True
            case ContinueAsked():
                self.paused = False
            case CancelAsked():
                self.cancel = event
            case StopAsked():
                self.stop_requested |= set(self.running_programs)
            case GateAnswered():
                gate = self.gates.get(event.gate)
                if gate is not None and event.option in gate.options and event.gate not in self.answers:
                    self.answers[event.gate] = event
                    self.gate_remarks += [(seq, event.text)] if event.text else []
            case SessionAmended():
                self._apply_amendment(event, seq)
            case EntryWritten():
                self.entries[event.entry.id] = event.entry
            case SessionForgotten():
                self.name, self.forgotten = "", True
            case ChangeUndone():
                self.undone[event.change] = event

    def _apply_amendment(self, event: SessionAmended, seq: int) -> None:
        self.amendments.append((seq, event))
        if event.name is not None:
            self.name = event.name
        self.seats_off = (self.seats_off | set(event.seats_off)) - set(event.seats_on)
        self.context_removed += [(seq, name) for name in event.context_removed]
        self.context_added += [(seq, item) for item in event.context_added]
        if event.limits is not None:
            self.limits = event.limits


def _matches_address(round: str, address: str) -> bool:
    last = round.rpartition("/")[2]
    return address in (round, last, last.partition("-")[0])
