"""`show`: a session as people or programs read it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.cli.output import at_desk, note
from roundtable.cli.tables import show_table
from roundtable.core.events import Recorded, encode_line
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.views import (
    bill,
    costs,
    find_round,
    page,
    round_page,
    round_summary,
    round_transcript,
    summary,
    transcript,
    usage_summary,
)
from roundtable.core.views.phrases import COST_HEAD

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

FORMATS = ("markdown", "json", "html", "jsonl")
COST_FORMATS = ("markdown", "json")


@click.command()
@click.argument("session", default="last")
@click.option("--format", "form", type=click.Choice(FORMATS), default="markdown", show_default=True, help="How.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of the screen.")
@click.option("--round", metavar="ROUND", help="Only this round, by name or number.")
@click.option("--cost", is_flag=True, help="Only what it cost by seat and round, as markdown or json.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def show(session: str, form: str, output: str | None, round: str | None, cost: bool, as_json: bool) -> None:
    """Print a session: the decision first, then how it came about.

    SESSION is an id or its beginning, a slug, a name, or `last`.
    """
    form = "json" if as_json else form
    if cost and round is not None:
        raise UsageError("--cost is of the whole session, and has a line for every round.", "Leave out --round.")
    if cost and form not in COST_FORMATS:
        raise UsageError(f"--cost cannot be shown as {form}.", f"Take {' or '.join(COST_FORMATS)}.")

    async def read(desk: Roundtable) -> tuple[Session, list[Recorded]]:
        id = await desk.find(session)
        records = await desk.store.read(id)
        return Session.fold(id, records), records

    state, records = at_desk(read)
    for_eyes = output is None and form == "markdown" and sys.stdout.isatty()
    if cost and for_eyes:
        _show_bill(state)
        return
    text = bill_rendered(state, form) if cost else rendered(state, records, form, round)
    if output is not None:
        _write(Path(output), text)
    elif for_eyes:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text, nl=False)


def rendered(session: Session, records: list[Recorded], form: str, round: str | None) -> str:
    """The session, or one round of it, in one of the formats; it ends with a line break."""
    record = find_round(session, round) if round is not None else None
    match form:
        case "json":
            data = summary(session, texts=True) if record is None else round_summary(record, texts=True)
            return _json(data)
        case "html":
            return page(session) if record is None else round_page(session, record)
        case "jsonl":
            kept = [it for it in records if record is None or getattr(it.event, "round", None) == record.name]
            return "".join(encode_line(it).decode() + "\n" for it in kept)
        case _:
            return transcript(session) if record is None else round_transcript(record)


def _show_bill(session: Session) -> None:
    bill = costs(session)
    show_table(("", *COST_HEAD), [(line.name, *line.cells()) for line in (*bill.seats, *bill.rounds, bill.total)])


def bill_rendered(session: Session, form: str) -> str:
    """What the session cost."""
    return _json(usage_summary(session)) if form == "json" else bill(session)


def _json(data: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", "Give another file.") from None
    note(f"Written to {path}.")
