"""Runs a whole project: by its compose file or Dockerfile where an engine answers, else as its own plan says.

What runs in the sandbox is told while it runs: shown to who watches, and never stored.
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
from roundtable.workshop.project.run_container import find_allowed_container_engine, run_project_container
from roundtable.workshop.project.run_plan import RunPlan, choose_project_run_plan
from roundtable.workshop.project.run_project import run_project_plan
from roundtable.workshop.repo.scratch_trees import create_scratch_tree, list_tree_files, open_scratch_folder
from roundtable.workshop.sandbox import SandboxSettings
from roundtable.workshop.sandbox.image_build import ImageBuild, find_container_file, plan_image_build
from roundtable.workshop.trial.listed_checks import sanitize_check_outcome


class StepOutput:
    """The words of one step, under its name and no seat's."""

    def __init__(self, feed: Feed, key: str) -> None:
        self._feed = feed
        self._session, _, self._step = key.partition("/")
        self._words = RedactedStream(feed.redactor)
        self._offset = 0

    def __call__(self, line: str) -> None:
        """Tell one line more."""
        if told := self._words.feed(f"{sanitize_text(line)}\n"):
            self._feed.publish(Delta(self._session, self._step, "", self._step, self._offset, told))
            self._offset += len(told)


_LARGEST = 1_000_000


class LaidOutProject(NamedTuple):
    """A project laid out in a folder of its own; what of it is text, by path; and how it is to be run."""

    tree: Path
    texts: dict[str, str]
    plan: RunPlan | str


class ProjectRunner:
    """Projects in one sandbox. A run ends when its person says so, here or from another process."""

    def __init__(self, store: Store, feed: Feed, sandbox: SandboxSettings, find_sandbox: FindSandbox) -> None:
        self._store = store
        self._drafts = DraftStore(store)
        self._feed = feed
        self._settings = sandbox
        self._find_sandbox = find_sandbox

    async def run(self, key: str, root: Path, effect: RunProject) -> ProjectRan:
        """Lay the project out and run it; nothing of it stays behind, whatever happens."""
        files = await self._drafts.load_files(effect.draft)
        session, _, step = key.partition("/")
        async with open_scratch_folder() as folder, self._listen_for_stop(session, step) as stop:
            tree = folder / "project"
            names = await asyncio.to_thread(list_tree_files, root)
            await asyncio.to_thread(create_scratch_tree, root, tree, files, names)
            texts = await asyncio.to_thread(_texts, tree)
            project = LaidOutProject(tree, texts, choose_project_run_plan(texts))
            ran = await self._run_project(project, effect, StepOutput(self._feed, key), stop)
        steps = tuple(sanitize_check_outcome(it, self._feed.redactor) for it in ran.steps)
        return msgspec.structs.replace(ran, steps=steps, stopped=stop.is_set())

    async def _run_project(
        self, project: LaidOutProject, effect: RunProject, tell: StepOutput, stop: asyncio.Event
    ) -> ProjectRan:
        notes = list[str]()
        if find_container_file(project.texts):
            engine = await find_allowed_container_engine(self._settings)
            build = engine if isinstance(engine, str) else await plan_image_build(engine, project.texts)
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
        """Set as soon as the person wants this run to end; what they said before it was begun again counts too."""
        stop = asyncio.Event()
        reader = self._feed.subscribe(session)

        async def listen() -> None:
            async for batch in reader.batches():
                if any(isinstance(getattr(it, "event", None), StopAsked | CancelAsked) for it in batch):
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


def _texts(tree: Path) -> dict[str, str]:
    """The files that are text; links are none, and nothing that is long is."""
    found: dict[str, str] = {}
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            continue
        try:
            found[path.relative_to(tree).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return found
