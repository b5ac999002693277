"""Agents that speak the Agent Client Protocol: a real process over real pipes, well-behaved and otherwise."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Reply
from roundtable.voices.agents.acp import AcpConversation, AcpTurn, adapt_agent_cli_to_acp
from roundtable.voices.agents.agent_voice import AgentVoice
from roundtable.voices.agents.catalog import AcpSetup, Agent, load_shipped_agent_clis
from roundtable.voices.agents.roster import AgentVoices
from roundtable.voices.registry import VoiceRegistry
from tests.kits.voice_kit import MISREPORTED, Stage, VoiceKit, collect_events, last_event, make_request
from tests.voices.agents import ENVIRON, find_processes, make_conversation, path_exists, wait_until_gone

PROGRAM = Path(__file__).parent.parent / "servers" / "acp_agent.py"
ANSWER = "The table hears: naïve café, 東京, 🦉.\n\nAnd a last word."
KEY = "key-that-nobody-may-see"


def describe_agent(folder: Path, act: str = "talks", **settings: Any) -> dict[str, Agent]:
    """Gemini CLI, with our own program in its place."""
    argv = (str(PROGRAM), "--act", act, "--notes", str(folder / "notes"))
    acp = AcpSetup(argv, sys.executable, mode="plan", **settings)
    return {"gemini": msgspec.structs.replace(load_shipped_agent_clis()["gemini"], acp=acp)}


def speaker(folder: Path, act: str = "talks", model: str = "", **settings: Any) -> AgentVoice:
    """A voice of that agent."""
    voices = AgentVoices(describe_agent(folder, act, **settings), {**ENVIRON, "GEMINI_API_KEY": KEY})
    voice = voices.find_voice(f"gemini:{model}" if model else "gemini", "acp")
    assert isinstance(voice, AgentVoice), voice
    return voice


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """Everything the agent was told, in order."""
    return [json.loads(line) for line in (folder / "notes").read_text().splitlines()]


def prompts(folder: Path) -> list[str]:
    """The questions it was asked."""
    return [
        message["params"]["prompt"][0]["text"]
        for message in read_notes(folder)
        if message.get("method") == "session/prompt"
    ]


def methods(folder: Path) -> list[str]:
    return [message.get("method", "") for message in read_notes(folder)]


async def end_of(voice: Voice, text: str = "Hello?", timeout: float = 30) -> Reply | Fault:
    async with asyncio.timeout(60):
        return last_event(await collect_events(voice, make_request(text, timeout=timeout)))


class AcpStage(Stage):
    """Our own agent."""

    many = 6

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def talker(self) -> Voice:
        return speaker(self._folder)

    def slow(self) -> Voice:
        return speaker(self._folder, "says half")

    def mute(self) -> Voice:
        return speaker(self._folder, "says nothing")

    def misreporter(self, figures: str) -> Voice:
        return speaker(self._folder, f"reports {MISREPORTED[figures]}")

    async def idle(self) -> bool:
        return not find_processes(str(self._folder / "notes"))


class TestKit(VoiceKit):
    """Agents keep the contract of every voice in this protocol too."""

    @pytest.fixture
    def stage(self, tmp_path: Path) -> Stage:
        return AcpStage(tmp_path)


# --- a turn ---------------------------------------------------------------------------------------


async def test_words_before_the_prompt_are_not_part_of_the_answer(tmp_path: Path) -> None:
    reply = await end_of(speaker(tmp_path))
    assert isinstance(reply, Reply), reply
    assert reply.text == ANSWER
    assert not reply.truncated
    usage = reply.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) == (100, 60, 10, 11)


async def test_an_agent_is_set_to_read_only_mode_before_the_prompt(tmp_path: Path) -> None:
    await end_of(speaker(tmp_path))
    greeting, entry, mode, question = read_notes(tmp_path)
    assert greeting["params"]["protocolVersion"] == 1
    assert greeting["params"]["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert greeting["params"]["clientCapabilities"]["terminal"] is False
    assert entry["params"]["mcpServers"] == []
    assert not path_exists(entry["params"]["cwd"]), "it works in a folder that is gone afterwards"
    assert mode["params"] == {"sessionId": "sess-1", "modeId": "plan"}
    assert question["method"] == "session/prompt"


async def test_the_system_prompt_precedes_the_question_between_marks(tmp_path: Path) -> None:
    await end_of(speaker(tmp_path, system_in_prompt=True))
    await end_of(speaker(tmp_path))
    assert prompts(tmp_path) == ["<instructions>\nYou are brief.\n</instructions>\n\nHello?", "Hello?"]


async def test_extra_session_data_is_sent_every_time(tmp_path: Path) -> None:
    voice = speaker(tmp_path, meta={"options": {"system": "{system}", "tools": [], "strict": True}})
    await collect_events(voice, make_conversation("One?"))
    await collect_events(voice, make_conversation("One?", ANSWER, "Two?"))
    entries = [
        message["params"] for message in read_notes(tmp_path) if message["method"] in ("session/new", "session/load")
    ]
    assert [entry["_meta"] for entry in entries] == [
        {"options": {"system": "Be brief.", "tools": [], "strict": True}}
    ] * 2
    await voice.close()


async def test_a_model_is_set_if_the_agent_supports_it(tmp_path: Path) -> None:
    voice = speaker(tmp_path, model="large")
    assert voice.name == "acp:gemini:large"
    assert isinstance(await end_of(voice), Reply)
    setting = next(message for message in read_notes(tmp_path) if message["method"] == "session/set_config_option")
    assert setting["params"] == {"sessionId": "sess-1", "configId": "llm", "value": "large"}


async def test_an_unknown_model_is_a_missing_fault(tmp_path: Path) -> None:
    fault = await end_of(speaker(tmp_path, model="unheard-of"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert "Invalid value" in fault.message
    assert prompts(tmp_path) == []


# --- what it may not do ---------------------------------------------------------------------------


async def test_an_agent_without_a_read_only_mode_is_not_asked(tmp_path: Path) -> None:
    fault = await end_of(speaker(tmp_path, "has no modes"))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert "no mode that could be set to plan" in fault.message
    assert prompts(tmp_path) == []


async def test_an_agent_continues_after_a_rejected_permission(tmp_path: Path) -> None:
    reply = await end_of(speaker(tmp_path, "asks for a permission"))
    assert isinstance(reply, Reply), reply
    assert reply.text == "I was told: reject_once-now."


@pytest.mark.parametrize(
    ("act", "method"),
    [("gives up without a permission", "write notes.txt"), ("writes a file", "fs/write_text_file")],
)
async def test_requests_for_files_and_terminals_are_rejected(tmp_path: Path, act: str, method: str) -> None:
    fault = await end_of(speaker(tmp_path, act))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.PERMISSION
    assert method in fault.message
    assert not (tmp_path / "written").exists()


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        ("wants a login", FaultKind.UNAUTHORIZED, "Authentication required"),
        ("speaks another version", FaultKind.MISSING, "version 7"),
        ("opens nothing", FaultKind.MALFORMED, "invalid message"),
        ("fails with status 429, try later", FaultKind.RATE_LIMITED, "try later"),
        ("fails with prompt is too long", FaultKind.CONTEXT_OVERFLOW, "too long"),
        ("fails with Unable to connect to API (ECONNRESET)", FaultKind.SERVER, "ECONNRESET"),
        ("fails by 503", FaultKind.OVERLOADED, "as asked"),
        ("fails by -32603", FaultKind.SERVER, "as asked"),
        ("stops for refusal", FaultKind.REFUSED, "declined"),
        ("dies", FaultKind.CRASHED, "something broke"),
        ("babbles", FaultKind.MALFORMED, "<html>"),
        ("floods", FaultKind.MALFORMED, "output limit"),
    ],
)
async def test_each_failure_is_a_fault_of_its_kind(tmp_path: Path, act: str, kind: FaultKind, words: str) -> None:
    fault = await end_of(speaker(tmp_path, act))
    assert isinstance(fault, Fault), fault
    assert fault.kind is kind, fault
    assert words in fault.message
    assert KEY not in fault.message
    assert fault.help
    assert await wait_until_gone(*find_processes(str(tmp_path)))


@pytest.mark.parametrize("act", ["hangs at initialize", "hangs at session/new", "says half"])
async def test_silence_beyond_the_limit_is_a_timeout(tmp_path: Path, act: str) -> None:
    fault = await end_of(speaker(tmp_path, act), text="word " * 100_000, timeout=1)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.TIMEOUT
    assert await wait_until_gone(*find_processes(str(tmp_path)))


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests"])
async def test_a_truncated_answer_is_marked(tmp_path: Path, reason: str) -> None:
    reply = await end_of(speaker(tmp_path, f"stops for {reason}"))
    assert isinstance(reply, Reply)
    assert reply.truncated


def test_a_cancelled_answer_is_cancelled_at_the_agent() -> None:
    dialogue = AcpConversation(
        adapt_agent_cli_to_acp(load_shipped_agent_clis()["gemini"]), AcpTurn("Hello?", "/nowhere")
    )
    events = [
        {"id": "initialize", "result": {"protocolVersion": 1}},
        {"id": "session/new", "result": {"sessionId": "sess-1"}},
    ]
    assert dialogue.build_cancel_message() == b""
    for message in events:
        dialogue.read_line(json.dumps(message).encode())
    assert b"session/prompt" in dialogue.take_replies()
    assert json.loads(dialogue.build_cancel_message())["params"] == {"sessionId": "sess-1"}
    assert json.loads(dialogue.build_cancel_message())["method"] == "session/cancel"
    dialogue.read_line(b'{"id": "session/prompt", "result": {"stopReason": "end_turn"}}')
    assert dialogue.build_cancel_message() == b""


# --- sessions -------------------------------------------------------------------------------------


async def test_a_seat_keeps_its_session_between_rounds(tmp_path: Path) -> None:
    voice = speaker(tmp_path, system_in_prompt=True)
    await collect_events(voice, make_conversation("One?"))
    second = last_event(await collect_events(voice, make_conversation("One?", ANSWER, "Two?")))
    assert isinstance(second, Reply), second
    assert second.text == ANSWER, "what it reads out of the past is no answer"
    assert methods(tmp_path).count("session/load") == 1
    assert prompts(tmp_path)[1] == "Two?"
    entries = [
        message["params"]["cwd"]
        for message in read_notes(tmp_path)
        if message["method"] in ("session/new", "session/load")
    ]
    assert entries[0] == entries[1]
    await voice.close()
    assert not path_exists(entries[0])


async def test_an_aside_does_not_become_part_of_the_session(tmp_path: Path) -> None:
    voice = speaker(tmp_path)
    await collect_events(voice, make_conversation("One?"))
    await collect_events(voice, make_conversation("One?", ANSWER, "Your ballot?", aside=True))
    await collect_events(voice, make_conversation("One?", ANSWER, "Two?"))
    entries = [method for method in methods(tmp_path) if method in ("session/new", "session/load")]
    assert entries == ["session/new", "session/new", "session/load"]
    assert prompts(tmp_path)[2] == "Two?"
    await voice.close()


async def test_a_lost_session_is_sent_again_as_a_whole(tmp_path: Path) -> None:
    voice = speaker(tmp_path, "has lost the session")
    await collect_events(voice, make_conversation("One?"))
    assert isinstance(last_event(await collect_events(voice, make_conversation("One?", ANSWER, "Two?"))), Reply)
    assert [method for method in methods(tmp_path) if method in ("session/new", "session/load")] == [
        "session/new",
        "session/load",
        "session/new",
    ]
    assert "One?" in prompts(tmp_path)[1]
    await voice.close()


@pytest.mark.parametrize(("act", "resumes"), [("cannot load", True), ("talks", False)])
async def test_an_agent_without_sessions_gets_the_whole_conversation_each_time(
    tmp_path: Path, act: str, resumes: bool
) -> None:
    voice = speaker(tmp_path, act, resumes=resumes)
    await collect_events(voice, make_conversation("One?"))
    await collect_events(voice, make_conversation("One?", ANSWER, "Two?"))
    assert "session/load" not in methods(tmp_path)
    assert all(word in prompts(tmp_path)[1] for word in ("One?", "last word", "Two?"))
    await voice.close()


# --- who speaks it --------------------------------------------------------------------------------


async def test_the_registry_finds_an_acp_voice_by_name(tmp_path: Path) -> None:
    registry = VoiceRegistry({}, lambda _: None, agents=lambda: describe_agent(tmp_path), models_dir=tmp_path)
    voice = registry.find("acp:gemini")
    assert not isinstance(voice, Fault), voice
    assert (voice.name, voice.vendor, voice.structured) == ("acp:gemini", "google", False)
    reply = await end_of(voice)
    assert isinstance(reply, Reply), reply
    assert reply.text == ANSWER
    await registry.close()


def test_an_agent_without_acp_settings_is_missing() -> None:
    fault = AgentVoices(load_shipped_agent_clis(), ENVIRON).find_voice("agy", "acp")
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert "gemini" in fault.help
    assert "cli:agy" in fault.help


def test_a_missing_adapter_is_reported_with_how_to_install_it() -> None:
    fault = AgentVoices(load_shipped_agent_clis(), {"PATH": "/nowhere"}).find_voice("claude", "acp")
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert "claude-agent-acp" in fault.message
    assert "npm install" in fault.help


def test_unexpected_messages_are_ignored() -> None:
    dialogue = AcpConversation(
        adapt_agent_cli_to_acp(load_shipped_agent_clis()["gemini"]), AcpTurn("Hello?", "/nowhere")
    )
    dialogue.take_replies()
    for line in (b"[]", b"null", b'"hi"', b"{}", b'{"id": "session/new", "result": {}}', b'{"method": 5}'):
        assert dialogue.read_line(line) == ""
        assert dialogue.take_replies() == b""
    for params in (b"[]", b"7", b'{"options": 3}'):
        dialogue.read_line(b'{"id": 9, "method": "session/request_permission", "params": ' + params + b"}")
        assert b'"cancelled"' in dialogue.take_replies()
    assert dialogue.failure is None
