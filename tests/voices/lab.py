"""The dialects before the local fault server, for the tests of each of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import httpx2
import pytest

from roundtable.core.ports import Voice
from roundtable.core.values import Message, Reply, Request
from roundtable.voices.endpoints import DialectName, parse_voice_endpoint
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice, PriceLookup
from tests.kits.fault_kit import SECRET, FaultKit, FaultStage
from tests.kits.voice_kit import Said, Stage, VoiceKit, collect_events, last_event, make_request

DIALECTS: tuple[DialectName, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"maxLength": {"type": "string", "maxLength": 9}},
    "required": ["maxLength"],
    "additionalProperties": False,
}
"""A form that strict modes take, once the keyword is gone and the field of the same name is not."""

BARE_FORM: dict[str, Any] = {**FORM, "properties": {"maxLength": {"type": "string"}}}


def make_conversation(*texts: str) -> Request:
    """A request in which both sides have spoken in turn."""
    roles = ("user", "assistant")
    messages = [Message(roles[number % 2], text) for number, text in enumerate(texts)]
    return make_request(messages=(Message("system", "You are brief."), *messages), session="s-1")


class Lab(Stage):
    """One dialect and a server, both real."""

    def __init__(self, dialect: DialectName, server: FaultServer, client: httpx2.AsyncClient) -> None:
        self.dialect: DialectName = dialect
        self.server = server
        self.client = client

    def voice(self, model: str = "alpha", *, price: PriceLookup | None = None, **more: Any) -> HttpVoice:
        """A voice of an endpoint with this data."""
        data = {"base_url": self.server.base(self.dialect), "dialect": self.dialect, "local": True, **more}
        return HttpVoice(parse_voice_endpoint("lab", data), model, self.client, key=SECRET, price=price)

    async def say(self, model: str, request: Request | None = None, **more: Any) -> Said:
        """Everything a model of that name says."""
        return await collect_events(self.voice(model, **more), request)

    async def reply(self, model: str, request: Request | None = None, **more: Any) -> Reply:
        """The good ending of a model of that name."""
        end = last_event(await self.say(model, request, **more))
        assert isinstance(end, Reply), end
        return end

    async def body(self, request: Request | None = None, model: str = "alpha", **more: Any) -> dict[str, Any]:
        """Return the body of the request that the server received."""
        await self.say(model, request, **more)
        return self.server.seen[-1].body

    def talker(self) -> Voice:
        return self.voice()

    def slow(self) -> Voice:
        return self.voice("hang_midway")

    def mute(self) -> Voice:
        return self.voice("blank")

    def misreporter(self, figures: str) -> Voice:
        return self.voice(f"{figures}_usage")

    async def idle(self) -> bool:
        return self.server.at_once == 0


@asynccontextmanager
async def open_lab(dialect: DialectName) -> AsyncGenerator[Lab, None]:
    """A laboratory that lets in only those with the key."""
    async with (
        FaultServer(key=SECRET) as server,
        open_provider_http_client(parse_voice_endpoint("lab", {"base_url": server.url, "local": True})) as client,
    ):
        yield Lab(dialect, server, client)


class Faulty(FaultStage):
    """The same laboratory as the fault kit wants it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.server = lab.server

    def voice(self, behaviour: str) -> Voice:
        return self.lab.voice(behaviour)


class DialectKit(VoiceKit, FaultKit):
    """Both kits for one dialect."""

    dialect: ClassVar[DialectName]

    @pytest.fixture
    async def stage(self) -> AsyncGenerator[Stage, None]:
        async with open_lab(self.dialect) as lab:
            yield lab

    @pytest.fixture
    async def fault_stage(self) -> AsyncGenerator[FaultStage, None]:
        async with open_lab(self.dialect) as lab:
            yield Faulty(lab)
