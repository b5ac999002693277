"""Which seats a machine offers: configured seats, agents on the PATH, keys, local servers, embedded models."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.machine import discovery
from roundtable.app.machine.discovery import DiscoveredSeat, create_machine_model_seats, propose_machine_seats
from roundtable.app.settings.config import trust_workspace
from roundtable.app.settings.places import Places
from roundtable.core.values import Seat

NOBODY = "".join(
    f'[endpoints.{name}]\nbase_url = "http://127.0.0.1:9/v1"\nlocal = true\n'
    for name in ("llamacpp", "lmstudio", "ollama", "vllm")
)
"""No server of this machine takes part in a test."""


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


async def found_with(places: Places, workspace: Path, text: str = "") -> list[DiscoveredSeat]:
    places.user_config.parent.mkdir(parents=True, exist_ok=True)
    places.user_config.write_text(NOBODY + text)
    async with await Roundtable.open(workspace, places) as desk:
        return [seat for seat in await desk.setup.discover() if seat.kind != "embedded"]


@contextlib.asynccontextmanager
async def server(body: bytes, *, silent: bool = False) -> AsyncGenerator[tuple[str, list[str]]]:
    """Serve one body for every request, or never answer; yield the address and the request lines."""
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            seen.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
            if silent:
                await reader.read()
            else:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", seen


def lab(address: str, more: str = "") -> str:
    return f'[endpoints.lab]\ntitle = "The lab"\nbase_url = "{address}"\nlocal = true\nprobe = "/models"\n{more}'


async def test_a_machine_without_models_offers_no_seats(places: Places, workspace: Path) -> None:
    assert await found_with(places, workspace) == []


async def test_configured_seats_come_first_with_their_first_usable_voice(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text('[[turns]]\ntext = "x"')
    text = """
[seats.well]
voices = ["openai:gpt-4o", "script:s.toml"]
[seats.ill]
voices = ["openai:gpt-4o"]
[seats.mute]
brief = "No voice."
[seats.away]
voices = ["script:s.toml"]
enabled = false
"""
    found = await found_with(places, workspace, text)
    assert [(seat.name, seat.voice, seat.usable) for seat in found] == [
        ("well", "script:s.toml", True),
        ("ill", "openai:gpt-4o", False),
        ("mute", "", False),
    ]
    assert "OPENAI_API_KEY of the endpoint openai was not found" in found[1].note
    assert {seat.kind for seat in found} == {"configured"}


async def test_seats_of_an_untrusted_workspace_are_not_offered(places: Places, workspace: Path) -> None:
    (workspace / ".roundtable").mkdir()
    (workspace / ".roundtable" / "config.toml").write_text('[seats.spy]\nvoices = ["openai:gpt-4o"]')
    assert await found_with(places, workspace) == []
    trust_workspace(places, workspace)
    assert [seat.voice for seat in await found_with(places, workspace)] == ["openai:gpt-4o"]


@pytest.mark.feature("S3.4")
async def test_agents_on_the_path_are_offered_as_seats(places: Places, workspace: Path, tmp_path: Path) -> None:
    for name in ("claude", "opencode", "unrelated"):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    (tmp_path / "bin" / "codex").write_text("not executable")
    found = await found_with(places, workspace)
    assert [(seat.voice, seat.kind, seat.usable) for seat in found] == [
        ("cli:claude", "cli", True),
        ("cli:opencode", "cli", True),
    ]
    assert "Claude Code" in found[0].note


async def test_a_key_in_the_environment_is_a_seat_and_is_never_shown(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "")
    found = await found_with(places, workspace)
    assert [(seat.voice, seat.usable) for seat in found] == [("openai:gpt-4o", True), ("openrouter:", False)]
    assert "OpenAI" in found[0].note
    assert "openrouter:MODEL" in found[1].note
    assert "sk-secret" not in repr(found)


async def test_discovery_only_asks_local_servers_for_their_models(places: Places, workspace: Path) -> None:
    body = json.dumps({"data": [{"id": "nomic-embed-text"}, {"id": "llama3.2"}, {"id": "qwen"}]}).encode()
    async with server(body) as (address, seen), server(body) as (remote, paid):
        text = (
            lab(address) + f'[endpoints.paid]\nbase_url = "{remote}"\nkey = "env:PAID_API_KEY"\ndefault_model = "x"\n'
        )
        found = await found_with(places, workspace, text)
    assert [(seat.name, seat.voice, seat.kind, seat.usable) for seat in found] == [
        ("lab", "lab:llama3.2", "local", True)
    ]
    assert seen == ["GET /v1/models HTTP/1.1"]
    assert paid == []


async def test_servers_that_do_not_answer_are_waited_for_in_parallel(places: Places, workspace: Path) -> None:
    loop = asyncio.get_running_loop()
    async with server(b"", silent=True) as (address, _):
        text = "".join(lab(address).replace("endpoints.lab", f"endpoints.{name}") for name in "abcdef")
        await found_with(places, workspace)
        began = loop.time()
        assert await found_with(places, workspace, text) == []
        assert loop.time() - began < 6 * discovery.ANSWER_SECONDS


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"data": [{"name": "x"}]}'])
async def test_another_program_on_the_port_is_not_a_seat(places: Places, workspace: Path, body: bytes) -> None:
    async with server(body) as (address, _):
        assert await found_with(places, workspace, lab(address)) == []


async def test_a_local_server_without_a_model_is_not_usable(places: Places, workspace: Path) -> None:
    async with server(b'{"data": []}') as (address, _):
        (found,) = await found_with(places, workspace, lab(address))
    assert not found.usable
    assert "no model" in found.note


async def test_embedded_models_are_offered_or_can_be_fetched(desk: Roundtable, places: Places) -> None:
    places.models.mkdir(parents=True)
    (places.models / "mine.gguf").write_bytes(b"GGUF" + bytes(100))
    found = [seat for seat in await desk.setup.discover() if seat.kind == "embedded"]
    assert (found[0].voice, found[0].usable) == ("embedded:mine", discovery.machine_has_model_runtime())
    assert any("roundtable models get" in seat.note and not seat.usable for seat in found[1:])


def test_three_seats_on_one_model_get_different_briefs() -> None:
    seats = create_machine_model_seats("smollm2-135m")
    assert [seat.voices for seat in seats] == [("embedded:smollm2-135m",)] * 3
    assert len({seat.name for seat in seats}) == len({seat.brief for seat in seats}) == 3


def test_discovered_seats_are_proposed_in_a_fixed_order() -> None:
    def found(name: str, kind: discovery.DiscoveryKind, usable: bool = True) -> DiscoveredSeat:
        return DiscoveredSeat(name, f"{name}:m", kind, usable)

    api, local, cli, small = found("a", "api"), found("b", "local"), found("c", "cli"), found("embedded", "embedded")
    assert [seat.name for seat in propose_machine_seats([cli, api, local, small])] == ["c", "a", "b"]
    assert [seat.voices for seat in propose_machine_seats([api, small])] == [("a:m",)] * 3
    assert [seat.voices for seat in propose_machine_seats([found("a", "api", False), small])] == [("embedded:m",)] * 3
    assert propose_machine_seats([found("a", "api", False)]) == ()


def test_the_chosen_seats_are_remembered_for_this_person_only(desk: Roundtable, places: Places) -> None:
    assert desk.setup.remembered_seats() == ()
    seats = (Seat("a", ("lab:x", "lab:y"), brief="Be brief."), Seat("b", ("lab:z",)))
    desk.setup.remember_seats(seats)
    assert desk.setup.remembered_seats() == seats
    assert stat.S_IMODE(places.chosen.stat().st_mode) == 0o600
    desk.setup.remember_seats(seats[:1])
    assert desk.setup.remembered_seats() == seats[:1]
    places.chosen.write_text("{")
    assert desk.setup.remembered_seats() == ()


async def test_endpoints_are_listed_with_their_keys_and_answers(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", "xai-0123456789")
    async with server(b'{"data": [{"id": "alpha"}]}') as (address, _):
        places.user_config.parent.mkdir(parents=True, exist_ok=True)
        places.user_config.write_text(NOBODY + lab(address))
        async with await Roundtable.open(workspace, places) as desk:
            states = {state.name: state for state in await desk.setup.list_endpoints()}
    assert (states["lab"].answers, states["lab"].voice, states["lab"].usable) == (True, "lab:alpha", True)
    assert (states["xai"].key_present, states["xai"].answers, states["xai"].usable) == (True, None, True)
    assert (states["openai"].key_present, states["openai"].usable) == (False, False)
    assert (states["ollama"].answers, states["ollama"].usable) == (False, False)
    assert "xai-0123456789" not in repr(states)
