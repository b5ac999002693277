"""Commands that control a session from any process; each records one event and confirms it in one sentence."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.core.events import SessionAmended
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.gate_answers import check_cli_gate_answer
from roundtable.doors.cli.options import (
    NEWEST_SESSION,
    SectionCommand,
    cli_limit_option,
    cli_section_option,
    cli_session_argument,
)
from roundtable.doors.cli.output import run_cli_command_at_desk, shortest_cli_session_argument
from roundtable.live.gate_options import match_live_gate_option

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command()
@cli_session_argument
def pause_command(session: str) -> None:
    """Pause a running session after the turns in progress.

    \b
    Example:
      roundtable pause last
    """
    click.echo(run_cli_command_at_desk(lambda desk: _pause(desk, session)))


async def _pause(desk: Roundtable, address: str) -> str:
    state, address = await _find_active_session(desk, address)
    if state.paused:
        return f"Session {address} is already paused; continue with: roundtable resume {address}"
    if await desk.sessions.holder(state.id) is None:
        raise UsageError(
            "No process runs this session, so there is nothing to pause.",
            f"Run the session with `roundtable resume {address}`.",
        )
    await desk.sessions.pause(state.id)
    return f"Session {address} pauses after the turns in progress; continue with: roundtable resume {address}"


@click.command()
@cli_session_argument
def stop_command(session: str) -> None:
    """Stop the program that a session is running; the session continues.

    \b
    Example:
      roundtable stop last
    """
    click.echo(run_cli_command_at_desk(lambda desk: _stop(desk, session)))


async def _stop(desk: Roundtable, address: str) -> str:
    state, address = await _find_active_session(desk, address)
    if not state.running_programs:
        raise UsageError("This session is not running a program.", f"To end the session: roundtable cancel {address}")
    await desk.sessions.stop_program(state.id)
    if await desk.sessions.holder(state.id) is None:
        return f"No process runs session {address}; continue without the program: roundtable resume {address}"
    return f"Stopping the program of session {address}; the session continues"


@click.command()
@cli_session_argument
@click.option("--reason", default="", metavar="TEXT", help="Reason to record.")
def cancel_command(session: str, reason: str) -> None:
    """End a session now; its transcript is kept.

    \b
    Example:
      roundtable cancel last --reason "asked the wrong question"
    """
    click.echo(run_cli_command_at_desk(lambda desk: _cancel(desk, session, reason)))


async def _cancel(desk: Roundtable, address: str, reason: str) -> str:
    state, address = await _find_active_session(desk, address)
    await desk.sessions.cancel(state.id, reason)
    if await desk.sessions.holder(state.id) is None:
        await desk.meetings.run(state.id)
    return f"Session {address} is cancelled; its transcript is kept: roundtable show {address}"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[SESSION] TEXT")
@click.option("--to", "seats", multiple=True, metavar="SEAT", help="Send only to this seat; repeatable.")
def say_command(words: tuple[str, ...], seats: tuple[str, ...]) -> None:
    """Send a note to the seats; they read it at their next turn.

    TEXT is one argument (use quotes), or `-` for standard input. SESSION defaults to the newest.

    \b
    Examples:
      roundtable say "The budget is 5,000 euros."
      roundtable say last --to claude "Look at the second file again."
      git diff | roundtable say last -
    """
    *session, text = words
    if len(session) > 1:
        raise UsageError(
            f"{len(words)} arguments given, at most 2 expected.", 'Put the text in quotes: roundtable say last "…"'
        )
    text = sys.stdin.read() if text == "-" else text
    click.echo(
        run_cli_command_at_desk(lambda desk: _say(desk, session[0] if session else NEWEST_SESSION, text.strip(), seats))
    )


async def _say(desk: Roundtable, address: str, text: str, seats: tuple[str, ...]) -> str:
    state, address = await _find_active_session(desk, address)
    if not text:
        raise UsageError("The note is empty.", 'Write the note in quotes: roundtable say last "…"')
    _check_seats(state, seats)
    await desk.sessions.say(state.id, text, seats)
    readers = ", ".join(seats) if seats else "The seats"
    is_running = await desk.sessions.holder(state.id) is not None
    moment = "at the next turn" if is_running else f"when the session continues: roundtable resume {address}"
    return f"{readers} will read the note {moment}"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[SESSION] [GATE=]OPTION")
@click.option("--text", default="", metavar="TEXT", help="Text for the option, such as a reason or instructions.")
def answer_command(words: tuple[str, ...], text: str) -> None:
    """Answer an open gate of a session.

    OPTION is the name, number or letter of one of the gate's options. SESSION defaults to the newest
    session that waits at a gate. `roundtable gates` lists the open gates.

    \b
    Examples:
      roundtable answer B
      roundtable answer last decide=back --text "Think about the cache again."
    """
    if len(words) > 3:
        raise UsageError(
            f"{len(words)} arguments given, at most 3 expected.", "Try: roundtable answer last GATE=OPTION"
        )
    click.echo(run_cli_command_at_desk(lambda desk: _answer(desk, words, text)))


async def _answer(desk: Roundtable, words: tuple[str, ...], text: str) -> str:
    state, address = await _find_active_session(desk, words[0] if len(words) > 1 else await _find_waiting_session(desk))
    choice = "=".join(words[1:] or words)
    name, equals, option = choice.rpartition("=")
    if not name and len(state.open_gates) > 1:
        waiting = ", ".join(gate.id for gate in state.open_gates)
        raise UsageError(
            f"This session waits at several gates: {waiting}.",
            f"Name the gate: roundtable answer {address} {state.open_gates[0].id}=OPTION",
        )
    gate = state.gates.get(name) if equals and name else next(iter(state.open_gates), None)
    if gate is None:
        gate_names = ", ".join(state.gates) or "none"
        raise NotFound(
            f"This session has no gate {name}." if name else "This session is not waiting at a gate.",
            f"The gates of this session are: {gate_names}.",
        )
    option = (match_live_gate_option(gate, option) if option else None) or option
    if gate.id in state.answers and (open_gate := next(iter(state.open_gates), None)):
        suggested = option if option in open_gate.options else "OPTION"
        raise UsageError(
            f"Gate {gate.id} is already answered; the session waits at {open_gate.id}.",
            f"Try: roundtable answer {address} {open_gate.id}={suggested}",
        )
    check_cli_gate_answer(state, gate, option, text)
    await desk.gates.answer(state.id, gate.id, option, text)
    next_step = "" if await desk.sessions.holder(state.id) else f"; continue with: roundtable resume {address}"
    return f"Gate {gate.id} is answered: {option}{next_step}"


async def _find_waiting_session(desk: Roundtable) -> str:
    """The newest session that waits at a gate, or else the newest session."""

    return next((gate.session for gate in await desk.gates.list_open()), NEWEST_SESSION)


@click.command(cls=SectionCommand)
@cli_session_argument
@cli_section_option("Changes", "--rename", metavar="NAME", help="Name the session.")
@cli_section_option(
    "Changes", "--seat-on", multiple=True, metavar="SEAT", help="Include a seat again, starting with the next round."
)
@cli_section_option(
    "Changes", "--seat-off", multiple=True, metavar="SEAT", help="Leave a seat out, starting with the next round."
)
@cli_section_option("Changes", "--add-file", multiple=True, metavar="PATH[:A-B]", help="Add a file to the context.")
@cli_section_option("Changes", "--remove-file", multiple=True, metavar="PATH", help="Remove a file from the context.")
@cli_limit_option("budget_usd", "--budget-usd", click.FloatRange, metavar="USD", help="Maximum total cost.")
@cli_limit_option("budget_tokens", "--budget-tokens", click.IntRange, metavar="N", help="Maximum total tokens.")
@cli_limit_option("seat_timeout", "--timeout", click.FloatRange, metavar="S", help="Maximum seconds per turn.")
@cli_limit_option("round_deadline", "--deadline", click.FloatRange, metavar="S", help="Maximum seconds per round.")
@cli_limit_option("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="Maximum tokens per answer.")
def amend_command(session: str, **changes: Any) -> None:
    """Change a session's name, seats, files or limits.

    The changes are recorded and take effect with the next round.

    \b
    Examples:
      roundtable amend last --seat-off gpt --timeout 300
      roundtable amend last --add-file src/api.py:1-80 --budget-usd 2
    """
    if not any(value is not None and value != () for value in changes.values()):
        raise UsageError("No change was given.", "`roundtable amend --help` lists what can be changed.")
    click.echo(run_cli_command_at_desk(lambda desk: _amend(desk, session, changes)))


AMENDABLE_LIMITS = ("budget_usd", "budget_tokens", "seat_timeout", "round_deadline", "max_tokens")


async def _amend(desk: Roundtable, address: str, changes: dict[str, Any]) -> str:
    state, address = await _find_active_session(desk, address)
    _check_seats(state, (*changes["seat_on"], *changes["seat_off"]))
    context_files = {item.name for _, item in state.context()}
    for name in changes["remove_file"]:
        if name not in context_files:
            raise NotFound(
                f"The session's context has no file {name}.",
                f"Files in the context: {', '.join(context_files) or 'none'}.",
            )
    limits = {name: changes[name] for name in AMENDABLE_LIMITS if changes[name] is not None}
    amendment = SessionAmended(
        name=changes["rename"],
        seats_on=changes["seat_on"],
        seats_off=changes["seat_off"],
        context_removed=changes["remove_file"],
        limits=msgspec.structs.replace(state.limits, **limits) if limits else None,
    )
    for path in changes["add_file"]:
        await desk.sessions.add_context(state.id, parse_cli_path_option(path, desk.workspace))
    if amendment != SessionAmended(by=amendment.by):
        await desk.sessions.amend(state.id, amendment)
    return f"The changes to session {address} take effect with the next round"


@click.command()
@cli_session_argument
@click.option("--at", "round", required=True, metavar="ROUND", help="Name or number of the round to repeat.")
def branch_command(session: str, round: str) -> None:
    """Repeat a session from a given round, in a new session.

    The new session shares the record up to that round. The old session is not changed.

    \b
    Example:
      roundtable branch last --at 3-reconsider
    """
    click.echo(run_cli_command_at_desk(lambda desk: _branch(desk, session, round)))


async def _branch(desk: Roundtable, address: str, round: str) -> str:
    state = await desk.sessions.get(await desk.sessions.find(address))
    child = await desk.sessions.branch(state.id, state.find_round(round).name)
    new_address = await shortest_cli_session_argument(desk, child, (await desk.sessions.get(child)).charter.slug)
    return f"New session {new_address}; run it with: roundtable resume {new_address}"


# --- shared --------------------------------------------------------------------------------------


async def _find_active_session(desk: Roundtable, address: str) -> tuple[Session, str]:
    """Find a session that has not ended, and its address."""
    state = await desk.sessions.get(await desk.sessions.find(address))
    address = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    if state.ended:
        raise UsageError(
            f"Session {address} has ended ({state.status}).", f"Read the session with `roundtable show {address}`."
        )
    return state, address


def _check_seats(state: Session, seats: tuple[str, ...]) -> None:
    seat_names = [seat.name for seat in state.charter.seats]
    for name in seats:
        if name not in seat_names:
            raise NotFound(f"There is no seat {sanitize_line(name)} at this table.", f"Seats: {', '.join(seat_names)}.")


def parse_cli_path_option(typed: str, workspace: Path) -> str:
    """Convert a typed path, with optional lines, to a path relative to the workspace."""
    path, colon, lines = typed.rpartition(":")
    if not (colon and path and lines.replace("-", "").isdigit()):
        path, colon, lines = typed, "", ""
    absolute = Path.cwd() / Path(path).expanduser()
    if not absolute.exists():
        return typed
    return os.path.relpath(absolute.resolve(), workspace.resolve()) + colon + lines
