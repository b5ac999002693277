"""`gates`: what waits for the person, whichever terminal it was asked in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.core.text.sanitize import clean, one_line
from roundtable.doors.cli.output import address_of, at_desk
from roundtable.doors.cli.remote_gates import about
from roundtable.doors.cli.sessions import age, pid_of
from roundtable.doors.cli.tables import show_json
from roundtable.doors.cli.wrapping import fitted
from roundtable.live.fact_words import Line, gate_words, plain

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.app.runs.open_gates import OpenGate


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="The gates of every workspace.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def gates(everywhere: bool, as_json: bool) -> None:
    """List the gates that wait for an answer.

    \b
    Examples:
      roundtable gates
      roundtable answer last decide=later
    """

    async def look(desk: Roundtable) -> list[tuple[OpenGate, str, list[Line]]]:
        from roundtable.app.runs.open_gates import open_gates

        found = await open_gates(desk, everywhere=everywhere)
        return [
            (it, await address_of(desk, it.session, it.slug), about(await desk.session(it.session), it.gate))
            for it in found
        ]

    found = at_desk(look)
    if as_json:
        show_json({"v": 1, "gates": [_told(it, address) for it, address, _ in found]})
        return
    if not found:
        click.echo(f"No gate waits{'' if everywhere else ' in this workspace'}.", err=True)
    for it, address, hunks in found:
        click.echo(fitted(_block(it, address, hunks), sys.stdout))


def _told(it: OpenGate, address: str) -> dict[str, Any]:
    gate = msgspec.to_builtins(it.gate)
    about = {"session": it.session, "address": address, "asks": clean(it.asks), "workspace": it.workspace}
    return {**about, "gate": gate.pop("id"), **gate, "since": it.since, "pid": pid_of(it.holder)}


def _block(it: OpenGate, address: str, hunks: Sequence[Line]) -> str:
    runs = f"process {pid_of(it.holder) or it.holder} goes on at once" if it.holder else "no process runs it"
    then = "" if it.holder else f", then: roundtable resume {address}"
    return (
        f"{address}: {one_line(it.asks, 80)}\n"
        f"Waits since {it.since[:16].replace('T', ' ')} UTC ({age(it.since)}); {runs}.\n"
        f"{plain([*gate_words(it.gate), *hunks])}"
        f"Answer: roundtable answer {address} {it.gate.id}=OPTION{then}\n"
    )
