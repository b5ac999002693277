"""One seat's turn: its voices in order, retries in this one place, and one request to mend an unreadable reply."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, aclosing
from typing import Literal
from zlib import crc32

import msgspec

from roundtable.core.events import CallFailed, Delta, MoveMade, SeatMissed, TurnAsked, TurnDelayed, TurnInterrupted
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import AgentWorktrees, Voice, Voices
from roundtable.core.replies import find_codec, read_reply
from roundtable.core.replies.codec import ReadReply
from roundtable.core.replies.prose import ProseStream, strip_thoughts
from roundtable.core.session import RoundRecord
from roundtable.core.text.redaction import RedactedStream
from roundtable.core.text.wording import fence_code, join_text_lines
from roundtable.core.usage import Usage
from roundtable.core.values import AgentWorktree, Message, MoveStatus, Reply, Request, Seat, Timing, WaitNotice
from roundtable.core.verdict import ParseStatus
from roundtable.engine.clock import PausableTimeout, pausable_timeout
from roundtable.engine.prompts import PromptLayout, prompt_blob_digests
from roundtable.engine.recorder import SessionRecorder

CallPurpose = Literal["answer", "retry", "repair", "fallback", "again"]

MAX_RETRY_DELAY = 30.0
PERMANENT_FAULTS = (FaultKind.UNAUTHORIZED, FaultKind.QUOTA, FaultKind.MISSING)
"""What will not have mended itself by the next round."""

MIN_CACHED_PROMPT_BYTES = 4096
"""Bytes of prompt below which no provider keeps it in its cache."""

_MOST_NAMED = 20


class _Spoken(msgspec.Struct):
    """How one call ended."""

    asked: TurnAsked
    end: Reply | Fault
    timing: Timing


class _Share(msgspec.Struct, frozen=True):
    """What one voice may use of a seat's time, of which so many `voices` want their part."""

    time: PausableTimeout
    voices: int

    def left(self) -> float:
        """Its even part of the seconds that are left now."""
        return self.time.seconds_left() / self.voices


class TurnTaker:
    """Takes the turn of one seat in one round, and leaves exactly one settling fact on the record."""

    def __init__(
        self,
        clerk: SessionRecorder,
        voices: Voices,
        layout: PromptLayout,
        round: RoundRecord,
        seat: Seat,
        useless: set[str],
        workplaces: AgentWorktrees | None,
        round_clock: PausableTimeout,
    ) -> None:
        self._round_clock = round_clock
        self._workplaces = workplaces
        self._place = AgentWorktree()
        self._useless = useless
        self._clerk = clerk
        self._voices = voices
        self._round = round
        self._seat = seat
        self._all_voices = seat.voice_chain(judging=round.opened.turns.judging)
        self._expect = round.opened.expect
        self._codec = find_codec(self._expect.codec)
        self._layout = layout
        self._limits = round.opened.limits
        self._turn = round.turns[seat.name]
        self._calls = len(self._turn.asked)
        self._retries_left = self._limits.retries
        self._call = ""
        self._said: list[str] = []
        self._offset = 0
        self._heard = 0
        self._failures = 0
        self._unmended: MoveMade | None = None
        self._last_fault = Fault.of(FaultKind.MISSING, "This seat has no voice.")

    async def take(self) -> None:
        """Ask until there is an answer, the voices are used up or the seat's time is over."""
        purpose: CallPurpose = "again" if self._calls else "answer"
        chain = self._chain()
        try:
            async with pausable_timeout(self._limits.seat_timeout) as self._clock:
                for index, name in enumerate(chain):
                    purpose = purpose if name == self._all_voices[0] else "fallback"
                    if await self._try_voice(name, purpose, _Share(self._clock, len(chain) - index)):
                        return
        except TimeoutError:
            self._last_fault = self._out_of_time()
        except asyncio.CancelledError:
            await self._stopped()
            raise
        if self._unmended is not None:
            await self._settle(self._unmended)
        else:
            await self._give_up(self._last_fault)

    def _out_of_time(self) -> Fault:
        """Nothing is forgotten of what went wrong before the time was up."""
        message = f"No complete answer within {self._limits.seat_timeout:g} s."
        before = f" Before that: {self._last_fault.message}" if self._failures else ""
        return Fault.of(FaultKind.TIMEOUT, message + before)

    def _chain(self) -> Sequence[str]:
        """The seat's voices, without those that this run has found useless, unless there is no other."""
        return [voice for voice in self._all_voices if voice not in self._useless] or self._all_voices

    async def _stopped(self) -> None:
        """Our run ends in mid-turn: keep the words. A cancelled session never asks again, an interrupted one does."""
        if self._clerk.session.cancel is not None:
            await self._give_up(Fault.of(FaultKind.CANCELLED, "The session was cancelled."))
        elif self._round.closed is not None:
            await self._give_up(Fault.of(FaultKind.TIMEOUT, "The meeting ended before it answered."))
        elif self._call and not self._turn.is_settled:
            event = TurnInterrupted(self._round.name, self._seat.name, self._call, "".join(self._said))
            await self._clerk.record(event)

    async def _give_up(self, fault: Fault) -> None:
        await self._settle(SeatMissed(self._round.name, self._seat.name, fault, "".join(self._said)))

    async def _settle(self, event: MoveMade | SeatMissed) -> None:
        """Write the one fact that ends this turn. What was handed in cannot be taken back, so it is waited for."""
        if self._turn.is_settled:
            return
        try:
            await self._clerk.record(event)
        except asyncio.CancelledError:
            await self._clerk.drain()
            raise

    async def _try_voice(self, name: str, purpose: CallPurpose, share: _Share) -> bool:
        """Ask one voice, again if that may help and its share of the seat's time is not over."""
        voice = self._voices.find(name)
        if isinstance(voice, Fault):
            self._next_call()
            await self._failed(name, voice, None)
            return False
        for_others = share.time.seconds_left() - share.left()
        while True:
            place = await self._workplace(voice)
            if isinstance(place, Fault):
                self._next_call()
                await self._failed(name, place, None)
                return False
            self._place = place
            spoken = await self._speak(voice, name, purpose, (), share)
            if isinstance(spoken.end, Reply):
                await self._answered(voice, name, spoken, spoken.end)
                return True
            delay = self._delay(spoken.end, share.time.seconds_left() - for_others)
            await self._failed(name, spoken.end, delay)
            if delay is None:
                return False
            self._retries_left -= 1
            await asyncio.sleep(delay)
            purpose = "retry"

    def _next_call(self) -> None:
        self._calls += 1
        self._call = f"{self._round.name}/{self._seat.name}#{self._calls}"
        self._said, self._offset = [], 0

    async def _failed(self, voice: str, fault: Fault, delay: float | None) -> None:
        usage, fault = fault.usage, msgspec.structs.replace(fault, usage=Usage())
        self._last_fault = fault
        self._failures += 1
        if fault.kind in PERMANENT_FAULTS:
            self._useless.add(voice)
        partial = "".join(self._said)
        event = CallFailed(self._round.name, self._seat.name, self._call, voice, fault, delay, partial, usage)
        await self._clerk.record(event)

    def _delay(self, fault: Fault, left: float) -> float | None:
        """How long to wait before the next try; None when another try cannot help."""
        if not fault.retryable or self._retries_left <= 0:
            return None
        tries = self._limits.retries - self._retries_left
        delay = min(MAX_RETRY_DELAY, self._limits.retry_delay * 2**tries) * random.uniform(0.5, 1.0)
        if fault.retry_after:  # not all seats at the same moment
            delay = max(delay, fault.retry_after * random.uniform(1.0, 1.1))
        return delay if delay < left else None

    async def _speak(
        self, voice: Voice, name: str, purpose: CallPurpose, more: tuple[Message, ...], share: _Share | None = None
    ) -> _Spoken:
        """One call. It is made while the fact that it was made is being written; no word is heard before that.

        Where another voice could answer in its place, it must give a sign of life within its share of the time left.
        """
        asked, request = await self._prepare(voice, name, purpose, more)
        speech = ProseStream(self._codec.spoken if asked.structured and not more else "")
        words = RedactedStream(self._clerk.feed.redactor)
        writing = asyncio.ensure_future(self._clerk.record(asked))
        patience = share.left() if share is not None and share.voices > 1 else None
        silence = asyncio.timeout(patience)
        first, end = 0.0, None
        began = self._clock.seconds_left()
        try:
            with ExitStack() as standing:
                async with silence, aclosing(_guarded(voice, request)) as stream:
                    async for piece in stream:
                        standing.close()
                        if isinstance(piece, WaitNotice):
                            silence.reschedule(None)
                            await self._stand_still(asked, piece, standing, writing)
                            continue
                        if share is not None and patience is not None:
                            patience = share.left()
                            silence.reschedule(asyncio.get_running_loop().time() + patience)
                        if not piece:
                            continue
                        if not first:
                            first = began - self._clock.seconds_left()
                            await asyncio.shield(writing)
                        if isinstance(piece, str):
                            self._hear(asked, words.feed(speech.feed(piece)))
                        else:
                            end = piece
            if isinstance(end, Reply):  # what waits in a broken stream may be half a secret, and stays unsaid
                self._hear(asked, words.finish())
        except TimeoutError:
            if not silence.expired():
                raise
            end = Fault.of(FaultKind.TIMEOUT, f"{name} was silent for {patience:.0f} s.", retryable=False)
        finally:
            await writing
        timing = Timing(round(first, 4), round(began - self._clock.seconds_left(), 4))
        return _Spoken(asked, await self._with_changes(_checked(end, name)), timing)

    async def _stand_still(
        self, asked: TurnAsked, wait: WaitNotice, standing: ExitStack, writing: asyncio.Future[None]
    ) -> None:
        """Until its turn has come, neither the seat's time nor the round's runs; who watches is told why."""
        standing.enter_context(self._clock.paused())
        standing.enter_context(self._round_clock.paused())
        await asyncio.shield(writing)
        told = TurnDelayed(asked.round, asked.seat, asked.call, asked.voice, round(wait.seconds, 1), wait.why)
        await self._clerk.record(told)

    def _hear(self, asked: TurnAsked, words: str) -> None:
        if words:
            offset, self._offset = self._offset, self._offset + len(words)
            self._said.append(words)
            delta = Delta(self._clerk.session.id, asked.round, asked.seat, asked.call, offset, words)
            self._clerk.feed.publish(delta)

    async def _prepare(
        self, voice: Voice, name: str, purpose: CallPurpose, more: tuple[Message, ...]
    ) -> tuple[TurnAsked, Request]:
        session = self._clerk.session
        self._next_call()
        self._heard = self._heard or session.seq
        await self._clerk.load_texts(prompt_blob_digests(session, self._round))
        structured = voice.structured and self._codec.schema is not None
        asked = TurnAsked(self._round.name, self._seat.name, self._call, name, self._heard, structured, purpose=purpose)
        messages = self._layout.messages(self._round, self._seat.name, asked)
        if structured and voice.plain_when_long and _size(messages) >= MIN_CACHED_PROMPT_BYTES:
            structured = False
            asked = msgspec.structs.replace(asked, structured=False)
            messages = self._layout.messages(self._round, self._seat.name, asked)
        messages += more
        if self._place.folder:
            *earlier, last = messages
            messages = (*earlier, msgspec.structs.replace(last, text=f"{last.text}\n\n{_BY_HAND}"))
        asked = msgspec.structs.replace(asked, prompt_bytes=_size(messages))
        request = Request(
            self._call,
            self._seat.name,
            messages,
            session="/".join(filter(None, (session.id, self._round.opened.turns.stage))),
            aside=self._round.opened.turns.secret,
            workplace=self._place.folder,
            variables=self._place.variables,
            schema=self._codec.schema(self._expect) if structured and self._codec.schema else None,
            schema_name=self._codec.name,
            max_tokens=self._expect.tokens or self._limits.max_tokens,
            seed=_seed(session.charter.seed, self._call),
            timeout=self._limits.seat_timeout,
        )
        return asked, request

    async def _workplace(self, voice: Voice) -> AgentWorktree | Fault:
        """A folder of its own for a voice that edits files, where the round is at the bench and one can be had."""
        if self._workplaces is None or not (voice.edits and self._round.opened.turns.at_bench):
            return AgentWorktree()
        return await self._workplaces.open(self._clerk.session.id, f"{self._round.name}/{self._seat.name}")

    async def _with_changes(self, end: Reply | Fault) -> Reply | Fault:
        """A reply with what was changed in its workplace: that is the answer then, and its words are only words."""
        if self._workplaces is None or not self._place.folder or isinstance(end, Fault):
            return end
        edits = await self._workplaces.edits(self._place.folder)
        if isinstance(edits, Fault):
            return msgspec.structs.replace(edits, usage=end.usage)
        told = end.text.strip()
        for why, names in (
            ("it is a repository of its own", edits.inner),
            ("it is no text", edits.no_text),
            ("it is a link", edits.links),
            ("copy or setup of [worktrees] had changed it before", edits.set_up),
        ):
            if names:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                told += f"\n\nLeft out, since {why}: {join_text_lines(', '.join(names[:_MOST_NAMED]))}{more}"
        if not edits.diff:
            return msgspec.structs.replace(end, text=told)
        words = "\n".join(f"> {line}" for line in told.splitlines())
        changed = fence_code(edits.diff.removesuffix("\n"), "diff")
        return msgspec.structs.replace(end, text=f"{words}\n\n{changed}")

    async def _answered(self, voice: Voice, name: str, spoken: _Spoken, reply: Reply) -> None:
        reading = read_reply(self._expect, reply.text, spoken.asked.structured)
        move = MoveMade(
            self._round.name,
            self._seat.name,
            spoken.asked.call,
            reading.text,
            name,
            reading.verdict,
            raw=reply.text if reply.text != reading.text else "",
            vendor=voice.vendor,
            model=reply.model,
            usage=reply.usage,
            timing=spoken.timing,
            truncated=reply.truncated,
        )
        if reading.verdict.parse is ParseStatus.FAILED:
            self._unmended = move
            move = await self._mend(voice, name, reply, move, reading)
        late = self._round.closed is not None
        await self._settle(msgspec.structs.replace(move, status=MoveStatus.LATE) if late else move)

    async def _mend(self, voice: Voice, name: str, reply: Reply, move: MoveMade, reading: ReadReply) -> MoveMade:
        """Ask once for the part that could not be read; its other words stand, unless all are asked for.

        Nobody is shown a hollow reply of its own: small models only say it again.
        """
        why, form = reading.why, self._codec.text_format(self._expect)
        wish = _MEND_ALL.format(why=why) if why else _MEND
        more = () if reading.hollow else (Message("assistant", reply.text), Message("user", f"{wish}\n\n{form}"))
        spoken = await self._speak(voice, name, "repair", more)
        if isinstance(spoken.end, Fault):
            await self._failed(name, spoken.end, None)
            return move
        usage = move.usage.plus(spoken.end.usage)
        second = read_reply(self._expect, spoken.end.text, spoken.asked.structured)
        if second.verdict.parse is ParseStatus.FAILED:
            return msgspec.structs.replace(move, usage=usage)
        verdict = msgspec.structs.replace(second.verdict, parse=ParseStatus.REPAIRED)
        text = second.text if spoken.asked.structured or why or not move.text else move.text
        return msgspec.structs.replace(move, text=text, verdict=verdict, usage=usage)


async def _guarded(voice: Voice, request: Request) -> AsyncGenerator[str | Reply | Fault]:
    """A voice that raises breaks its contract; the table takes it as one more way to fail."""
    try:
        async with aclosing(voice.speak(request)) as stream:
            async for piece in stream:
                yield piece
    except Exception as error:
        yield Fault.of(FaultKind.CRASHED, f"The voice {voice.name} failed unexpectedly: {type(error).__name__}.")


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.text.encode()) for message in messages)


_BY_HAND = (
    "You stand in a folder of your own with the files of the project, and may edit them. Do so instead of writing "
    "files in your answer: what you change here is your answer. Then say in a few words what you did."
)
_MEND = "That reply could not be read. Keep your answer as it is, and send only the closing block again."
_MEND_ALL = "That reply could not be read. {why} Send all of it again, as a whole."


def _checked(end: Reply | Fault | None, voice: str) -> Reply | Fault:
    """An empty answer is never a voice, whoever calls it a success."""
    if end is None:
        return Fault.of(FaultKind.TRUNCATED, f"The voice {voice} stopped without an end.")
    if isinstance(end, Reply) and not end.text.strip():
        return Fault.of(FaultKind.EMPTY, f"The voice {voice} answered with nothing.")
    if isinstance(end, Reply) and not strip_thoughts(end.text).strip():
        kind = FaultKind.TRUNCATED if end.truncated else FaultKind.EMPTY
        fault = Fault.of(kind, f"The voice {voice} thought aloud and answered nothing.")
        return msgspec.structs.replace(fault, usage=end.usage)
    if isinstance(end, Reply) and not _is_text(end.text):
        return Fault.of(FaultKind.MALFORMED, f"The voice {voice} answered with characters that are not Unicode.")
    return end


def _is_text(words: str) -> bool:
    """Half of a surrogate pair cannot be written down anywhere."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


def _seed(session_seed: int, call: str) -> int:
    """A different, repeatable seed for every call, so that seats on one model do not echo each other."""
    return crc32(f"{session_seed}/{call}".encode()) >> 1
