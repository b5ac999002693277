"""`list`, `status` and `gates`: which sessions there are, the state of one, and the open gates of all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.core.faults import DamagedRecord
from roundtable.core.index import SessionRow
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.doors.cli.gate_answers import render_gate_context_for_terminal
from roundtable.doors.cli.options import cli_session_argument
from roundtable.doors.cli.output import run_cli_command_at_desk, shortest_cli_session_argument
from roundtable.doors.cli.stderr import wrap_for_terminal
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.live.event_lines import LiveLine, live_gate_lines, live_lines_as_text
from roundtable.live.gate_options import live_gate_option_on_enter
from roundtable.report.costs import NO_VALUE, build_cost_report, render_money
from roundtable.report.phrases import describe_session_status
from roundtable.report.summary import report_session_as_data

if TYPE_CHECKING:
    from roundtable.app.desk import OpenGate, Roundtable


_GLYPHS = {"asked": "●", "answered": "✓", "late": "◌", "missing": "✗", "interrupted": "◌", "off": "–"}


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Include the sessions of all workspaces.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=30, show_default=True, help="Maximum number of rows."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_sessions_command(everywhere: bool, limit: int, as_json: bool) -> None:
    """List sessions, newest first.

    \b
    Examples:
      roundtable list
      roundtable list --all --json
    """

    async def collect(desk: Roundtable) -> list[dict[str, Any]]:
        rows = await desk.sessions.list(everywhere=everywhere, limit=limit)
        return [await _session_fields(desk, row) for row in rows if not row.is_child]

    listed = run_cli_command_at_desk(collect, only_reads=True)
    if as_json:
        print_json({"v": 1, "sessions": listed})
    elif listed:
        head = ("session", "status", "outcome", "seats", "age", "question")
        if everywhere:
            head = (*head[:-1], "workspace", head[-1])
        print_table(head, [_session_cells(session, everywhere) for session in listed], cut=True)
    else:
        place = "" if everywhere else " in this workspace"
        click.echo(f'There are no sessions{place} yet. Start one with: roundtable discuss "…"', err=True)


async def _session_fields(desk: Roundtable, row: SessionRow) -> dict[str, Any]:
    try:
        session = await desk.sessions.get(row.id)
    except DamagedRecord:
        session = Session(row.id)
    holder = await desk.sessions.holder(row.id)
    decision = session.decision
    charter = session.charter_or_none
    return {
        "id": row.id,
        "slug": row.slug,
        "address": await shortest_cli_session_argument(desk, row.id, row.slug),
        "name": row.name,
        "status": "damaged" if charter is None else "done" if decision else _session_status(session, holder),
        "pid": _holder_pid(holder),
        "outcome": str(decision.outcome) if decision else row.outcome,
        "degraded": decision.degraded if decision else False,
        "question": sanitize_text(row.question),
        "seats": [seat.name for seat in charter.seats] if charter else [],
        "meeting": row.meeting,
        "workspace": row.workspace,
        "opened_at": row.opened_at,
        "updated_at": row.updated_at,
        "seq": row.last_seq,
    }


def _session_status(session: Session, holder: str | None) -> str:
    """The status of a session without a decision; one that is running may also be waiting at a gate."""
    return "running" if holder and session.status == "open" else session.status


def _session_cells(row: dict[str, Any], everywhere: bool) -> list[str]:
    outcome = f"{row['outcome']}{' (degraded)' if row['degraded'] else ''}"
    cells = [row["address"], row["status"], outcome or "–", str(len(row["seats"])), _format_age(row["updated_at"])]
    return [*cells, *([row["workspace"]] if everywhere else []), row["question"]]


def _holder_pid(holder: str | None) -> int | None:
    """The process id in a lease holder, `host:pid:start:boot`."""
    parts = (holder or "").split(":")
    return int(parts[1]) if len(parts) == 4 and parts[1].isdigit() else None


def _format_age(at: str) -> str:
    """Format the time since then, such as `5m`, `3h` or `2d`."""
    try:
        passed = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    except ValueError:
        return "?"
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if passed >= length:
            return f"{passed // length:.0f}{unit}"
    return "now"


@click.command()
@cli_session_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(session: str, as_json: bool) -> None:
    """Show a session's state: process, round, seats, cost and open gate.

    \b
    Examples:
      roundtable status
      roundtable status --session architecture --json
    """

    async def load(desk: Roundtable) -> tuple[Session, str | None, str]:
        state = await desk.sessions.get(await desk.sessions.find(session))
        return (
            state,
            await desk.sessions.holder(state.id),
            await shortest_cli_session_argument(desk, state.id, state.charter.slug),
        )

    state, holder, address = run_cli_command_at_desk(load, only_reads=True)
    if as_json:
        running = {"running": holder is not None, "holder": holder, "pid": _holder_pid(holder)}
        print_json({**report_session_as_data(state), **running})
        return
    for line in _render_session_status(state, holder, address):
        click.echo(line)


def _render_session_status(session: Session, holder: str | None, address: str) -> list[str]:
    """Render the state of a session as lines."""
    charter = session.charter
    process = f"running in process {_holder_pid(holder) or holder}" if holder else describe_session_status(session)
    process += "" if holder or session.ended else "; no process runs it"
    round = next(reversed(session.rounds), "none yet")
    lines = [
        sanitize_line(charter.question, 110),
        f"  session  {address}{f' ({sanitize_line(session.name)})' if session.name else ''}",
        f"  status   {session.status}: {process}",
        f"  round    {round}, {len(session.rounds)} opened",
        f"  spent    {_describe_spending(session)}",
        f"  record   {session.seq} facts, the last {_format_age(session.updated_at)} ago".replace(
            "now ago", "just now"
        ),
        "  seats",
    ]
    width = max(len(seat.name) for seat in charter.seats)
    last_voices = session.last_voices
    for seat in charter.seats:
        state = session.seat_states[seat.name]
        if state == "asked" and not holder:
            state = "interrupted"
        first = seat.voices[0] if seat.voices else ""
        voice = last_voices.get(seat.name, first)
        voice += "" if voice == first else f" instead of {first}"
        lines.append(
            f"    {_GLYPHS.get(state, '○')} {sanitize_line(seat.name):<{width}}  {state:<11}  {sanitize_line(voice)}"
        )
    for gate in session.open_gates:
        lines += [f"  waits at gate {gate.id}: {sanitize_line(gate.question)}", f"    {', '.join(gate.options)}"]
        lines += [f"  {line.plain()}" for line in render_gate_context_for_terminal(session, gate)]
        answer = "OPTION" if gate.writes else live_gate_option_on_enter(gate) or "OPTION"
        lines.append(f"    answer it: roundtable answer {address} {gate.id}={answer}")
    if not (holder or session.ended):
        lines.append(f"  continue with: roundtable resume {address}")
    return lines


def _describe_spending(session: Session) -> str:
    total, limits = build_cost_report(session).total, session.limits
    tokens = f"{total.tokens:,} tokens"
    tokens += f" of {limits.budget_tokens:,}" if limits.budget_tokens is not None else ""
    nothing = "nothing" if session.ended else "nothing yet"
    cost = {NO_VALUE: nothing, "unknown": "at unknown cost"}.get(total.price, total.price)
    cost += f" of {render_money(limits.budget_usd)}" if limits.budget_usd is not None else ""
    return f"{tokens}, {cost}"


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="Include the gates of all workspaces.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gates_command(everywhere: bool, as_json: bool) -> None:
    """List the gates that wait for an answer.

    \b
    Examples:
      roundtable gates
      roundtable answer last decide=later
    """

    async def collect(desk: Roundtable) -> list[tuple[OpenGate, str, list[LiveLine]]]:
        open_gates = await desk.gates.list_open(everywhere=everywhere)
        return [
            (
                waiting,
                await shortest_cli_session_argument(desk, waiting.session, waiting.slug),
                render_gate_context_for_terminal(await desk.sessions.get(waiting.session), waiting.gate),
            )
            for waiting in open_gates
        ]

    open_gates = run_cli_command_at_desk(collect)
    if as_json:
        print_json({"v": 1, "gates": [_gate_fields(waiting, address) for waiting, address, _ in open_gates]})
        return
    if not open_gates:
        click.echo(f"No gate is waiting{'' if everywhere else ' in this workspace'}.", err=True)
    for waiting, address, hunks in open_gates:
        click.echo(wrap_for_terminal(_gate_block(waiting, address, hunks), sys.stdout))


def _gate_fields(waiting: OpenGate, address: str) -> dict[str, Any]:
    gate = msgspec.to_builtins(waiting.gate)
    session = {
        "session": waiting.session,
        "address": address,
        "asks": sanitize_text(waiting.asks),
        "workspace": waiting.workspace,
    }
    return {**session, "gate": gate.pop("id"), **gate, "since": waiting.since, "pid": _holder_pid(waiting.holder)}


def _gate_block(waiting: OpenGate, address: str, hunks: Sequence[LiveLine]) -> str:
    process = (
        f"process {_holder_pid(waiting.holder) or waiting.holder} continues at once"
        if waiting.holder
        else "no process runs the session"
    )
    follow_up = "" if waiting.holder else f", then: roundtable resume {address}"
    return (
        f"{address}: {sanitize_line(waiting.asks, 80)}\n"
        f"Waiting since {waiting.since[:16].replace('T', ' ')} UTC ({_format_age(waiting.since)}); {process}.\n"
        f"{live_lines_as_text([*live_gate_lines(waiting.gate), *hunks])}"
        f"Answer: roundtable answer {address} {waiting.gate.id}=OPTION{follow_up}\n"
    )
