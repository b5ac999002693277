"""Runs a project by its plan in the sandbox: on a copy, and a service together with the check that tests it.

What an install step fetched is packed inside the sandbox and unpacked inside the next one, never on this machine.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from roundtable.core.effects import CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Exit, Job, Output
from roundtable.workshop.project.run_plan import RunPlan
from roundtable.workshop.sandbox.output_lines import InstallOutputLines, LineCallback, OutputLines, ServiceOutputLines

RUN_STEP, CHECK_STEP, INSTALL_STEP = "run", "check", "install"
PROJECT_RUN_BOUNDS = Bounds(memory=1 << 30, processes=128)

_INSTALLED_ARCHIVE = ".roundtable-installed.tar"
_PACKAGES = ".roundtable-packages"
_INSTALL_SECONDS = 300.0
SERVICE_START_SECONDS = 15
"""Seconds in which a service must listen; after that it is checked anyway."""
_OTHER_PROGRAM_NAMES = {"python": "python3", "python3": "python", "pip": "pip3", "pip3": "pip"}

_INSTALL_SCRIPT = """
mark=$1
shift
"$@" || exit
printf '\\n%s\\n' "$mark"
exec tar -cf - . 2>/dev/null
"""
_RUN_SCRIPT = f"""
mark=$1 patience=$2 count=$3
shift 3
[ ! -f {_INSTALLED_ARCHIVE} ] || {{ tar -xf {_INSTALLED_ARCHIVE} && rm -f {_INSTALLED_ARCHIVE}; }} || exit 126
[ $# -gt "$count" ] || exec "$@"
(
    all=$# left=$count
    while [ "$left" -gt 0 ]; do
        first=$1
        shift
        set -- "$@" "$first"
        left=$((left - 1))
    done
    shift $((all - count))
    exec "$@"
) &
service=$!
shift "$count"
alive() {{ kill -0 $service 2>/dev/null; }}
listens() {{ grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null; }}
while [ "$patience" -gt 0 ] && alive && ! listens; do
    sleep 0.2
    patience=$((patience - 1))
done
ended=
alive || {{ wait $service; ended=$?; }}
[ "${{ended:-0}}" = 0 ] || exit "$ended"
printf '\\n%s check\\n' "$mark"
output=$(mktemp)
"$@" >"$output" 2>&1
checked=$?
if alive; then
    kill $service
    left=20
    while alive && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
elif [ -z "$ended" ]; then
    wait $service
    ended=$?
fi
printf '\\n%s checked %s %s\\n' "$mark" $checked "${{ended:-0}}"
cat "$output"
[ "$checked" = 0 ] || exit "$checked"
exit "${{ended:-0}}"
"""


class InterruptedRun(Exit, frozen=True):
    """A run that was ended early because something else had finished."""


async def run_project_plan(
    sandbox: Sandbox, tree: Path, plan: RunPlan, on_line: LineCallback, stop: asyncio.Event, *, install: bool = False
) -> tuple[CheckOutcome, ...]:
    """Run the steps of a plan and return how each ended. `on_line` gets every line at once; `stop` ends the run."""
    steps: list[CheckOutcome] = []
    if install:
        steps.append(await _run_install(sandbox, tree, plan, on_line, stop))
        if not steps[0].passed:
            return tuple(steps)
    return (*steps, *await _run_program(sandbox, tree, plan, on_line, stop))


async def forward_project_process_output(
    run: AsyncGenerator[Output | Exit], on_output: Callable[[bytes], None], *others: Awaitable[object]
) -> Exit:
    """Pass on the output of a run until it ends or one of the others is done; no part of the run is left then."""

    async def listen() -> Exit:
        async with aclosing(run):
            async for output in run:
                if isinstance(output, Exit):
                    return output
                on_output(output.data)
        raise AssertionError("The run ended without an exit event.")

    started_at = time.monotonic()
    listening, other_tasks = asyncio.create_task(listen()), [asyncio.ensure_future(other) for other in others]
    try:
        await asyncio.wait({listening, *other_tasks}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            return listening.result()
    finally:
        for task in (listening, *other_tasks):
            task.cancel()
        await asyncio.gather(listening, *other_tasks, return_exceptions=True)
    return InterruptedRun(None, time.monotonic() - started_at)


async def _run_install(
    sandbox: Sandbox, tree: Path, plan: RunPlan, on_line: LineCallback, stop: asyncio.Event
) -> CheckOutcome:
    """Run the install step, the only one with a network. What it fetched is its output and may be large."""
    mark, archive = _make_mark(), tree.with_name(_INSTALLED_ARCHIVE)
    bounds = msgspec.structs.replace(PROJECT_RUN_BOUNDS, seconds=_INSTALL_SECONDS, output=PROJECT_RUN_BOUNDS.disk)
    with archive.open("wb") as archive_file:
        output = InstallOutputLines(on_line, mark, archive_file)
        job = _make_job(
            tree, plan, (_INSTALL_SCRIPT, "sh", mark, *_with_local_program_name(plan.install)), (plan.install,), bounds
        )
        end = await forward_project_process_output(
            sandbox.run(msgspec.structs.replace(job, network=True)), output, stop.wait()
        )
    if end.code == 0 and output.packed:
        archive.rename(tree / _INSTALLED_ARCHIVE)
    return project_step_outcome(INSTALL_STEP, plan.install, end, output)


async def _run_program(
    sandbox: Sandbox, tree: Path, plan: RunPlan, on_line: LineCallback, stop: asyncio.Event
) -> tuple[CheckOutcome, ...]:
    """Run the program, and its check if it has one. The check counts only if the whole run ended consistently."""
    mark = _make_mark()
    output = ServiceOutputLines(on_line, mark)
    bounds = msgspec.structs.replace(PROJECT_RUN_BOUNDS, seconds=plan.seconds)
    run, check = _with_local_program_name(plan.run), _with_local_program_name(plan.check)
    script = (_RUN_SCRIPT, "sh", mark, str(SERVICE_START_SECONDS * 5), str(len(run)), *run, *check)
    end = await forward_project_process_output(
        sandbox.run(_make_job(tree, plan, script, (plan.run, plan.check), bounds)), output, stop.wait()
    )
    if not plan.check or not (output.begun or end.code == 0):
        return (project_step_outcome(RUN_STEP, plan.run, end, output),)
    ran = project_step_outcome(RUN_STEP, plan.run, Exit(output.ended, end.seconds), output)
    is_consistent = output.checked is not None and end.code == (output.checked or output.ended)
    check_exit = Exit(output.checked, output.seconds) if is_consistent else end
    return ran, project_step_outcome(CHECK_STEP, plan.check, check_exit, output.check)


def _make_job(tree: Path, plan: RunPlan, script: Sequence[str], starts: Sequence[Sequence[str]], bounds: Bounds) -> Job:
    """Wrap the plan's program in our script, to run on a copy of the tree, with the plan's variables."""
    packages = str(tree / _PACKAGES)
    variables = {"PYTHONUNBUFFERED": "1", "PIP_TARGET": packages, "PYTHONPATH": packages, **plan.env}
    argv = ("env", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", *script)
    programs = tuple(dict.fromkeys(_with_local_program_name(argv)[0] for argv in starts if argv))
    return Job(argv, str(tree), copied=True, bounds=bounds, programs=programs)


def _with_local_program_name(argv: Sequence[str]) -> tuple[str, ...]:
    """Replace the program by its name on this machine, which may lack one of two names for Python."""
    if not argv or argv[0] not in _OTHER_PROGRAM_NAMES or shutil.which(argv[0]):
        return tuple(argv)
    other = _OTHER_PROGRAM_NAMES[argv[0]]
    if shutil.which(other):
        return (other, *argv[1:])
    command = (sys.executable, "-m", "pip") if argv[0].startswith("pip") else (sys.executable,)
    return (*command, *argv[1:])


def project_step_outcome(name: str, argv: Sequence[str], end: Exit, output: OutputLines) -> CheckOutcome:
    """Return how a step ended and the end of its output."""
    return CheckOutcome(name, tuple(argv), end.code, output.text(end.stopped), round(end.seconds, 3), end.limit)


def _make_mark() -> str:
    return f"roundtable-{secrets.token_hex(8)}"
