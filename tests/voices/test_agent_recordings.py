"""Recorded output of real agents, replayed through the real runner: answers, costs and misleading reports."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Usage
from roundtable.voices.agents.catalog import load_shipped_agent_clis
from roundtable.voices.prices import compute_provider_call_price
from roundtable.voices.tariffs import Tariffs
from tests.kits.voice_kit import collect_events, last_event, make_request
from tests.voices.agents import ENVIRON, scripted

SCHEMA = {"type": "object", "properties": {"stand": {"type": "string"}}, "required": ["stand"]}


async def reply_of(name: str, recording: str, environ: dict[str, str] | None = None, **script: Any) -> Reply:
    end = last_event(await collect_events(scripted(name, recording, environ=environ, **script)))
    assert isinstance(end, Reply), end
    return end


async def collect_fault(name: str, recording: str = "", **script: Any) -> Fault:
    end = last_event(await collect_events(scripted(name, recording, **script), make_request(timeout=20)))
    assert isinstance(end, Fault), end
    assert end.help
    return end


@pytest.mark.parametrize(
    ("name", "pieces", "model"),
    [
        ("claude", ["naïve", " café", " from", " the server"], "claude-sonnet-4-5"),
        ("codex", ["hello from the fake"], ""),
        ("gemini", ["hello", " from", " the", " fake"], "gemini-2.5-pro"),
        ("opencode", ["hello from the fake"], ""),
        ("agy", ["naïve", " café"], "gemini-3.8-flash-high"),
    ],
)
@pytest.mark.feature("S2.4", "S3.22", "S3.23", "S3.24", "S4.9", "S4.10")
async def test_recorded_answers_are_read_word_for_word(name: str, pieces: list[str], model: str) -> None:
    events = await collect_events(scripted(name, "answer"))
    assert [piece for piece in events[:-1] if piece] == pieces
    reply = last_event(events)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model) == ("".join(pieces), model)


@pytest.mark.parametrize(
    ("name", "recording", "variables", "usage"),
    [
        ("claude", "answer", {}, Usage(15, 4, 3, 9.839999999999998e-05, 2)),
        ("claude", "plan", {}, Usage(15, 4, 3, 0.0, 2, 19, 9.839999999999998e-05)),
        ("claude", "plan", {"ANTHROPIC_AUTH_TOKEN": "t"}, Usage(15, 4, 3, 9.839999999999998e-05, 2)),
        ("codex", "answer", {"CODEX_API_KEY": "sk-1"}, Usage(10, 4)),
        ("codex", "answer", {}, Usage(10, 4, cost_usd=0.0, plan_tokens=14)),
        ("opencode", "answer", {}, Usage(10, 4)),
    ],
)
async def test_usage_says_whether_a_plan_or_a_key_pays(
    name: str, recording: str, variables: dict[str, str], usage: Usage
) -> None:
    assert (await reply_of(name, recording, {**ENVIRON, **variables})).usage == usage


@pytest.mark.parametrize(
    ("name", "key", "prices", "model"),
    [
        ("codex:gpt-5-codex", "CODEX_API_KEY", "openai", "gpt-5-codex"),
        ("gemini", "GEMINI_API_KEY", "google", "gemini-2.5-pro"),
        ("gemini:unheard-of", "GEMINI_API_KEY", "google", "gemini-2.5-pro"),
    ],
)
async def test_usage_without_a_reported_cost_is_priced_by_the_price_list(
    name: str, key: str, prices: str, model: str
) -> None:
    price = await compute_provider_call_price(prices, model, Usage(10, 4))
    assert price
    by_key = await reply_of(name, "answer", {**ENVIRON, key: "k"})
    assert by_key.usage == Usage(10, 4, cost_usd=price)
    by_plan = await reply_of(name, "answer")
    assert by_plan.usage == Usage(10, 4, cost_usd=0.0, plan_tokens=14, plan_usd=price)


@pytest.mark.parametrize("name", ["codex", "codex:unheard-of", "opencode:openai/gpt-4o"])
async def test_a_quote_has_no_price_if_the_run_has_none(name: str) -> None:
    key = {"CODEX_API_KEY": "k"}
    tariff = Tariffs({}, load_shipped_agent_clis, key).find_tariff(f"cli:{name}")
    used = (await reply_of(name, "answer", {**ENVIRON, **key})).usage
    assert (tariff.paid, used.cost_usd) == ("tokens", None)
    assert await compute_provider_call_price(tariff.prices, tariff.model, used) is None


@pytest.mark.parametrize(
    ("name", "recording", "usage"),
    [
        ("claude", "refused", Usage(100, 11, 60, 0.0003105, 10)),
        ("claude", "empty", Usage(15, 4, 3, 9.839999999999998e-05, 2)),
        ("codex", "empty", Usage(10, 4, cost_usd=0.0, plan_tokens=14)),
        ("gemini", "empty", Usage(10, 4, cost_usd=0.0, plan_tokens=14, plan_usd=5.25e-05)),
        ("opencode", "empty", Usage(100, 11, 60)),
    ],
)
async def test_a_failed_turn_is_billed(name: str, recording: str, usage: Usage) -> None:
    assert (await collect_fault(name, recording)).usage == usage


async def test_an_answer_held_to_a_schema_has_no_other_words() -> None:
    events = await collect_events(scripted("claude", "schema"), make_request(schema=SCHEMA))
    assert [piece for piece in events[:-1] if piece] == ['{"stand":"A"}']
    assert isinstance(events[-1], Reply)


async def test_two_messages_of_one_answer_are_separated() -> None:
    reply = await reply_of("opencode", "steps")
    assert reply.text == "hello from the fake"
    assert reply.usage == Usage(10, 4)


@pytest.mark.parametrize(
    ("name", "recording", "script", "kind", "words"),
    [
        ("claude", "rate_limited", {"exit": 1}, FaultKind.RATE_LIMITED, "Request rejected (429)"),
        ("claude", "overloaded", {"exit": 1}, FaultKind.OVERLOADED, "529"),
        ("claude", "not_logged_in", {"exit": 1}, FaultKind.UNAUTHORIZED, "Not logged in"),
        ("claude", "refused", {"exit": 1}, FaultKind.REFUSED, "Usage Policy"),
        ("claude", "empty", {}, FaultKind.EMPTY, "an empty answer"),
        ("claude", "half", {}, FaultKind.TRUNCATED, "middle of its answer"),
        ("claude", "half", {"act": "breaks off"}, FaultKind.TRUNCATED, "middle of its answer"),
        ("codex", "rate_limited", {"exit": 0}, FaultKind.RATE_LIMITED, "429"),
        ("codex", "unauthorized", {"exit": 1}, FaultKind.UNAUTHORIZED, "401"),
        ("codex", "server", {"exit": 0}, FaultKind.SERVER, "high demand"),
        ("codex", "empty", {}, FaultKind.EMPTY, "an empty answer"),
        ("codex", "cut", {}, FaultKind.TRUNCATED, "middle of its answer"),
        ("codex", "reconnecting", {"act": "stays"}, FaultKind.RATE_LIMITED, "429 Too Many Requests"),
        ("gemini", "unauthorized", {"exit": 145}, FaultKind.UNAUTHORIZED, "401"),
        ("gemini", "empty", {}, FaultKind.EMPTY, "empty response"),
        ("gemini", "cut", {}, FaultKind.TRUNCATED, "without a finish reason"),
        ("opencode", "rate_limited", {"exit": 1}, FaultKind.RATE_LIMITED, "rate_limit_error"),
        ("opencode", "empty", {}, FaultKind.EMPTY, "an empty answer"),
        ("opencode", "asks", {}, FaultKind.PERMISSION, "rejected permission"),
        ("opencode", "cut", {"act": "stays"}, FaultKind.TRUNCATED, "cut off"),
        ("agy", "denied", {}, FaultKind.PERMISSION, "RunCommand"),
        ("agy", "failed", {"exit": 1}, FaultKind.UNAUTHORIZED, "Authentication required"),
    ],
)
async def test_each_recorded_failure_is_a_fault_of_its_kind(
    name: str, recording: str, script: dict[str, Any], kind: FaultKind, words: str
) -> None:
    fault = await collect_fault(name, recording, **script)
    assert fault.kind is kind
    assert words in fault.message


async def test_items_of_type_error_are_only_warnings() -> None:
    assert (await reply_of("codex", "command")).text == "hello from the fake"


async def test_a_call_of_a_missing_tool_does_not_spoil_an_answer() -> None:
    assert (await reply_of("gemini", "write")).text == "hello from the fake"
    assert (await reply_of("claude", "denied")).text == "hello from the fake"


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ("Attempt 1 failed with status 429. Retrying with backoff... _ApiError", FaultKind.RATE_LIMITED),
        ("Attempt 1 failed with status 500. Retrying with backoff... _ApiError", FaultKind.SERVER),
    ],
)
async def test_the_agents_own_silent_retry_is_not_waited_for(trouble: str, kind: FaultKind) -> None:
    fault = await collect_fault("gemini", "silent", trouble=trouble, act="stays")
    assert fault.kind is kind


@pytest.mark.parametrize(
    ("name", "code", "trouble", "kind", "words"),
    [
        ("gemini", 41, "Invalid auth method selected", FaultKind.UNAUTHORIZED, "Run `gemini`"),
        ("gemini", 55, "Gemini CLI is not running in a trusted directory", FaultKind.PERMISSION, "trust the folder"),
        ("codex", 1, "Error: stream error: 401 Unauthorized", FaultKind.UNAUTHORIZED, "codex login"),
        ("claude", 3, "something broke", FaultKind.CRASHED, "--debug"),
    ],
)
async def test_an_exit_without_output_is_explained(
    name: str, code: int, trouble: str, kind: FaultKind, words: str
) -> None:
    fault = await collect_fault(name, exit=code, trouble=trouble)
    assert fault.kind is kind
    assert words in fault.help
    assert trouble[:20] in fault.message


async def test_a_key_is_never_in_a_fault() -> None:
    key = "odd-secret-0123456789"
    environ = {**ENVIRON, "ANTHROPIC_API_KEY": key}
    fault = last_event(await collect_events(scripted("claude", environ=environ, exit=1, trouble=f"bad key {key}")))
    assert isinstance(fault, Fault)
    assert "bad key" in fault.message
    assert key not in repr(fault)
