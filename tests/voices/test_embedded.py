"""The embedded voice: with a real model where one is asked for, and what it says when something is not there."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from roundtable.app.settings.places import Places
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Reply
from roundtable.voices import models
from roundtable.voices.embedded import EmbeddedModels, EmbeddedVoice, LlamaServer, RunningServer
from tests.kits.voice_kit import Stage, VoiceKit, collect_events, first_text, last_event, make_request

SMALL = "smollm2-135m"
VERDICT = {
    "type": "object",
    "properties": {
        "stance": {"type": "string", "enum": ["support", "oppose", "amend"]},
        "reason": {"type": "string", "maxLength": 120},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 10},
    },
    "required": ["stance", "reason", "confidence"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def models_dir() -> Path:
    """The folder that keeps models between runs; the small model is downloaded if it is missing."""
    folder = Places.of_this_person().models
    got = asyncio.run(models.download_embedded_model(SMALL, folder))
    assert isinstance(got, Path), got
    return folder


class LlamaStage(Stage):
    """A real model."""

    many = 5
    bound = 5.0

    def __init__(self, owner: EmbeddedModels, folder: Path) -> None:
        self.owner = owner
        self.server = LlamaServer(folder / models.load_embedded_model_catalog()[SMALL].file, 4, 2048)
        self.voice = EmbeddedVoice(SMALL, "huggingface", self.server, {"repeat_penalty": 1.15})

    def talker(self) -> Voice:
        return self.voice

    def slow(self) -> Voice:
        return _Long(self.voice)

    def mute(self) -> Voice:
        return EmbeddedVoice(SMALL, "huggingface", self.server, {"grammar": 'root ::= " "'})

    def misreporter(self, figures: str) -> Voice:
        pytest.skip("a real provider does not misreport on request")

    async def idle(self) -> bool:
        return not any(await busy(self.server))


class _Long:
    """Asks for more than a test waits for."""

    def __init__(self, voice: EmbeddedVoice) -> None:
        self.voice = voice
        self.name, self.vendor, self.structured = voice.name, voice.vendor, voice.structured
        self.plain_when_long = False
        self.edits = False

    def speak(self, request: object) -> AsyncGenerator[str | Reply | Fault, None]:
        return self.voice.speak(make_request("Count from one to five hundred.", max_tokens=1500))

    async def close(self) -> None:
        await self.voice.close()


async def busy(server: LlamaServer) -> list[bool]:
    running = await server.ensure_running()
    assert isinstance(running, RunningServer)
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        url = running.endpoint.base_url.removesuffix("/v1") + "/slots"
        answer = await client.get(url, headers={"authorization": f"Bearer {running.key}"})
    return [slot["is_processing"] for slot in answer.json()]


@pytest.fixture
async def stage(models_dir: Path) -> AsyncGenerator[LlamaStage, None]:
    owner = EmbeddedModels(models_dir)
    stage = LlamaStage(owner, models_dir)
    yield stage
    await stage.server.close()
    await owner.close()


@pytest.mark.real
class TestKit(VoiceKit):
    """A real model keeps the contract of every voice."""

    @pytest.fixture
    def stage(self, stage: LlamaStage) -> Stage:
        return stage


@pytest.mark.real
class TestRealModel:
    """Behaviour that only a real model has."""

    async def test_an_embedded_reply_is_held_to_its_schema(self, stage: LlamaStage) -> None:
        question = "Should a small team use REST or GraphQL? Answer as JSON with stance, reason, confidence."
        for attempt in range(1, 6):
            request = make_request(question, call=f"council/1-blind/one#{attempt}", schema=VERDICT)
            reply = last_event(await collect_events(stage.voice, request))
            assert isinstance(reply, Reply), reply
            verdict = json.loads(reply.text)
            assert set(verdict) == {"stance", "reason", "confidence"}
            assert verdict["stance"] in ("support", "oppose", "amend")

    async def test_seats_share_one_child_process_and_answer_differently(self, stage: LlamaStage) -> None:
        calls = [
            make_request("Name a fruit and say why.", seat=s, call=f"council/1-blind/{s}#1", max_tokens=40)
            for s in "abc"
        ]
        ends = [
            last_event(events)
            for events in await asyncio.gather(*(collect_events(stage.voice, call) for call in calls))
        ]
        texts = {end.text for end in ends if isinstance(end, Reply)}
        assert len(texts) == 3, ends
        assert all(isinstance(end, Reply) and end.usage.cost_usd == 0.0 for end in ends)

    async def test_a_repeated_call_gives_the_same_answer(self, stage: LlamaStage) -> None:
        request = make_request("Name a colour.", max_tokens=20)
        first, second = [last_event(await collect_events(stage.voice, request)) for _ in range(2)]
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert first.text == second.text

    async def test_a_prompt_that_is_too_long_is_a_context_overflow(self, stage: LlamaStage) -> None:
        fault = last_event(await collect_events(stage.voice, make_request("word " * 6000)))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.CONTEXT_OVERFLOW

    async def test_a_call_cancelled_during_its_prompt_frees_the_slot(self, stage: LlamaStage) -> None:
        await stage.server.ensure_running()
        task = asyncio.create_task(collect_events(stage.voice, make_request("some words of context " * 350)))
        await asyncio.sleep(0.5)
        assert any(await busy(stage.server))
        task.cancel()
        await asyncio.wait({task})
        # llama.cpp looks for hung-up callers after a second without news; asking for the slots is news.
        await asyncio.sleep(2.5)
        assert not any(await busy(stage.server))

    async def test_a_crash_is_a_fault_and_the_next_call_restarts_the_model(self, stage: LlamaStage) -> None:
        speech = stage.slow().speak(make_request())
        assert isinstance(await first_text(speech), str)
        running = await stage.server.ensure_running()
        assert isinstance(running, RunningServer)
        running.child.kill()
        last = [item async for item in speech][-1]
        assert isinstance(last, Fault)
        assert last.kind is FaultKind.CRASHED
        assert last.retryable
        assert isinstance(last_event(await collect_events(stage.voice)), Reply)

    async def test_a_model_that_keeps_crashing_is_not_restarted(self, stage: LlamaStage) -> None:
        for _ in range(3):
            running = await stage.server.ensure_running()
            assert isinstance(running, RunningServer)
            running.child.kill()
            await running.child.wait()
            stage.server.record_crash(running)
        fault = await stage.server.ensure_running()
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.CRASHED
        assert not fault.retryable

    async def test_concurrent_calls_start_one_child_process(self, stage: LlamaStage) -> None:
        ready = await asyncio.gather(*(stage.server.ensure_running() for _ in range(8)))
        assert len({item.child.pid for item in ready if isinstance(item, RunningServer)}) == 1

    async def test_a_cancelled_caller_does_not_stop_the_start(self, stage: LlamaStage) -> None:
        first = asyncio.create_task(stage.server.ensure_running())
        second = asyncio.create_task(stage.server.ensure_running())
        await asyncio.sleep(0.05)
        first.cancel()
        assert isinstance(await second, RunningServer)

    async def test_the_embedded_server_requires_its_key(self, stage: LlamaStage) -> None:
        running = await stage.server.ensure_running()
        assert isinstance(running, RunningServer)
        answer = await running.client.get(running.endpoint.base_url.removesuffix("/v1") + "/slots")
        assert answer.status_code == 401

    def test_a_killed_parent_leaves_no_child_process(self, models_dir: Path) -> None:
        code = f"""
            import asyncio
            from pathlib import Path
            from roundtable.voices.embedded import LlamaServer
            async def main():
                model = Path({str(models_dir / models.load_embedded_model_catalog()[SMALL].file)!r})
                running = await LlamaServer(model, 1, 512).ready()
                print(running.child.pid, flush=True)
                await asyncio.sleep(60)
            asyncio.run(main())
        """
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            parent.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 3
        while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not Path(f"/proc/{child}").exists()


async def test_a_file_that_is_not_a_model_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\0" * 64)
    owner = EmbeddedModels(tmp_path)
    voice = owner.find_voice("broken")
    assert isinstance(voice, EmbeddedVoice)
    fault = last_event(await collect_events(voice))
    await owner.close()
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.CRASHED
    assert "broken.gguf" in fault.message
    assert not fault.retryable


async def test_a_missing_model_is_reported_with_how_to_download_it(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    fault = EmbeddedModels(tmp_path).find_voice(SMALL)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert f"roundtable models get {SMALL}" in fault.help


def test_a_missing_runtime_is_reported_with_how_to_install_it(tmp_path: Path) -> None:
    """In a child that cannot find the wheel, as on a machine that does not have it."""
    code = f"""
        import sys
        from pathlib import Path
        from roundtable.voices.embedded import EmbeddedModels
        sys.path[:] = []
        fault = EmbeddedModels(Path({str(tmp_path)!r})).find_voice("x")
        print(fault.kind, fault.help)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("missing")
    assert "Run `roundtable models` to see how to install the runtime." in out.stdout
