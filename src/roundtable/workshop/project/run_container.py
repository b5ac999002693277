"""Runs a project by its compose file or Dockerfile on an engine of this machine, after the scan has accepted it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from roundtable.core.effects import CheckOutcome, ProjectRan
from roundtable.core.sandbox import Bounds, Exit
from roundtable.workshop.identity import make_temp_name_of_process
from roundtable.workshop.project.compose_file import ComposeNames
from roundtable.workshop.project.image_build import (
    ImageBuild,
    build_and_run_project_image,
    project_container_name,
    run_project_container_commands,
)
from roundtable.workshop.project.run_plan import RunPlan
from roundtable.workshop.project.run_project import (
    CHECK_STEP,
    RUN_STEP,
    SERVICE_START_SECONDS,
    InterruptedRun,
    forward_project_process_output,
    project_step_outcome,
)
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.output_lines import LineCallback, OutputLines

SEVERAL_SERVICES_NOTE = (
    "A compose file with one service runs reliably. Services that wait for each other may need your help."
)
_POLL_SECONDS = 0.2
"""Seconds between two looks whether the container is running."""
_ENDED_BEFORE_CHECK = "The program ended before the check could run."
_DEFAULT_PLAN = RunPlan((), seconds=600.0)


async def run_project_container(
    build: ImageBuild, plan: RunPlan | str, on_line: LineCallback, stop: asyncio.Event
) -> ProjectRan:
    """Build and run the project without a network.

    The exit code decides; for a service, the check that is run inside the container.
    """
    engine, name, output = build.engine, make_temp_name_of_process(), OutputLines(on_line)
    plan = _DEFAULT_PLAN if isinstance(plan, str) else plan
    container = _container_to_check(build.names, name)
    checks = [asyncio.create_task(_check_service(engine, container, plan.check, on_line))] if plan.check else []
    run = build_and_run_project_image(build, Bounds(seconds=plan.seconds), name)
    end = await forward_project_process_output(run, output, stop.wait(), *checks)
    check_outcomes = tuple(task.result() for task in checks if not task.cancelled())
    end = Exit(0, end.seconds) if check_outcomes and isinstance(end, InterruptedRun) else end
    if plan.check and not check_outcomes and end.code == 0:
        check_outcomes = (CheckOutcome(CHECK_STEP, plan.check, None, _ENDED_BEFORE_CHECK),)
    method, notes = ("dockerfile", ()) if build.names is None else ("compose", (SEVERAL_SERVICES_NOTE,))
    steps = (project_step_outcome(RUN_STEP, (engine.name, build.file), end, output), *check_outcomes)
    return ProjectRan(method, steps, notes=notes, sandbox=engine.name)


def _container_to_check(compose: ComposeNames | None, name: str) -> str:
    """Return the container to run the check in: for a compose file, the first service that is built."""
    if compose is None:
        return name
    service = next((name for name in compose.services if name in compose.built), next(iter(compose.services), ""))
    return project_container_name(name, service)


async def _check_service(
    engine: ContainerEngine, container: str, check: Sequence[str], on_line: LineCallback
) -> CheckOutcome:
    """Run the check as soon as the container is running, and repeat it until it passes or time is up."""
    deadline: float | None = None
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        running = await engine.run_command(("inspect", "--format", "{{.State.Running}}", container))
        if running.text != "true":
            continue
        deadline = deadline or time.monotonic() + SERVICE_START_SECONDS
        output = OutputLines(on_line)
        end = await forward_project_process_output(
            run_project_container_commands(
                engine, [("exec", container, *check)], Bounds(seconds=SERVICE_START_SECONDS)
            ),
            output,
        )
        if end.code == 0 or time.monotonic() > deadline:
            return project_step_outcome(CHECK_STEP, check, end, output)
