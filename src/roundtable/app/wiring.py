"""Builds a desk: the only module that names the concrete store, voices, sandbox and engine."""

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
from roundtable.app.effects.undo_change import perform_interrupted_change_recovery
from roundtable.app.opening.context_window import ContextRoom
from roundtable.app.opening.meeting_catalog import MeetingCatalog
from roundtable.app.opening.opener import Opener, compute_charter_context_room
from roundtable.app.parts import Parts
from roundtable.app.records.memory import WorkspaceMemory
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
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.sqlite import SqliteStore
from roundtable.voices.agents.catalog import merge_agent_cli_catalog
from roundtable.voices.endpoints import (
    load_shipped_voice_endpoints,
    merge_voice_endpoints,
    override_shipped_voice_endpoint,
)
from roundtable.voices.registry import VoiceRegistry
from roundtable.voices.tariffs import Tariffs
from roundtable.workshop.sandbox import find_sandbox
from roundtable.workshop.trial.listed_checks import ListedChecks

if TYPE_CHECKING:
    from roundtable.app.effects.workshop_effects import WorkshopPerformer


class Record(Store, Index, Leases, Ledger, Protocol):
    """A store that implements every port over sessions."""


Close = Callable[[], Awaitable[None]]


class Wiring:
    """A built desk: its parts, and the objects that work on them.

    `close` closes only what the wiring opened itself, not a store or voices that it was given.
    """

    def __init__(
        self, parts: Parts, record: Record, closing: tuple[Close, ...] = (), performer: Performer | None = None
    ) -> None:
        self.parts = parts
        self.record = record
        self.recovered: tuple[str, ...] = ()
        """A sentence about each change that an earlier process left unfinished here."""
        settings = parts.settings.config
        self.folder = WorkspaceFolder(parts.workspace)
        self.hooks = HookRunner(settings.hooks.commands(), parts.workspace, parts.record)
        self.memory = WorkspaceMemory(
            parts.record, parts.ledger, parts.keys, parts.recorded_workspace, settings.memory, self._write_memory
        )
        self.opener = Opener(parts, self.memory.recall)
        self.agent_worktrees = LocalAgentWorktrees(parts.places.worktrees, parts.workspace, settings.worktrees)
        self._given_performer = performer
        self._closing = closing

    @classmethod
    async def open(
        cls,
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
        """Build a desk from the person's places and config, except for the objects that are given."""
        places = places or Places.of_this_person()
        workspace = find_workspace(workspace or Path.cwd())
        settings = settings or config.load_settings(places, workspace)
        own = [override_shipped_voice_endpoint(name, data) for name, data in settings.config.endpoints.items()]
        endpoints = merge_voice_endpoints(load_shipped_voice_endpoints().values(), own)
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
        opener_workspace = find_workspace(opened_in) if opened_in else workspace
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
            find_sandbox=(
                partial(_use_sandbox, sandbox)
                if sandbox
                else partial(find_sandbox, settings.config.sandbox, places.private_folders)
            ),
            feed=Feed(keys.redactor),
            opened_in="" if opener_workspace == workspace else str(opener_workspace),
        )
        wiring = cls(parts, record, tuple(closing), performer)
        wiring.recovered = await perform_interrupted_change_recovery(record, workspace, places.journals)
        return wiring

    @cached_property
    def performer(self) -> Performer:
        """Performs the effects of meetings."""
        if self._given_performer is not None:
            return self._given_performer
        parts, settings = self.parts, self.parts.settings.config
        requests = FileRequests(
            parts.record, parts.redactor, parts.workspace, settings.context.ignore, self._find_context_room
        )
        checks = ListedChecks(
            settings.checks, parts.workspace, parts.redactor, settings.sandbox, find=parts.find_sandbox
        )
        return EffectPerformer(requests, checks, self._run_child, self._create_workshop_performer)

    @cached_property
    def engine(self) -> Engine:
        """The engine that runs the sessions of this desk."""
        parts = self.parts
        return Engine(
            parts.record,
            parts.leases,
            parts.voices,
            self.performer,
            parts.feed,
            self._run_observers,
            self.agent_worktrees,
        )

    async def run(self, session: str, find_rules: FindMeeting = MeetingCatalog.find_charter_rules) -> Decision:
        """Run a session to its end, from where its record stops."""
        return await self.engine.run(session, find_rules, lease_holder_of_this_process())

    async def list_memory_entries(self) -> list[Entry]:
        """Return all ledger entries of this workspace."""
        return await self.memory.entries(limit=None)

    async def close(self) -> None:
        """Close what the wiring opened."""
        for close in self._closing:
            await close()

    async def _write_memory(self) -> None:
        await self.folder.write_ledger(self.list_memory_entries)

    @asynccontextmanager
    async def _run_observers(self, session: str) -> AsyncGenerator[None]:
        """Serve a running session to other processes, update the workspace's folder, and run hooks."""
        parts = self.parts
        live = LiveServer(parts.places.socket(session), session, parts.feed)
        folder = self.folder.follow(session, parts.record, parts.feed, self.list_memory_entries)
        async with live, folder, self.hooks.follow(session, parts.feed):
            yield

    async def _run_child(self, session: str, charter: Charter) -> Decision:
        if not await self.parts.record.read(session):
            await self.parts.record.append(session, SessionOpened(charter))
        return await self.run(session)

    def _create_workshop_performer(self) -> WorkshopPerformer:
        from roundtable.app.effects.workshop_effects import WorkshopPerformer

        return WorkshopPerformer(self.parts, self._find_context_room)

    def _find_context_room(self, charter: Charter) -> ContextRoom:
        return compute_charter_context_room(self.parts, charter)


async def _use_sandbox(sandbox: Sandbox) -> Sandbox | str:
    return sandbox
