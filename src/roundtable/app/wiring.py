"""Puts a desk together: the only module that names the concrete record, voices, sandbox and engine."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from roundtable.app.effects.agent_worktrees import LocalAgentWorktrees
from roundtable.app.effects.file_requests import FileRequests
from roundtable.app.effects.performer import EffectPerformer
from roundtable.app.opening.meeting_catalog import find_charter_rules
from roundtable.app.opening.opener import Opener, compute_charter_context_room
from roundtable.app.parts import Parts
from roundtable.app.records.memory import WorkspaceMemory
from roundtable.app.records.undo_change import recover_interrupted_changes
from roundtable.app.records.workspace_files import WorkspaceFolder
from roundtable.app.runs.hooks import HookRunner
from roundtable.app.runs.live_socket import LiveServer
from roundtable.app.settings import config
from roundtable.app.settings.places import Places, find_workspace
from roundtable.app.settings.secrets import Keys
from roundtable.core.events import SessionOpened
from roundtable.core.ledger import Entry
from roundtable.core.ports import Index, Leases, Ledger, Performer, Sandbox, Store, Voices
from roundtable.core.values import Charter, Decision
from roundtable.engine.feed import Feed
from roundtable.engine.run import Engine, FindMeeting
from roundtable.store.leases import current_lease_holder
from roundtable.store.sqlite import SqliteStore
from roundtable.voices.agents.catalog import merge_agent_cli_catalog
from roundtable.voices.endpoints import load_shipped_endpoints, merge_endpoints, override_provider_endpoint
from roundtable.voices.registry import VoiceRegistry
from roundtable.voices.tariffs import Tariffs
from roundtable.workshop.sandbox import find_sandbox
from roundtable.workshop.trial.listed_checks import ListedChecks

if TYPE_CHECKING:
    from roundtable.app.effects.workshop_effects import WorkshopPerformer


class Record(Store, Index, Leases, Ledger, Protocol):
    """A record that serves every port over sessions."""


Close = Callable[[], Awaitable[None]]


class Wiring:
    """One desk, put together: its parts, and what works on them.

    `close` closes what was opened here; a store and voices that were given stay open.
    """

    def __init__(
        self, parts: Parts, record: Record, closing: tuple[Close, ...] = (), performer: Performer | None = None
    ) -> None:
        self.parts = parts
        self.record = record
        self.recovered: tuple[str, ...] = ()
        """A sentence for each change that an earlier process left half written here, and what became of it."""
        settings = parts.settings.config
        self.folder = WorkspaceFolder(parts.workspace)
        self.hooks = HookRunner(settings.hooks.commands(), parts.workspace, parts.record)
        self.memory = WorkspaceMemory(
            parts.record, parts.ledger, parts.keys, parts.recorded_workspace, settings.memory, self._write_memory
        )
        self.opener = Opener(parts, self.memory.recalled)
        self.workplaces = LocalAgentWorktrees(parts.places.worktrees, parts.workspace, settings.worktrees)
        self._given_performer = performer
        self._closing = closing

    @cached_property
    def performer(self) -> Performer:
        """Carries out what a meeting has done besides talking."""
        if self._given_performer is not None:
            return self._given_performer
        parts, settings = self.parts, self.parts.settings.config
        room_of = partial(compute_charter_context_room, parts)
        requests = FileRequests(parts.record, parts.redactor, parts.workspace, settings.context.ignore, room_of)
        checks = ListedChecks(
            settings.checks, parts.workspace, parts.redactor, settings.sandbox, find=parts.find_sandbox
        )
        return EffectPerformer(requests, checks, self._hold_child, self._make_workbench)

    @cached_property
    def engine(self) -> Engine:
        """Runs the sessions of this desk."""
        parts = self.parts
        return Engine(
            parts.record,
            parts.leases,
            parts.voices,
            self.performer,
            parts.feed,
            self._run_observers,
            self.workplaces,
        )

    async def run(self, session: str, find_rules: FindMeeting = find_charter_rules) -> Decision:
        """Hold a session's meeting to its end, from where its record stops."""
        return await self.engine.run(session, find_rules, current_lease_holder())

    async def remembered(self) -> list[Entry]:
        """Everything this workspace remembers of its meetings."""
        return await self.memory.entries(limit=None)

    async def close(self) -> None:
        """Close what was opened for this desk."""
        for close in self._closing:
            await close()

    async def _write_memory(self) -> None:
        await self.folder.remember(self.remembered)

    @asynccontextmanager
    async def _run_observers(self, session: str) -> AsyncGenerator[None]:
        """While a session runs, others may listen, the workspace's folder is kept current, and hooks are called."""
        parts = self.parts
        live = LiveServer(parts.places.socket(session), session, parts.feed)
        folder = self.folder.following(session, parts.record, parts.feed, self.remembered)
        async with live, folder, self.hooks.following(session, parts.feed):
            yield

    async def _hold_child(self, session: str, charter: Charter) -> Decision:
        if not await self.parts.record.read(session):
            await self.parts.record.append(session, SessionOpened(charter))
        return await self.run(session)

    def _make_workbench(self) -> WorkshopPerformer:
        from roundtable.app.effects.workshop_effects import WorkshopPerformer

        return WorkshopPerformer(self.parts, partial(compute_charter_context_room, self.parts))


async def wire(
    workspace: Path | None = None,
    places: Places | None = None,
    settings: config.Settings | None = None,
    *,
    store: Record | None = None,
    voices: Voices | None = None,
    sandbox: Sandbox | None = None,
    performer: Performer | None = None,
    opened_in: Path | None = None,
) -> Wiring:
    """Build a desk from the person's places and config; what is given takes the place of what would be built."""
    places = places or Places.of_this_person()
    workspace = find_workspace(workspace or Path.cwd())
    settings = settings or config.load_settings(places, workspace)
    own = [override_provider_endpoint(name, data) for name, data in settings.config.endpoints.items()]
    endpoints = merge_endpoints(load_shipped_endpoints().values(), own)
    keys = Keys(places, endpoints.values())
    agents = partial(merge_agent_cli_catalog, settings.config.agents)
    registry = VoiceRegistry(endpoints, keys.resolve, models_dir=places.models, workspace=workspace, agents=agents)
    closing: list[Close] = [registry.close]
    record: Record
    if store is None:
        record = opened = await SqliteStore.open(places.database, keys.redactor)
        closing.append(opened.close)
    else:
        record = store
    parts = Parts(
        places=places,
        workspace=workspace,
        settings=settings,
        endpoints=endpoints,
        keys=keys,
        record=record,
        index=record,
        leases=record,
        ledger=record,
        voices=voices or registry,
        fill_endpoint=registry.fill_endpoint,
        agents=agents,
        tariffs=Tariffs(endpoints, agents, os.environ),
        find_sandbox=partial(_found, sandbox) if sandbox else partial(find_sandbox, settings.config.sandbox),
        feed=Feed(keys.redactor),
        opened_in="" if opened_in is None or find_workspace(opened_in) == workspace else str(find_workspace(opened_in)),
    )
    wiring = Wiring(parts, record, tuple(closing), performer)
    wiring.recovered = await recover_interrupted_changes(record, workspace, places.journals)
    return wiring


@asynccontextmanager
async def opened_parts(workspace: Path, places: Places) -> AsyncGenerator[Parts]:
    """The parts of a desk, closed again at the end."""
    wiring = await wire(workspace, places)
    try:
        yield wiring.parts
    finally:
        await wiring.close()


async def _found(sandbox: Sandbox) -> Sandbox | str:
    return sandbox
