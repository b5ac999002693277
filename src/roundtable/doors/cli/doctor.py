"""`doctor`: check the setup and every seat; `doctor --faults` checks how voices report failures."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import pluralize
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk
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
"""Exit code if a voice reports a failure wrongly, which is a bug of ours."""


def _run_fault_check(as_json: bool) -> int:
    """Check how every voice reports failures and print the results; returns the exit code."""
    report = run_cli_command_at_desk(_check_faults)
    if as_json:
        print_json(report)
    else:
        _print_fault_report(report)
    return 0 if report.ok else FAULT_CHECK_FAILED


async def _check_faults(desk: Roundtable) -> FaultReport:
    print_note("Testing how each kind of voice reports failures. A local server simulates the failures.")
    if agents := desk.setup.list_agents_to_check():
        print_note(f"Each of these agents takes one or two minutes: {', '.join(agents)}.")
    return await desk.setup.check_faults(_print_finding)


def _print_finding(finding: Finding) -> None:
    sign = "✓" if finding.passed else "✗"
    print_note(f"{sign} {finding.voice}: {finding.fault} → {finding.told} ({finding.seconds:.1f} s)")


def _print_fault_report(report: FaultReport) -> None:
    voices = list(dict.fromkeys(finding.voice for finding in report.findings))
    faults = list(dict.fromkeys(finding.fault for finding in report.findings))
    cells = {(finding.fault, finding.voice): "pass" if finding.passed else "FAIL" for finding in report.findings}
    print_table(
        ("fault", *voices), [[fault, *(cells.get((fault, voice), "–") for voice in voices)] for fault in faults]
    )
    for finding in report.findings:
        if not finding.passed:
            print_note(f"✗ {finding.voice}, {finding.fault}: {sanitize_line(finding.note)}")
    for name, reason in report.skipped.items():
        print_note(f"  {name} was not checked: {reason}.")
    print_note("Every voice reports failures correctly." if report.ok else "Some voices report a failure wrongly.")


_KEY_PLACES = {"keychain": "the system's keychain", "file": "an encrypted file"}


@click.command()
@click.option("--session", default="", metavar="SESSION", help="Also check the stored events of this session.")
@click.option("--deep", is_flag=True, help="Ask every seat one short question; this may cost a little money.")
@click.option(
    "--faults", is_flag=True, help="Only test how voices report failures, with a local server that simulates them."
)
@click.option("--yes", is_flag=True, help="Run --deep without asking for confirmation; required without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(session: str, deep: bool, faults: bool, yes: bool, as_json: bool) -> None:
    """Check folders, config, stored sessions, seats and installed programs.

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
            raise UsageError(
                "--faults cannot be combined with --session or --deep.", "Run `roundtable doctor --faults` separately."
            )

        click.get_current_context().exit(_run_fault_check(as_json))
    if deep and not yes:
        deep = _confirm_deep_check()
    report = asyncio.run(Setup.here().examine(session=session, on_check=_print_voice_check if deep else None))
    if as_json:
        print_json(report)
    else:
        for line in _render_doctor_report(report):
            click.echo(wrap_for_terminal(line, sys.stdout))
    click.get_current_context().exit(report.exit_code)


def _confirm_deep_check() -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "--deep asks for confirmation, but there is no terminal.", "Add --yes to run it without asking."
        )
    print_note("Every seat is asked one short question. A seat that uses a paid key costs a fraction of a cent.")
    return click.confirm("Ask the seats?", default=False, err=True)


def _print_voice_check(seat: str, check: VoiceCheck) -> None:
    """Print a line as soon as a voice has answered."""
    print_note(_report_line(_check_sign(check.status == "ok"), f"seat {seat}", _describe_voice(check)))


def _render_doctor_report(report: DoctorReport) -> list[str]:
    """Render the report as lines: a sign, what was checked, what was found."""
    home, config, store = report.roundtable_home, report.config, report.store
    access = "readable and writable" if home.readable and home.writable else "not writable"
    record = f"{store.path}: {pluralize(store.sessions, 'session')}, schema {store.schema}, {store.integrity}"
    if store.integrity == "absent":
        record = f"{store.path}: missing; the first session creates it"
    lines = [
        _report_line(_check_sign(home.readable and home.writable), "home", f"{home.path}: {access}"),
        _report_line(_check_sign(config.ok), "config", config.note or "no errors found"),
        _report_line(_check_sign(store.ok), "record", record),
    ]
    if report.session_state != "skipped":
        lines.append(_report_line(_check_sign(report.session_state == "ok"), "session", report.session_note))
    if not report.participants:
        reason = (
            "no seats are available yet" if config.ok and store.ok else "not checked until the problems above are fixed"
        )
        lines.append(_report_line("✗", "seats", reason))
    lines += [line for name, seat in report.participants.items() for line in _seat_lines(name, seat)]
    extras = ", ".join(name for name, is_installed in report.extras.items() if is_installed) or "none"
    lines += [
        *_machine_lines(report),
        f"  python {report.python} on {report.platform}; extras: {extras}",
        f"  models: {', '.join(f'{name} ({state})' for name, state in report.models.items()) or 'none'}",
        *(f"→ {sanitize_line(advice)}" for advice in report.advice),
        _summary_line(report),
    ]
    return lines


def _summary_line(report: DoctorReport) -> str:
    if not report.ok:
        return "Problems found."
    if report.deep:
        return "No problems found."
    return "No problems found. No model was asked; `roundtable doctor --deep` asks every seat a question."


def _seat_lines(name: str, seat: Participant) -> list[str]:
    """One line per voice; a voice that fails is harmless if another one of the seat works."""
    harm = "–" if seat.status == "ok" else "✗"
    lines = [
        _report_line("✓" if voice.status == "ok" else harm, f"seat {name}", _describe_voice(voice))
        for voice in seat.voices
    ]
    if judge := seat.judge:
        lines.append(
            _report_line("✓" if judge.status == "ok" else "–", f"seat {name} as a judge", _describe_voice(judge))
        )
    return lines


def _describe_voice(check: VoiceCheck) -> str:
    trouble = [] if check.status == "ok" else [check.status.replace("_", " ")]
    parts = ". ".join(filter(None, [*trouble, check.note]))
    return f"{check.voice}: {parts}" if check.voice else parts


def _report_line(sign: str, subject: str, result: str) -> str:
    return f"{sign} {sanitize_line(subject)}: {sanitize_line(result)}"


def _check_sign(well: bool) -> str:
    return "✓" if well else "✗"


def _machine_lines(report: DoctorReport) -> list[str]:
    """Lines about optional parts of this machine."""
    keys = f"  keys: {report.keys.stored} stored; new keys go to {_KEY_PLACES[report.keys.place]}"
    agents = [_describe_program(name, program) for name, program in report.agents.items()]
    sandboxes = [_describe_program(name, program) for name, program in report.sandboxes.items()]
    up = [
        f"{name} ({pluralize(len(server.models), 'model')})"
        for name, server in report.services.items()
        if server.answers
    ]
    return [
        f"  agents: {_join_or_none(agents)}",
        f"  sandboxes: {_join_or_none(sandboxes)}",
        *_sandbox_lines(report.isolation),
        f"  model servers: {_join_or_none(up)}",
        _report_line("✗", "keys", report.keys.note) if report.keys.note else keys,
    ]


def _sandbox_lines(isolation: Isolation) -> list[str]:
    """Lines about the sandbox in use and the escape attempts against it."""
    if isolation.missing:
        sandbox = f"[sandbox] use = {isolation.chosen}, which is not available" if isolation.chosen else "none"
        sign = " " if isolation.ok else _check_sign(False)
        return [_report_line(sign, "sandbox", f"{sandbox}, so checks and candidates cannot run. {isolation.missing}")]
    tried = len(isolation.held) + len(isolation.broken) + len(isolation.exceeded)
    lines = [
        _report_line(_check_sign(False), "sandbox", f"escape attempt {name} succeeded: {how}")
        for name, how in isolation.broken.items()
    ]
    lines += [
        _report_line("–", "sandbox", f"escape attempt {name} succeeded: {how}; this limit is not enforced here")
        for name, how in isolation.exceeded.items()
    ]
    lines += [
        _report_line("–", "sandbox", f"escape attempt {name} could not be made: {reason}")
        for name, reason in isolation.untried.items()
    ]
    summary = f"{isolation.sandbox}; {len(isolation.held)} of {tried} escape attempts blocked"
    sign = "–" if isolation.unenforced and not isolation.broken else _check_sign(not isolation.broken)
    return [*lines, _report_line(sign, "sandbox", summary)]


def _join_or_none(items: list[str]) -> str:
    return sanitize_line(", ".join(items) or "none")


def _describe_program(name: str, program: Program) -> str:
    version = program.version or "version unknown"
    tried = "" if program.tried in version else f"; tested with {program.tried}"
    return f"{name} ({version}{tried})"
