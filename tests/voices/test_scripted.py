"""Scripts: what they say, when, and that a new process says the same."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Reply, Usage
from roundtable.voices.scripted import ScriptedVoice, load_voice_script, parse_voice_script
from tests.kits.voice_kit import MISREPORTED, Stage, VoiceKit, collect_events, last_event, make_request


class ScriptStage(Stage):
    """Three scripts."""

    def talker(self) -> Voice:
        return scripted({"turns": [{"text": "naïve café, 東京 and 🦉.", "rate": 500}]})

    def slow(self) -> Voice:
        return scripted({"turns": [{"text": "one two three", "after": 2, "hang": True}]})

    def mute(self) -> Voice:
        return scripted({"turns": [{"text": "  \n"}]})

    def misreporter(self, figures: str) -> Voice:
        number = MISREPORTED[figures]
        usage = {"input_tokens": number, "output_tokens": number, "cached_tokens": number, "cost_usd": float(number)}
        return scripted({"turns": [{"text": "Some words.", "usage": usage}]})

    async def idle(self) -> bool:
        return len(asyncio.all_tasks()) == 1


class TestKit(VoiceKit):
    """Scripts keep the contract of every voice."""

    @pytest.fixture
    def stage(self) -> Stage:
        return ScriptStage()


def scripted(data: dict[str, Any]) -> ScriptedVoice:
    return ScriptedVoice("script:test", parse_voice_script(data))


async def say(data: dict[str, Any], call: str, seat: str = "one", text: str = "Hello?") -> str | FaultKind:
    end = last_event(
        await collect_events(scripted(data), make_request(text, seat=seat, call=f"{call.replace('@', seat)}"))
    )
    return end.text if isinstance(end, Reply) else end.kind


async def test_ordered_turns_belong_to_rounds_by_number() -> None:
    data = {"turns": [{"text": "first"}, {"text": "second"}]}
    assert await say(data, "council/2-argue/@#1") == "second"
    assert await say(data, "council/1-blind/@#1") == "first"
    assert await say(data, "council/1-blind/@#1") == "first"
    assert await say(data, "closing/@#1") == "first"
    assert await say(data, "council/3-more/@#1") is FaultKind.MISSING


async def test_ordered_turns_are_counted_per_seat() -> None:
    data = {"turns": [{"seat": "a", "text": "a1"}, {"seat": "b", "text": "b1"}, {"seat": "a", "text": "a2"}]}
    assert await say(data, "council/2-argue/@#1", "a") == "a2"
    assert await say(data, "council/1-blind/@#1", "b") == "b1"


async def test_turns_with_a_round_name_precede_ordered_ones() -> None:
    data = {"turns": [{"text": "any"}, {"round": "*-blind", "text": "blind"}, {"contains": "REST", "text": "rest"}]}
    assert await say(data, "council/1-blind/@#1") == "blind"
    assert await say(data, "council/1-argue/@#1", text="REST or not?") == "rest"
    assert await say(data, "council/1-argue/@#1") == "any"


async def test_a_seats_own_section_comes_first() -> None:
    data = {"turns": [{"round": "*", "text": "all"}], "seats": {"one": {"turns": [{"text": "mine"}]}}}
    assert await say(data, "council/1-blind/@#1") == "mine"
    assert await say(data, "council/2-argue/@#1") == "all"
    assert await say(data, "council/1-blind/@#1", "two") == "all"


async def test_times_counts_attempts_not_calls() -> None:
    data = {
        "turns": [
            {"fault": "rate_limited", "times": 2},
            {"fault": "server", "times": 1},
            {"text": "at last"},
            {"text": "next round"},
        ]
    }
    kinds = [await say(data, f"council/1-blind/@#{attempt}") for attempt in (1, 2, 3, 4, 9)]
    assert kinds == [FaultKind.RATE_LIMITED, FaultKind.RATE_LIMITED, FaultKind.SERVER, "at last", "at last"]
    assert await say(data, "council/2-argue/@#1") == "next round"


async def test_an_exhausted_script_says_what_is_missing() -> None:
    voice = scripted({"turns": [{"fault": "server", "times": 1}]})
    fault = last_event(await collect_events(voice, make_request(call="council/1-blind/one#2")))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MISSING
    assert "council/1-blind/one#2" in fault.message
    assert not fault.retryable


@pytest.mark.parametrize("kind", list(FaultKind))
async def test_every_kind_of_fault_can_follow_some_words(kind: FaultKind) -> None:
    turn = {"fault": kind.value, "text": "I was about to", "after": 2, "message": "No.", "retry_after": 2.5}
    events = await collect_events(scripted({"turns": [turn]}))
    assert events[:-1] == ["I was"]
    fault = events[-1]
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.message, fault.retry_after) == (kind, "No.", 2.5)


async def test_json_turns_are_sent_as_json() -> None:
    assert await say({"turns": [{"json": {"stance": "support", "n": [1]}}]}, "c/1-x/@#1") == (
        '{"stance":"support","n":[1]}'
    )


async def test_latency_and_rate_are_respected() -> None:
    data = {"turns": [{"text": "a b c d e f", "rate": 50}], "defaults": {"latency": 0.1}}
    start = time.monotonic()
    events = await collect_events(scripted(data))
    assert 0.19 <= time.monotonic() - start < 0.5
    assert events[:-1] == ["a", " b", " c", " d", " e", " f"]


async def test_usage_is_scripted_or_estimated() -> None:
    reply = last_event(
        await collect_events(scripted({"turns": [{"text": "x", "usage": {"input_tokens": 9, "cost_usd": 0.5}}]}))
    )
    guessed = last_event(await collect_events(scripted({"turns": [{"text": "four words of text", "truncated": True}]})))
    assert isinstance(reply, Reply)
    assert isinstance(guessed, Reply)
    assert reply.usage == Usage(9, cost_usd=0.5)
    assert guessed.usage == Usage(5, 4, cost_usd=0.0)
    assert guessed.truncated


async def test_a_script_is_read_from_toml_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('vendor = "acme"\n[[turns]]\nround = "*/1-*"\ntext = "toml"\n')
    (tmp_path / "a.json").write_text('{"structured": true, "turns": [{"text": "json"}]}')
    first, second = load_voice_script(tmp_path / "a.toml"), load_voice_script(tmp_path / "a.json")
    assert (first.vendor, first.turns[0].text) == ("acme", "toml")
    assert (second.structured, second.turns[0].text) == (True, "json")


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"turns": [{"latencey": 1}]}, "no setting latencey in turns", "Did you mean `latency`?"),
    ({"turms": []}, "no setting turms", "Did you mean `turns`?"),
    ({"seats": {"a": {"turns": [{"txt": ""}]}}}, "no setting txt in seats.turns", "Did you mean `text`?"),
    ({"turns": [{"fault": "boom"}]}, "turns.fault cannot be boom; allowed values: timeout, ", "Correct"),
    ({"turns": [{"rate": -1}]}, "a number in a turn is negative", "0 or more"),
    ({"turns": [{"text": "a", "json": {}}]}, "both `text` and `json`", "Keep one"),
    ({"turns": [{"hang": True, "fault": "server"}]}, "both `fault` and `hang`", "Keep one"),
]


@pytest.mark.parametrize(("data", "message", "help"), MISTAKES)
def test_a_mistake_is_reported_with_its_place(data: dict[str, Any], message: str, help: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_voice_script(data, "demo.toml")
    assert message in caught.value.message
    assert caught.value.message.startswith("demo.toml")
    assert help in caught.value.help


def test_an_unreadable_script_is_reported_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("turns = [")
    (tmp_path / "bad.json").write_text("[]")
    for name in ("bad.toml", "bad.json", "none.toml"):
        with pytest.raises(ConfigError) as caught:
            load_voice_script(tmp_path / name)
        assert name in caught.value.message
