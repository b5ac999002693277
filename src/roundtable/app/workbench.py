"""Carries out what a meeting wants of the workshop: candidates tried, drafts spliced, rehearsed and applied."""

from __future__ import annotations

from pathlib import Path

from roundtable.core.effects import (
    ApplyChange,
    DraftMove,
    PlanChange,
    ProveClaims,
    Rehearse,
    Result,
    Synthesise,
    TryCandidates,
)
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Store

Bench = TryCandidates | Synthesise | DraftMove | PlanChange | Rehearse | ApplyChange | ProveClaims


class Workbench:
    """The workshop as the desk knows it, in one workspace."""

    def __init__(self, store: Store, workspace: Path) -> None:
        self._store = store
        self._workspace = workspace

    async def perform(self, key: str, effect: Bench) -> Result | Fault:
        """Do it; the key begins with the session."""
        return Fault.of(FaultKind.MISSING, "The workshop has no such tool yet.")

    async def recover(self, key: str, effect: Bench) -> Result | Fault | None:
        """What a step that was cut in half came to."""
        return None
