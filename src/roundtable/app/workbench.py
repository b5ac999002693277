"""Carries out what a meeting wants of the workshop: candidates tried, drafts spliced, rehearsed and applied."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from roundtable.app.bench.carrying import Carrying
from roundtable.app.bench.drafts import Drafts
from roundtable.app.bench.splicing import spliced
from roundtable.app.bench.telling import Telling
from roundtable.app.bench.trying import Trying, asker
from roundtable.app.proving import Proving
from roundtable.core.effects import (
    ApplyChange,
    Drafted,
    DraftMove,
    PlanChange,
    ProveClaims,
    Rehearse,
    Result,
    Synthesise,
    TryCandidates,
)
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.ports import Sandbox, Store
from roundtable.core.session import Session
from roundtable.engine.feed import Feed
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox

_ROOM = "Make room on the disk, or see that its folders can be written to, and resume the session."

Bench = TryCandidates | Synthesise | DraftMove | PlanChange | Rehearse | ApplyChange | ProveClaims


class Workbench:
    """The workshop as the desk knows it, in one workspace. Only `ApplyChange` writes there."""

    def __init__(
        self,
        store: Store,
        workspace: Path,
        feed: Feed,
        journals: Path,
        checks: Mapping[str, Sequence[str]],
        sandbox: SandboxSettings,
    ) -> None:
        self._store = store
        self._feed = feed
        self._sandbox = sandbox
        self._drafts = Drafts(store)
        self._trying = Trying(self._drafts, workspace, feed.redactor, checks)
        self._carrying = Carrying(self._drafts, self._trying, workspace, journals)
        self._proving = Proving(store, workspace, feed.redactor, lambda: find_sandbox(sandbox))

    async def perform(self, key: str, effect: Bench) -> Result | Fault:
        """Do it; the key begins with the session."""
        try:
            return await self._perform(key, effect)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help)
        except OSError as error:  # a full disk; what was written in part is put right before anything is said of it
            why = f"The computer would not do it: {error.strerror or type(error).__name__}."
            return await self.recover(key, effect) or Fault.of(FaultKind.CRASHED, why, help=_ROOM)

    async def recover(self, key: str, effect: Bench) -> Result | Fault | None:
        """What a step that was cut in half came to; only writing cannot simply be done again."""
        return await self._carrying.recover(key) if isinstance(effect, ApplyChange) else None

    async def _perform(self, key: str, effect: Bench) -> Result | Fault:
        match effect:
            case TryCandidates() | Rehearse():
                return await self._run(key, effect)
            case Synthesise():
                return await spliced(self._drafts, effect)
            case DraftMove():
                return await self._drafted(await self._session(key), effect)
            case PlanChange():
                return await self._carrying.plan(await self._session(key), effect)
            case ApplyChange():
                return await self._carrying.apply(key, await self._store.read(key.partition("/")[0]), effect)
            case ProveClaims():
                return await self._proving.prove(await self._session(key), effect)

    async def _run(self, key: str, effect: TryCandidates | Rehearse) -> Result | Fault:
        sandbox: Sandbox | str = await find_sandbox(self._sandbox)
        if isinstance(sandbox, str):
            return Fault.of(FaultKind.MISSING, sandbox)
        tell = Telling(self._feed, key)
        if isinstance(effect, Rehearse):
            return await self._carrying.rehearse(effect, sandbox, tell)
        return await self._trying.candidates(await self._session(key), effect, sandbox, tell)

    async def _drafted(self, session: Session, effect: DraftMove) -> Drafted:
        move = next(it for it in session.rounds[effect.round].moves() if it.seat == effect.seat)
        over = await self._drafts.files(effect.over)
        wish = await asyncio.to_thread(self._trying.wish, move, asker(session), over, effect.scope)
        draft = await self._drafts.keep(wish.files)
        return Drafted(draft, tuple(it.path for it in wish.files), wish.refused)

    async def _session(self, key: str) -> Session:
        id = key.partition("/")[0]
        return Session.fold(id, await self._store.read(id))
