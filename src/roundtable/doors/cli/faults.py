"""`doctor --faults`: what every kind of voice makes of every fault, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.text.sanitize import one_line
from roundtable.doors.cli.output import at_desk, note
from roundtable.doors.cli.tables import show_json, show_table

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.app.machine.fault_check import FaultReport, Finding

FAILED = 1
"""A voice that does not tell the truth about a fault is a fault of ours."""


def check_and_show(as_json: bool) -> int:
    """Check every voice, telling of each step on standard error, and print the table; the exit code comes back."""
    report = at_desk(_check)
    if as_json:
        show_json(report)
    else:
        _show(report)
    return 0 if report.ok else FAILED


async def _check(desk: Roundtable) -> FaultReport:
    from roundtable.app.machine.fault_check import agents_here, check_faults

    note("Every kind of voice meets every fault of a server on this machine.")
    if agents := [f"{way}:{agent.name}" for way, agent in agents_here(desk)]:
        note(f"Agents take a minute or two each: {', '.join(agents)}.")
    return await check_faults(desk, _tell)


def _tell(finding: Finding) -> None:
    sign = "✓" if finding.passed else "✗"
    note(f"{sign} {finding.voice}: {finding.fault} → {finding.told} ({finding.seconds:.1f} s)")


def _show(report: FaultReport) -> None:
    voices = list(dict.fromkeys(it.voice for it in report.findings))
    faults = list(dict.fromkeys(it.fault for it in report.findings))
    cells = {(it.fault, it.voice): "pass" if it.passed else "FAIL" for it in report.findings}
    show_table(("fault", *voices), [[fault, *(cells.get((fault, voice), "–") for voice in voices)] for fault in faults])
    for it in report.findings:
        if not it.passed:
            note(f"✗ {it.voice}, {it.fault}: {one_line(it.note)}")
    for name, why in report.skipped.items():
        note(f"  {name} was not checked: {why}.")
    note("Every voice tells the truth." if report.ok else "Some voices do not tell the truth about a fault.")
