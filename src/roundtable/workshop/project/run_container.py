"""Runs a project by its compose file or Dockerfile, on an engine of this machine, once the scan has read them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from roundtable.core.effects import CheckOutcome, ProjectRan
from roundtable.core.sandbox import Bounds, Exit
from roundtable.workshop.identity import process_owned_name
from roundtable.workshop.project.run_plan import RunPlan
from roundtable.workshop.project.run_project import (
    CHECK_STEP,
    RUN_STEP,
    SERVICE_START_SECONDS,
    InterruptedRun,
    follow_run_until_exit,
    project_step_outcome,
)
from roundtable.workshop.sandbox import SandboxSettings
from roundtable.workshop.sandbox.compose_file import ComposeNames
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.image_build import (
    ImageBuild,
    build_and_run_image,
    compose_container_name,
    run_engine_commands,
)
from roundtable.workshop.sandbox.output_lines import LineCallback, OutputLines

SEVERAL_SERVICES_NOTE = "One service builds and runs reliably. Several that wait for each other may need your help."
_ENGINES = ("docker", "podman")
_LOOK = 0.2
"""Seconds between two looks whether a container is there."""
_TOO_SOON = "It ended before it could be asked."
_PLAN_LESS = RunPlan((), seconds=600.0)


async def find_allowed_container_engine(settings: SandboxSettings) -> ContainerEngine | str:
    """The first engine that answers of those the settings allow, or why there is none."""
    wrong: list[str] = []
    allowed = _ENGINES if settings.use == "auto" else (settings.use,)
    for name in (it for it in allowed if it in _ENGINES):
        engine = await ContainerEngine.find(name)
        if isinstance(engine, ContainerEngine):
            await engine.sweep()
            return engine
        wrong.append(engine)
    return " ".join(wrong) or "Containers are not used here: `[sandbox] use` says bubblewrap."


async def run_project_container(
    build: ImageBuild, plan: RunPlan | str, tell: LineCallback, stop: asyncio.Event
) -> ProjectRan:
    """Build and run it without a network. How it ends decides; of a service, what the check says inside it."""
    engine, name, said = build.engine, process_owned_name(), OutputLines(tell)
    plan = _PLAN_LESS if isinstance(plan, str) else plan
    asked_in = _asked_in(build.names, name)
    checks = [asyncio.create_task(_checked(engine, asked_in, plan.check, tell))] if plan.check else []
    run = build_and_run_image(build, Bounds(seconds=plan.seconds), name)
    end = await follow_run_until_exit(run, said, stop.wait(), *checks)
    checked = tuple(it.result() for it in checks if not it.cancelled())
    end = Exit(0, end.seconds) if checked and isinstance(end, InterruptedRun) else end
    if plan.check and not checked and end.code == 0:
        checked = (CheckOutcome(CHECK_STEP, plan.check, None, _TOO_SOON),)
    how, notes = ("dockerfile", ()) if build.names is None else ("compose", (SEVERAL_SERVICES_NOTE,))
    steps = (project_step_outcome(RUN_STEP, (engine.name, build.file), end, said), *checked)
    return ProjectRan(how, steps, notes=notes, sandbox=engine.name)


def _asked_in(names: ComposeNames | None, name: str) -> str:
    """The container that the check is run in: of a compose file, that of the first service which is built."""
    if names is None:
        return name
    service = next((it for it in names.services if it in names.built), next(iter(names.services), ""))
    return compose_container_name(name, service)


async def _checked(engine: ContainerEngine, container: str, check: Sequence[str], tell: LineCallback) -> CheckOutcome:
    """What the check says once the container is there, asked again for a while until it passes."""
    until: float | None = None
    while True:
        await asyncio.sleep(_LOOK)
        running = await engine.ask(("inspect", "--format", "{{.State.Running}}", container))
        if running.text != "true":
            continue
        until = until or time.monotonic() + SERVICE_START_SECONDS
        said = OutputLines(tell)
        end = await follow_run_until_exit(
            run_engine_commands(engine, [("exec", container, *check)], Bounds(seconds=SERVICE_START_SECONDS)), said
        )
        if end.code == 0 or time.monotonic() > until:
            return project_step_outcome(CHECK_STEP, check, end, said)
