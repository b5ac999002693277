"""What a session cost. A price nobody told us is unknown, never nothing; what a plan paid for is not money spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from roundtable.core.events import CallFailed
from roundtable.core.faults import FaultKind
from roundtable.core.session import Session, Turn
from roundtable.core.usage import Usage, format_money

NO_VALUE = "–"

UNBILLED_FAULTS = (
    FaultKind.RATE_LIMITED,
    FaultKind.OVERLOADED,
    FaultKind.UNAUTHORIZED,
    FaultKind.QUOTA,
    FaultKind.MISSING,
    FaultKind.CONTEXT_OVERFLOW,
)
"""Said at the door: no model has worked, so nobody is billed."""

LOCAL_VOICE_PREFIXES = ("embedded:", "script:")


class CostLine(msgspec.Struct, frozen=True):
    """One line of the bill. `calls` are the requests that went out, `failed` are those of them that brought no answer.

    `priced` is False when a call among them has no known price.
    """

    name: str
    calls: int = 0
    failed: int = 0
    used: Usage = Usage()
    priced: bool = True

    @property
    def tokens(self) -> int:
        """Both directions together."""
        return self.used.tokens

    @property
    def cached_share(self) -> float | None:
        """How much of the input a prompt cache had; None where there was no input."""
        return self.used.cached_tokens / self.used.input_tokens if self.used.input_tokens else None

    @property
    def cost_usd(self) -> float | None:
        """The money as far as it is known; None where nothing but its being unknown is."""
        return self.used.cost_usd if self.priced or self.used.cost_usd else None

    @property
    def price(self) -> str:
        """The money in words, and what a plan's share would have cost by the token."""
        if self.calls == self.failed and self.priced and not (self.used.cost_usd or self.tokens):
            return NO_VALUE
        worth = self.used.plan_usd
        aside = f" ({format_money(worth)} by the token)" if self.used.plan_tokens and worth is not None else ""
        return format_price(self.used, priced=self.priced) + aside

    def cells(self) -> tuple[str, ...]:
        """The line as a table shows it, under `phrases.COST_HEAD`."""
        cached = NO_VALUE if self.cached_share is None else f"{self.cached_share:.0%}"
        figures = (self.calls, self.failed, self.used.input_tokens)
        return (*(f"{figure:,}" for figure in figures), cached, f"{self.used.output_tokens:,}", self.price)


class CostReport(msgspec.Struct, frozen=True):
    """The bill by seat, by round and as a whole."""

    seats: tuple[CostLine, ...]
    rounds: tuple[CostLine, ...]
    total: CostLine


class _Call(NamedTuple):
    """One request that went out: what it used as far as we know, and whether it failed."""

    usage: Usage
    failed: bool = False


def summarize_costs(session: Session) -> CostReport:
    """Every request of the session that went out and is over, failed ones too."""
    calls = _billed(session)
    return CostReport(
        tuple(_sum(it.name, (call for _, seat, call in calls if seat == it.name)) for it in session.charter.seats),
        tuple(_sum(round, (call for name, _, call in calls if name == round)) for round in session.rounds),
        _sum("total", (call for _, _, call in calls)),
    )


def group_costs(session: Session, named: Callable[[str, str], str]) -> dict[str, CostLine]:
    """The same under other names, in the order they come up: `named` gives the one for a round and a seat."""
    calls = _billed(session)
    names = dict.fromkeys(named(round, seat) for round, seat, _ in calls)
    return {it: _sum(it, (call for round, seat, call in calls if named(round, seat) == it)) for it in names}


def format_price(used: Usage, *, priced: bool = True) -> str:
    """In a few words: `free`, `$0.0021`, `plan`, `unknown`, or what comes together. Calls without a price add to it."""
    spent = used.cost_usd or 0.0
    if not (priced and has_known_price(used)):
        words = f"{format_money(spent)} or more" if spent else "unknown"
    elif spent or not used.plan_tokens:
        words = format_money(spent) if spent else "free"
    else:
        return "plan"
    return f"{words} and plan" if used.plan_tokens else words


def has_known_price(used: Usage) -> bool:
    """Whether somebody told what this cost, or a plan paid for it."""
    return used.cost_usd is not None or bool(used.plan_tokens)


def _billed(session: Session) -> list[tuple[str, str, _Call]]:
    """Every request, with its round and its seat."""
    free = _free_voices(session)
    return [
        (name, turn.seat, call)
        for name, record in session.rounds.items()
        for turn in record.turns.values()
        for call in _calls(turn, free)
    ]


def _sum(name: str, calls: Iterable[_Call]) -> CostLine:
    calls = list(calls)
    total = Usage()
    for call in calls:
        total = total.plus(call.usage)
    failed = sum(call.failed for call in calls)
    return CostLine(name, len(calls), failed, total, all(has_known_price(call.usage) for call in calls))


def _calls(turn: Turn, free: set[str]) -> Iterator[_Call]:
    """The turn's requests. One that is still under way is not billed yet."""
    failures = {failure.call: failure for failure in turn.failures}
    if turn.move is not None:
        yield _Call(turn.move.usage)
    for _, asked in turn.asked:
        is_free = asked.voice in free
        if turn.move is not None and asked.call == turn.move.call:
            continue
        if failure := failures.get(asked.call):
            if _went_out(failure):
                yield _Call(_told(failure.usage, is_free or _turned_away(failure)), failed=True)
        elif turn.is_settled and asked.purpose == "repair":  # what it used is part of the answer it mended
            yield _Call(Usage(cost_usd=0.0))
        elif turn.is_settled or asked.call in turn.interrupted or asked is not turn.asked[-1][1]:
            yield _Call(_told(Usage(), is_free), failed=True)  # it was cut off, and never told what it used


def _went_out(failure: CallFailed) -> bool:
    return failure.fault.kind is not FaultKind.UNREACHABLE or _was_served(failure)


def _turned_away(failure: CallFailed) -> bool:
    return failure.fault.kind in UNBILLED_FAULTS and not _was_served(failure)


def _was_served(failure: CallFailed) -> bool:
    return bool(failure.partial or failure.usage != Usage())


def _told(usage: Usage, free: bool) -> Usage:
    """What a failed call used; a price that nobody told is nothing only where it is surely free."""
    return msgspec.structs.replace(usage, cost_usd=0.0) if free and not has_known_price(usage) else usage


def _free_voices(session: Session) -> set[str]:
    """The voices that cost no money: those of this machine, and those none of whose answers did."""
    turns = [turn for record in session.rounds.values() for turn in record.turns.values()]
    answers = [turn.move for turn in turns if turn.move]
    paid = {it.voice for it in answers if it.usage.cost_usd or not has_known_price(it.usage)}
    local = {asked.voice for turn in turns for _, asked in turn.asked if asked.voice.startswith(LOCAL_VOICE_PREFIXES)}
    return ({it.voice for it in answers} | local) - paid
