"""Runs a project as its plan says: a copy of its own in the sandbox, a service together with the check that asks it.

What an install step fetched is packed up inside the sandbox and unpacked inside the next one: nothing of it is ever
unpacked on this machine.
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

_INSTALLED = ".roundtable-installed.tar"
_PACKAGES = ".roundtable-packages"
_INSTALL_SECONDS = 300.0
SERVICE_START_SECONDS = 15
"""Seconds until a service must listen; one that never does is asked all the same."""
_SAME = {"python": "python3", "python3": "python", "pip": "pip3", "pip3": "pip"}

_INSTALLING = """
mark=$1
shift
"$@" || exit
printf '\\n%s\\n' "$mark"
exec tar -cf - . 2>/dev/null
"""
_RUNNING = f"""
mark=$1 patience=$2 count=$3
shift 3
[ ! -f {_INSTALLED} ] || {{ tar -xf {_INSTALLED} && rm -f {_INSTALLED}; }} || exit 126
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
said=$(mktemp)
"$@" >"$said" 2>&1
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
cat "$said"
[ "$checked" = 0 ] || exit "$checked"
exit "${{ended:-0}}"
"""


class InterruptedRun(Exit, frozen=True):
    """A run that did not come to its own end, since something else was done before."""


async def run_project_plan(
    sandbox: Sandbox, tree: Path, plan: RunPlan, tell: LineCallback, stop: asyncio.Event, *, install: bool = False
) -> tuple[CheckOutcome, ...]:
    """How each step ended, those that came to be run; `tell` hears every line as it comes, and `stop` ends it."""
    steps: list[CheckOutcome] = []
    if install:
        steps.append(await _installed(sandbox, tree, plan, tell, stop))
        if not steps[0].passed:
            return tuple(steps)
    return (*steps, *await _ran(sandbox, tree, plan, tell, stop))


async def follow_run_until_exit(
    run: AsyncGenerator[Output | Exit], hear: Callable[[bytes], None], *until: Awaitable[object]
) -> Exit:
    """Hear a run to its end, or until one of the others is done; nothing of it runs any more when this returns."""

    async def listen() -> Exit:
        async with aclosing(run):
            async for it in run:
                if isinstance(it, Exit):
                    return it
                hear(it.data)
        raise AssertionError("A run ends in an Exit.")

    began = time.monotonic()
    listening, others = asyncio.create_task(listen()), [asyncio.ensure_future(it) for it in until]
    try:
        await asyncio.wait({listening, *others}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            return listening.result()
    finally:
        for task in (listening, *others):
            task.cancel()
        await asyncio.gather(listening, *others, return_exceptions=True)
    return InterruptedRun(None, time.monotonic() - began)


async def _installed(
    sandbox: Sandbox, tree: Path, plan: RunPlan, tell: LineCallback, stop: asyncio.Event
) -> CheckOutcome:
    """The install step, the only one with a network. What it fetched comes as its output, which may be as much."""
    mark, archive = _mark(), tree.with_name(_INSTALLED)
    bounds = msgspec.structs.replace(PROJECT_RUN_BOUNDS, seconds=_INSTALL_SECONDS, output=PROJECT_RUN_BOUNDS.disk)
    with archive.open("wb") as into:
        said = InstallOutputLines(tell, mark, into)
        job = _job(tree, plan, (_INSTALLING, "sh", mark, *_here(plan.install)), (plan.install,), bounds)
        end = await follow_run_until_exit(sandbox.run(msgspec.structs.replace(job, network=True)), said, stop.wait())
    if end.code == 0 and said.packed:
        archive.rename(tree / _INSTALLED)
    return project_step_outcome(INSTALL_STEP, plan.install, end, said)


async def _ran(
    sandbox: Sandbox, tree: Path, plan: RunPlan, tell: LineCallback, stop: asyncio.Event
) -> tuple[CheckOutcome, ...]:
    """The program, and its check if it has one. What is said of the check counts where all of it ended that way."""
    mark = _mark()
    said = ServiceOutputLines(tell, mark)
    bounds = msgspec.structs.replace(PROJECT_RUN_BOUNDS, seconds=plan.seconds)
    run, check = _here(plan.run), _here(plan.check)
    words = (_RUNNING, "sh", mark, str(SERVICE_START_SECONDS * 5), str(len(run)), *run, *check)
    end = await follow_run_until_exit(
        sandbox.run(_job(tree, plan, words, (plan.run, plan.check), bounds)), said, stop.wait()
    )
    if not plan.check or not (said.begun or end.code == 0):
        return (project_step_outcome(RUN_STEP, plan.run, end, said),)
    ran = project_step_outcome(RUN_STEP, plan.run, Exit(said.ended, end.seconds), said)
    believed = said.checked is not None and end.code == (said.checked or said.ended)
    asked = Exit(said.checked, said.seconds) if believed else end
    return ran, project_step_outcome(CHECK_STEP, plan.check, asked, said.check)


def _job(tree: Path, plan: RunPlan, script: Sequence[str], starts: Sequence[Sequence[str]], bounds: Bounds) -> Job:
    """A script of ours around what the plan names: a copy of the tree, and the plan's variables."""
    packages = str(tree / _PACKAGES)
    variables = {"PYTHONUNBUFFERED": "1", "PIP_TARGET": packages, "PYTHONPATH": packages, **plan.env}
    argv = ("env", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", *script)
    programs = tuple(dict.fromkeys(_here(it)[0] for it in starts if it))
    return Job(argv, str(tree), copied=True, bounds=bounds, programs=programs)


def _here(argv: Sequence[str]) -> tuple[str, ...]:
    """The same with the name that the program has on this machine, which may lack one of Python's two names."""
    if not argv or argv[0] not in _SAME or shutil.which(argv[0]):
        return tuple(argv)
    other = _SAME[argv[0]]
    if shutil.which(other):
        return (other, *argv[1:])
    own = (sys.executable, "-m", "pip") if argv[0].startswith("pip") else (sys.executable,)
    return (*own, *argv[1:])


def project_step_outcome(name: str, argv: Sequence[str], end: Exit, said: OutputLines) -> CheckOutcome:
    """How a step ended and the last of what it said."""
    return CheckOutcome(name, tuple(argv), end.code, said.text(end.stopped), round(end.seconds, 3), end.limit)


def _mark() -> str:
    return f"roundtable-{secrets.token_hex(8)}"
