"""One seat's turn: its voices in order, all retries, and one request to repair an unreadable reply."""

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
from roundtable.core.replies import find_reply_codec, parse_seat_reply, truncate_long_reply
from roundtable.core.replies.codec import ReadReply
from roundtable.core.replies.prose import ProseStream, strip_reply_thoughts
from roundtable.core.session import RoundRecord
from roundtable.core.text.redaction import RedactedStream
from roundtable.core.text.wording import fence_code_as_markdown, join_text_lines
from roundtable.core.usage import Usage, correct_reported_usage, estimate_usage
from roundtable.core.values import AgentWorktree, Message, MoveStatus, Reply, Request, Seat, Timing, WaitNotice
from roundtable.core.verdict import ParseStatus
from roundtable.engine.clock import PausableTimeout, pausable_turn_timeout
from roundtable.engine.prompts import PromptLayout
from roundtable.engine.recorder import SessionRecorder

CallPurpose = Literal["answer", "retry", "repair", "fallback", "again"]

MAX_RETRY_DELAY = 30.0
PERMANENT_FAULTS = (FaultKind.UNAUTHORIZED, FaultKind.QUOTA, FaultKind.MISSING)
"""Faults that last for the whole run."""

MIN_CACHED_PROMPT_BYTES = 4096
"""Providers do not cache prompts shorter than this."""

MIN_THREADED_REPLY = 50_000
"""Characters from which a reply is checked and read in a thread."""

_MOST_NAMED = 20


class _CallResult(msgspec.Struct):
    """How one call ended."""

    asked: TurnAsked
    end: Reply | Fault
    timing: Timing


class _TimeShare(msgspec.Struct, frozen=True):
    """The share of one voice in a seat's time, which is divided by the number of `voices`."""

    time: PausableTimeout
    voices: int

    def left(self) -> float:
        """The even share of the seconds that are left now."""
        return self.time.seconds_left() / self.voices


class TurnTaker:
    """Takes the turn of one seat in one round, and records exactly one fact that settles it."""

    def __init__(
        self,
        recorder: SessionRecorder,
        voices: Voices,
        layout: PromptLayout,
        round: RoundRecord,
        seat: Seat,
        failed_voices: set[str],
        worktrees: AgentWorktrees | None,
        round_clock: PausableTimeout,
    ) -> None:
        self._round_clock = round_clock
        self._worktrees = worktrees
        self._worktree = AgentWorktree()
        self._failed_voices = failed_voices
        self._recorder = recorder
        self._voices = voices
        self._round = round
        self._seat = seat
        self._all_voices = seat.voice_chain(judging=round.opened.turns.judging)
        self._expect = round.opened.expect
        self._codec = find_reply_codec(self._expect.codec)
        self._layout = layout
        self._limits = round.opened.limits
        self._turn = round.turns[seat.name]
        self._calls = len(self._turn.asked)
        self._retries_left = self._limits.retries
        self._call = ""
        self._pieces: list[str] = []
        self._offset = 0
        self._heard = 0
        self._failures = 0
        self._unrepaired: MoveMade | None = None
        self._last_fault = Fault.of(FaultKind.MISSING, "This seat has no voice.")

    async def take(self) -> None:
        """Ask the voices until one answers, none is left, or the seat's time is over."""
        purpose: CallPurpose = "again" if self._calls else "answer"
        chain = self._usable_voices()
        try:
            async with pausable_turn_timeout(self._limits.seat_timeout) as self._clock:
                for index, name in enumerate(chain):
                    purpose = purpose if name == self._all_voices[0] else "fallback"
                    if await self._ask_voice(name, purpose, _TimeShare(self._clock, len(chain) - index)):
                        return
        except TimeoutError:
            self._last_fault = self._out_of_time()
        except asyncio.CancelledError:
            await self._on_interruption()
            raise
        if self._unrepaired is not None:
            await self._settle(self._unrepaired)
        else:
            await self._give_up(self._last_fault)

    def _out_of_time(self) -> Fault:
        """The timeout, with the last fault before it."""
        message = f"No complete answer within {self._limits.seat_timeout:g} s."
        before = f" Last error before that: {self._last_fault.message}" if self._failures else ""
        return Fault.of(FaultKind.TIMEOUT, message + before)

    def _usable_voices(self) -> Sequence[str]:
        """The seat's voices without those that failed permanently in this run, unless there is no other."""
        return [voice for voice in self._all_voices if voice not in self._failed_voices] or self._all_voices

    async def _on_interruption(self) -> None:
        """Record the text so far, because the process stops; a cancelled session does not ask again."""
        if self._recorder.session.cancel is not None:
            await self._give_up(Fault.of(FaultKind.CANCELLED, "The session was cancelled."))
        elif self._round.closed is not None:
            await self._give_up(Fault.of(FaultKind.TIMEOUT, "The meeting ended before this seat answered."))
        elif self._call and not self._turn.is_settled:
            event = TurnInterrupted(self._round.name, self._seat.name, self._call, "".join(self._pieces))
            await self._recorder.record(event)

    async def _give_up(self, fault: Fault) -> None:
        await self._settle(SeatMissed(self._round.name, self._seat.name, fault, "".join(self._pieces)))

    async def _settle(self, event: MoveMade | SeatMissed) -> None:
        """Record the fact that settles this turn; if cancelled meanwhile, wait until it is written."""
        if self._turn.is_settled:
            return
        try:
            await self._recorder.record(event)
        except asyncio.CancelledError:
            await self._recorder.drain()
            raise

    async def _ask_voice(self, name: str, purpose: CallPurpose, share: _TimeShare) -> bool:
        """Ask one voice, with retries while they may help and its share of the seat's time lasts."""
        voice = self._voices.find(name)
        if isinstance(voice, Fault):
            self._start_call()
            await self._record_failure(name, voice, None)
            return False
        reserved = share.time.seconds_left() - share.left()
        while True:
            place = await self._open_worktree(voice)
            if isinstance(place, Fault):
                self._start_call()
                await self._record_failure(name, place, None)
                return False
            self._worktree = place
            result = await self._call_voice(voice, name, purpose, (), share)
            if isinstance(result.end, Reply):
                await self._record_answer(voice, name, result, result.end)
                return True
            delay = self._retry_delay(result.end, share.time.seconds_left() - reserved)
            await self._record_failure(name, result.end, delay)
            if delay is None:
                return False
            self._retries_left -= 1
            await asyncio.sleep(delay)
            purpose = "retry"

    def _start_call(self) -> None:
        self._calls += 1
        self._call = f"{self._round.name}/{self._seat.name}#{self._calls}"
        self._pieces, self._offset = [], 0

    async def _record_failure(self, voice: str, fault: Fault, delay: float | None) -> None:
        usage, fault = fault.usage, msgspec.structs.replace(fault, usage=Usage())
        self._last_fault = fault
        self._failures += 1
        if fault.kind in PERMANENT_FAULTS:
            self._failed_voices.add(voice)
        partial = "".join(self._pieces)
        event = CallFailed(self._round.name, self._seat.name, self._call, voice, fault, delay, partial, usage)
        await self._recorder.record(event)

    def _retry_delay(self, fault: Fault, seconds_left: float) -> float | None:
        """The seconds before the next retry; None when a retry cannot help."""
        if not fault.retryable or self._retries_left <= 0:
            return None
        tries = self._limits.retries - self._retries_left
        delay = min(MAX_RETRY_DELAY, self._limits.retry_delay * 2**tries) * random.uniform(0.5, 1.0)
        if fault.retry_after:  # random, so that seats do not retry at the same moment
            delay = max(delay, fault.retry_after * random.uniform(1.0, 1.1))
        return delay if delay < seconds_left else None

    async def _call_voice(
        self, voice: Voice, name: str, purpose: CallPurpose, more: tuple[Message, ...], share: _TimeShare | None = None
    ) -> _CallResult:
        """Make one call, while the fact that it was made is being written; no text is published before that.

        If another voice could answer instead, this one must give a sign of life within its share of the time.
        """
        asked, request = await self._prepare_request(voice, name, purpose, more)
        speech = ProseStream(self._codec.spoken if asked.structured and not more else "")
        words = RedactedStream(self._recorder.feed.redactor)
        writing = asyncio.ensure_future(self._recorder.record(asked))
        patience = share.left() if share is not None and share.voices > 1 else None
        silence = asyncio.timeout(patience)
        first, end = 0.0, None
        began = self._clock.seconds_left()
        try:
            with ExitStack() as pauses:
                async with silence, aclosing(_catch_exceptions(voice, request)) as stream:
                    async for piece in stream:
                        pauses.close()
                        if isinstance(piece, WaitNotice):
                            silence.reschedule(None)
                            await self._wait_in_queue(asked, piece, pauses, writing)
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
                            self._publish(asked, words.feed(speech.feed(piece)))
                        else:
                            end = piece
            if isinstance(end, Reply):  # after a break, the rest may be half a secret
                self._publish(asked, words.finish())
        except TimeoutError:
            if not silence.expired():
                raise
            end = Fault.of(FaultKind.TIMEOUT, f"{name} sent nothing for {patience:.0f} s.", retryable=False)
            if self._pieces:  # it never came to report its usage
                usage = estimate_usage(asked.prompt_bytes, "".join(self._pieces))
                end = msgspec.structs.replace(end, usage=usage)
        finally:
            await writing
        timing = Timing(round(first, 4), round(began - self._clock.seconds_left(), 4))
        is_long = isinstance(end, Reply) and len(end.text) >= MIN_THREADED_REPLY
        checked = await asyncio.to_thread(_check_reply, end, name) if is_long else _check_reply(end, name)
        checked = _check_usage(checked, asked.prompt_bytes, "".join(self._pieces))
        return _CallResult(asked, await self._with_edits(checked), timing)

    async def _wait_in_queue(
        self, asked: TurnAsked, wait: WaitNotice, pauses: ExitStack, writing: asyncio.Future[None]
    ) -> None:
        """Pause the seat's and the round's timeouts while the call is queued, and record the wait."""
        pauses.enter_context(self._clock.paused())
        pauses.enter_context(self._round_clock.paused())
        await asyncio.shield(writing)
        delay = TurnDelayed(asked.round, asked.seat, asked.call, asked.voice, round(wait.seconds, 1), wait.why)
        await self._recorder.record(delay)

    def _publish(self, asked: TurnAsked, words: str) -> None:
        if words:
            offset, self._offset = self._offset, self._offset + len(words)
            self._pieces.append(words)
            delta = Delta(self._recorder.session.id, asked.round, asked.seat, asked.call, offset, words)
            self._recorder.feed.publish(delta)

    async def _prepare_request(
        self, voice: Voice, name: str, purpose: CallPurpose, more: tuple[Message, ...]
    ) -> tuple[TurnAsked, Request]:
        session = self._recorder.session
        self._start_call()
        self._heard = self._heard or session.seq
        await self._recorder.load_texts(self._layout.prompt_digests(self._round))
        structured = voice.structured and self._codec.schema is not None
        asked = TurnAsked(self._round.name, self._seat.name, self._call, name, self._heard, structured, purpose=purpose)
        messages = self._layout.messages(self._round, self._seat.name, asked)
        if structured and voice.plain_when_long and _prompt_bytes(messages) >= MIN_CACHED_PROMPT_BYTES:
            structured = False
            asked = msgspec.structs.replace(asked, structured=False)
            messages = self._layout.messages(self._round, self._seat.name, asked)
        messages += more
        if self._worktree.folder:
            *earlier, last = messages
            messages = (*earlier, msgspec.structs.replace(last, text=f"{last.text}\n\n{_EDIT_INSTRUCTIONS}"))
        asked = msgspec.structs.replace(asked, prompt_bytes=_prompt_bytes(messages))
        request = Request(
            self._call,
            self._seat.name,
            messages,
            session="/".join(filter(None, (session.id, self._round.opened.turns.stage))),
            aside=self._round.opened.turns.secret,
            workplace=self._worktree.folder,
            variables=self._worktree.variables,
            schema=self._codec.schema(self._expect) if structured and self._codec.schema else None,
            schema_name=self._codec.name,
            max_tokens=self._expect.tokens or self._limits.max_tokens,
            seed=_call_seed(session.charter.seed, self._call),
            timeout=self._limits.seat_timeout,
        )
        return asked, request

    async def _open_worktree(self, voice: Voice) -> AgentWorktree | Fault:
        """A worktree for a voice that edits files; empty if the round or the workspace has none."""
        if self._worktrees is None or not (voice.edits and self._round.opened.turns.at_bench):
            return AgentWorktree()
        return await self._worktrees.open(self._recorder.session.id, f"{self._round.name}/{self._seat.name}")

    async def _with_edits(self, end: Reply | Fault) -> Reply | Fault:
        """A reply together with the edits in the worktree, which are its actual answer."""
        if self._worktrees is None or not self._worktree.folder or isinstance(end, Fault):
            return end
        edits = await self._worktrees.edits(self._worktree.folder)
        if isinstance(edits, Fault):
            return msgspec.structs.replace(edits, usage=end.usage)
        text = end.text.strip()
        for reason, names in (
            ("separate git repositories", edits.inner),
            ("not text", edits.no_text),
            ("symbolic links", edits.links),
            ("already changed by `copy` or `setup` of [worktrees]", edits.set_up),
        ):
            if names:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                text += f"\n\nNot included ({reason}): {join_text_lines(', '.join(names[:_MOST_NAMED]))}{more}"
        if not edits.diff:
            return msgspec.structs.replace(end, text=text)
        words = "\n".join(f"> {line}" for line in text.splitlines())
        changed = fence_code_as_markdown(edits.diff.removesuffix("\n"), "diff")
        return msgspec.structs.replace(end, text=f"{words}\n\n{changed}")

    async def _record_answer(self, voice: Voice, name: str, result: _CallResult, reply: Reply) -> None:
        reading = await self._read_reply(result, reply)
        move = MoveMade(
            self._round.name,
            self._seat.name,
            result.asked.call,
            reading.text,
            name,
            reading.verdict,
            raw=reply.text if reply.text != reading.text else "",
            vendor=voice.vendor,
            model=reply.model,
            usage=reply.usage,
            timing=result.timing,
            truncated=reply.truncated,
        )
        if reading.verdict.parse is ParseStatus.FAILED:
            self._unrepaired = move
            move = await self._repair(voice, name, reply, move, reading)
        late = self._round.closed is not None
        await self._settle(msgspec.structs.replace(move, status=MoveStatus.LATE) if late else move)

    async def _read_reply(self, result: _CallResult, reply: Reply) -> ReadReply:
        """Read a reply; a long one in a thread, so that signals and deadlines are honoured meanwhile."""
        if len(reply.text) < MIN_THREADED_REPLY:
            return parse_seat_reply(self._expect, reply.text, result.asked.structured)
        return await asyncio.to_thread(parse_seat_reply, self._expect, reply.text, result.asked.structured)

    async def _repair(self, voice: Voice, name: str, reply: Reply, move: MoveMade, reading: ReadReply) -> MoveMade:
        """Ask once more for the part of a reply that could not be read; its other text is kept unless all is requested.

        A hollow reply is not quoted back: small models would only repeat it.
        """
        reason, form = reading.why, self._codec.text_format(self._expect)
        request_text = _REPAIR_ALL.format(why=reason) if reason else _REPAIR
        more = (
            () if reading.hollow else (Message("assistant", reply.text), Message("user", f"{request_text}\n\n{form}"))
        )
        result = await self._call_voice(voice, name, "repair", more)
        if isinstance(result.end, Fault):
            await self._record_failure(name, result.end, None)
            return move
        usage = move.usage.plus(result.end.usage)
        second = await self._read_reply(result, result.end)
        if second.verdict.parse is ParseStatus.FAILED:
            return msgspec.structs.replace(move, usage=usage)
        verdict = msgspec.structs.replace(second.verdict, parse=ParseStatus.REPAIRED)
        text = second.text if result.asked.structured or reason or not move.text else move.text
        return msgspec.structs.replace(move, text=text, verdict=verdict, usage=usage)


async def _catch_exceptions(voice: Voice, request: Request) -> AsyncGenerator[str | Reply | Fault]:
    """The voice's stream; an exception of a voice, which breaks its contract, becomes a fault."""
    try:
        async with aclosing(voice.speak(request)) as stream:
            async for piece in stream:
                yield piece
    except Exception as error:
        yield Fault.of(FaultKind.CRASHED, f"The voice {voice.name} failed unexpectedly: {type(error).__name__}.")


def _prompt_bytes(messages: Sequence[Message]) -> int:
    return sum(len(message.text.encode()) for message in messages)


_EDIT_INSTRUCTIONS = (
    "Your working directory is a private copy of the project. Edit the files there instead of writing them in your "
    "answer: your edits are your answer. Then say in a few words what you did."
)
_REPAIR = "That reply could not be read. Keep your answer as it is, and send only the closing block again."
_REPAIR_ALL = "That reply could not be read. {why} Send all of it again, as a whole."


def _check_reply(end: Reply | Fault | None, voice: str) -> Reply | Fault:
    """The end of a stream; an empty or unreadable reply becomes a fault, and one that is too long is cut."""
    if end is None:
        return Fault.of(FaultKind.TRUNCATED, f"The voice {voice} ended its stream without a reply or an error.")
    if isinstance(end, Reply) and (text := truncate_long_reply(end.text)) is not end.text:
        end = msgspec.structs.replace(end, text=text, truncated=True)
    if isinstance(end, Reply) and not end.text.strip():
        return Fault.of(FaultKind.EMPTY, f"The voice {voice} returned an empty answer.")
    if isinstance(end, Reply) and not strip_reply_thoughts(end.text).strip():
        kind = FaultKind.TRUNCATED if end.truncated else FaultKind.EMPTY
        fault = Fault.of(kind, f"The voice {voice} returned reasoning but no answer.")
        return msgspec.structs.replace(fault, usage=end.usage)
    if isinstance(end, Reply) and not _is_text(end.text):
        return Fault.of(FaultKind.MALFORMED, f"The voice {voice} returned characters that are not Unicode.")
    return end


def _check_usage(end: Reply | Fault, prompt_bytes: int, words: str) -> Reply | Fault:
    """The end with our estimate of the usage where a voice reports none for a reply, or an implausible one."""
    if isinstance(end, Fault) and end.usage == Usage():
        return end  # nothing was billed, as far as the voice knows
    estimate = estimate_usage(prompt_bytes, end.text if isinstance(end, Reply) else words)
    return msgspec.structs.replace(end, usage=correct_reported_usage(end.usage, estimate))


def _is_text(words: str) -> bool:
    """Whether a text can be encoded: half of a surrogate pair cannot."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


def _call_seed(session_seed: int, call: str) -> int:
    """A different, repeatable seed for every call, so that seats on the same model do not repeat each other."""
    return crc32(f"{session_seed}/{call}".encode()) >> 1
