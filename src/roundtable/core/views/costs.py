"""What a session cost. A price nobody told us is unknown, never nothing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from roundtable.core.session import Session, Turn
from roundtable.core.values import Usage


class Cost(msgspec.Struct, frozen=True):
    """One line of the bill. `priced` is False when a call in it has no known price."""

    name: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    priced: bool = True

    @property
    def tokens(self) -> int:
        """Both directions together."""
        return self.input_tokens + self.output_tokens

    @property
    def price(self) -> str:
        """The money in words: an amount, at least an amount, or unknown."""
        if not self.calls:
            return "–"
        if self.cost_usd is None or (self.cost_usd == 0 and not self.priced):
            return "unknown"
        return money(self.cost_usd) if self.priced else f"{money(self.cost_usd)} or more"

    def cells(self) -> tuple[str, ...]:
        """The line as a table shows it, under `phrases.COST_HEAD`."""
        figures = (self.calls, self.input_tokens, self.cached_tokens, self.output_tokens)
        return (*(f"{figure:,}" for figure in figures), self.price)


class Costs(msgspec.Struct, frozen=True):
    """The bill by seat, by round and as a whole."""

    seats: tuple[Cost, ...]
    rounds: tuple[Cost, ...]
    total: Cost


def costs(session: Session) -> Costs:
    """Every call of the session, failed ones too where they report what they used."""
    turns = [(name, turn) for name, record in session.rounds.items() for turn in record.turns.values()]
    seats = [seat.name for seat in session.charter.seats]
    return Costs(
        tuple(_sum(seat, (turn for _, turn in turns if turn.seat == seat)) for seat in seats),
        tuple(_sum(round, (turn for name, turn in turns if name == round)) for round in session.rounds),
        _sum("total", (turn for _, turn in turns)),
    )


def money(amount: float) -> str:
    """`$0.0123`: cents where there are cents, more places where there are not."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def _sum(name: str, turns: Iterable[Turn]) -> Cost:
    used = [usage for turn in turns for usage in _used(turn)]
    total = Usage()
    for usage in used:
        total = total.plus(usage)
    return Cost(
        name,
        len(used),
        total.input_tokens,
        total.output_tokens,
        total.cached_tokens,
        total.cost_usd,
        all(usage.cost_usd is not None for usage in used),
    )


def _used(turn: Turn) -> list[Usage]:
    """The calls that count: a failed one that never said a word and reports nothing was not served."""
    failed = [failure.usage for failure in turn.failures if failure.partial or failure.usage != Usage()]
    return [*failed, turn.move.usage] if turn.move else failed
