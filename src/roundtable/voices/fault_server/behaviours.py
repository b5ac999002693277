"""Everything the fault server can do to a client, by name."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from roundtable.voices.fault_server.scripted_answer import ServerAnswer, encode_fault_server_event
from roundtable.voices.fault_server.wire import REFUSAL_TEXT, AnswerContent, ProviderError

HUGE_ANSWER_CHARACTERS = 8 * 1024 * 1024
"""Characters of a huge answer: more than any client should accept."""

RETRY_AFTER_SECONDS = 7

_DRIP_SECONDS = 0.1
_USAGE_FACTORS = {"negative_usage": -1000, "absurd_usage": 10**15}
_PIECES = HUGE_ANSWER_CHARACTERS // 60_000 + 1

Behaviour = Callable[[ServerAnswer], Awaitable[None]]


async def _send_normal_answer(answer: ServerAnswer) -> None:
    """Send a good answer, or an error for a wrong key."""
    if answer.manner.key and answer.seen.key != answer.manner.key:
        await answer.send_error(answer.wire.errors["bad_key"])
    else:
        await answer.send_answer(AnswerContent(answer.words))


# --- errors with a status -------------------------------------------------------------------------


async def _status(answer: ServerAnswer) -> None:
    status = int(answer.seen.behaviour)
    await answer.send_error(ProviderError(status, f"status {status} as asked"))


async def _named_error(answer: ServerAnswer) -> None:
    await answer.send_error(answer.wire.errors[answer.seen.behaviour])


async def _rate_limited(answer: ServerAnswer) -> None:
    await answer.send_error(answer.wire.errors["rate_limited"], retry_after=str(RETRY_AFTER_SECONDS))


async def _rate_limited_date(answer: ServerAnswer) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    await answer.send_error(answer.wire.errors["rate_limited"], retry_after=moment)


async def _leaky(answer: ServerAnswer) -> None:
    message = f"Incorrect API key provided: {answer.seen.key}.\x1b[31m Find yours\nelsewhere. " + "x" * 500
    await answer.send_error(ProviderError(401, message))


async def _detail(answer: ServerAnswer) -> None:
    await answer.send_response(422, {"detail": "seed: extra inputs are not permitted"})


async def _plain_error(answer: ServerAnswer) -> None:
    await answer.send_response(500, b"upstream connect error", kind="text/plain")


async def _html_error(answer: ServerAnswer) -> None:
    await answer.send_response(502, b"<html>Bad gateway</html>", kind="text/html")


async def _redirect(answer: ServerAnswer) -> None:
    await answer.send_response(307, {}, location="http://127.0.0.1:9/v1/elsewhere")


# --- invalid answers -----------------------------------------------------------------------------


async def _html(answer: ServerAnswer) -> None:
    await answer.send_response(200, b"<!doctype html><html><body>Log in</body></html>", kind="text/html")


async def _wrong_type(answer: ServerAnswer) -> None:
    await answer.send_response(200, b"The service is starting, please wait.", kind="text/plain")


async def _garbage(answer: ServerAnswer) -> None:
    await answer.start_stream()
    await answer.send_events([("", '{"choices": [{"delta": {"content": oops')])
    await answer.send_events(answer.wire.end_events("stop"))
    await answer.send_events(answer.wire.end_mark_events())
    await answer.end_stream()


async def _garbage_json(answer: ServerAnswer) -> None:
    await answer.send_response(200, b'{"choices": [')


async def _empty(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent())


async def _blank(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent((" ", "\n\n")))


async def _nothing(answer: ServerAnswer) -> None:
    await answer.start_stream()
    await answer.end_stream()


async def _refusal(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent(refusal=REFUSAL_TEXT, finish="refused"))


async def _filtered(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent(answer.words[:2], finish="filtered"))


async def _json_error(answer: ServerAnswer) -> None:
    await answer.send_response(200, {"error": {"message": "no provider is free", "code": 503}})


async def _huge(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent(tuple(_counting(number) for number in range(_PIECES))))


def _counting(number: int) -> str:
    """Return about 60,000 characters without repetition: some agents stop a model that repeats itself."""
    return " ".join(map(str, range(100_000 + number * 8_600, 100_000 + (number + 1) * 8_600))) + " "


async def _huge_line(answer: ServerAnswer) -> None:
    await answer.start_stream()
    for number in range(_PIECES):
        await answer.send_chunk(_counting(number).encode())
    await answer.end_stream()


# --- answers that stop ----------------------------------------------------------------------------


async def _hang(answer: ServerAnswer) -> None:
    await asyncio.Event().wait()


async def _hang_midway(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words[:3])
    await asyncio.Event().wait()


async def _drip(answer: ServerAnswer) -> None:
    """Send a word now and then without end: the stream is never silent and never finishes."""
    await answer.start_answer(())
    for number in itertools.count():
        await answer.send_words((f"drip {number}, ",))
        await asyncio.sleep(_DRIP_SECONDS)


async def _truncated(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words[:3])
    await answer.end_stream()


async def _cut(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words[:3])
    answer.closes = True


async def _reset(answer: ServerAnswer) -> None:
    answer.closes = True
    # A linger of zero seconds makes the kernel send RST instead of FIN.
    sock: socket.socket = answer.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    answer.writer.transport.abort()


async def _reset_midway(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words[:3])
    await asyncio.sleep(0.05)
    await _reset(answer)


async def _midstream_error(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words[:2])
    await answer.send_events([answer.wire.error_event(answer.wire.errors["overloaded"])])
    await answer.end_stream()


async def _midstream_error_text(answer: ServerAnswer) -> None:
    await answer.start_stream()
    await answer.send_events([("", {"error": "the engine fell over"})])
    await answer.end_stream()


# --- good answers in odd forms --------------------------------------------------------------------


async def _slow(answer: ServerAnswer) -> None:
    """Send words slowly, but to the end."""
    await answer.start_answer(())
    for word in answer.words:
        await asyncio.sleep(_DRIP_SECONDS)
        await answer.send_words((word,))
    await answer.send_events(answer.wire.end_events("stop"))
    await answer.send_events(answer.wire.end_mark_events())
    await answer.end_stream()


async def _length(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent(answer.words, finish="length"))


async def _reasoning(answer: ServerAnswer) -> None:
    await answer.send_answer(AnswerContent(("Parts, ", "then words."), thought="Let me think."))


async def _json(answer: ServerAnswer) -> None:
    await answer.send_response(200, answer.wire.whole_body(AnswerContent(answer.words)))


async def _misreported(answer: ServerAnswer) -> None:
    """Send a good answer with a usage that cannot be true."""
    answer.usage_factor = _USAGE_FACTORS[answer.seen.behaviour]
    await answer.send_answer(AnswerContent(answer.words))


async def _no_done(answer: ServerAnswer) -> None:
    await answer.start_answer(answer.words)
    await answer.send_events(answer.wire.end_events("stop"))
    await answer.end_stream()


async def _open_end(answer: ServerAnswer) -> None:
    await answer.start_stream()
    await answer.send_events(answer.wire.answer_events(AnswerContent(answer.words)))
    await asyncio.Event().wait()


async def _left_open(answer: ServerAnswer) -> None:
    """Send the whole answer with its count, but neither an end mark nor the end of the stream."""
    await answer.start_answer(answer.words)
    await answer.send_events(answer.wire.end_events("stop"))
    await asyncio.Event().wait()


async def _no_newline(answer: ServerAnswer) -> None:
    await answer.start_stream()
    *events, last = answer.wire.answer_events(AnswerContent(answer.words))
    await answer.send_events(events)
    await answer.send_chunk(encode_fault_server_event(last).rstrip())
    await answer.end_stream()


async def _bytewise(answer: ServerAnswer) -> None:
    """Send each byte in its own chunk, with CRLF, comments and data over several lines, which are all allowed."""
    await answer.start_stream()
    lines = [": keep-alive", ""]
    for name, data in answer.wire.answer_events(AnswerContent(answer.words)):
        text = data if isinstance(data, str) else json.dumps(data, indent=1, ensure_ascii=False)
        lines += [f"event:{name or 'message'}", *(f"data: {line}" for line in text.split("\n")), ""]
    for byte in "\r\n".join([*lines, ""]).encode():
        await answer.send_chunk(bytes([byte]))
    await answer.end_stream()


async def _write(answer: ServerAnswer) -> None:
    """Try to write a file with each known tool, one after the other, then answer in words."""
    results = answer.wire.count_tool_results(answer.seen.body)
    attempts = answer.wire.list_write_attempts(answer.seen.body, answer.manner.target)
    if results < len(attempts):
        await answer.send_answer(AnswerContent(tool=replace(attempts[results], number=results + 1), finish="tool"))
    else:
        await answer.send_answer(AnswerContent(answer.words))


BEHAVIOURS: dict[str, Behaviour] = {
    "normal": _send_normal_answer,
    **{str(status): _status for status in (400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 502, 503, 529)},
    "rate_limited": _rate_limited,
    "rate_limited_date": _rate_limited_date,
    **dict.fromkeys(("bad_key", "context_overflow", "insufficient_quota", "model_not_found"), _named_error),
    "leaky": _leaky,
    "detail": _detail,
    "plain_error": _plain_error,
    "html_error": _html_error,
    "redirect": _redirect,
    "html": _html,
    "wrong_type": _wrong_type,
    "garbage": _garbage,
    "garbage_json": _garbage_json,
    "empty": _empty,
    "blank": _blank,
    "nothing": _nothing,
    "refusal": _refusal,
    "filtered": _filtered,
    "json_error": _json_error,
    "huge": _huge,
    "huge_line": _huge_line,
    "hang": _hang,
    "hang_midway": _hang_midway,
    "drip": _drip,
    "truncated": _truncated,
    "cut": _cut,
    "reset": _reset,
    "reset_midway": _reset_midway,
    "midstream_error": _midstream_error,
    "midstream_error_text": _midstream_error_text,
    "slow": _slow,
    "length": _length,
    "reasoning": _reasoning,
    "json": _json,
    **dict.fromkeys(_USAGE_FACTORS, _misreported),
    "no_done": _no_done,
    "open_end": _open_end,
    "left_open": _left_open,
    "no_newline": _no_newline,
    "bytewise": _bytewise,
    "write": _write,
}

UNSTREAMED_BEHAVIOURS: dict[str, Behaviour] = {
    "garbage": _garbage_json,
    "nothing": _garbage_json,
    "huge_line": _huge,
    "drip": _hang,
    "truncated": _cut,
    "midstream_error": _json_error,
    "midstream_error_text": _json_error,
    **dict.fromkeys(("slow", "no_done", "open_end", "left_open", "no_newline", "bytewise"), _send_normal_answer),
}
"""The nearest equivalent, for clients that do not stream, of faults that only a stream can have."""


def find_fault_server_behaviour(name: str, streamed: bool) -> Behaviour:
    """Return the behaviour of that name; an unknown name gives a normal answer."""
    behaviour = BEHAVIOURS.get(name, _send_normal_answer)
    return behaviour if streamed else UNSTREAMED_BEHAVIOURS.get(name, behaviour)
