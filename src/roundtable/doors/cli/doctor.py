"""`doctor`: is everything in order, and if not, what to mend.

`doctor --faults`: what every kind of voice makes of every fault, as a table.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import pluralize
from roundtable.doors.cli.output import print_note, run_at_desk
from roundtable.doors.cli.stderr import wrap_for_terminal
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import (
        DoctorReport,
        FaultReport,
        Finding,
        Isolation,
        Participant,
        Program,
        Roundtable,
        VoiceCheck,
    )


FAULT_CHECK_FAILED = 1
"""A voice that does not tell the truth about a fault is a fault of ours."""


def run_fault_check(as_json: bool) -> int:
    """Check every voice, telling of each step on standard error, and print the table; the exit code comes back."""
    report = run_at_desk(_check)
    if as_json:
        print_json(report)
    else:
        _show(report)
    return 0 if report.ok else FAULT_CHECK_FAILED


async def _check(desk: Roundtable) -> FaultReport:
    print_note("Every kind of voice is tested against every failure of a local server.")
    if agents := desk.setup.list_agents_to_check():
        print_note(f"Agents take one or two minutes each: {', '.join(agents)}.")
    return await desk.setup.check_faults(_show_fault_table)


def _show_fault_table(finding: Finding) -> None:
    sign = "✓" if finding.passed else "✗"
    print_note(f"{sign} {finding.voice}: {finding.fault} → {finding.told} ({finding.seconds:.1f} s)")


def _show(report: FaultReport) -> None:
    voices = list(dict.fromkeys(it.voice for it in report.findings))
    faults = list(dict.fromkeys(it.fault for it in report.findings))
    cells = {(it.fault, it.voice): "pass" if it.passed else "FAIL" for it in report.findings}
    print_table(
        ("fault", *voices), [[fault, *(cells.get((fault, voice), "–") for voice in voices)] for fault in faults]
    )
    for it in report.findings:
        if not it.passed:
            print_note(f"✗ {it.voice}, {it.fault}: {sanitize_line(it.note)}")
    for name, why in report.skipped.items():
        print_note(f"  {name} was not checked: {why}.")
    print_note("Every voice reports failures correctly." if report.ok else "Some voices report a failure wrongly.")


_KEY_PLACES = {"keychain": "the system's keychain", "file": "an encrypted file"}


@click.command()
@click.option("--session", default="", metavar="SESSION", help="Also check this session's record.")
@click.option("--deep", is_flag=True, help="Ask every seat one tiny question; this may cost a little money.")
@click.option("--faults", is_flag=True, help="Test only how voices report failures, with a local server.")
@click.option("--yes", is_flag=True, help="Do not ask before --deep; required without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(session: str, deep: bool, faults: bool, yes: bool, as_json: bool) -> None:
    """Check folders, config, record, seats and installed programs.

    Without --deep, no model is asked. The sandbox in use is tested with escape attempts. With --deep,
    it is also asked for more memory, processes, disk space and time than it allows, and each seat's
    voices are asked in order until one answers.

    With --faults, no model is asked either: every API dialect and every installed agent is connected
    to a local server that fails in many ways, and must report each failure correctly.

    Exit codes: 0 no problems, 1 the record is unusable or, with --faults, a voice reports a failure
    wrongly, 2 another problem: a seat, the config, a folder.

    \b
    Examples:
      roundtable doctor
      roundtable doctor --session architecture --json
      roundtable doctor --deep
    """
    from roundtable.app.desk import Setup

    if faults:
        if session or deep:
            raise UsageError("--faults cannot be combined with --session or --deep.", "Run it alone.")

        click.get_current_context().exit(run_fault_check(as_json))
    if deep and not yes:
        deep = _may_ask()
    report = asyncio.run(Setup.here().examine(session=session, told=_tell if deep else None))
    if as_json:
        print_json(report)
    else:
        for line in render_doctor_report(report):
            click.echo(wrap_for_terminal(line, sys.stdout))
    click.get_current_context().exit(report.exit_code)


def _may_ask() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("--deep asks before it spends anything, and there is no terminal to answer at.", "Add --yes.")
    print_note("Every seat is asked one tiny question; a seat with a paid key costs a fraction of a cent.")
    return click.confirm("Ask the seats?", default=False, err=True)


def _tell(seat: str, check: VoiceCheck) -> None:
    """A line as each voice answers; one may take a minute."""
    print_note(_line(_sign(check.status == "ok"), f"seat {seat}", _voice(check)))


def render_doctor_report(report: DoctorReport) -> list[str]:
    """The report for people: a sign, what was looked at, what was found."""
    home, config, store = report.roundtable_home, report.config, report.store
    access = "readable and writable" if home.readable and home.writable else "not writable"
    record = f"{store.path}: {pluralize(store.sessions, 'session')}, schema {store.schema}, {store.integrity}"
    if store.integrity == "absent":
        record = f"{store.path}: missing; created by the first session"
    lines = [
        _line(_sign(home.readable and home.writable), "home", f"{home.path}: {access}"),
        _line(_sign(config.ok), "config", config.note or "no errors found"),
        _line(_sign(store.ok), "record", record),
    ]
    if report.session_state != "skipped":
        lines.append(_line(_sign(report.session_state == "ok"), "session", report.session_note))
    if not report.participants:
        why = (
            "no seats are available yet" if config.ok and store.ok else "not checked until the problems above are fixed"
        )
        lines.append(_line("✗", "seats", why))
    lines += [line for name, it in report.participants.items() for line in _seat(name, it)]
    extras = ", ".join(name for name, there in report.extras.items() if there) or "none"
    lines += [
        *_around(report),
        f"  python {report.python} on {report.platform}; extras: {extras}",
        f"  models: {', '.join(f'{name} ({state})' for name, state in report.models.items()) or 'none'}",
        *(f"→ {sanitize_line(advice)}" for advice in report.advice),
        _verdict(report),
    ]
    return lines


def _verdict(report: DoctorReport) -> str:
    if not report.ok:
        return "Problems found."
    if report.deep:
        return "No problems found."
    return "No problems found without asking a model; `roundtable doctor --deep` asks every seat."


def _seat(name: str, seat: Participant) -> list[str]:
    """A line for each voice; one that cannot speak is no harm where another of the chain can."""
    harm = "–" if seat.status == "ok" else "✗"
    lines = [_line("✓" if it.status == "ok" else harm, f"seat {name}", _voice(it)) for it in seat.voices]
    if judge := seat.judge:
        lines.append(_line("✓" if judge.status == "ok" else "–", f"seat {name} as a judge", _voice(judge)))
    return lines


def _voice(check: VoiceCheck) -> str:
    trouble = [] if check.status == "ok" else [check.status.replace("_", " ")]
    found = ". ".join(filter(None, [*trouble, check.note]))
    return f"{check.voice}: {found}" if check.voice else found


def _line(sign: str, what: str, found: str) -> str:
    return f"{sign} {sanitize_line(what)}: {sanitize_line(found)}"


def _sign(well: bool) -> str:
    return "✓" if well else "✗"


def _around(report: DoctorReport) -> list[str]:
    """What else is on this machine; nothing of it has to be there."""
    keys = f"  keys: {report.keys.stored} stored; new keys go to {_KEY_PLACES[report.keys.place]}"
    up = [f"{name} ({pluralize(len(it.models), 'model')})" for name, it in report.services.items() if it.answers]
    return [
        f"  agents: {_listed([_program(name, it) for name, it in report.agents.items()])}",
        f"  sandboxes: {_listed([_program(name, it) for name, it in report.sandboxes.items()])}",
        *_isolation(report.isolation),
        f"  model servers: {_listed(up)}",
        _line("✗", "keys", report.keys.note) if report.keys.note else keys,
    ]


def _isolation(isolation: Isolation) -> list[str]:
    """Which sandbox is in force, and what came of trying to break out of it."""
    if isolation.missing:
        found = f"[sandbox] use = {isolation.chosen}, which is not available" if isolation.chosen else "none"
        sign = " " if isolation.ok else _sign(False)
        return [_line(sign, "sandbox", f"{found}, so checks and candidates cannot run. {isolation.missing}")]
    tried = len(isolation.held) + len(isolation.broken)
    lines = [
        _line(_sign(False), "sandbox", f"escape attempt {name} succeeded: {how}")
        for name, how in isolation.broken.items()
    ]
    lines += [
        _line("–", "sandbox", f"escape attempt {name} could not be made: {why}")
        for name, why in isolation.untried.items()
    ]
    held = f"{isolation.sandbox}; {len(isolation.held)} of {tried} escape attempts blocked"
    return [*lines, _line(_sign(not isolation.broken), "sandbox", held)]


def _listed(items: list[str]) -> str:
    return sanitize_line(", ".join(items) or "none")


def _program(name: str, it: Program) -> str:
    version = it.version or "version unknown"
    tried = "" if it.tried in version else f"; tested with {it.tried}"
    return f"{name} ({version}{tried})"
