"""The cost of a meeting before anything is spent: a likely figure and a maximum.

The maximum assumes every possible round, answers of maximum length that are each repaired once, the most expensive
voice of each chain, no cache, and that calls for one seat go to each seat. Retries of failed calls come on top;
providers rarely bill them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import reduce
from typing import NamedTuple

import msgspec

from roundtable.app.cost.estimate import CallTokens, MeetingEstimate, ProjectSize
from roundtable.app.cost.voice_statistics import VoiceStatistics, measure_voice_costs_for_quote
from roundtable.app.effects.project_files import ProjectReader
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_window import (
    ContextRoom,
    compute_opening_context_room_for_seats,
    estimate_context_file_overhead,
)
from roundtable.app.opening.opener import Opener
from roundtable.app.parts import Parts
from roundtable.core.faults import RecordError
from roundtable.core.session import Session
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Seat, Usage
from roundtable.voices.prices import compute_provider_call_price
from roundtable.voices.tariffs import Tariff
from roundtable.workshop.edit.stored_drafts import DraftStore

MEASURED_SESSIONS = 20
"""How many of the person's newest sessions are measured."""

DEFAULT_ANSWER_TOKENS = 400
"""Tokens of an answer before there are measurements."""

THINKING_DIVISOR = 4
"""A reasoning model uses about this fraction of its thinking tokens."""


STAGES_NOTICE = (
    "The estimate excludes repeated stages, text that you add during the meeting, and program output beyond a few "
    "pages."
)
"""The notice for meetings in stages."""


class CostRange(msgspec.Struct, frozen=True):
    """A likely value and a maximum."""

    likely: float = 0
    most: float = 0

    def add(self, other: CostRange) -> CostRange:
        """Return the sum of both ranges."""
        return CostRange(self.likely + other.likely, self.most + other.most)


class MoneyRange(msgspec.Struct, frozen=True):
    """A likely amount and a maximum in dollars; None if all prices are unknown."""

    likely: float | None = 0.0
    most: float | None = 0.0


class SeatQuote(msgspec.Struct, frozen=True):
    """One seat's share. `usd` is what is paid by the token; `measured` says that figures are from the record.

    `judge` is the voice through which it judges, if that is another one. `cannot_speak` is the reason why none of its
    voices is usable; the figures then assume that it could speak.
    """

    seat: str
    voice: str
    paid: str
    calls: CostRange
    input_tokens: CostRange
    output_tokens: CostRange
    usd: MoneyRange
    unpriced: tuple[str, ...]
    overhead: int
    measured: bool
    keeps_session: bool
    seconds: float | None
    cannot_speak: str = ""
    judge: str = ""


class MeetingQuote(msgspec.Struct, frozen=True):
    """The whole meeting. `usd` excludes voices without a known price; `unpriced` names them."""

    meeting: str
    calls: CostRange
    tokens: CostRange
    usd: MoneyRange
    seats: tuple[SeatQuote, ...]
    unpriced: tuple[str, ...]
    plans: tuple[str, ...]
    seconds: float | None
    notices: tuple[str, ...]


class _QuotedVoice(NamedTuple):
    name: str
    tariff: Tariff
    measure: VoiceStatistics | None

    @property
    def overhead(self) -> int:
        return self.measure.overhead if self.measure else self.tariff.overhead

    @property
    def answer(self) -> int:
        return self.measure.answer if self.measure else DEFAULT_ANSWER_TOKENS

    @property
    def thought(self) -> int:
        """Thinking tokens in addition to the answer; measured answers already include them."""
        return 0 if self.measure else self.tariff.thinking // THINKING_DIVISOR


_NO_VOICE = _QuotedVoice("", Tariff("free"), None)


class _ChainCost(NamedTuple):
    """The cost of a seat's calls through one chain of voices."""

    calls: CostRange
    input_tokens: CostRange
    output_tokens: CostRange
    usd: MoneyRange
    unpriced: tuple[str, ...]
    seconds: float | None


async def estimate_meeting_cost(parts: Parts, opener: Opener, agenda: Agenda) -> MeetingQuote:
    """Estimate the cost of this meeting; nothing is asked, spent or recorded."""
    charter, texts = await opener.draft_charter(agenda)
    estimate = MeetingEstimate(charter, texts, await _measure_project(parts, charter))
    known = measure_voice_costs_for_quote(await _read_recent_sessions(parts))

    def voice(name: str) -> _QuotedVoice:
        return _QuotedVoice(name, parts.tariffs.find_tariff(name), known.get(name))

    silent = opener.check_seats(charter.seats)
    seats = [await _quote_seat(estimate, seat, voice, silent.get(seat.name, "")) for seat in charter.seats]
    unpriced = tuple(dict.fromkeys(voice for seat in seats for voice in seat.unpriced))
    tokens = _sum_ranges(span for seat in seats for span in (seat.input_tokens, seat.output_tokens))
    usd = MoneyRange(
        _combine_known(sum, [seat.usd.likely for seat in seats]), _combine_known(sum, [seat.usd.most for seat in seats])
    )
    slowest = [seat.seconds for seat in seats if seat.seconds is not None]
    return MeetingQuote(
        charter.meeting,
        _sum_ranges(seat.calls for seat in seats),
        tokens,
        usd,
        tuple(seats),
        unpriced,
        tuple(seat.seat for seat in seats if seat.paid == "plan"),
        (sum if charter.limits.sequential else max)(slowest) if len(slowest) == len(seats) else None,
        _find_notices(charter, tokens, usd, unpriced),
    )


async def _read_recent_sessions(parts: Parts) -> list[Session]:
    """Return the person's newest sessions that can be read."""
    sessions: list[Session] = []
    for row in await parts.index.sessions(None, MEASURED_SESSIONS):
        with suppress(RecordError):
            sessions.append(await parts.read_session(row.id))
    return sessions


async def _measure_project(parts: Parts, charter: Charter) -> ProjectSize:
    """Return the size of the files that a meeting in stages starts with, and the room for them."""
    config = parts.settings.config.context

    def room(answer: int) -> ContextRoom:
        limits = msgspec.structs.replace(charter.limits, max_tokens=answer)
        return compute_opening_context_room_for_seats(parts.tariffs, charter.seats, limits, config.tokens)

    if not charter.has_stages or charter.starts_without_files:
        return ProjectSize(room)
    listing = ProjectReader(DraftStore(parts.record), parts.workspace, parts.redactor, config.ignore)
    files = (await listing.read_files("")).files
    # Each file is rounded up to whole tokens.
    return ProjectSize(
        room,
        tuple(map(len, files.values())),
        sum(estimate_context_file_overhead(path) + BYTES_PER_TOKEN for path in files),
    )


def _sum_ranges(spans: Iterable[CostRange]) -> CostRange:
    return reduce(CostRange.add, spans, CostRange())


def _combine_known(together: Callable[[Iterable[float]], float], amounts: Sequence[float | None]) -> float | None:
    """Combine the known amounts; None if all of them are unknown or zero and some are unknown."""
    combined = together([amount or 0.0 for amount in amounts])
    return None if None in amounts and not combined else combined


async def _quote_seat(
    estimate: MeetingEstimate, seat: Seat, voice: Callable[[str], _QuotedVoice], cannot_speak: str
) -> SeatQuote:
    """Quote a seat as a speaker and as a judge."""
    chains = {judging: [voice(name) for name in seat.voice_chain(judging=judging)] for judging in (False, True)}
    own, judged = [await _cost_chain(estimate, seat, voices, judging=judging) for judging, voices in chains.items()]
    parts = (own, judged)
    first = next(iter(chains[False]), _NO_VOICE)
    usd = [part.usd for part in parts]
    seconds = [part.seconds for part in parts if part.calls.likely]
    return SeatQuote(
        seat.name,
        first.name,
        first.tariff.paid,
        _sum_ranges(part.calls for part in parts),
        _sum_ranges(part.input_tokens for part in parts),
        _sum_ranges(part.output_tokens for part in parts),
        MoneyRange(
            _combine_known(sum, [money.likely for money in usd]), _combine_known(sum, [money.most for money in usd])
        ),
        tuple(dict.fromkeys(name for part in parts for name in part.unpriced)),
        first.overhead,
        first.measure is not None,
        first.tariff.keeps_session,
        None if None in seconds else round(sum(second or 0.0 for second in seconds), 1),
        cannot_speak,
        seat.judge if judged.calls.most else "",
    )


async def _cost_chain(
    estimate: MeetingEstimate, seat: Seat, voices: Sequence[_QuotedVoice], *, judging: bool
) -> _ChainCost:
    """Cost a chain: its first voice is the likely one, its most expensive one the maximum."""
    first = next(iter(voices), _NO_VOICE)
    likely = estimate.estimate_likely_calls(seat, first.answer, first.thought, first.overhead, judging=judging)
    most = [
        estimate.estimate_most_calls(seat, voice.tariff.thinking, voice.overhead, voice.tariff.window, judging=judging)
        for voice in voices
    ] or [[]]
    dear = [
        await _compute_dollars(voice.tariff, calls, cached=True) for voice, calls in zip(voices, most, strict=False)
    ]
    return _ChainCost(
        CostRange(len(likely), max(map(len, most))),
        CostRange(sum(call.asked for call in likely), max(sum(call.asked for call in calls) for calls in most)),
        CostRange(sum(call.answered for call in likely), max(sum(call.answered for call in calls) for calls in most)),
        MoneyRange(await _compute_dollars(first.tariff, likely), _combine_known(max, dear or [0.0])),
        tuple(voice.name for voice, cost in zip(voices, dear, strict=True) if cost is None),
        first.measure.seconds * len(likely) if first.measure else None,
    )


async def _compute_dollars(tariff: Tariff, calls: Sequence[CallTokens], *, cached: bool = False) -> float | None:
    """Return the price of calls, with everything `cached` at the cache-write price; None if unknown."""
    if tariff.paid != "tokens":
        return 0.0
    total = 0.0
    for asked, answered in calls:
        usage = Usage(asked, answered, cache_write_tokens=asked if cached else 0)
        cost = await compute_provider_call_price(tariff.prices, tariff.model, usage) if tariff.prices else None
        if cost is None:
            return None
        total += cost
    return total


def _find_notices(charter: Charter, tokens: CostRange, usd: MoneyRange, unpriced: Sequence[str]) -> tuple[str, ...]:
    limits = charter.limits
    notices = [STAGES_NOTICE] if charter.has_stages else []
    stops = "When the budget is spent, the meeting finishes the current round and stops with the result so far."
    if (money := limits.budget_usd) is not None and (usd.most or 0.0) > money:
        likely = "is likely to cost" if (usd.likely or 0.0) > money else "may cost"
        notices.append(f"The meeting {likely} more than the budget of ${money:g}. {stops}")
    if (most := limits.budget_tokens) is not None and tokens.most > most:
        likely = "is likely to use" if tokens.likely > most else "may use"
        notices.append(f"The meeting {likely} more than the budget of {most:,} tokens. {stops}")
    if limits.budget_usd is not None and unpriced:
        notices.append(f"The budget does not limit voices with an unknown price: {', '.join(unpriced)}.")
    return tuple(notices)
