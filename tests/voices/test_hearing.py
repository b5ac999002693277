"""How an answer is heard: what counts as too much, and what a call used however it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Usage
from roundtable.voices.dialects.openai_chat import OpenAIChatReplyReader
from roundtable.voices.reply_stream import MAX_STREAM_BYTES, ReplyStream


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One event of a chat, in the wordy shape that resellers send."""
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish, "logprobs": None}
    return f"data: {json.dumps({'id': 'gen-' + 'x' * 300, 'choices': [choice]})}\n\n".encode()


def usage(**counts: int) -> bytes:
    return f"data: {json.dumps({'choices': [], 'usage': counts})}\n\n".encode()


def read_stream(chunks: Iterator[bytes] | list[bytes], prompt_tokens: int = 10) -> Reply | Fault:
    hearing = ReplyStream("lab:alpha", "", OpenAIChatReplyReader())
    for each in chunks:
        hearing.feed(each)
        if hearing.fault is not None:
            break
    return hearing.build_ending(prompt_tokens)


def test_a_long_thought_does_not_exceed_the_answer_limit() -> None:
    thoughts = [chunk(content="", reasoning=" hm")] * 20_000
    reply = read_stream([*thoughts, chunk(content="At last."), chunk("stop")])
    assert isinstance(reply, Reply)
    assert reply.text == "At last."
    assert sum(map(len, thoughts)) > 8_000_000


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(content="word " * 10_000)] * 100,
        [b": keep-alive " + b"x" * 100_000 + b"\n"] * (MAX_STREAM_BYTES // 100_000 + 1),
        [b"data: " + b"x" * 100_000] * 100,
    ],
    ids=["words", "wire", "one event"],
)
def test_an_endless_answer_is_not_retried(chunks: list[bytes]) -> None:
    fault = read_stream(chunks)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MALFORMED
    assert not fault.retryable
    assert "--max-tokens" in fault.help


def test_an_event_with_many_lines_is_parsed_once() -> None:
    lines = b"".join(b"data:\n" for _ in range(100_000))
    reply = read_stream(
        [b"data: {\n" + lines + b'data: "choices": [{"delta": {"content": "Yes."}}]}\n\n', chunk("stop")]
    )
    assert isinstance(reply, Reply)
    assert reply.text == "Yes."


def test_thoughts_that_use_up_the_limit_suggest_a_higher_limit() -> None:
    fault = read_stream([chunk("length", content=""), usage(prompt_tokens=100, completion_tokens=2048)])
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.EMPTY
    assert not fault.retryable, "the same limit would be reached again"
    assert "--max-tokens" in fault.help
    assert fault.usage == Usage(100, 2048)


def test_usage_is_estimated_if_the_server_reports_none() -> None:
    fault = read_stream([chunk(content="größer ")] * 8)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.TRUNCATED
    assert fault.usage == Usage(10, 18)


def test_an_empty_answer_still_used_the_prompt_tokens() -> None:
    fault = read_stream([chunk("stop")])
    assert isinstance(fault, Fault)
    assert fault.usage == Usage(10, 0)


def test_a_broken_answer_is_counted_by_its_words() -> None:
    fault = read_stream([usage(prompt_tokens=100, completion_tokens=1), *[chunk(content="words, ")] * 8])
    assert isinstance(fault, Fault)
    assert fault.usage == Usage(100, 14)


def test_an_unanswered_call_has_no_known_usage() -> None:
    fault = read_stream([])
    assert isinstance(fault, Fault)
    assert fault.usage == Usage()
