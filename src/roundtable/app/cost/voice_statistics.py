"""Statistics of voices from the record: overhead of their prompts, length and duration of their answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from roundtable.core.session import Session, Turn
from roundtable.core.usage import BYTES_PER_TOKEN

T = TypeVar("T", int, float)


class VoiceStatistics(msgspec.Struct, frozen=True):
    """Medians of one voice: tokens added to our prompt, tokens of an answer, seconds of a turn."""

    overhead: int
    answer: int
    seconds: float


class _Samples(msgspec.Struct):
    overheads: list[int] = []
    answers: list[int] = []
    seconds: list[float] = []


def measure_voice_costs_for_quote(sessions: Iterable[Session]) -> dict[str, VoiceStatistics]:
    """Statistics of every voice that answered. Ballots do not count for length and duration."""
    samples: dict[str, _Samples] = {}
    for session in sessions:
        for record in session.rounds.values():
            for turn in record.turns.values():
                _add_sample(samples, turn, ballot=record.opened.turns.secret)
    return {voice: _statistics(found) for voice, found in samples.items() if found.answers}


def _add_sample(by_voice: dict[str, _Samples], turn: Turn, *, ballot: bool) -> None:
    move = turn.move
    if move is None or any(asked.purpose == "repair" for _, asked in turn.asked):
        return
    samples = by_voice.setdefault(move.voice, _Samples())
    asked = next((asked for _, asked in turn.asked if asked.call == move.call), None)
    if asked is not None and move.usage.input_tokens:
        samples.overheads.append(move.usage.input_tokens - asked.prompt_bytes // BYTES_PER_TOKEN)
    if not ballot:
        samples.answers.append(move.usage.output_tokens)
        samples.seconds.append(move.timing.total)


def _statistics(samples: _Samples) -> VoiceStatistics:
    overhead = _median(samples.overheads) if samples.overheads else 0
    return VoiceStatistics(max(0, overhead), _median(samples.answers), _median(samples.seconds))


def _median(values: list[T]) -> T:
    return sorted(values)[len(values) // 2]
