"""The dialects against real servers: llama.cpp supports three of them, a LiteLLM proxy in front of it all four."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from roundtable.app.desk import Places
from roundtable.core.faults import Fault
from roundtable.core.ports import Voice
from roundtable.core.values import Reply, Request
from roundtable.voices import models
from roundtable.voices.endpoints import DialectName, Endpoint, load_shipped_voice_endpoints, parse_voice_endpoint
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice
from tests.kits.voice_kit import Stage, VoiceKit, collect_events, last_event, make_request
from tests.real.servers import MUTE, Served, litellm, llama, silence

pytestmark = pytest.mark.real

SMALL = "smollm2-135m"
BASES = {"anthropic": "", "gemini": "/v1beta"}


@pytest.fixture(scope="module")
def llama_server() -> Generator[Served, None, None]:
    folder = Places.of_this_person().models
    got = asyncio.run(models.download_embedded_model(SMALL, folder))
    assert isinstance(got, Path), got
    with llama(got) as served:
        yield served


@pytest.fixture(scope="module")
def proxy(llama_server: Served, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with (
        silence() as nobody,
        litellm({"smol": llama_server, "mute": nobody}, tmp_path_factory.mktemp("litellm")) as served,
    ):
        yield served


class Short:
    """A voice that is asked for little, since the kit asks often."""

    def __init__(self, voice: Voice, request: Request | None = None) -> None:
        self.voice = voice
        self.request = request
        self.name, self.vendor, self.structured = voice.name, voice.vendor, voice.structured
        self.plain_when_long = False
        self.edits = False

    def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        return self.voice.speak(self.request or msgspec.structs.replace(request, max_tokens=24))

    async def close(self) -> None:
        await self.voice.close()


class RealStage(Stage):
    """One dialect before a real server; the work is done in llama.cpp's slots, whoever stands in front."""

    many = 3
    bound = 10.0

    def __init__(self, endpoint: Endpoint, served: Served, slots: Served) -> None:
        self.endpoint = endpoint
        self.client = open_provider_http_client(endpoint)
        self.served = served
        self.slots = slots

    def voice(self, model: str = "smol", **more: Any) -> HttpVoice:
        endpoint = msgspec.structs.replace(self.endpoint, **more)
        return HttpVoice(endpoint, model, self.client, key=self.served.key)

    def talker(self) -> Voice:
        return Short(self.voice())

    def slow(self) -> Voice:
        return Short(self.voice(), make_request("Count from one to five hundred.", max_tokens=1500))

    def mute(self) -> Voice:
        # The proxy has a model of that name; llama.cpp has but one, and is told to say nothing.
        return Short(self.voice("mute", extra=MUTE if self.served is self.slots else {}))

    def misreporter(self, figures: str) -> Voice:
        pytest.skip("a real provider does not misreport on request")

    async def idle(self) -> bool:
        return not any(await asyncio.to_thread(self.slots.busy))


class RealKit(VoiceKit):
    """The kit for one dialect before one server."""

    dialect: ClassVar[DialectName]
    reports_usage: ClassVar[bool] = True

    def served(self, request: pytest.FixtureRequest) -> Served:
        """The server and model under test."""
        return request.getfixturevalue("llama_server")

    @pytest.fixture
    async def stage(self, request: pytest.FixtureRequest, llama_server: Served) -> AsyncGenerator[Stage, None]:
        served = self.served(request)
        base_url = served.url + BASES.get(self.dialect, "/v1")
        habits = {"headers": load_shipped_voice_endpoints()["llamacpp"].headers, "local": True}
        endpoint = parse_voice_endpoint("real", {"base_url": base_url, "dialect": self.dialect, **habits})
        stage = RealStage(endpoint, served, llama_server)
        yield stage
        await stage.client.aclose()

    async def test_the_token_counts_of_a_real_server_are_reported(self, stage: Stage) -> None:
        """Forty words are forty tokens to this model; our estimate by length says sixty."""
        first, second = [
            last_event(await collect_events(stage.talker(), make_request(text)))
            for text in ("Hi", "Hi" + " there" * 40)
        ]
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert second.usage.input_tokens - first.usage.input_tokens == (40 if self.reports_usage else 60)


class ThroughLiteLLM(RealKit):
    """The same, with the proxy between."""

    def served(self, request: pytest.FixtureRequest) -> Served:
        return request.getfixturevalue("proxy")


class TestChatOnLlama(RealKit):
    dialect = "openai-chat"


class TestResponsesOnLlama(RealKit):
    dialect = "openai-responses"


class TestAnthropicOnLlama(RealKit):
    dialect = "anthropic"


class TestChatThroughLiteLLM(ThroughLiteLLM):
    dialect = "openai-chat"


class TestResponsesThroughLiteLLM(ThroughLiteLLM):
    dialect = "openai-responses"


class TestAnthropicThroughLiteLLM(ThroughLiteLLM):
    dialect = "anthropic"


class TestGeminiThroughLiteLLM(ThroughLiteLLM):
    dialect = "gemini"
    reports_usage = False  # the proxy says 0 for every stream of this dialect
