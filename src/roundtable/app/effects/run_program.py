"""Runs a whole project: by its compose file or Dockerfile if a container engine answers, otherwise by its run plan.

The output is published to the live feed while the project runs, and never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.app.parts import FindSandbox
from roundtable.core.effects import CheckOutcome, ProjectRan, RunProject
from roundtable.core.events import CancelAsked, Delta, StopAsked
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.text.redaction import RedactedStream
from roundtable.core.text.sanitize import sanitize_text
from roundtable.engine.feed import Feed
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.project.image_build import ImageBuild, find_project_container_file, plan_project_image_build
from roundtable.workshop.project.run_container import run_project_container
from roundtable.workshop.project.run_plan import RunPlan, choose_project_run_plan
from roundtable.workshop.project.run_project import run_project_plan
from roundtable.workshop.repo.scratch_trees import (
    create_scratch_working_tree,
    list_working_tree_files,
    open_scratch_working_trees,
)
from roundtable.workshop.sandbox import SandboxSettings
from roundtable.workshop.sandbox.selection import find_sandbox_container_engine
from roundtable.workshop.trial.listed_checks import sanitize_trial_check_outcome


class StepOutput:
    """Publishes the output of one step to the live feed, under the name of the step instead of a seat."""

    def __init__(self, feed: Feed, key: str) -> None:
        self._feed = feed
        self._session, _, self._step = key.partition("/")
        self._words = RedactedStream(feed.redactor)
        self._offset = 0

    def __call__(self, line: str) -> None:
        """Publish one line."""
        if text := self._words.feed(f"{sanitize_text(line)}\n"):
            self._feed.publish(Delta(self._session, self._step, "", self._step, self._offset, text))
            self._offset += len(text)


_MAX_TEXT_BYTES = 1_000_000


class LaidOutProject(NamedTuple):
    """A project written to a scratch folder, its text files by path, and its run plan or the reason there is none."""

    tree: Path
    texts: dict[str, str]
    plan: RunPlan | str


class ProjectRunner:
    """Runs projects in the sandbox of a desk. A person can stop a run from here or from another process."""

    def __init__(self, store: Store, feed: Feed, sandbox: SandboxSettings, find_sandbox: FindSandbox) -> None:
        self._store = store
        self._drafts = DraftStore(store)
        self._feed = feed
        self._settings = sandbox
        self._find_sandbox = find_sandbox

    async def run(self, key: str, root: Path, effect: RunProject) -> ProjectRan:
        """Write the project to a scratch folder, run it and return the results; the folder is always deleted."""
        files = await self._drafts.load_files(effect.draft)
        session, _, step = key.partition("/")
        async with open_scratch_working_trees() as folder, self._listen_for_stop(session, step) as stop:
            tree = folder / "project"
            paths = await asyncio.to_thread(list_working_tree_files, root)
            await asyncio.to_thread(create_scratch_working_tree, root, tree, files, paths)
            texts = await asyncio.to_thread(_read_texts, tree)
            project = LaidOutProject(tree, texts, choose_project_run_plan(texts))
            result = await self._run_project(project, effect, StepOutput(self._feed, key), stop)
        steps = tuple(sanitize_trial_check_outcome(outcome, self._feed.redactor) for outcome in result.steps)
        return msgspec.structs.replace(result, steps=steps, stopped=stop.is_set())

    async def _run_project(
        self, project: LaidOutProject, effect: RunProject, tell: StepOutput, stop: asyncio.Event
    ) -> ProjectRan:
        notes = list[str]()
        if find_project_container_file(project.texts):
            engine = await find_sandbox_container_engine(self._settings)
            build = engine if isinstance(engine, str) else await plan_project_image_build(engine, project.texts)
            if isinstance(build, ImageBuild):
                return await run_project_container(build, project.plan, tell, stop)
            if not isinstance(engine, str) or isinstance(project.plan, str):
                notes.append(build)
        if isinstance(project.plan, str):
            return ProjectRan(why=project.plan, notes=tuple(notes))
        return await self._run_by_plan(project, project.plan, effect, tell, stop, notes)

    async def _run_by_plan(
        self,
        project: LaidOutProject,
        plan: RunPlan,
        effect: RunProject,
        tell: StepOutput,
        stop: asyncio.Event,
        notes: list[str],
    ) -> ProjectRan:
        sandbox = await self._find_sandbox()
        if isinstance(sandbox, str):
            return ProjectRan(why=sandbox, notes=tuple(notes))
        install = bool(plan.install) and plan.install == effect.install
        notes += [plan.guess] if plan.guess else []
        steps: tuple[CheckOutcome, ...] = ()
        if not stop.is_set():
            steps = await run_project_plan(sandbox, project.tree, plan, tell, stop, install=install)
        wants = () if install else plan.install
        return ProjectRan("plan", steps, notes=tuple(notes), wants_install=wants, sandbox=sandbox.name)

    @asynccontextmanager
    async def _listen_for_stop(self, session: str, step: str) -> AsyncGenerator[asyncio.Event]:
        """Yield an event that is set when a person stops this run or did so before a restart."""
        stop = asyncio.Event()
        reader = self._feed.subscribe(session)

        async def listen() -> None:
            async for batch in reader.batches():
                if any(isinstance(getattr(entry, "event", None), StopAsked | CancelAsked) for entry in batch):
                    stop.set()

        listening = asyncio.create_task(listen())
        try:
            state = Session.fold(session, await self._store.read(session))
            if step in state.stop_requested or state.cancel is not None:
                stop.set()
            yield stop
        finally:
            self._feed.unsubscribe(session, reader)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


def _read_texts(tree: Path) -> dict[str, str]:
    """Return the text files by path, without links and files that are too large."""
    texts: dict[str, str] = {}
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_TEXT_BYTES:
            continue
        try:
            texts[path.relative_to(tree).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return texts
