"""The cost of a session by seat and by round. A missing price is unknown, not zero; a subscription costs no money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from roundtable.core.events import CallFailed
from roundtable.core.faults import FaultKind
from roundtable.core.session import Session, Turn
from roundtable.core.usage import Usage

NO_VALUE = "–"

_UNBILLED_FAULTS = (
    FaultKind.RATE_LIMITED,
    FaultKind.OVERLOADED,
    FaultKind.UNAUTHORIZED,
    FaultKind.QUOTA,
    FaultKind.MISSING,
    FaultKind.CONTEXT_OVERFLOW,
)
"""The provider rejected the call before a model worked, so nobody is billed."""

_LOCAL_VOICE_PREFIXES = ("embedded:", "script:")


class CostLine(msgspec.Struct, frozen=True):
    """One line of the bill: `calls` were sent, and `failed` of them brought no answer.

    `priced` is False if the price of any call is unknown.
    """

    name: str
    calls: int = 0
    failed: int = 0
    used: Usage = Usage()
    priced: bool = True

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.used.tokens

    @property
    def cached_share(self) -> float | None:
        """The share of input tokens read from a prompt cache; None without input."""
        return self.used.cached_tokens / self.used.input_tokens if self.used.input_tokens else None

    @property
    def cost_usd(self) -> float | None:
        """The known part of the cost; None if no part is known."""
        return self.used.cost_usd if self.priced or self.used.cost_usd else None

    @property
    def price(self) -> str:
        """The cost in words, with the list price of what a subscription covered."""
        if self.calls == self.failed and self.priced and not (self.used.cost_usd or self.tokens):
            return NO_VALUE
        plan_usd = self.used.plan_usd
        list_price = (
            f" ({render_money(plan_usd)} at list price)" if self.used.plan_tokens and plan_usd is not None else ""
        )
        return render_price(self.used, priced=self.priced) + list_price

    def cells(self) -> tuple[str, ...]:
        """The line as a table row under `phrases.COST_COLUMNS`."""
        cached = NO_VALUE if self.cached_share is None else f"{self.cached_share:.0%}"
        figures = (self.calls, self.failed, self.used.input_tokens)
        return (*(f"{figure:,}" for figure in figures), cached, f"{self.used.output_tokens:,}", self.price)


class CostReport(msgspec.Struct, frozen=True):
    """The bill by seat, by round and in total."""

    seats: tuple[CostLine, ...]
    rounds: tuple[CostLine, ...]
    total: CostLine


class _Call(NamedTuple):
    """One request that was sent: its usage as far as it is known, and whether it failed."""

    usage: Usage
    failed: bool = False


def build_cost_report(session: Session) -> CostReport:
    """The bill of a session. Failed requests count; requests still running do not."""
    calls = _billed_calls(session)
    return CostReport(
        tuple(
            _total_line(listed.name, (call for _, seat, call in calls if seat == listed.name))
            for listed in session.charter.seats
        ),
        tuple(_total_line(round, (call for name, _, call in calls if name == round)) for round in session.rounds),
        _total_line("total", (call for _, _, call in calls)),
    )


def build_cost_report_lines(session: Session, name_group: Callable[[str, str], str]) -> dict[str, CostLine]:
    """The bill grouped by the name that `name_group` gives to a round and a seat."""
    calls = _billed_calls(session)
    groups = dict.fromkeys(name_group(round, seat) for round, seat, _ in calls)
    return {
        group: _total_line(group, (call for round, seat, call in calls if name_group(round, seat) == group))
        for group in groups
    }


def render_money(amount: float) -> str:
    """An amount in dollars, such as `$1.20` or `$0.0123`: small amounts get four decimal places."""
    if 0 < amount < 0.00005:
        return "less than $0.0001"
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def render_price(usage: Usage, *, priced: bool = True) -> str:
    """A price in words: `free`, `$0.0021`, `plan`, `unknown` or a combination.

    `priced` is False where some calls have no known price.
    """
    spent = usage.cost_usd or 0.0
    if not (priced and usage.has_known_price):
        words = f"{render_money(spent)} or more" if spent else "unknown"
    elif spent or not usage.plan_tokens:
        words = render_money(spent) if spent else "free"
    else:
        return "plan"
    return f"{words} and plan" if usage.plan_tokens else words


def _billed_calls(session: Session) -> list[tuple[str, str, _Call]]:
    """Every billed request with its round and its seat."""
    free = _free_voices(session)
    return [
        (name, turn.seat, call)
        for name, record in session.rounds.items()
        for turn in record.turns.values()
        for call in _finished_calls(turn, free)
    ]


def _total_line(name: str, calls: Iterable[_Call]) -> CostLine:
    calls = list(calls)
    total = Usage()
    for call in calls:
        total = total.plus(call.usage)
    failed = sum(call.failed for call in calls)
    return CostLine(name, len(calls), failed, total, all(call.usage.has_known_price for call in calls))


def _finished_calls(turn: Turn, free: set[str]) -> Iterator[_Call]:
    """The finished requests of a turn; a running one is not billed yet."""
    failures = {failure.call: failure for failure in turn.failures}
    if turn.move is not None:
        yield _Call(turn.move.usage)
    for _, request in turn.asked:
        is_free = request.voice in free
        if turn.move is not None and request.call == turn.move.call:
            continue
        if failure := failures.get(request.call):
            if _went_out(failure):
                yield _Call(_priced_usage(failure.usage, is_free or _turned_away(failure)), failed=True)
        elif turn.is_settled and request.purpose == "repair":  # its usage is part of the answer that it repaired
            yield _Call(Usage(cost_usd=0.0))
        elif turn.is_settled or request.call in turn.interrupted or request is not turn.asked[-1][1]:
            yield _Call(_priced_usage(Usage(), is_free), failed=True)  # cut off before it reported its usage


def _went_out(failure: CallFailed) -> bool:
    return failure.fault.kind is not FaultKind.UNREACHABLE or _was_served(failure)


def _turned_away(failure: CallFailed) -> bool:
    return failure.fault.kind in _UNBILLED_FAULTS and not _was_served(failure)


def _was_served(failure: CallFailed) -> bool:
    return bool(failure.partial or failure.usage != Usage())


def _priced_usage(usage: Usage, is_free: bool) -> Usage:
    """The usage of a failed call; a missing price counts as zero only if the call was surely free."""
    return msgspec.structs.replace(usage, cost_usd=0.0) if is_free and not usage.has_known_price else usage


def _free_voices(session: Session) -> set[str]:
    """The voices that cost no money: local ones, and those whose answers were all free."""
    turns = [turn for record in session.rounds.values() for turn in record.turns.values()]
    answers = [turn.move for turn in turns if turn.move]
    paid = {answer.voice for answer in answers if answer.usage.cost_usd or not answer.usage.has_known_price}
    local = {
        request.voice for turn in turns for _, request in turn.asked if request.voice.startswith(_LOCAL_VOICE_PREFIXES)
    }
    return ({answer.voice for answer in answers} | local) - paid
