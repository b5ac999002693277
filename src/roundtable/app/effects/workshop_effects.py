"""Carries out what a meeting wants of the workshop: candidates tried, drafts spliced, rehearsed and applied.

Splices parts of other drafts into one, and keeps what comes of it as a draft of its own.

Where a project that starts from nothing stands: on an empty folder of our own, the same one for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from traceback import extract_tb

import msgspec

from roundtable.app.effects.apply_change import ChangeApplier
from roundtable.app.effects.deliver_project import ProjectDelivery
from roundtable.app.effects.project_files import ProjectReader
from roundtable.app.effects.project_parts import ProjectExcerpts, ProjectSplitter
from roundtable.app.effects.prove_claims import ClaimProver
from roundtable.app.effects.run_program import ProjectRunner, StepOutput
from roundtable.app.opening.context_window import FindContextRoom
from roundtable.app.parts import Parts
from roundtable.core.changeset import DraftFile
from roundtable.core.effects import (
    ApplyChange,
    DeliverProject,
    DraftMove,
    DraftsSynthesised,
    EffectResult,
    ListProject,
    MoveDrafted,
    PlanChange,
    ProveClaims,
    RehearseChange,
    RunProject,
    SplitForReview,
    SynthesiseDrafts,
    TryCandidates,
    TryMerged,
    WorkshopEffect,
)
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.ports import Sandbox
from roundtable.core.session import Session
from roundtable.core.stages import starts_without_files
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.git import run_git
from roundtable.workshop.symbols.synthesis import synthesize_candidates
from roundtable.workshop.trial.repository_checks import CheckCommands
from roundtable.workshop.trial.trial import CandidateTrial

_ROOM = "Make room on the disk, or see that its folders can be written to, and resume the session."
_OURS = (ValueError, ArithmeticError, LookupError, RecursionError)
"""What something unheard-of in files and answers makes our own code raise. Met again on every resume, it would hold a
session up for ever."""


class WorkshopTools:
    """The workshop on one folder: the workspace, or the empty one where a project starts from nothing."""

    def __init__(self, parts: Parts, root: Path, checks: CheckCommands) -> None:
        config, store, redactor = parts.settings.config, parts.record, parts.redactor
        self.root = root
        self.drafts = DraftStore(store)
        self.delivery = ProjectDelivery(self.drafts)
        self.trial = CandidateTrial(self.drafts, root, redactor, checks, config.worktrees.copy, config.sandbox.seconds)
        self.applier = ChangeApplier(self.drafts, self.trial, root, redactor, parts.places.journals)
        self.prover = ClaimProver(store, root, redactor, parts.find_sandbox, config.worktrees.copy)
        self.reader = ProjectReader(self.drafts, root, redactor, config.context.ignore)


class WorkshopPerformer:
    """The workshop of one workspace. Only `ApplyChange` writes there, and `DeliverProject` elsewhere."""

    def __init__(self, parts: Parts, room_of: FindContextRoom) -> None:
        self._parts = parts
        config, store = parts.settings.config, parts.record
        self._splitter = ProjectSplitter(store, room_of)
        self._excerpts = ProjectExcerpts(store, room_of)
        self._runner = ProjectRunner(store, parts.feed, config.sandbox, parts.find_sandbox)
        self._workspace_tools = self._on(parts.workspace, config.checks)

    def _on(self, root: Path, checks: CheckCommands) -> WorkshopTools:
        return WorkshopTools(self._parts, root, checks)

    @cached_property
    def _empty_tools(self) -> WorkshopTools:
        return self._on(create_empty_workspace(self._parts.places.nothing), {})

    def _tools(self, session: Session) -> WorkshopTools:
        """Those for the folder that a session works on."""
        return self._empty_tools if starts_without_files(session.charter) else self._workspace_tools

    async def perform(self, key: str, effect: WorkshopEffect) -> EffectResult | Fault:
        """Do it; the key begins with the session."""
        try:
            return await self._perform(key, effect)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help)
        except OSError as error:  # a full disk; what was written in part is put right before anything is said of it
            why = f"The computer would not do it: {error.strerror or type(error).__name__}."
            return await self.recover(key, effect) or Fault.of(FaultKind.CRASHED, why, help=_ROOM)
        except _OURS as error:
            return await self.recover(key, effect) or _own_fault(effect, error)

    async def recover(self, key: str, effect: WorkshopEffect) -> EffectResult | Fault | None:
        """What a step that was cut in half came to; only writing cannot simply be done again."""
        return await self._workspace_tools.applier.recover(key) if isinstance(effect, ApplyChange) else None

    async def _perform(self, key: str, effect: WorkshopEffect) -> EffectResult | Fault:
        id = key.partition("/")[0]
        records = await self._parts.record.read(id)
        session = Session.fold(id, records)
        tools = self._tools(session)
        match effect:
            case TryCandidates() | TryMerged() | RehearseChange():
                return await self._run(key, session, tools, effect)
            case SynthesiseDrafts():
                return await splice_drafts(tools.drafts, effect)
            case DraftMove():
                return await _drafted(session, tools, effect)
            case PlanChange():
                return await tools.applier.plan(session, effect)
            case ApplyChange():
                return await tools.applier.apply(key, session, records, effect)
            case ProveClaims():
                return await tools.prover.prove(session, effect)
            case ListProject():
                return await self._excerpts.select(session, effect, await tools.reader.read_files(effect.draft))
            case DeliverProject():
                return await tools.delivery.deliver(session, records, effect)
            case SplitForReview():
                return await self._splitter.split(session, effect, await tools.reader.read_files(effect.draft))
            case RunProject():
                return await self._runner.run(key, tools.root, effect)

    async def _run(
        self, key: str, session: Session, tools: WorkshopTools, effect: TryCandidates | TryMerged | RehearseChange
    ) -> EffectResult | Fault:
        sandbox: Sandbox | str = await self._parts.find_sandbox()
        if isinstance(sandbox, str):
            return Fault.of(FaultKind.MISSING, sandbox)
        tell = StepOutput(self._parts.feed, key)
        if isinstance(effect, RehearseChange):
            return await tools.applier.rehearse(session, effect, sandbox, tell)
        if isinstance(effect, TryMerged):
            return await tools.trial.try_merged(session, effect, sandbox, tell)
        return await tools.trial.try_candidates(session, effect, sandbox, tell)


def _own_fault(effect: WorkshopEffect, error: Exception) -> Fault:
    """A fault of ours for the record: what it was and where, and none of the words that led to it."""
    place = extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    why = f"Roundtable itself failed at {type(effect).__name__}: {type(error).__name__} in {where}."
    return Fault.of(FaultKind.CRASHED, why, help="Report this as a bug, and branch the session from an earlier point.")


async def _drafted(session: Session, tools: WorkshopTools, effect: DraftMove) -> MoveDrafted:
    move = next(it for it in session.rounds[effect.round].moves() if it.seat == effect.seat)
    over = await tools.drafts.load_files(effect.over)
    wish = await asyncio.to_thread(tools.trial.read_proposed_change, session, move, over, effect.scope)
    draft = await tools.drafts.save(wish.files)
    return MoveDrafted(draft, tuple(it.path for it in wish.files), wish.refused)


async def splice_drafts(drafts: DraftStore, effect: SynthesiseDrafts) -> DraftsSynthesised:
    """Take the base's draft and what the directives name of the others."""
    wrote = {seat: {it.path: it for it in await drafts.load_files(draft)} for seat, draft in effect.drafts.items()}
    touched = {path: it for files in wrote.values() for path, it in files.items()}
    as_it_is = {path: it.before for path, it in touched.items() if it.before is not None and not it.was}
    sources = {seat: _sources(as_it_is, files) for seat, files in wrote.items()}
    made = await asyncio.to_thread(synthesize_candidates, effect.base, sources, effect.incorporate, effect.must_fix)
    files = [
        msgspec.structs.replace(it, after=made.files.get(path))
        for path, it in {**touched, **wrote[effect.base]}.items()
        if path in wrote[effect.base] or made.files.get(path) != it.before
    ]
    draft = await drafts.save(files)
    return DraftsSynthesised(draft, made.took, made.left, made.removed)


def _sources(as_it_is: Mapping[str, bytes], files: Mapping[str, DraftFile]) -> dict[str, bytes]:
    """A seat's version of every file that anybody touched: its own, or the workspace's."""
    changed = {path: it.after for path, it in files.items()}
    return {path: data for path, data in {**as_it_is, **changed}.items() if data is not None}


def create_empty_workspace(folder: Path) -> Path:
    """The folder, in which nothing is ever written. It is a repository, so that none above it says what is ignored."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_git(folder, ("init", "--quiet", "--template=", "."))
    return folder
