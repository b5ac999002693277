"""Finding voices: what a string leads to, what is shared, and what is said when there is nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.ports import Voice, Voices
from roundtable.core.values import Reply, Usage
from roundtable.voices.endpoints import (
    load_shipped_voice_endpoints,
    merge_voice_endpoints,
    parse_voice_endpoint,
)
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.prices import compute_provider_call_price
from roundtable.voices.registry import VoiceRegistry
from tests.kits.voice_kit import collect_events, last_event, make_request

KEYS = {"env:LAB_KEY": "sk-lab ", "env:BAD_KEY": "sk-\u00e4"}


@pytest.fixture
async def server() -> AsyncGenerator[FaultServer, None]:
    async with FaultServer(key="sk-lab") as server:
        yield server


@pytest.fixture
async def registry(server: FaultServer, tmp_path: Path) -> AsyncGenerator[VoiceRegistry, None]:
    def lab(name: str, **more: Any) -> Any:
        return parse_voice_endpoint(name, {"base_url": server.url + "/", "local": True, **more})

    own_endpoints = [
        lab("lab", key="${LAB_KEY}", concurrency=2, default_model="alpha"),
        lab("nokey", key="env:NO_KEY"),
        lab("secret", key="secret:lab"),
        lab("badkey", key="env:BAD_KEY"),
        lab("claude", dialect="anthropic", base_url=server.base("anthropic"), key="env:LAB_KEY"),
        lab("gemini", dialect="gemini", base_url=server.base("gemini"), key="env:LAB_KEY"),
        lab("reply", dialect="openai-responses", key="env:LAB_KEY"),
        lab("paid", dialect="anthropic", base_url="${LAB_URL}/", key="env:LAB_KEY", local=False, prices="anthropic"),
        lab("lost", base_url="${NO_URL}/v1", headers={"X-Lab": "${LAB_KEY}"}),
    ]
    endpoints = merge_voice_endpoints(load_shipped_voice_endpoints().values(), own_endpoints)
    registry = VoiceRegistry(endpoints, KEYS.get, models_dir=tmp_path / "models", workspace=tmp_path)
    yield registry
    await registry.close()


def find_voice(registry: Voices, name: str) -> Voice:
    voice = registry.find(name)
    assert not isinstance(voice, Fault), voice
    return voice


def find_fault(registry: Voices, name: str) -> Fault:
    fault = registry.find(name)
    assert isinstance(fault, Fault)
    assert fault.help
    return fault


@pytest.mark.feature("S3.39")
async def test_a_voice_string_names_endpoint_and_model(registry: VoiceRegistry, server: FaultServer) -> None:
    voice = find_voice(registry, "lab:al/pha:8b")
    assert (voice.name, voice.vendor) == ("lab:al/pha:8b", "al")
    assert isinstance(last_event(await collect_events(voice)), Reply)
    assert server.seen[0].body["model"] == "al/pha:8b"
    assert server.seen[0].path == "/v1/chat/completions"
    assert server.seen[0].headers["authorization"] == "Bearer sk-lab"


async def test_the_registry_returns_the_same_voice_every_time(registry: VoiceRegistry) -> None:
    assert find_voice(registry, "lab:alpha") is find_voice(registry, "lab:alpha")
    assert find_voice(registry, "lab").name == "lab:alpha"


async def test_one_account_has_one_pacer_across_dialects(registry: VoiceRegistry, server: FaultServer) -> None:
    await collect_events(find_voice(registry, "reply:rate_limited"))
    fault = last_event(await collect_events(find_voice(registry, "lab:alpha"), make_request(timeout=1)))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.RATE_LIMITED
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("lab:alpha", "/v1/chat/completions"),
        ("reply:alpha", "/v1/responses"),
        ("claude:alpha", "/v1/messages"),
        ("gemini:alpha", "/v1beta/models/alpha:streamGenerateContent"),
    ],
)
@pytest.mark.feature("S1.36")
async def test_the_endpoint_data_chooses_the_dialect(
    registry: VoiceRegistry, server: FaultServer, name: str, path: str
) -> None:
    assert isinstance(last_event(await collect_events(find_voice(registry, name))), Reply)
    assert server.seen[0].path == path
    assert server.seen[0].key == "sk-lab"


async def test_an_address_can_come_from_a_variable_and_calls_are_priced(
    registry: VoiceRegistry, server: FaultServer
) -> None:
    KEYS["env:LAB_URL"] = server.base("anthropic") + "/"
    try:
        reply = last_event(await collect_events(find_voice(registry, "paid:claude-sonnet-4-6")))
    finally:
        del KEYS["env:LAB_URL"]
    assert isinstance(reply, Reply)
    assert reply.usage.cost_usd
    unknown = last_event(await collect_events(find_voice(registry, "claude:alpha")))
    assert isinstance(unknown, Reply)
    assert unknown.usage.cost_usd == 0, "it runs on this machine"


@pytest.fixture
async def open_local_registry(server: FaultServer, tmp_path: Path) -> AsyncGenerator[VoiceRegistry, None]:
    """The shipped endpoints with a key each; their servers are replaced by the fault server."""
    keys = {"env:OPENAI_API_KEY": "sk-lab", "env:XAI_API_KEY": "sk-lab", "env:LITELLM_API_KEY": "sk-lab"}
    endpoints = {
        name: msgspec.structs.replace(endpoint, base_url=server.base(endpoint.dialect), concurrency=2, local=True)
        for name, endpoint in load_shipped_voice_endpoints().items()
    }
    registry = VoiceRegistry(endpoints, keys.get, models_dir=tmp_path / "models", workspace=tmp_path)
    yield registry
    await registry.close()


@pytest.mark.parametrize(
    ("name", "address", "model"),
    [
        pytest.param("openai", "https://api.openai.com/v1", "gpt-4o", id="gpt"),
        pytest.param("xai", "https://api.x.ai/v1", "grok-4.7", id="grok"),
    ],
)
@pytest.mark.feature("S4.11", "S4.12")
async def test_gpt_and_grok_stream_from_the_api_of_their_provider_with_an_api_key(
    open_local_registry: VoiceRegistry, server: FaultServer, name: str, address: str, model: str
) -> None:
    assert (load_shipped_voice_endpoints()[name].base_url, load_shipped_voice_endpoints()[name].dialect) == (
        address,
        "openai-chat",
    )
    pieces = await collect_events(find_voice(open_local_registry, name))
    assert isinstance(last_event(pieces), Reply)
    assert len(pieces) > 2, "the answer arrives in pieces"
    (request,) = server.seen
    assert (request.body["model"], request.body["stream"]) == (model, True)
    assert request.headers["authorization"] == "Bearer sk-lab"


@pytest.mark.feature("S1.18")
async def test_a_litellm_proxy_serves_every_seat_with_its_own_model_at_the_pace_of_its_endpoint(
    open_local_registry: VoiceRegistry, server: FaultServer
) -> None:
    server.latency = 0.05
    models = ["anthropic/claude-sonnet-4-6", "openai/gpt-4o", "gemini/gemini-3-pro", "xai/grok-4"]
    replies = await asyncio.gather(
        *(collect_events(find_voice(open_local_registry, f"litellm:{model}")) for model in models)
    )
    assert all(isinstance(last_event(reply), Reply) for reply in replies)
    assert sorted(request.body["model"] for request in server.seen) == sorted(models)
    assert {request.path for request in server.seen} == {"/v1/chat/completions"}
    assert server.most_at_once == 2


async def test_all_voices_of_an_endpoint_share_its_slots(registry: VoiceRegistry, server: FaultServer) -> None:
    server.latency = 0.05
    voices = [find_voice(registry, f"lab:m{number}") for number in range(6)]
    await asyncio.gather(*(collect_events(voice) for voice in voices))
    assert server.most_at_once == 2


async def test_a_script_is_found_by_its_path_in_the_workspace(registry: VoiceRegistry, tmp_path: Path) -> None:
    (tmp_path / "demo.toml").write_text('vendor = "acme"\n[[turns]]\ntext = "Hi."\n')
    voice = find_voice(registry, "script:demo.toml")
    assert voice.vendor == "acme"
    assert isinstance(last_event(await collect_events(voice)), Reply)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("nobody:model", FaultKind.MISSING, "no endpoint called `nobody`"),
        ("opneai:gpt-4o", FaultKind.MISSING, "Did you mean `openai`?"),
        ("", FaultKind.MISSING, "no endpoint"),
        ("ollama:", FaultKind.MISSING, "has no model"),
        ("script:", FaultKind.MISSING, "has no path"),
        ("script:none.toml", FaultKind.MISSING, "no script"),
        ("cli:cluade", FaultKind.MISSING, "Did you mean `claude`?"),
        ("cli:", FaultKind.MISSING, "has no agent"),
        ("acp:agy", FaultKind.MISSING, "`agy` has no settings for the Agent Client Protocol"),
        ("acp:", FaultKind.MISSING, "has no agent"),
        ("lost:model", FaultKind.MISSING, "needs the variable NO_URL"),
        ("nokey:model", FaultKind.UNAUTHORIZED, "The key env:NO_KEY of the endpoint nokey was not found."),
        ("secret:model", FaultKind.UNAUTHORIZED, "The key secret:lab of the endpoint secret was not found."),
        ("badkey:model", FaultKind.UNAUTHORIZED, "invalid characters"),
    ],
)
async def test_a_missing_voice_is_reported_with_what_to_do(
    registry: VoiceRegistry, name: str, kind: FaultKind, words: str
) -> None:
    fault = find_fault(registry, name)
    assert fault.kind is kind
    assert words in fault.message


async def test_an_invalid_script_is_reported(registry: VoiceRegistry, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[[turns]]\ntxt = 1\n")
    fault = find_fault(registry, "script:wrong.toml")
    assert fault.kind is FaultKind.MALFORMED
    assert not fault.retryable
    assert "text" in fault.help


async def test_a_key_that_is_set_later_is_used(registry: VoiceRegistry) -> None:
    find_fault(registry, "nokey:model")
    KEYS["env:NO_KEY"] = "sk-lab"
    try:
        find_voice(registry, "nokey:model")
    finally:
        del KEYS["env:NO_KEY"]


def test_scripted_voices_do_not_load_http_or_models(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[turns]]\ntext = "Hi."\n')
    code = (
        "import sys; from pathlib import Path; from roundtable.voices.registry import VoiceRegistry\n"
        "from roundtable.voices.endpoints import load_shipped_voice_endpoints\n"
        f"here = Path({str(tmp_path)!r})\n"
        "r = VoiceRegistry(load_shipped_voice_endpoints(), lambda k: None, models_dir=here, workspace=here)\n"
        "print(r.find('script:a.toml').name, 'httpx2' in sys.modules, 'xllamacpp' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["script:a.toml", "False", "False"]


class TestEndpoints:
    """The catalog and a person's own endpoints."""

    def test_the_endpoints_of_the_shipped_catalog(self) -> None:
        shipped = load_shipped_voice_endpoints()
        assert {"anthropic", "openai", "openai-responses", "google", "azure"} <= set(shipped)
        assert {"openrouter", "xai", "groq", "mistral", "deepseek"} <= set(shipped)
        assert {"ollama", "lmstudio", "vllm", "llamacpp", "litellm"} <= set(shipped)
        for endpoint in shipped.values():
            assert endpoint.local == (endpoint.key == "none") == bool(endpoint.probe)
            assert not endpoint.local or endpoint.base_url.startswith("http://127.0.0.1")

    async def test_default_models_have_a_known_price(self) -> None:
        for endpoint in load_shipped_voice_endpoints().values():
            for model in filter(None, (endpoint.default_model, endpoint.judge_model)):
                assert await compute_provider_call_price(endpoint.prices, model, Usage(1000, 1000)), model

    def test_default_models_use_the_strongest_reply_constraint(self) -> None:
        shipped = load_shipped_voice_endpoints()
        for name in ("anthropic", "openai", "google"):
            endpoint = shipped[name]
            assert (
                endpoint.find_reply_constraint(endpoint.default_model)
                == endpoint.find_reply_constraint(endpoint.judge_model)
                == "schema"
            )
        assert shipped["anthropic"].find_reply_constraint("claude-opus-4-1-20250805") == "tool"
        assert shipped["deepseek"].find_reply_constraint("deepseek-v4-flash") == ""

    def test_endpoints_know_the_limits_of_their_models(self) -> None:
        google = load_shipped_voice_endpoints()["google"]
        assert google.is_reasoning_model("gemini-3.8-flash")
        assert google.has_vision("gemini-3.8-flash")
        assert google.find_context_window("gemini-3.8-flash") == 1_048_576
        assert google.find_context_window("gemma") == 0

    def test_a_resellers_model_belongs_to_its_maker(self) -> None:
        shipped = load_shipped_voice_endpoints()
        assert shipped["openrouter"].find_vendor("anthropic/claude") == "anthropic"
        assert shipped["openai"].find_vendor("gpt-4o") == "openai"
        assert shipped["ollama"].find_vendor("llama3") == "ollama"

    def test_reasoning_models_get_no_sampling_settings(self) -> None:
        openai = load_shipped_voice_endpoints()["openai"]
        assert openai.find_omitted_keys("o3-mini") == {"temperature", "seed"}
        assert openai.find_omitted_keys("gpt-4o") == set()

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            ({"base_url": "http://x", "modl": 1}, "modl"),
            ({"base_url": "x.test/v1"}, "http://"),
            ({"base_url": "http://x", "key": "sk-123456"}, "must name a key"),
            ({"base_url": "http://x", "key": "env:"}, "must name a key"),
            ({"base_url": "http://x", "dialect": "morse"}, "morse"),
            ({"base_url": "http://x", "concurrency": 0}, "concurrency"),
            ({"base_url": "http://x", "per_minute": -1}, "per_minute"),
            ({}, "base_url"),
        ],
    )
    def test_an_invalid_endpoint_is_reported_without_its_key(self, data: dict[str, Any], words: str) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_voice_endpoint("lab", data)
        assert words in caught.value.message
        assert "sk-123456" not in str(caught.value)
