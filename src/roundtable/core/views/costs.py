"""What a session cost. A price nobody told us is unknown, never nothing; what a plan paid for is not money spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from roundtable.core.session import Session, Turn
from roundtable.core.values import Usage

NOTHING = "–"


class Cost(msgspec.Struct, frozen=True):
    """One line of the bill. `priced` is False when a call in it has no known price."""

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
    def price(self) -> str:
        """The money in words, and what a plan's share would have cost by the token."""
        if not self.calls:
            return NOTHING
        worth = self.used.plan_usd
        aside = f" ({money(worth)} by the token)" if self.used.plan_tokens and worth is not None else ""
        return price(self.used, priced=self.priced) + aside

    def cells(self) -> tuple[str, ...]:
        """The line as a table shows it, under `phrases.COST_HEAD`."""
        cached = NOTHING if self.cached_share is None else f"{self.cached_share:.0%}"
        figures = (self.calls, self.failed, self.used.input_tokens)
        return (*(f"{figure:,}" for figure in figures), cached, f"{self.used.output_tokens:,}", self.price)


class Costs(msgspec.Struct, frozen=True):
    """The bill by seat, by round and as a whole."""

    seats: tuple[Cost, ...]
    rounds: tuple[Cost, ...]
    total: Cost


class _Call(NamedTuple):
    """One call: what it used as far as we know, whether it failed, and whether it was served at all."""

    usage: Usage
    failed: bool = False
    served: bool = True


def costs(session: Session) -> Costs:
    """Every call of the session, failed ones too."""
    free = _free_voices(session)
    calls = [
        (name, turn.seat, call)
        for name, record in session.rounds.items()
        for turn in record.turns.values()
        for call in _calls(turn, free)
    ]
    return Costs(
        tuple(_sum(it.name, (call for _, seat, call in calls if seat == it.name)) for it in session.charter.seats),
        tuple(_sum(round, (call for name, _, call in calls if name == round)) for round in session.rounds),
        _sum("total", (call for _, _, call in calls)),
    )


def money(amount: float) -> str:
    """`$0.0123`: cents where there are cents, more places where there are not."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def price(used: Usage, *, priced: bool = True) -> str:
    """In a few words: `free`, `$0.0021`, `plan`, `unknown`, or what comes together. Calls without a price add to it."""
    spent = used.cost_usd or 0.0
    if not (priced and is_priced(used)):
        words = f"{money(spent)} or more" if spent else "unknown"
    elif spent or not used.plan_tokens:
        words = money(spent) if spent else "free"
    else:
        return "plan"
    return f"{words} and plan" if used.plan_tokens else words


def is_priced(used: Usage) -> bool:
    """Whether somebody told what this cost, or a plan paid for it."""
    return used.cost_usd is not None or bool(used.plan_tokens)


def _sum(name: str, calls: Iterable[_Call]) -> Cost:
    calls = list(calls)
    served = [call.usage for call in calls if call.served]
    total = Usage()
    for usage in served:
        total = total.plus(usage)
    failed = sum(call.failed for call in calls)
    return Cost(name, len(served), failed, total, all(is_priced(usage) for usage in served))


def _calls(turn: Turn, free: set[str]) -> Iterator[_Call]:
    for failure in turn.failures:
        usage = failure.usage if is_priced(failure.usage) else _unpriced(failure.usage, failure.voice in free)
        yield _Call(usage, failed=True, served=bool(failure.partial or failure.usage != Usage()))
    ended = {failure.call for failure in turn.failures}
    if turn.move is not None:
        yield _Call(turn.move.usage)
        ended.add(turn.move.call)
    for _, asked in turn.asked if turn.over else turn.asked[:-1]:
        if asked.call in ended:
            continue
        if asked.purpose == "repair":  # what it used is part of the answer it mended
            yield _Call(Usage(cost_usd=0.0))
        else:  # it ran out of time or was interrupted, and never told what it used
            yield _Call(_unpriced(Usage(), asked.voice in free), failed=True)


def _unpriced(usage: Usage, free: bool) -> Usage:
    return msgspec.structs.replace(usage, cost_usd=0.0) if free else usage


def _free_voices(session: Session) -> set[str]:
    """The voices none of whose answers cost money; then an unfinished one did not either."""
    answers = [turn.move for record in session.rounds.values() for turn in record.turns.values() if turn.move]
    paid = {it.voice for it in answers if it.usage.cost_usd or not is_priced(it.usage)}
    return {it.voice for it in answers} - paid
