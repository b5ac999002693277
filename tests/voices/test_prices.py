"""Prices: by the figures of the price list, worked out again by hand; what it does not know is not guessed."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genai_prices.data import providers

from roundtable.core.faults import Fault
from roundtable.core.values import Reply, Usage
from roundtable.voices.agents.catalog import load_shipped_agent_clis, parse_agent_cli
from roundtable.voices.endpoints import load_shipped_voice_endpoints, parse_voice_endpoint
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.prices import compute_provider_call_price
from roundtable.voices.registry import VoiceRegistry
from roundtable.voices.tariffs import Tariff, Tariffs
from tests.kits.voice_kit import collect_events, last_event

MILLION = 1_000_000


def find_list_price(provider: str, model: str, field: str) -> float:
    """Dollars for a million tokens, as the list has them."""
    models = next(find_list_price for find_list_price in providers if find_list_price.id == provider).models
    model_info = next(info for info in models if info.id == model)
    assert not isinstance(model_info.prices, list)
    figure: Any = getattr(model_info.prices, field)
    assert isinstance(figure, Decimal)
    return float(figure)


async def test_input_and_output_have_their_own_prices() -> None:
    dear, cheap = find_list_price("openai", "gpt-4o", "output_mtok"), find_list_price("openai", "gpt-4o", "input_mtok")
    by_hand = (1000 * cheap + 100 * dear) / MILLION
    assert await compute_provider_call_price("openai", "gpt-4o", Usage(1000, 100)) == pytest.approx(by_hand)


async def test_tokens_read_from_a_cache_are_cheaper() -> None:
    fields = ("input_mtok", "cache_read_mtok", "output_mtok")
    fresh, cached, out = (find_list_price("openai", "gpt-4o", field) for field in fields)
    by_hand = (400 * fresh + 600 * cached + 100 * out) / MILLION
    assert await compute_provider_call_price("openai", "gpt-4o", Usage(1000, 100, 600)) == pytest.approx(by_hand)
    assert cached < fresh


async def test_tokens_written_to_a_cache_are_more_expensive() -> None:
    fields = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")
    fresh, cached, written, out = (find_list_price("anthropic", "claude-haiku-4-5", field) for field in fields)
    by_hand = (100 * fresh + 600 * cached + 300 * written + 50 * out) / MILLION
    used = Usage(1000, 50, 600, cache_write_tokens=300)
    assert await compute_provider_call_price("anthropic", "claude-haiku-4-5-20251001", used) == pytest.approx(by_hand)
    assert written > fresh


@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "gpt-4o-of-the-year-3000", Usage(1000, 100)),
        ("openai", "text-embedding-3-small", Usage(1000, 100)),
        ("nobody", "gpt-4o", Usage(1000, 100)),
        ("openai", "gpt-4o", Usage(10, 100, cached_tokens=600)),
        ("openai", "gpt-4o", Usage(-1, 100)),
    ],
)
async def test_a_price_missing_from_the_list_is_not_guessed(provider: str, model: str, usage: Usage) -> None:
    assert await compute_provider_call_price(provider, model, usage) is None


def test_every_price_list_that_the_catalog_names_exists() -> None:
    provider_ids = {provider.id for provider in providers}
    named = (*load_shipped_voice_endpoints().values(), *load_shipped_agent_clis().values())
    assert {owner.prices for owner in named} - {""} <= provider_ids


async def test_a_call_is_billed_by_the_list_unless_the_server_reports_a_cost(tmp_path: Path) -> None:
    async with FaultServer() as server:
        endpoints = [
            parse_voice_endpoint("paid", {"base_url": server.root, "dialect": "anthropic", "prices": "anthropic"}),
            parse_voice_endpoint("told", {"base_url": server.url, "prices": "openai"}),
        ]
        registry = VoiceRegistry(
            {endpoint.name: endpoint for endpoint in endpoints}, lambda _: None, models_dir=tmp_path
        )
        replies: list[Reply] = []
        for name in ("paid:claude-haiku-4-5", "paid:alpha", "told:gpt-4o"):
            voice = registry.find(name)
            assert not isinstance(voice, Fault), voice
            reply = last_event(await collect_events(voice))
            assert isinstance(reply, Reply)
            replies.append(reply)
        await registry.close()
    priced, unpriced, reported = (reply.usage for reply in replies)
    assert priced.cost_usd == await compute_provider_call_price("anthropic", "claude-haiku-4-5", priced)
    assert priced.cost_usd
    assert unpriced.cost_usd is None
    assert reported.cost_usd == 0.0025


def run(program: str) -> str:
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


def test_prices_are_never_fetched() -> None:
    program = """
import asyncio, sys, threading
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"{event} {args}")
sys.addaudithook(watch)
from roundtable.core.values import Usage
from roundtable.voices.prices import compute_provider_call_price
print(asyncio.run(compute_provider_call_price("openai", "gpt-4o", Usage(1000, 100))) > 0, threading.active_count())
"""
    assert run(program) == "True 1"


def test_the_price_list_is_not_loaded_for_free_voices() -> None:
    program = """
import asyncio, sys
from roundtable.doors.cli.main import cli
try:
    cli(["--help"], standalone_mode=False)
except SystemExit:
    pass
import roundtable.app.desk, roundtable.app.cost.quote, roundtable.voices.http_voice
print("\\n", "genai_prices" in sys.modules, "pydantic" in sys.modules)
"""
    assert run(program).splitlines()[-1].split() == ["False", "False"]


def test_how_a_voice_is_paid_for() -> None:
    endpoints = load_shipped_voice_endpoints()
    tariffs = Tariffs(endpoints, dict, {})
    assert [tariffs.find_tariff(voice).paid for voice in ("script:x", "embedded:y", "ollama:z")] == ["free"] * 3
    openai = tariffs.find_tariff("openai:gpt-4o")
    assert (openai.paid, openai.prices, openai.model) == ("tokens", "openai", "gpt-4o")
    assert tariffs.find_tariff("openai:").model == endpoints["openai"].default_model
    assert [tariffs.find_tariff(voice) for voice in ("nobody:knows", "cli:nobody")] == [Tariff("tokens")] * 2


def test_an_agent_is_on_a_plan_unless_a_key_pays() -> None:
    described = {"command": "helper", "argv": ["ask"], "reads": [], "resume": ["--again"], "overhead_bytes": 40_000}
    helper = parse_agent_cli("helper", {**described, "key_variables": ["HELPER_KEY"], "prices": "openai"})
    logged_in, with_key = (
        Tariffs({}, lambda: {"helper": helper}, variables) for variables in ({}, {"HELPER_KEY": "x"})
    )
    assert logged_in.find_tariff("cli:helper:gpt-4o") == Tariff("plan", "openai", "gpt-4o", 10_000, keeps_session=True)
    assert with_key.find_tariff("cli:helper:gpt-4o").paid == "tokens"


def test_the_tariffs_of_the_shipped_agents_are_known() -> None:
    names = ("claude", "codex", "gemini", "agy", "opencode")
    tariffs = {name: Tariffs({}, load_shipped_agent_clis, {}).find_tariff(f"cli:{name}") for name in names}
    nobody_says = [name for name, tariff in tariffs.items() if tariff.paid == "tokens"]
    assert nobody_says == ["opencode"]
    assert all(tariff.keeps_session for tariff in tariffs.values())
    with_key = Tariffs({}, load_shipped_agent_clis, {"ANTHROPIC_API_KEY": "x"}).find_tariff(
        "cli:claude:claude-haiku-4-5"
    )
    assert (with_key.paid, with_key.prices, with_key.model) == ("tokens", "anthropic", "claude-haiku-4-5")
