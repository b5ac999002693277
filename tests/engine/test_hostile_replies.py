"""A hostile reply neither freezes the process nor grows without limit."""

from __future__ import annotations

import asyncio
import time

import pytest

from roundtable.core.reasons import AnswersCutOff
from roundtable.core.replies.codec import MAX_REPLY_CHARACTERS
from roundtable.core.values import Usage
from tests.stories.session_harness import SessionHarness

HOSTILE_UNITS = ('{"a":1}\n', "```\n", "> a\n", "AGREE: P1\n", "\n-")


async def _longest_pause() -> float:
    """Seconds of the processor that the event loop spent without looking at its timers, until cancelled."""
    longest, before = 0.0, time.thread_time()
    try:
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, before = max(longest, now - before), now
    except asyncio.CancelledError:
        return longest


@pytest.mark.parametrize("unit", HOSTILE_UNITS)
async def test_timers_and_signals_are_served_while_a_hostile_reply_is_read(unit: str) -> None:
    harness = SessionHarness({"turns": [{"text": unit * (MAX_REPLY_CHARACTERS // len(unit))}]}, meeting="council")
    await harness.open(seats=("claude",))
    watch = asyncio.create_task(_longest_pause())
    await harness.run()
    watch.cancel()
    assert await watch < 1.0


async def test_a_reply_that_is_too_long_is_cut_with_a_notice() -> None:
    harness = SessionHarness({"turns": [{"text": "word " * (MAX_REPLY_CHARACTERS // 4)}]}, meeting="second-opinion")
    await harness.open(seats=("claude", "gpt"))
    decision = await harness.run()
    moves = [turn.move for record in (await harness.session()).rounds.values() for turn in record.turns.values()]
    assert moves
    for move in moves:
        assert move is not None
        assert move.truncated
        assert len(move.text) <= MAX_REPLY_CHARACTERS
        assert move.text.endswith("of the 1,250,000 characters of this reply.]")
    assert any(isinstance(notice, AnswersCutOff) for notice in decision.notices)


async def test_an_implausible_usage_does_not_count_against_budgets() -> None:
    turns = [
        {"seat": "claude", "text": "Yes. " * 40, "usage": {"input_tokens": -(10**9), "cost_usd": -1000.0}},
        {"seat": "gpt", "text": "No. " * 40, "usage": {"input_tokens": 90, "output_tokens": 10, "cost_usd": 0.5}},
    ]
    harness = SessionHarness({"turns": turns}, meeting="second-opinion")
    await harness.open(seats=("claude", "gpt"))
    await harness.run()
    session = await harness.session()
    moves = {turn.seat: turn.move for record in session.rounds.values() for turn in record.turns.values()}
    for seat in ("claude", "gpt"):
        move = moves[seat]
        assert move is not None
        assert move.usage.input_tokens > 0
        assert move.usage.output_tokens > 0
    assert session.spent.cost_usd is not None
    assert session.spent.cost_usd >= 0.5
    assert session.spent != Usage()
