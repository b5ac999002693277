"""`chronicle`, `decrees`, `errors` and `predictions`: list and edit the ledger of this workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from roundtable.core.ledger import BINDING_KINDS, Entry, EntryKind, EntryState, PredictionRecord
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

F = TypeVar("F", bound=Callable[..., Any])

MAX_LISTED_ENTRIES = 1000
NO_PREDICTIONS = "No predictions have been made in this workspace yet."


class DefaultListGroup(click.Group):
    """A command group whose default command is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list` if no command is named, so that `chronicle graphql` is `chronicle list graphql`."""
        place = 2 if args[:1] in (["-C"], ["--workspace"]) else 0
        command = args[place : place + 1]
        if not command or command[0] not in (*self.commands, *ctx.help_option_names):
            args = [*args[:place], "list", *args[place:]]
        return super().parse_args(ctx, args)


def _json_option(command: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


# --- chronicle -----------------------------------------------------------------------------------


@click.group(cls=DefaultListGroup)
def chronicle_group() -> None:
    """List and search the decisions of this workspace.

    Every decision is kept here, even after its session was deleted. Seats of a new meeting are shown
    the earlier decisions that concern its question.

    \b
    Examples:
      roundtable chronicle
      roundtable chronicle graphql api
      roundtable chronicle show D-1a2b3c
      roundtable chronicle fail D-1a2b3c "The cache went stale under load."
    """


@chronicle_group.command("list")
@click.argument("words", nargs=-1)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=30, show_default=True, help="Maximum number of rows."
)
@_json_option
def list_decisions_command(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """List decisions, newest first, or those that match WORDS, best match first.

    \b
    Example:
      roundtable chronicle list graphql --json
    """
    entries = _list_entries((EntryKind.DECISION,), " ".join(words), limit)
    rows = [(entry.id, entry.state, entry.at[:10], entry.text, entry.question) for entry in entries]
    none = "No decision matches these words." if words else "No decisions have been made in this workspace yet."
    _print_entries(entries, ("decision", "state", "date", "decided", "question"), rows, none, as_json)


@chronicle_group.command("show")
@click.argument("id")
@_json_option
def show_ledger_entry_command(id: str, as_json: bool) -> None:
    """Print one ledger entry and the other entries of its session.

    \b
    Example:
      roundtable chronicle show D-1a2b3c
    """

    async def read_entry(desk: Roundtable) -> tuple[Entry, list[Entry], bool]:
        entry = await desk.memory.entry(id)
        others = await desk.memory.entries(limit=MAX_LISTED_ENTRIES)
        related = [
            other for other in others if entry.session and other.session == entry.session and other.id != entry.id
        ]
        return entry, related, bool(entry.session and await desk.sessions.records(entry.session))

    entry, related, has_transcript = run_cli_command_at_desk(read_entry)
    if as_json:
        print_json({"v": 1, "entry": _entry_fields(entry), "related": [_entry_fields(other) for other in related]})
        return
    click.echo(f"{entry.id}  {entry.kind}, {entry.state}, {entry.at[:10]}")
    labels = {"question": entry.question, str(entry.kind): entry.text, "why": entry.why, "seat": entry.seat}
    for name, text in {**labels, "due": entry.due}.items():
        click.echo(f"  {name:<10} {text}") if text else None
    if entry.session:
        deleted = "its transcript was deleted"
        click.echo(
            f"  {'session':<10} {f'roundtable show {entry.slug or entry.session}' if has_transcript else deleted}"
        )
    for other in related:
        click.echo(f"  {other.id}  {other.state}: {other.text}")


@chronicle_group.command("fail")
@click.argument("id")
@click.argument("why")
def fail_decision_command(id: str, why: str) -> None:
    """Mark a decision as failed, with the reason (WHY).

    Later meetings see the reason, and a meeting that decides the same again is stopped at a gate.

    \b
    Example:
      roundtable chronicle fail D-1a2b3c "The cache went stale under load."
    """
    entry = run_cli_command_at_desk(lambda desk: desk.memory.fail(id, why))
    click.echo(f"Decision {entry.id} is marked as failed; a meeting that decides the same again stops at a gate")


# --- decrees -------------------------------------------------------------------------------------


@click.group(cls=DefaultListGroup)
def decrees_group() -> None:
    """List, add and lift decrees: proposals you rejected, with the reason.

    Failed decisions are decrees too. If a table agrees on such a proposal again without addressing the
    reason, no decision is made unless you allow it.

    \b
    Examples:
      roundtable decrees
      roundtable decrees add "Use GraphQL" --why "Nobody here can run it."
      roundtable decrees lift R-1a2b3c
    """


@decrees_group.command("list")
@click.option("--all", "everything", is_flag=True, help="Include lifted decrees.")
@_json_option
def list_decrees_command(everything: bool, as_json: bool) -> None:
    """List rejected proposals and failed decisions, newest first.

    \b
    Example:
      roundtable decrees list --all
    """
    entries = [entry for entry in _list_entries(BINDING_KINDS) if everything or entry.state != EntryState.LIFTED]
    rows = [
        (entry.id, "failed" if entry.kind is EntryKind.FAILURE else "rejected", entry.state, entry.text, entry.why)
        for entry in entries
    ]
    none = 'There are no decrees in this workspace yet. Add one with: roundtable decrees add "…"'
    _print_entries(entries, ("decree", "kind", "state", "proposal", "why"), rows, none, as_json)


@decrees_group.command("add")
@click.argument("proposal")
@click.option(
    "--why",
    default="",
    metavar="TEXT",
    help="Reason for the rejection. Seats that repeat the proposal must address this reason.",
)
def add_decree_command(proposal: str, why: str) -> None:
    """Reject a PROPOSAL, written in one line as a seat would propose it.

    \b
    Example:
      roundtable decrees add "Use GraphQL" --why "Nobody here can run it."
    """
    entry = run_cli_command_at_desk(lambda desk: desk.memory.reject(proposal, why))
    click.echo(f"Decree {entry.id} is added; a meeting that proposes this again stops at a gate")


@decrees_group.command("lift")
@click.argument("id")
def lift_decree_command(id: str) -> None:
    """Lift a decree, so that the proposal may be made again.

    \b
    Example:
      roundtable decrees lift R-1a2b3c
    """
    click.echo(f"Decree {run_cli_command_at_desk(lambda desk: desk.memory.lift(id)).id} is lifted")


# --- errors --------------------------------------------------------------------------------------


@click.group(cls=DefaultListGroup)
def errors_group() -> None:
    """List, close and reopen the errors that `code-red` diagnosed.

    Every code-red meeting adds a numbered entry, unless you chose only a report.

    \b
    Examples:
      roundtable errors
      roundtable errors close CR-001 "The token is refreshed now."
    """


@errors_group.command("list")
@_json_option
def list_errors_command(as_json: bool) -> None:
    """List errors, newest first.

    \b
    Example:
      roundtable errors list --json
    """
    entries = _list_entries((EntryKind.ERROR,))
    rows = [(entry.id, entry.state, entry.at[:10], entry.text, entry.question) for entry in entries]
    none = 'No errors have been diagnosed in this workspace yet. Diagnose one with: roundtable code-red "…"'
    _print_entries(entries, ("error", "state", "date", "cause", "symptom"), rows, none, as_json)


@errors_group.command("close")
@click.argument("id")
@click.argument("how")
def close_error_command(id: str, how: str) -> None:
    """Close an error and record HOW it was solved.

    \b
    Example:
      roundtable errors close CR-001 "The token is refreshed now."
    """
    click.echo(f"Error {run_cli_command_at_desk(lambda desk: desk.memory.close(id, how)).id} is closed")


@errors_group.command("reopen")
@click.argument("id")
@click.argument("why", default="")
def reopen_error_command(id: str, why: str) -> None:
    """Reopen an error, optionally with the reason (WHY).

    \b
    Example:
      roundtable errors reopen CR-001 "Seen again on Monday."
    """
    click.echo(f"Error {run_cli_command_at_desk(lambda desk: desk.memory.reopen(id, why)).id} is open again")


# --- predictions ---------------------------------------------------------------------------------


@click.group(cls=DefaultListGroup)
def predictions_group() -> None:
    """List the predictions of outvoted seats and record which came true.

    An outvoted seat's prediction or objection has a due date. You record whether it came true, and each
    seat gets a track record.

    \b
    Examples:
      roundtable predictions
      roundtable predictions settle P-1a2b3c right "p99 went over 2 s in March."
      roundtable predictions record
    """


@predictions_group.command("list")
@_json_option
def list_predictions_command(as_json: bool) -> None:
    """List predictions, open ones first, by due date.

    \b
    Example:
      roundtable predictions list --json
    """
    today = datetime.now(UTC).date().isoformat()
    entries = sorted(
        _list_entries((EntryKind.PREDICTION,)), key=lambda entry: (entry.state != EntryState.OPEN, entry.due)
    )
    rows = [
        (entry.id, "due" if entry.is_overdue(today) else entry.state, entry.due, entry.seat, entry.text, entry.why)
        for entry in entries
    ]
    none = NO_PREDICTIONS
    _print_entries(entries, ("prediction", "state", "due", "seat", "predicted", "about"), rows, none, as_json)


@predictions_group.command("settle")
@click.argument("id")
@click.argument("verdict", type=click.Choice([str(EntryState.RIGHT), str(EntryState.WRONG)]))
@click.argument("seen")
def settle_prediction_command(id: str, verdict: str, seen: str) -> None:
    """Record whether a prediction came true and what was SEEN.

    \b
    Example:
      roundtable predictions settle P-1a2b3c wrong "p99 stayed under 300 ms."
    """
    entry = run_cli_command_at_desk(lambda desk: desk.memory.settle(id, verdict == EntryState.RIGHT, seen))
    click.echo(f"Prediction {entry.id} is settled: {entry.seat} was {entry.state}")


@predictions_group.command("record")
@_json_option
def prediction_record_command(as_json: bool) -> None:
    """Show how often each seat's dissent was right.

    \b
    Example:
      roundtable predictions record
    """
    records = PredictionRecord.of_seats(_list_entries((EntryKind.PREDICTION,)))
    if as_json:
        print_json({"v": 1, "seats": [msgspec.structs.asdict(entry) for entry in records]})
        return
    rows = [(entry.seat, f"{entry.right} of {entry.settled}", str(entry.open)) for entry in records]
    _print_entries((), ("seat", "right", "open"), rows, NO_PREDICTIONS, as_json=False)


# --- shared --------------------------------------------------------------------------------------


def _list_entries(kinds: Sequence[EntryKind], words: str = "", limit: int = MAX_LISTED_ENTRIES) -> list[Entry]:
    return run_cli_command_at_desk(lambda desk: desk.memory.entries(kinds, words, limit))


def _entry_fields(entry: Entry) -> dict[str, Any]:
    return msgspec.structs.asdict(entry)


def _print_entries(
    entries: Iterable[Entry], head: Sequence[str], rows: Sequence[Sequence[str]], none: str, as_json: bool
) -> None:
    if as_json:
        print_json({"v": 1, "entries": [_entry_fields(entry) for entry in entries]})
    elif rows:
        print_table(head, rows)
    else:
        print_note(none)
