"""The table of a running meeting: every ask and every effect is looked up in the record before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec

from roundtable.core.effects import ApplyChange, ChildEnded, Effect, EffectResult, EndStage, ListProject, OpenChild
from roundtable.core.events import (
    BY_ADVANCE_ANSWER,
    BY_DEADLINE_DEFAULT,
    BY_HEADLESS_DEFAULT,
    AnswerSource,
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
from roundtable.core.reasons import ChildMeetingFailed
from roundtable.core.replies import find_reply_codec
from roundtable.core.session import RoundRecord
from roundtable.core.values import Charter, Decision, Expect, Gate, Outcome, Prompt, Round, Seat, Turns
from roundtable.engine.clock import PausableTimeout, pausable_turn_timeout
from roundtable.engine.limits import DecreeReview, find_exceeded_round_limit
from roundtable.engine.prompts import PromptLayout
from roundtable.engine.recorder import SessionRecorder
from roundtable.engine.turns import TurnTaker

T = TypeVar("T")
RoundEnding = Literal["all", "deadline", "quorum", "cancelled"]


class MeetingCancelled(Exception):
    """A person cancelled the session; ends the meeting."""


class MeetingLimitReached(Exception):
    """A limit of the charter was reached; ends a meeting that did not check before opening a round."""

    def __init__(self, reached: LimitReached) -> None:
        super().__init__(reached.limit)
        self.reached = reached


class RecordedTable:
    """The engine's implementation of the Table port."""

    def __init__(
        self, recorder: SessionRecorder, voices: Voices, performer: Performer, worktrees: AgentWorktrees | None = None
    ) -> None:
        self._worktrees = worktrees
        self._recorder = recorder
        self._session = recorder.session
        self._voices = voices
        self._performer = performer
        self._layout = PromptLayout(recorder.session, recorder.texts)
        self._decrees = DecreeReview(recorder.session, self.gate)
        self._allowed_rounds: set[str] = set()
        self._failed_voices: set[str] = set()
        self._turn_tasks: set[asyncio.Task[None]] = set()
        recorder.on_cancel = self.stop_speaking

    @property
    def charter(self) -> Charter:
        """The question, seats and settings with which the session was opened."""
        return self._session.charter

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that are switched on now."""
        return self._session.seats

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the seats in anonymous rounds."""
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
        """Ask seats one round and wait until it closes."""
        record = self._session.rounds.get(round)
        if record is None:
            record = await self._open(round, prompt, expect, seats, turns)
        else:
            _check_same_round(record.opened, expect, seats, turns)
        if record.closed is None:
            return record.result(await self._run_round(record))
        if record.closed.how == "cancelled":
            raise MeetingCancelled
        return record.result(record.closed)

    async def _open(
        self, round: str, prompt: Prompt, expect: Expect, seats: Sequence[str] | None, turns: Turns
    ) -> RoundRecord:
        if not await self.may_open(round):
            raise MeetingLimitReached(self._session.limit_stops[round])
        await self._recorder.load_texts(self._layout.charter_digests())
        form = find_reply_codec(expect.codec)
        on = [seat for seat in self.seats if seats is None or seat.name in seats]
        json_text = form.json_format(expect) if form.json_format else ""
        keeping = (self._recorder.store_text(text) for text in (form.text_format(expect), json_text))
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
        self._recorder.record_with_next(opened)
        return self._session.expect_round(opened)

    def _order(self, round: str, seats: Sequence[Seat], turns: Turns) -> list[str]:
        names = [seat.name for seat in seats]
        match turns.order:
            case "listed":
                return names
            case "priority":
                return [seat.name for seat in sorted(seats, key=lambda seat: seat.priority)]
            case "shuffle":
                return self._layout.shuffle(names, self.charter.seed, round)
            case "rotate":
                shift = len(self._session.rounds) % max(1, len(names))
                return names[shift:] + names[:shift]

    async def _run_round(self, record: RoundRecord) -> RoundClosed:
        """Ask every seat that has not answered yet, then close the round."""
        how: RoundEnding = "all"
        await self._boundary()
        limits, turns = record.opened.limits, record.opened.turns
        one_by_one = limits.sequential or turns.concurrency == "sequential"
        # Seats that wait for each other get the same time as parallel ones.
        waiting_turns = len(record.opened.order) if one_by_one else 1
        try:
            async with pausable_turn_timeout(limits.round_deadline * max(1, waiting_turns)) as round_timeout:
                await (self._ask_in_turn if one_by_one else self._ask_all)(record, round_timeout)
        except TimeoutError:
            how = "deadline"
        if self._session.cancel is not None:
            how = "cancelled"
        elif how == "all" and not all(turn.is_settled for turn in record.turns.values()):
            how = "quorum"
        moves = record.moves()
        counted = tuple(move.seat for move in moves)
        missing = tuple(seat for seat in record.opened.electorate if seat not in counted)
        closed = RoundClosed(record.name, how, counted, missing, _has_quorum(record))
        if how == "all":
            self._recorder.record_with_next(closed)
        else:
            await self._recorder.record(closed)
        self._raise_if_cancelled()
        return closed

    def _start(self, record: RoundRecord, seat: str, time: PausableTimeout) -> asyncio.Task[None]:
        member = self._session.seat(seat)
        taker = TurnTaker(
            self._recorder, self._voices, self._layout, record, member, self._failed_voices, self._worktrees, time
        )
        task = asyncio.create_task(taker.take(), name=f"{record.name}/{seat}")
        self._turn_tasks.add(task)
        task.add_done_callback(self._on_turn_end)
        return task

    def _on_turn_end(self, task: asyncio.Task[None]) -> None:
        """A turn has ended. Its error, if any, is raised where the round waits for it, or came after the round."""
        self._turn_tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def _ask_all(self, record: RoundRecord, time: PausableTimeout) -> None:
        """Ask all seats at once. A seat that is still answering when the round closes continues, and is marked late."""
        pending = {self._start(record, seat, time) for seat in record.opened.order if not record.turns[seat].is_settled}
        early = record.opened.limits.close_on_quorum
        when = asyncio.FIRST_COMPLETED if early else asyncio.FIRST_EXCEPTION
        while pending:
            done, pending = await asyncio.wait(pending, return_when=when)
            for task in done:
                self._raise_error(task)
            if self._can_close(record):
                return

    async def _ask_in_turn(self, record: RoundRecord, time: PausableTimeout) -> None:
        """Ask one seat after the other, with a boundary between turns. A pause does not use up the round's time."""
        waiting = [seat for seat in record.opened.order if not record.turns[seat].is_settled]
        for seat in waiting:
            if seat != waiting[0] and not await self._may_continue(time):
                return
            task = self._start(record, seat, time)
            await asyncio.wait({task})
            self._raise_error(task)
            if self._can_close(record):
                return

    async def _may_continue(self, time: PausableTimeout) -> bool:
        try:
            with time.paused():
                await self._boundary()
        except MeetingCancelled:
            return False
        return True

    @staticmethod
    def _raise_error(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.result()

    def _can_close(self, record: RoundRecord) -> bool:
        return record.opened.limits.close_on_quorum and _has_quorum(record)

    def stop_speaking(self) -> None:
        """Cancel the turns of all seats now."""
        for task in self._turn_tasks:
            task.cancel()

    async def finish(self) -> None:
        """Cancel the remaining turns and wait until their text is recorded."""
        self.stop_speaking()
        while self._turn_tasks:
            await asyncio.wait(set(self._turn_tasks))

    # --- boundaries ------------------------------------------------------------------------------

    async def final_boundary(self) -> None:
        """The last boundary: a pause or cancel by the person takes effect before the decision is recorded."""
        await self._boundary()

    async def _boundary(self) -> None:
        """Between turns: read what people wrote, wait while the session is paused, stop if it is cancelled."""
        await self._recorder.refresh()
        if self._session.paused:
            await self._recorder.wait_until(lambda: not self._session.paused or self._session.cancel is not None)
        self._raise_if_cancelled()

    def _raise_if_cancelled(self) -> None:
        if self._session.cancel is not None:
            raise MeetingCancelled

    async def may_open(self, round: str) -> bool:
        """Whether the limits allow this round; a refusal is recorded with its reason."""
        if round in self._session.rounds or round in self._allowed_rounds:
            return True
        if round in self._session.limit_stops:
            return False
        await self._boundary()
        reached = find_exceeded_round_limit(self._session, round)
        if reached is None:
            self._allowed_rounds.add(round)
        else:
            await self._recorder.record(reached)
        return reached is None

    # --- gates, effects, children ----------------------------------------------------------------

    async def gate(self, gate: Gate) -> str:
        """Ask the person, and wait for as long as it takes."""
        session = self._session
        if gate.id not in session.gates:
            await self._recorder.record(GateOpened(gate))
        elif session.gates[gate.id].options != gate.options:
            raise _mismatch(f"Gate {gate.id} was recorded with different options.")
        if gate.id not in session.answers:
            option = gate.advance_answer(self.charter.answers)
            if option in gate.options:
                await self._recorder.record(
                    GateAnswered(gate.id, option, by=BY_ADVANCE_ANSWER, source=AnswerSource.ADVANCE)
                )
            elif self.charter.headless:
                by = f"{BY_HEADLESS_DEFAULT}: {option} is not an option" if option else BY_HEADLESS_DEFAULT
                await self._recorder.record(GateAnswered(gate.id, gate.default, by=by, source=AnswerSource.HEADLESS))
            else:
                await self._wait_for_answer(gate)
        self._raise_if_cancelled()
        return session.answers[gate.id].option

    async def _wait_for_answer(self, gate: Gate) -> None:
        session = self._session
        try:
            async with asyncio.timeout(gate.deadline):
                await self._recorder.wait_until(lambda: gate.id in session.answers or session.cancel is not None)
        except TimeoutError:
            default = GateAnswered(gate.id, gate.default, by=BY_DEADLINE_DEFAULT, source=AnswerSource.DEADLINE)
            await self._recorder.record(default)

    def answer_text(self, gate: str) -> str:
        """The text that the person wrote with their answer."""
        answer = self._session.answers.get(gate)
        return answer.text if answer is not None else ""

    def answered_by_default(self, gate: str) -> bool:
        """Whether nobody answered the gate."""
        return self._session.answers[gate].by_default

    async def gate_after_note(self, gate: Gate, before: str) -> str:
        """Ask the person whether to continue, if they wrote a note since the last round was asked."""
        session = self._session
        if gate.id not in session.gates:
            if before in session.rounds:
                return ""
            await self._boundary()
            last_heard = max((_earliest_heard(record) for record in session.rounds.values()), default=0)
            if not any(seq > last_heard for seq, _ in session.notes):
                return ""
        return await self.gate(gate)

    async def check_decrees(self, decision: Decision) -> Decision:
        """Ask the person about every earlier decree or failure that a decision repeats unanswered."""
        moves = (move for record in self._session.rounds.values() for move in record.moves())
        return await self._decrees.review(decision, moves)

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault:
        """Perform a step exactly once, even if the process is killed in between."""
        session = self._session
        if not _is_same_effect(session.effects.get(step, effect), effect):
            raise _mismatch(f"Step {step} was recorded with a different effect.")
        if step in session.results:
            return session.results[step]
        await self._boundary()
        key = f"{session.id}/{step}"
        outcome: EffectResult | Fault | None = None
        if step in session.effects:
            outcome = await self._performer.recover(key, effect)
        else:
            await self._recorder.record(EffectStarted(step, effect))
        if outcome is None:
            outcome = await self._performer.perform(key, effect)
        fact = EffectFailed(step, outcome) if isinstance(outcome, Fault) else EffectDone(step, outcome)
        await self._recorder.record(fact)
        self._raise_if_cancelled()
        return session.results[step]  # the recorded result is redacted

    async def child(self, step: str, charter: Charter) -> Decision:
        """Hold another meeting under this one."""
        result = await self.do(step, OpenChild(msgspec.structs.replace(charter, parent=self._session.id)))
        if isinstance(result, ChildEnded):
            return result.decision
        fault = result if isinstance(result, Fault) else None
        return Decision(Outcome.FAILED, how=(ChildMeetingFailed(fault),))


def _has_quorum(record: RoundRecord) -> bool:
    return record.opened.limits.quorum.is_reached(record.moves(), record.opened.electorate)


def _earliest_heard(record: RoundRecord) -> int:
    """The last fact that every seat of a round could know when it was first asked."""
    return min((turn.asked[0][1].heard for turn in record.turns.values() if turn.asked), default=record.seq)


def _is_same_effect(recorded: Effect, effect: Effect) -> bool:
    """Whether a step equals the recorded one; texts for people are ignored, because another version may change them."""
    match recorded, effect:
        case EndStage(end=before), EndStage(end=now):
            return (before.stage, before.attempt) == (now.stage, now.attempt)
        case ApplyChange(), ApplyChange():
            return msgspec.structs.replace(recorded, message="") == msgspec.structs.replace(effect, message="")
        case ListProject(), ListProject():
            return msgspec.structs.replace(recorded, about="") == msgspec.structs.replace(effect, about="")
        case _:
            return recorded == effect


def _check_same_round(opened: RoundOpened, expect: Expect, seats: Sequence[str] | None, turns: Turns) -> None:
    """Verify that a resumed meeting asks what it asked before."""
    has_other_seats = seats is not None and not set(opened.electorate) <= set(seats)
    if has_other_seats or opened.expect != expect or opened.turns != turns:
        raise _mismatch(f"Round {opened.round} was recorded with different seats, turns or a different reply format.")


def _mismatch(message: str) -> RecordMismatch:
    return RecordMismatch(message, "Open a new session, or branch from an earlier round.")
