"""A quote in words: one line before a meeting, or a table for whoever asks what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from roundtable.core.text.sanitize import one_line
from roundtable.doors.cli.tables import show_json, show_table
from roundtable.report.figures import seconds

if TYPE_CHECKING:
    from roundtable.app.cost.quote import Quote, SeatQuote, Span

HEAD = ("Seat", "Voice", "Calls", "Tokens in", "Tokens out", "Cost", "Overhead")


def show_quote(quote: Quote, *, as_json: bool) -> None:
    """Print all of it on standard output."""
    if as_json:
        show_json({**msgspec.to_builtins(quote), "sentence": quote_line(quote)})
        return
    show_table(HEAD, [_row(seat) for seat in quote.seats])
    time = f" It takes about {seconds(quote.seconds)}." if quote.seconds is not None else ""
    click.echo(f"{quote_line(quote)}{time} Nothing was asked, nothing was spent.")
    silent = [f"{seat.seat} cannot speak: {seat.cannot_speak}" for seat in quote.seats if seat.cannot_speak]
    for line in (*silent, *quote.notices):
        click.echo(one_line(line))


def quote_line(quote: Quote) -> str:
    """`About $0.04, at most $0.31, for 9 to 24 calls; claude is on your plan.`"""
    calls = f"{_counted(quote.calls)} calls"
    if quote.usd.most:
        about = f"About {rough(quote.usd.likely)}, at most" if quote.usd.likely is not None else "At most"
        first = f"{about} {rough(quote.usd.most)}, for {calls}"
    elif quote.unpriced:
        first = f"{calls} at a price that is not known".capitalize()
    else:
        first = f"Nothing to pay by the token, for {calls}"
    more = [f"{', '.join(quote.plans)} {'is' if len(quote.plans) == 1 else 'are'} on your plan"] if quote.plans else []
    more += [f"the price of {', '.join(quote.unpriced)} is not known"] if quote.unpriced and quote.usd.most else []
    return one_line("; ".join([first, *more]) + ".")


def rough(amount: float) -> str:
    """`$0.04`: as exact as a forecast can be."""
    if 0 < amount < 0.0001:
        return "less than $0.0001"
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"


def _row(seat: SeatQuote) -> tuple[str, ...]:
    tokens = (_counted(seat.input_tokens), _counted(seat.output_tokens))
    voice = f"{seat.voice}; judges: {seat.judge}" if seat.judge else seat.voice
    return (seat.seat, voice, _counted(seat.calls), *tokens, _cost(seat), _remarks(seat))


def _counted(span: Span) -> str:
    low, high = round(span.likely), round(span.most)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _cost(seat: SeatQuote) -> str:
    """`$0.02 to $0.31`: from the first voice to the dearest of the chain."""
    first = "plan" if seat.paid == "plan" else _priced(seat.usd.likely)
    last = _priced(seat.usd.most)
    return first if last in ("free", first) else f"{first} to {last}"


def _priced(amount: float | None) -> str:
    return "unknown" if amount is None else rough(amount) if amount else "free"


def _remarks(seat: SeatQuote) -> str:
    source = "measured" if seat.measured else "assumed"
    remarks = [f"{seat.overhead:,} tokens a call besides our words ({source})"]
    remarks += ["keeps its session between rounds"] if seat.keeps_session else []
    return "; ".join(remarks)
