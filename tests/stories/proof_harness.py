"""A harness that runs proofs in the sandbox, to kill meetings with proofs after every event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roundtable.app.effects.prove_claims import ClaimProver
from roundtable.core.effects import Effect, EffectResult, ProveClaims
from roundtable.core.faults import Fault
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.store.in_memory import InMemoryStore
from roundtable.workshop.sandbox import find_sandbox
from tests.stories.session_harness import SESSION, FakePerformer, SessionHarness


class ProofPerformer(FakePerformer):
    """A performer that runs proofs in the sandbox of this machine and records its calls."""

    def __init__(self, store: InMemoryStore, workspace: Path) -> None:
        super().__init__(store)
        self._proving = ClaimProver(store, workspace, Redactor(), find_sandbox)

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        if not isinstance(effect, ProveClaims):
            return await super().perform(key, effect)
        self.performed.append(key)
        return await self._proving.prove(Session.fold(SESSION, await self._store.read(SESSION)), effect)


class ProofHarness(SessionHarness):
    """One session whose proofs run on a workspace."""

    def __init__(
        self, script: dict[str, Any], store: InMemoryStore | None, workspace: Path, meeting: str = "review"
    ) -> None:
        super().__init__(script, store, meeting=meeting)
        self.performer = ProofPerformer(self.store, workspace)
