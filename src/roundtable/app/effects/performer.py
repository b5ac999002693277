"""Carries out what a meeting has done besides talking: reading files, running checks, holding a child meeting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from roundtable.app.effects.file_requests import FileRequests
from roundtable.core.effects import (
    ChildEnded,
    Effect,
    EffectResult,
    EndStage,
    OpenChild,
    ReadFiles,
    RunChecks,
    StageEnded,
)
from roundtable.core.faults import Fault, FaultKind, RoundtableError
from roundtable.core.values import Charter, Decision
from roundtable.workshop.trial.listed_checks import ListedChecks

if TYPE_CHECKING:
    from roundtable.app.effects.workshop_effects import WorkshopPerformer

RunChildMeeting = Callable[[str, Charter], Awaitable[Decision]]


class EffectPerformer:
    """The performers of the desk. All may do their work again after a crash: reading and checking change nothing, and
    a child meeting has an id made from its step, so doing it again resumes it."""

    def __init__(
        self,
        requests: FileRequests,
        checks: ListedChecks,
        hold_child: RunChildMeeting,
        make_workshop: Callable[[], WorkshopPerformer],
    ) -> None:
        self._requests = requests
        self._checks = checks
        self._hold_child = hold_child
        self._make_workshop = make_workshop

    @cached_property
    def _workshop(self) -> WorkshopPerformer:
        """Made when a meeting first wants it: most never write code, and it takes long to load."""
        return self._make_workshop()

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        """Do it; the key begins with the session."""
        match effect:
            case ReadFiles():
                return await self._requests.serve(key.partition("/")[0], effect.paths)
            case RunChecks():
                return await self._checks.run(effect.checks)
            case OpenChild():
                return await self._hold_child_meeting(key, effect)
            case EndStage():
                return StageEnded(effect.end)
            case _:
                return await self._workshop.perform(key, effect)

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        """Every effect is safe to do again, but for those of the workbench that write."""
        if isinstance(effect, ReadFiles | RunChecks | OpenChild | EndStage):
            return None
        return await self._workshop.recover(key, effect)

    async def _hold_child_meeting(self, key: str, effect: OpenChild) -> ChildEnded | Fault:
        session = str(uuid5(NAMESPACE_URL, f"roundtable:{key}"))
        try:
            return ChildEnded(session, await self._hold_child(session, effect.charter))
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message)
