"""`doctor`: is everything in order, and if not, what to mend."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from roundtable.cli.output import note
from roundtable.cli.tables import show_json
from roundtable.core.faults import UsageError
from roundtable.core.views import one_line

if TYPE_CHECKING:
    from roundtable.app.doctor import Report
    from roundtable.app.surroundings import Program

_KEY_PLACES = {"keychain": "the system's keychain", "file": "an encrypted file"}


@click.command()
@click.option("--session", default="", metavar="SESSION", help="Check this session's record too.")
@click.option("--deep", is_flag=True, help="Put one tiny question to every seat. This may cost a little money.")
@click.option("--faults", is_flag=True, help="Instead, put every kind of voice before a local server that fails.")
@click.option("--yes", is_flag=True, help="Do not ask before --deep.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(session: str, deep: bool, faults: bool, yes: bool, as_json: bool) -> None:
    """Check folders, config, the record, every seat and what is installed; no model is asked without --deep.

    With --faults, no model is asked either: every API dialect and every agent that is installed meets a server on
    this machine that fails in every way one can, and must say truthfully what happened. Exit code 1 if one does not.
    """
    from roundtable.app.doctor import examine

    if faults:
        if session or deep:
            raise UsageError("--faults is a check of its own.", "Leave out --session and --deep.")
        from roundtable.cli.faults import check_and_show

        click.get_current_context().exit(check_and_show(as_json))
    if deep and not yes:
        note("Every seat gets one tiny question; seats behind a paid key cost a fraction of a cent each.")
        if not click.confirm("Ask them?", default=False, err=True):
            deep = False
    report = asyncio.run(examine(session=session, deep=deep))
    if as_json:
        show_json(report)
    else:
        for line in report_lines(report):
            click.echo(line)
    click.get_current_context().exit(report.exit_code)


def report_lines(report: Report) -> list[str]:
    """The report for people: a sign, what was looked at, what was found."""
    home, config, store = report.roundtable_home, report.config, report.store
    access = "readable and writable" if home.readable and home.writable else "not writable"
    record = f"{store.path}: {store.sessions} sessions, schema {store.schema}, {store.integrity}"
    if store.integrity == "absent":
        record = f"{store.path}: not there yet, made with the first session"
    lines = [
        _line(home.readable and home.writable, "home", f"{home.path}: {access}"),
        _line(config.ok, "config", config.note or "no mistakes found"),
        _line(store.ok, "record", record),
    ]
    if report.session_state != "skipped":
        lines.append(_line(report.session_state == "ok", "session", report.session_note))
    if not report.participants:
        lines.append(_line(False, "seats", "nobody can sit down yet"))
    for name, it in report.participants.items():
        words = it.status.replace("_", " ")
        lines.append(
            _line(it.status == "ok", f"seat {name}", f"{it.voice}: {words}{f'. {it.note}' if it.note else ''}")
        )
    extras = ", ".join(name for name, there in report.extras.items() if there) or "none"
    lines += [
        *_around(report),
        f"  python {report.python} on {report.platform}; extras: {extras}",
        f"  models: {', '.join(f'{name} ({state})' for name, state in report.models.items()) or 'none'}",
        *(f"→ {one_line(advice)}" for advice in report.advice),
        "All is well." if report.ok else "There is something to mend.",
    ]
    return lines


def _line(well: bool, what: str, found: str) -> str:
    return f"{'✓' if well else '✗'} {one_line(what)}: {one_line(found)}"


def _around(report: Report) -> list[str]:
    """What else is on this machine; nothing of it has to be there."""
    keys = f"  keys: {report.keys.stored} stored; new ones go to {_KEY_PLACES[report.keys.place]}"
    up = [f"{name} ({_counted(len(it.models))})" for name, it in report.services.items() if it.answers]
    return [
        f"  agents: {_listed([_program(name, it) for name, it in report.agents.items()])}",
        f"  sandboxes: {_listed([_program(name, it) for name, it in report.sandboxes.items()])}",
        f"  model servers: {_listed(up)}",
        _line(False, "keys", report.keys.note) if report.keys.note else keys,
    ]


def _listed(items: list[str]) -> str:
    return one_line(", ".join(items) or "none")


def _program(name: str, it: Program) -> str:
    version = it.version or "version unknown"
    tried = "" if it.tried in version else f"; tried with {it.tried}"
    return f"{name} ({version}{tried})"


def _counted(models: int) -> str:
    return "1 model" if models == 1 else f"{models} models"
