"""Carries out what a meeting has done besides talking: reading files, holding a child meeting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from roundtable.app.context import Refused, snapshot
from roundtable.core.effects import ChecksRun, ChildEnded, Effect, FilesRead, OpenChild, ReadFiles, Result, RunChecks
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.ports import Store
from roundtable.core.redaction import Redactor
from roundtable.core.values import Charter, ContextItem, Decision

HoldChild = Callable[[str, Charter], Awaitable[Decision]]


class DeskPerformer:
    """The performers of the desk. Both kinds may be done again after a crash: reading changes nothing, and a
    child meeting has an id made from its step, so doing it again resumes it."""

    def __init__(self, store: Store, redactor: Redactor, workspace: Path, hold_child: HoldChild) -> None:
        self._store = store
        self._redactor = redactor
        self._workspace = workspace
        self._hold_child = hold_child

    async def perform(self, key: str, effect: Effect) -> Result | Fault:
        """Do it."""
        match effect:
            case ReadFiles():
                return await self._read(effect)
            case RunChecks():
                return ChecksRun(refused={name: "Checks cannot be run yet." for name in effect.checks})
            case OpenChild():
                return await self._child(key, effect)

    async def recover(self, key: str, effect: Effect) -> Result | Fault | None:
        """Both effects are safe to do again."""
        return None

    async def _read(self, effect: ReadFiles) -> FilesRead:
        items: list[ContextItem] = []
        refused: dict[str, str] = {}
        for path in effect.paths:
            try:
                items.append(await snapshot(self._store, self._redactor, self._workspace, path))
            except Refused as error:
                refused[path] = error.message
        return FilesRead(tuple(items), refused)

    async def _child(self, key: str, effect: OpenChild) -> ChildEnded | Fault:
        session = str(uuid5(NAMESPACE_URL, f"roundtable:{key}"))
        try:
            return ChildEnded(session, await self._hold_child(session, effect.charter))
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message)
