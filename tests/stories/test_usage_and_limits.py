"""Facts about turns besides the reply: usage of failed calls, truncation, causes of a timeout."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from roundtable.core.events import CallFailed, MoveMade, TurnAsked
from roundtable.core.faults import FaultKind
from roundtable.core.usage import Usage
from roundtable.core.values import Limits, Outcome, Request
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.stories.session_harness import DISPUTE, SEATS, ScriptedVoices, SessionHarness, council_turns, position_reply

GOOD = council_turns(position_reply("Use REST"))
LIMITS = Limits(retries=1, retry_delay=0.001, seat_timeout=5, round_deadline=20)


async def test_usage_of_a_failed_call_is_counted() -> None:
    spent = {"input_tokens": 900, "output_tokens": 2000, "cost_usd": 0.02}
    failing = {"turns": [{"fault": "empty", "usage": spent}]}
    harness = SessionHarness({"seats": {"claude": failing, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=LIMITS)
    decision = await harness.run()
    failed = [record.event for record in await harness.records() if isinstance(record.event, CallFailed)]
    assert [line.usage.output_tokens for line in failed] == [2000, 2000]
    assert all(line.fault.usage == Usage() for line in failed), "told once, not twice"
    assert (await harness.session()).spent.output_tokens > 4000
    assert decision.missing[0].fault.usage == Usage()


async def test_usage_of_failed_calls_counts_toward_the_budget() -> None:
    seats = {name: dict(part) for name, part in DISPUTE["seats"].items()}
    costly = {
        "round": "*1-blind",
        "fault": "server",
        "times": 1,
        "usage": {"input_tokens": 5000, "output_tokens": 5000},
    }
    seats["claude"] = {"turns": [costly, *seats["claude"]["turns"]]}
    harness = SessionHarness({"seats": seats})
    await harness.open(limits=msgspec.structs.replace(LIMITS, budget_tokens=9000))
    decision = await harness.run()
    assert any("budget" in notice for notice in (*notice_sentences(decision), decision_sentence(decision)))


async def test_an_answer_cut_off_at_the_token_limit_is_named_in_a_notice() -> None:
    cut = {"turns": [{"text": position_reply("Use REST"), "truncated": True}]}
    harness = SessionHarness({"seats": {"claude": cut, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=LIMITS)
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.degraded
    cut = "These answers were cut off at the token limit (`max_tokens`): claude in council/1-blind."
    assert cut in notice_sentences(decision)
    moves = {
        record.event.seat: record.event.truncated
        for record in await harness.records()
        if isinstance(record.event, MoveMade)
    }
    assert moves == {"claude": True, "gpt": False, "gemini": False}


async def test_a_timeout_message_includes_the_fault_that_came_before() -> None:
    limited = {"turns": [{"fault": "rate_limited", "message": "slow down", "times": 1}, {"hang": True}]}
    harness = SessionHarness({"seats": {"claude": limited, "gpt": GOOD, "gemini": GOOD}})
    await harness.open(limits=msgspec.structs.replace(LIMITS, seat_timeout=2))
    decision = await harness.run()
    assert decision.missing[0].fault.kind is FaultKind.TIMEOUT
    assert "Last error before that: slow down" in decision.missing[0].fault.message


async def test_a_ballot_is_asked_outside_the_conversation() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open(limits=LIMITS)
    await harness.run()
    asides = {request.call.partition("#")[0].rpartition("/")[0]: request.aside for request in harness.voices.calls}
    assert asides == {
        "council/1-blind": False,
        "council/2-ballot": True,
        "council/3-reconsider": False,
        "council/4-reconsider": False,
    }


async def hold_with_question(question: str) -> tuple[list[Request], list[bool]]:
    """Hold a council at a provider that cannot cache prompts with a schema; return the requests."""
    voices = ScriptedVoices({"structured": True, **DISPUTE}, plain_when_long=True)
    harness = SessionHarness(DISPUTE, other_voices=voices)
    await harness.open(limits=LIMITS, question=question)
    await harness.run()
    facts = [record.event for record in await harness.records()]
    return voices.calls, [fact.structured for fact in facts if isinstance(fact, TurnAsked)]


async def test_a_short_prompt_uses_the_providers_schema_support() -> None:
    calls, structured = await hold_with_question("REST or GraphQL?")
    first_round = [call for call in calls if "1-blind" in call.call]
    assert all(call.schema for call in first_round)
    assert structured[0]


async def test_a_long_prompt_uses_the_prompt_cache_instead_of_a_schema() -> None:
    """The format is requested in text, and each prompt begins with the whole previous one."""
    calls, structured = await hold_with_question("REST or GraphQL? " + "Consider our clients. " * 400)
    assert not any(call.schema for call in calls)
    assert not any(structured)
    mine = [call.messages for call in calls if call.seat == SEATS[0] and not call.aside]
    assert len(mine) == 3
    for earlier, later in pairwise(mine):
        assert later[: len(earlier)] == earlier
