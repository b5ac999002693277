"""Performs the effects of a meeting: reading files, running checks, holding a child meeting."""

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
    """Performs every effect of a desk.

    Reading files and running checks change nothing, and the id of a child meeting is derived from its step, so all of
    these can be repeated after a crash. The workshop recovers the others.
    """

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
        """The performer for code, created on first use: most meetings never write code, and loading it is slow."""
        return self._make_workshop()

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        """Perform an effect and return its result, or a fault. The key begins with the session id."""
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
        """Return the result of an interrupted effect, or None if it can be repeated: only writing cannot."""
        if isinstance(effect, ReadFiles | RunChecks | OpenChild | EndStage):
            return None
        return await self._workshop.recover(key, effect)

    async def _hold_child_meeting(self, key: str, effect: OpenChild) -> ChildEnded | Fault:
        session = str(uuid5(NAMESPACE_URL, f"roundtable:{key}"))
        try:
            return ChildEnded(session, await self._hold_child(session, effect.charter))
        except RoundtableError as error:
            return Fault.of(FaultKind.CRASHED, error.message)
