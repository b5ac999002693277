"""The table a meeting sits at: every ask and every effect is looked up on the record before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec

from roundtable.core.effects import ChildEnded, Effect, EffectResult, OpenChild
from roundtable.core.events import (
    BY_ADVANCE_ANSWER,
    BY_DEADLINE_DEFAULT,
    BY_HEADLESS_DEFAULT,
    EffectDone,
    EffectFailed,
    EffectStarted,
    GateAnswered,
    GateOpened,
    LimitReached,
    RoundClosed,
    RoundOpened,
)
from roundtable.core.faults import Fault, RecordMismatch
from roundtable.core.ports import AgentWorktrees, Performer, Voices
from roundtable.core.replies import find_codec
from roundtable.core.session import RoundRecord
from roundtable.core.values import Charter, Decision, Expect, Gate, Outcome, Prompt, Round, Seat, Turns
from roundtable.engine.clock import PausableTimeout, pausable_timeout
from roundtable.engine.limits import DecreeReview, find_exceeded_limit, has_quorum
from roundtable.engine.prompts import PromptLayout, charter_blob_digests, shuffle_by_seed
from roundtable.engine.recorder import SessionRecorder
from roundtable.engine.turns import TurnTaker

T = TypeVar("T")
RoundEnding = Literal["all", "deadline", "quorum", "cancelled"]


class MeetingCancelled(Exception):
    """A person ended the session; unwinds the meeting."""


class MeetingLimitReached(Exception):
    """A bound of the charter ended the session; unwinds a meeting that did not ask beforehand."""

    def __init__(self, reached: LimitReached) -> None:
        super().__init__(reached.limit)
        self.reached = reached


class RecordedTable:
    """The engine's own table."""

    def __init__(
        self, clerk: SessionRecorder, voices: Voices, performer: Performer, workplaces: AgentWorktrees | None = None
    ) -> None:
        self._workplaces = workplaces
        self._clerk = clerk
        self._session = clerk.session
        self._voices = voices
        self._performer = performer
        self._layout = PromptLayout(clerk.session, clerk.texts)
        self._heeding = DecreeReview(clerk.session, self.gate)
        self._granted: set[str] = set()
        self._useless: set[str] = set()
        self._speaking: set[asyncio.Task[None]] = set()
        clerk.on_cancel = self.stop_speaking

    @property
    def charter(self) -> Charter:
        """What was agreed at the opening."""
        return self._session.charter

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that are switched on now."""
        return self._session.seats

    @property
    def labels(self) -> dict[str, str]:
        """The names under which seats are read out where they are anonymous."""
        return self._layout.labels

    # --- asking ----------------------------------------------------------------------------------

    async def ask(
        self,
        round: str,
        prompt: Prompt,
        *,
        expect: Expect = Expect(),
        seats: Sequence[str] | None = None,
        turns: Turns = Turns(),
    ) -> Round:
        """Ask the seats one round and wait until it closes."""
        record = self._session.rounds.get(round)
        if record is None:
            record = await self._open(round, prompt, expect, seats, turns)
        else:
            _same_round(record.opened, expect, seats, turns)
        if record.closed is None:
            return record.result(await self._hear(record))
        if record.closed.how == "cancelled":
            raise MeetingCancelled
        return record.result(record.closed)

    async def _open(
        self, round: str, prompt: Prompt, expect: Expect, seats: Sequence[str] | None, turns: Turns
    ) -> RoundRecord:
        if not await self.may_open(round):
            raise MeetingLimitReached(self._session.limit_stops[round])
        await self._clerk.load_texts(charter_blob_digests(self._session))
        form = find_codec(expect.codec)
        on = [seat for seat in self.seats if seats is None or seat.name in seats]
        json_text = form.json_format(expect) if form.json_format else ""
        keeping = (self._clerk.store_text(text) for text in (form.text_format(expect), json_text))
        text_format, json_format = await asyncio.gather(*keeping)
        order = tuple(self._order(round, on, turns))
        opened = RoundOpened(
            round,
            electorate=tuple(seat.name for seat in on),
            order=order,
            turns=turns,
            expect=expect,
            prompt=prompt,
            template=self.charter.templates[prompt.template],
            text_format=text_format,
            json_format=json_format,
            limits=self._session.limits,
        )
        self._clerk.record_with_next(opened)
        return self._session.expect_round(opened)

    def _order(self, round: str, seats: Sequence[Seat], turns: Turns) -> list[str]:
        names = [seat.name for seat in seats]
        match turns.order:
            case "listed":
                return names
            case "priority":
                return [seat.name for seat in sorted(seats, key=lambda seat: seat.priority)]
            case "shuffle":
                return shuffle_by_seed(names, self.charter.seed, round)
            case "rotate":
                shift = len(self._session.rounds) % max(1, len(names))
                return names[shift:] + names[:shift]

    async def _hear(self, record: RoundRecord) -> RoundClosed:
        """Let every seat that has not spoken yet speak, then close the round."""
        how: RoundEnding = "all"
        await self._boundary()
        limits, turns = record.opened.limits, record.opened.turns
        one_by_one = limits.sequential or turns.concurrency == "sequential"
        # Seats that wait for each other get the time they would have had side by side.
        patience = len(record.opened.order) if one_by_one else 1
        try:
            async with pausable_timeout(limits.round_deadline * max(1, patience)) as own:
                await (self._in_turn if one_by_one else self._together)(record, own)
        except TimeoutError:
            how = "deadline"
        if self._session.cancel is not None:
            how = "cancelled"
        elif how == "all" and not all(turn.is_settled for turn in record.turns.values()):
            how = "quorum"
        moves = record.moves()
        counted = tuple(move.seat for move in moves)
        missing = tuple(seat for seat in record.opened.electorate if seat not in counted)
        closed = RoundClosed(record.name, how, counted, missing, _quorate(record))
        if how == "all":
            self._clerk.record_with_next(closed)
        else:
            await self._clerk.record(closed)
        self._raise_if_cancelled()
        return closed

    def _start(self, record: RoundRecord, seat: str, time: PausableTimeout) -> asyncio.Task[None]:
        who = self._session.seat(seat)
        taker = TurnTaker(self._clerk, self._voices, self._layout, record, who, self._useless, self._workplaces, time)
        task = asyncio.create_task(taker.take(), name=f"{record.name}/{seat}")
        self._speaking.add(task)
        task.add_done_callback(self._left)
        return task

    def _left(self, task: asyncio.Task[None]) -> None:
        """A turn is over. Its error, if any, is raised where the round waits for it, or came after the end."""
        self._speaking.discard(task)
        if not task.cancelled():
            task.exception()

    async def _together(self, record: RoundRecord, time: PausableTimeout) -> None:
        """Everyone at once. Who is still speaking when the round closes goes on, and is marked late."""
        pending = {self._start(record, seat, time) for seat in record.opened.order if not record.turns[seat].is_settled}
        early = record.opened.limits.close_on_quorum
        when = asyncio.FIRST_COMPLETED if early else asyncio.FIRST_EXCEPTION
        while pending:
            done, pending = await asyncio.wait(pending, return_when=when)
            for task in done:
                self._settle(task)
            if self._enough(record):
                return

    async def _in_turn(self, record: RoundRecord, time: PausableTimeout) -> None:
        """One after the other, each at a turn boundary. A pause does not eat the round's time."""
        waiting = [seat for seat in record.opened.order if not record.turns[seat].is_settled]
        for seat in waiting:
            if seat != waiting[0] and not await self._still_going(time):
                return
            task = self._start(record, seat, time)
            await asyncio.wait({task})
            self._settle(task)
            if self._enough(record):
                return

    async def _still_going(self, time: PausableTimeout) -> bool:
        try:
            with time.paused():
                await self._boundary()
        except MeetingCancelled:
            return False
        return True

    @staticmethod
    def _settle(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.result()

    def _enough(self, record: RoundRecord) -> bool:
        return record.opened.limits.close_on_quorum and _quorate(record)

    def stop_speaking(self) -> None:
        """Stop every seat that is speaking, now."""
        for task in self._speaking:
            task.cancel()

    async def finish(self) -> None:
        """Stop whoever still speaks and wait until their words are on the record."""
        self.stop_speaking()
        while self._speaking:
            await asyncio.wait(set(self._speaking))

    # --- boundaries ------------------------------------------------------------------------------

    async def final_boundary(self) -> None:
        """The last boundary: a person who paused or cancelled is heard before the decision is written."""
        await self._boundary()

    async def _boundary(self) -> None:
        """Between turns: hear what people said, stay paused while they want it, stop if they want it."""
        await self._clerk.refresh()
        if self._session.paused:
            await self._clerk.wait_until(lambda: not self._session.paused or self._session.cancel is not None)
        self._raise_if_cancelled()

    def _raise_if_cancelled(self) -> None:
        if self._session.cancel is not None:
            raise MeetingCancelled

    async def may_open(self, round: str) -> bool:
        """Whether the limits leave room for this round; a no is recorded with its reason."""
        if round in self._session.rounds or round in self._granted:
            return True
        if round in self._session.limit_stops:
            return False
        await self._boundary()
        reached = find_exceeded_limit(self._session, round)
        if reached is None:
            self._granted.add(round)
        else:
            await self._clerk.record(reached)
        return reached is None

    # --- gates, effects, children ----------------------------------------------------------------

    async def gate(self, gate: Gate) -> str:
        """Ask the person, and wait as long as it takes."""
        session = self._session
        if gate.id not in session.gates:
            await self._clerk.record(GateOpened(gate))
        elif session.gates[gate.id].options != gate.options:
            raise _mismatch(f"Gate {gate.id} is on the record with other options.")
        if gate.id not in session.answers:
            ahead = gate.advance_answer(self.charter.answers)
            if ahead in gate.options:
                await self._clerk.record(GateAnswered(gate.id, ahead, by=BY_ADVANCE_ANSWER))
            elif self.charter.headless:
                why = f"{BY_HEADLESS_DEFAULT}, since {ahead} is no option" if ahead else BY_HEADLESS_DEFAULT
                await self._clerk.record(GateAnswered(gate.id, gate.default, by=why))
            else:
                await self._wait_for_answer(gate)
        self._raise_if_cancelled()
        return session.answers[gate.id].option

    async def _wait_for_answer(self, gate: Gate) -> None:
        session = self._session
        try:
            async with asyncio.timeout(gate.deadline):
                await self._clerk.wait_until(lambda: gate.id in session.answers or session.cancel is not None)
        except TimeoutError:
            await self._clerk.record(GateAnswered(gate.id, gate.default, by=BY_DEADLINE_DEFAULT))

    def answer_text(self, gate: str) -> str:
        """What the person wrote with their answer."""
        answer = self._session.answers.get(gate)
        return answer.text if answer is not None else ""

    def answered_by_default(self, gate: str) -> bool:
        """Whether nobody answered it."""
        return self._session.answers[gate].by_default

    async def gate_after_note(self, gate: Gate, before: str) -> str:
        """Ask the person whether to go on, if they have spoken since the last round was asked."""
        session = self._session
        if gate.id not in session.gates:
            if before in session.rounds:
                return ""
            await self._boundary()
            known = max((_listened(record) for record in session.rounds.values()), default=0)
            if not any(seq > known for seq, _ in session.notes):
                return ""
        return await self.gate(gate)

    async def check_decrees(self, decision: Decision) -> Decision:
        """Ask the person about every earlier no that a decision repeats unanswered."""
        moves = (move for record in self._session.rounds.values() for move in record.moves())
        return await self._heeding.review(decision, moves)

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault:
        """Have something done once, whatever happens in between."""
        session = self._session
        if session.effects.get(step, effect) != effect:
            raise _mismatch(f"Step {step} is on the record with something else to do.")
        if step in session.results:
            return session.results[step]
        await self._boundary()
        key = f"{session.id}/{step}"
        outcome: EffectResult | Fault | None = None
        if step in session.effects:
            outcome = await self._performer.recover(key, effect)
        else:
            await self._clerk.record(EffectStarted(step, effect))
        if outcome is None:
            outcome = await self._performer.perform(key, effect)
        done = EffectFailed(step, outcome) if isinstance(outcome, Fault) else EffectDone(step, outcome)
        await self._clerk.record(done)
        self._raise_if_cancelled()
        return session.results[step]  # as it is on the record: what was redacted there stays unsaid

    async def child(self, step: str, charter: Charter) -> Decision:
        """Hold another meeting under this one."""
        result = await self.do(step, OpenChild(msgspec.structs.replace(charter, parent=self._session.id)))
        if isinstance(result, ChildEnded):
            return result.decision
        reason = result.message if isinstance(result, Fault) else "the child meeting gave no decision"
        return Decision(Outcome.FAILED, how=reason)


def _quorate(record: RoundRecord) -> bool:
    return has_quorum(record.moves(), record.opened.electorate, record.opened.limits)


def _listened(record: RoundRecord) -> int:
    """The last fact that every seat of a round could know of when it was first asked."""
    return min((turn.asked[0][1].heard for turn in record.turns.values() if turn.asked), default=record.seq)


def _same_round(opened: RoundOpened, expect: Expect, seats: Sequence[str] | None, turns: Turns) -> None:
    """A resumed meeting must ask what it asked before, or somebody has changed the meeting."""
    others = seats is not None and not set(opened.electorate) <= set(seats)
    if others or opened.expect != expect or opened.turns != turns:
        raise _mismatch(f"Round {opened.round} is on the record with other seats, turns or another form of answer.")


def _mismatch(message: str) -> RecordMismatch:
    return RecordMismatch(message, "Open a new session, or branch from an earlier round.")
