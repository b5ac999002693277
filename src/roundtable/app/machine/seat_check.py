"""Checks whether every seat can speak: each voice of its chain is inspected, and asked one word on request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from roundtable.app.machine.discovery import (
    detect_configured_machine_seats,
    detect_machine_seats,
    detect_machine_server_models,
    propose_machine_seats,
)
from roundtable.app.parts import Parts
from roundtable.app.settings.configured_seats import ChosenSeats, list_configured_seats
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.values import Message, Reply, Request, Seat
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.judge_voices import choose_default_judge_voices
from roundtable.voices.registry import ask_voice_outside_meeting

SeatStatus = Literal["ok", "missing", "unusable", "no_key", "key_rejected", "not_logged_in", "unreachable"]
SeatSource = Literal["config", "chosen", "found"]

PROBE_SECONDS = 60.0
PROBE_TOKENS = 16
"""The token limit for a one-word answer; some APIs accept no smaller limit."""

_STATUS_BY_FAULT: dict[FaultKind, SeatStatus] = {
    FaultKind.MISSING: "missing",
    FaultKind.UNAUTHORIZED: "no_key",
    FaultKind.UNREACHABLE: "unreachable",
    FaultKind.TIMEOUT: "unreachable",
}
_NOTES_BY_KIND = {
    "script": "script read",
    "embedded": "model installed",
    "cli": "program found",
    "acp": "program found",
}


class VoiceCheck(msgspec.Struct, frozen=True):
    """One voice of a seat: its status from inspection, or from an answer."""

    status: SeatStatus
    voice: str
    note: str = ""


class Participant(VoiceCheck, frozen=True):
    """One seat: the status of its first usable voice, else of the first one; and all its voices.

    `judge` is the voice through which it judges, if that is another one.
    """

    voices: tuple[VoiceCheck, ...] = ()
    judge: VoiceCheck | None = None


class Seating(msgspec.Struct, frozen=True):
    """The seats that would be used now: configured, else chosen earlier, else discovered and offered."""

    source: SeatSource
    participants: dict[str, Participant]
    asked: bool = False


VoiceCheckCallback = Callable[[str, VoiceCheck], None]
"""Receives the seat and the result of each voice that was asked."""


async def run_machine_seat_check(parts: Parts, on_check: VoiceCheckCallback | None = None) -> Seating:
    """Check every seat; with `on_check`, ask each one short question."""
    try:
        source, seats = await _find_seats(parts)
    except RoundtableError:
        discovered = {
            item.name: VoiceCheck("ok" if item.usable else "unusable", item.voice, item.note)
            for item in detect_configured_machine_seats(parts)
        }
        return Seating("config", {name: _build_participant([check]) for name, check in discovered.items()})
    seats = choose_default_judge_voices(seats, parts.endpoints)
    checked = await asyncio.gather(*(_check_seat(parts, seat, on_check) for seat in seats))
    judges = [await _check_voice(parts, seat.judge) if seat.judge else None for seat in seats]
    participants = {
        seat.name: _build_participant(checks, judge) for seat, checks, judge in zip(seats, checked, judges, strict=True)
    }
    return Seating(source, participants, asked=on_check is not None)


async def _find_seats(parts: Parts) -> tuple[SeatSource, Sequence[Seat]]:
    if seats := list_configured_seats(parts.settings):
        return "config", seats
    if seats := ChosenSeats(parts.places).load():
        return "chosen", seats
    return "found", propose_machine_seats(await detect_machine_seats(parts))


def _build_participant(checks: Sequence[VoiceCheck], judge: VoiceCheck | None = None) -> Participant:
    first = next((check for check in checks if check.status == "ok"), checks[0])
    return Participant(first.status, first.voice, first.note, tuple(checks), judge)


async def _check_seat(parts: Parts, seat: Seat, on_check: VoiceCheckCallback | None) -> list[VoiceCheck]:
    checks = list(await asyncio.gather(*(_check_voice(parts, voice) for voice in seat.voices)))
    if on_check is None:
        return checks
    for place, seen in enumerate(checks):
        if seen.status == "ok":
            checks[place] = await _ask_voice(parts, seat, seen.voice)
        on_check(seat.name, checks[place])
        if checks[place].status == "ok":
            break
    return checks


async def _check_voice(parts: Parts, voice: str) -> VoiceCheck:
    kind, _, _ = voice.partition(":")
    resolved = parts.voices.find(voice)
    if isinstance(resolved, Fault):
        return VoiceCheck(
            _STATUS_BY_FAULT.get(resolved.kind, "unusable"),
            voice,
            _join_message_and_help(resolved.message, resolved.help),
        )
    endpoint = parts.endpoints.get(kind)
    if endpoint is None:
        return VoiceCheck("ok", voice, f"{_NOTES_BY_KIND[kind]} (not tested)")
    if not endpoint.local:
        return VoiceCheck(
            "ok", voice, "no key needed (not tested)" if endpoint.key == "none" else "key found (not tested)"
        )
    if await detect_machine_server_models(parts, endpoint) is None:
        return VoiceCheck("unreachable", voice, f"No server answers at {endpoint.base_url}. Start the server.")
    return VoiceCheck("ok", voice, "the server answers (model not tested)")


async def _ask_voice(parts: Parts, seat: Seat, name: str) -> VoiceCheck:
    """Ask one short question; any answer is good."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    end = await _request_reply(parts, seat.name, name)
    if isinstance(end, Reply):
        first = seat.voices[0]
        instead = f", in place of {first}" if name != first else ""
        return VoiceCheck("ok", name, f"answered in {loop.time() - began:.1f} s{instead}")
    if end.kind is FaultKind.UNAUTHORIZED:
        return _describe_rejection(parts, name, end)
    return VoiceCheck(
        _STATUS_BY_FAULT.get(end.kind, "unusable"),
        name,
        parts.redactor.redact(_join_message_and_help(end.message, end.help)),
    )


async def _request_reply(parts: Parts, seat: str, name: str) -> Reply | Fault:
    voice = parts.voices.find(name)
    if isinstance(voice, Fault):
        return voice
    question = Message("user", "Reply with the single word: ready")
    call = f"doctor/{seat}#1"
    return await ask_voice_outside_meeting(
        voice, Request(call, seat, (question,), max_tokens=PROBE_TOKENS, timeout=PROBE_SECONDS)
    )


def _describe_rejection(parts: Parts, voice: str, fault: Fault) -> VoiceCheck:
    endpoint = parts.endpoints.get(voice.partition(":")[0])
    status, help = ("not_logged_in", fault.help) if endpoint is None else _describe_key_problem(parts, endpoint)
    return VoiceCheck(status, voice, parts.redactor.redact(_join_message_and_help(fault.message, help)))


def _describe_key_problem(parts: Parts, endpoint: Endpoint) -> tuple[SeatStatus, str]:
    place = parts.keys.find_location(endpoint.key)
    if not place:
        return (
            "no_key",
            f'Set `key = "secret:{endpoint.name}"` in the section [endpoints.{endpoint.name}] of the config.',
        )
    return (
        "key_rejected",
        f"The provider rejected {parts.keys.describe_location(endpoint.key, place)}. Check the key.",
    )


def _join_message_and_help(message: str, help: str) -> str:
    """Return what is wrong and what to do, without the advice to run this very check."""
    message = message.strip()
    stop = "." if message[-1:].isalnum() else ""
    return f"{message}{stop} {'' if 'roundtable doctor' in help else help}".strip()
