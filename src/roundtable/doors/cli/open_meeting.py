"""From a request to a finished meeting: its agenda, its cost estimate, its session, its decision."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import format_seconds_as_text
from roundtable.core.values import Limits, Seat
from roundtable.doors.cli.gate_prompt import read_terminal_line
from roundtable.doors.cli.meeting_options import MeetingRequest
from roundtable.doors.cli.output import (
    EXIT_NO_DECISION,
    EXIT_OK,
    print_note,
    run_cli_command_at_desk,
    shortest_cli_session_argument,
)
from roundtable.doors.cli.run_session import cli_run_and_show_session
from roundtable.doors.cli.seat_choice import parse_cli_name_value_option, resolve_cli_seat_options
from roundtable.doors.cli.steer import parse_cli_path_option
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.doors.cli.watch import cli_session_held_error

if TYPE_CHECKING:
    from roundtable.app.desk import Agenda, CostRange, MeetingQuote, Roundtable, SeatQuote


QUOTE_HEADER = ("Seat", "Voice", "Calls", "Tokens in", "Tokens out", "Cost", "Overhead")


def _print_quote(quote: MeetingQuote, *, as_json: bool) -> None:
    """Print a cost estimate as a table or as JSON."""
    if as_json:
        print_json({**msgspec.to_builtins(quote), "sentence": render_quote_for_terminal(quote)})
        return
    print_table(QUOTE_HEADER, [_quote_row(seat) for seat in quote.seats])
    time = f" The meeting takes about {format_seconds_as_text(quote.seconds)}." if quote.seconds is not None else ""
    click.echo(f"{render_quote_for_terminal(quote)}{time} No model was asked and nothing was spent.")
    silent = [f"Seat {seat.seat} is unavailable: {seat.cannot_speak}" for seat in quote.seats if seat.cannot_speak]
    for line in (*silent, *quote.notices):
        click.echo(sanitize_line(line))


def render_quote_for_terminal(quote: MeetingQuote) -> str:
    """`About $0.04, at most $0.31, for 9 to 24 calls; claude uses your plan.`"""
    calls = f"{_format_span(quote.calls)} calls"
    if quote.usd.most:
        about = f"About {_format_rough_price(quote.usd.likely)}, at most" if quote.usd.likely is not None else "At most"
        first = f"{about} {_format_rough_price(quote.usd.most)}, for {calls}"
    elif quote.unpriced:
        first = f"{calls} at an unknown price".capitalize()
    else:
        first = f"No cost per token, for {calls}"
    remarks = (
        [f"{', '.join(quote.plans)} {'uses' if len(quote.plans) == 1 else 'use'} your plan"] if quote.plans else []
    )
    remarks += [f"the price of {', '.join(quote.unpriced)} is unknown"] if quote.unpriced and quote.usd.most else []
    return sanitize_line("; ".join([first, *remarks]) + ".")


def _format_rough_price(amount: float) -> str:
    """Format an amount with the precision of an estimate, such as `$0.04`."""
    if 0 < amount < 0.0001:
        return "less than $0.0001"
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"


def _quote_row(seat: SeatQuote) -> tuple[str, ...]:
    tokens = (_format_span(seat.input_tokens), _format_span(seat.output_tokens))
    voice = f"{seat.voice}; judges: {seat.judge}" if seat.judge else seat.voice
    return (seat.seat, voice, _format_span(seat.calls), *tokens, _cost_cell(seat), _overhead_cell(seat))


def _format_span(span: CostRange) -> str:
    low, high = round(span.likely), round(span.most)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _cost_cell(seat: SeatQuote) -> str:
    """The cost range from the first voice to the most expensive fallback, such as `$0.02 to $0.31`."""
    first = "plan" if seat.paid == "plan" else _format_price(seat.usd.likely)
    last = _format_price(seat.usd.most)
    return first if last in ("free", first) else f"{first} to {last}"


def _format_price(amount: float | None) -> str:
    return "unknown" if amount is None else _format_rough_price(amount) if amount else "free"


def _overhead_cell(seat: SeatQuote) -> str:
    source = "measured" if seat.measured else "assumed"
    remarks = [f"{seat.overhead:,} tokens of overhead per call ({source})"]
    remarks += ["keeps its session between rounds"] if seat.keeps_session else []
    return "; ".join(remarks)


def cli_run_meeting(request: MeetingRequest) -> int:
    """Hold a meeting and display it to its end; returns the exit code."""
    return cli_prepare_and_run_meeting(request, lambda _: request)


def cli_prepare_and_run_meeting(
    request: MeetingRequest, prepare: Callable[[Roundtable], MeetingRequest], workspace: Path | None = None
) -> int:
    """Hold a meeting whose request is completed at the desk, in another workspace if one is given."""
    request.output_mode.check()
    return run_cli_command_at_desk(lambda desk: _open_or_continue(desk, prepare(desk)), workspace=workspace)


async def _open_or_continue(desk: Roundtable, request: MeetingRequest) -> int:
    if request.quote:
        return await _quote_meeting(desk, request)
    state = await _find_unfinished_session(desk, request) if request.name else None
    if state is None:
        return await cli_open_and_show_session(desk, await _build_agenda(desk, request), request)
    return await cli_run_and_show_session(
        desk, state, request.output_mode, headless=request.headless, strict=request.strict
    )


async def cli_open_and_show_session(desk: Roundtable, agenda: Agenda, request: MeetingRequest) -> int:
    """Open and run a session if the person accepts its cost; returns the exit code."""
    for name, reason in desk.meetings.check_quorum(agenda).items():
        print_note(f"Seat {name} is unavailable: {reason}")
    if not await _confirm_cost(desk, agenda, request):
        print_note("No model was asked and nothing was spent.")
        return EXIT_NO_DECISION
    state = await desk.sessions.get(await desk.meetings.open(agenda))
    for line in state.charter.notices:
        print_note(line)
    return await cli_run_and_show_session(
        desk, state, request.output_mode, headless=request.headless, strict=request.strict
    )


async def _quote_meeting(desk: Roundtable, request: MeetingRequest) -> int:
    _print_quote(await desk.meetings.quote(await _build_agenda(desk, request)), as_json=request.as_json)
    return EXIT_OK


async def _confirm_cost(desk: Roundtable, agenda: Agenda, request: MeetingRequest) -> bool:
    """Print the estimated cost and ask before spending, unless a budget was given or nobody can be asked."""
    limits, paid = agenda.limits or Limits(), bool(desk.meetings.paid_voices(agenda.seats))
    budget = limits.budget_usd is not None
    watched = paid and sys.stdout.isatty() and not request.as_json
    if not (watched or (paid and budget) or limits.budget_tokens is not None):
        return True

    quoted = await desk.meetings.quote(agenda)
    for line in ([render_quote_for_terminal(quoted)] if watched else []) + list(quoted.notices):
        print_note(line)
    if not watched or budget or request.unattended:
        return True
    answer = await read_terminal_line("Continue? [y/N] (--budget-usd USD skips this question): ")
    return (answer or "").casefold() in ("y", "yes")


async def _find_unfinished_session(desk: Roundtable, request: MeetingRequest) -> Session | None:
    """The newest unfinished session of this name, ready to continue."""
    rows = [row for row in await desk.sessions.list(limit=None) if row.name == request.name and not row.outcome]
    if not rows:
        return None
    state = await desk.sessions.get(rows[0].id)
    address = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    if request.question and request.question != state.charter.question.strip():
        raise UsageError(
            f"The unfinished session {request.name} has another question: {sanitize_line(state.charter.question, 80)}",
            f"Continue that session with `roundtable resume {address}`, "
            "or use another --session name for this question.",
        )
    if holder := await desk.sessions.holder(state.id):
        raise cli_session_held_error(holder, address)
    print_note(f"Continuing session {address}.")
    if state.paused:
        await desk.sessions.resume(state.id)
        state = await desk.sessions.get(state.id)
    return state


async def _build_agenda(desk: Roundtable, request: MeetingRequest) -> Agenda:
    if not request.question:
        raise UsageError(
            f"The argument {request.called.upper()} is missing.",
            f"Write the {request.called} in quotes after the command.",
        )
    return build_agenda_from_cli_options(desk, request, await resolve_cli_seat_options(desk, request))


def build_agenda_from_cli_options(desk: Roundtable, request: MeetingRequest, seats: tuple[Seat, ...]) -> Agenda:
    """Build the agenda for a request."""
    from roundtable.app.desk import Agenda

    return Agenda(
        question=request.question,
        seats=seats,
        meeting=request.meeting,
        options=request.options,
        settings=request.settings,
        limits=_apply_limit_options(desk.meetings.default_limits(request.meeting), request),
        files=tuple(parse_cli_path_option(path, desk.workspace) for path in request.files),
        folders=tuple(parse_cli_path_option(path, desk.workspace) for path in request.folders),
        texts=request.texts,
        name=request.name,
        fresh=request.fresh,
        headless=request.unattended,
        answers=dict(parse_cli_name_value_option(answer, "--answer", "GATE=OPTION") for answer in request.answers),
    )


def _apply_limit_options(limits: Limits, request: MeetingRequest) -> Limits:
    names = ("seat_timeout", "round_deadline", "budget_usd", "budget_tokens", "max_tokens")
    changes: dict[str, Any] = {name: value for name in names if (value := getattr(request, name)) is not None}
    if request.quorum is not None:
        changes["quorum"] = msgspec.structs.replace(limits.quorum, seats=request.quorum)
    return msgspec.structs.replace(limits, sequential=request.sequential or limits.sequential, **changes)
