"""Performs the effects on code: trials of candidates, and drafts that are spliced, rehearsed and applied.

A project that starts from nothing is based on an empty folder, which all such projects share.
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
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.git import create_empty_repository
from roundtable.workshop.symbols.synthesis import merge_candidate_symbols
from roundtable.workshop.trial.repository_checks import CheckCommands
from roundtable.workshop.trial.trial import CandidateTrial

_DISK_HELP = "Check the free disk space and the permissions of the workspace, then run `roundtable resume`."
_INTERNAL_ERRORS = (ValueError, ArithmeticError, LookupError, RecursionError)
"""Errors of our own code on unexpected files or answers. They become a fault: raised again on every resume, they would
block the session."""


class WorkshopTools:
    """The tools for one folder: the workspace, or the empty folder of a project that starts from nothing."""

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
    """Performs the effects on code in one workspace.

    Only `ApplyChange` writes there, and `DeliverProject` elsewhere.
    """

    def __init__(self, parts: Parts, find_room: FindContextRoom) -> None:
        self._parts = parts
        config, store = parts.settings.config, parts.record
        self._splitter = ProjectSplitter(store, find_room)
        self._excerpts = ProjectExcerpts(store, find_room)
        self._runner = ProjectRunner(store, parts.feed, config.sandbox, parts.find_sandbox)
        self._workspace_tools = self._create_tools(parts.workspace, config.checks)

    def _create_tools(self, root: Path, checks: CheckCommands) -> WorkshopTools:
        return WorkshopTools(self._parts, root, checks)

    @cached_property
    def _empty_tools(self) -> WorkshopTools:
        return self._create_tools(create_empty_repository(self._parts.places.nothing), {})

    def _tools(self, session: Session) -> WorkshopTools:
        """Return the tools for the folder of a session."""
        return self._empty_tools if session.charter.starts_without_files else self._workspace_tools

    async def perform(self, key: str, effect: WorkshopEffect) -> EffectResult | Fault:
        """Perform an effect and return its result, or a fault. The key begins with the session id."""
        try:
            return await self._perform(key, effect)
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message, help=error.help)
        except OSError as error:  # such as a full disk; a partial write is recovered first
            why = f"I/O error: {error.strerror or type(error).__name__}."
            return await self.recover(key, effect) or Fault.of(FaultKind.CRASHED, why, help=_DISK_HELP)
        except _INTERNAL_ERRORS as error:
            return await self.recover(key, effect) or _internal_fault(effect, error)

    async def recover(self, key: str, effect: WorkshopEffect) -> EffectResult | Fault | None:
        """Return the result of an interrupted write, or None: every other effect can be repeated."""
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
                return await _splice_drafts(tools.drafts, effect)
            case DraftMove():
                return await _draft_move(session, tools, effect)
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


def _internal_fault(effect: WorkshopEffect, error: Exception) -> Fault:
    """Return an internal error as a fault with its type and place, without the data that caused it."""
    place = extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    why = f"Internal error in {type(effect).__name__}: {type(error).__name__} in {where}."
    return Fault.of(
        FaultKind.CRASHED,
        why,
        help="Please report this bug. To continue from an earlier round, run `roundtable branch`.",
    )


async def _draft_move(session: Session, tools: WorkshopTools, effect: DraftMove) -> MoveDrafted:
    move = next(move for move in session.rounds[effect.round].moves() if move.seat == effect.seat)
    earlier = await tools.drafts.load_files(effect.over)
    proposed = await asyncio.to_thread(tools.trial.read_proposed_change, session, move, earlier, effect.scope)
    draft = await tools.drafts.save(proposed.files)
    return MoveDrafted(draft, tuple(file.path for file in proposed.files), proposed.refused)


async def _splice_drafts(drafts: DraftStore, effect: SynthesiseDrafts) -> DraftsSynthesised:
    """Splice the parts that the directives name into the draft of the base, and store the result as a draft."""
    wrote = {
        seat: {file.path: file for file in await drafts.load_files(draft)} for seat, draft in effect.drafts.items()
    }
    touched = {path: file for files in wrote.values() for path, file in files.items()}
    existing = {path: file.before for path, file in touched.items() if file.before is not None and not file.was}
    sources = {seat: _list_versions(existing, files) for seat, files in wrote.items()}
    merged = await asyncio.to_thread(merge_candidate_symbols, effect.base, sources, effect.incorporate, effect.must_fix)
    files = [
        msgspec.structs.replace(file, after=merged.files.get(path))
        for path, file in {**touched, **wrote[effect.base]}.items()
        if path in wrote[effect.base] or merged.files.get(path) != file.before
    ]
    draft = await drafts.save(files)
    return DraftsSynthesised(draft, merged.took, merged.left, merged.removed)


def _list_versions(existing: Mapping[str, bytes], files: Mapping[str, DraftFile]) -> dict[str, bytes]:
    """Return a seat's version of every file that any seat changed: its own, or the one in the workspace."""
    changed = {path: file.after for path, file in files.items()}
    return {path: data for path, data in {**existing, **changed}.items() if data is not None}
