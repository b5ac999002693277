"""The desk of one person in one workspace: six parts, and nothing else."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.app.desk.meetings import Meetings
from roundtable.app.desk.sessions import Sessions
from roundtable.app.opening.agenda import Agenda
from roundtable.app.parts import Parts
from roundtable.app.records.memory import WorkspaceMemory
from roundtable.app.settings.config import Settings
from roundtable.app.settings.places import Places
from roundtable.app.wiring import Record, Wiring, wire
from roundtable.core.ports import Performer, Sandbox, Voices
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Decision

if TYPE_CHECKING:
    from roundtable.app.desk.changes import Changes
    from roundtable.app.desk.gates import Gates
    from roundtable.app.desk.setup import DeskSetup


class Roundtable:
    """The product as a library. `async with await Roundtable.open() as desk: …`

    `meetings` opens and runs them, `sessions` looks them up and steers them, `gates` answers what waits for a person,
    `memory` is what the workspace remembers, `changes` is the code, and `setup` is the machine and its config.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.meetings = Meetings(wiring)
        self.sessions = Sessions(wiring)
        self.memory: WorkspaceMemory = wiring.memory

    @classmethod
    async def open(
        cls,
        workspace: Path | None = None,
        places: Places | None = None,
        settings: Settings | None = None,
        *,
        store: Record | None = None,
        voices: Voices | None = None,
        sandbox: Sandbox | None = None,
        performer: Performer | None = None,
        opened_in: Path | None = None,
    ) -> Roundtable:
        """Open the desk of this person in this workspace. With `settings`, no config is read.

        A store, voices, sandbox or performer that is given is used in place of the product's own and is not closed
        with the desk. `opened_in` is the folder in which the person is, where that is not the workspace.
        """
        return cls(
            await wire(
                workspace,
                places,
                settings,
                store=store,
                voices=voices,
                sandbox=sandbox,
                performer=performer,
                opened_in=opened_in,
            )
        )

    async def close(self) -> None:
        """Close the voices and the record."""
        await self._wiring.close()

    async def __aenter__(self) -> Roundtable:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @cached_property
    def gates(self) -> Gates:
        """The questions that only a person may answer."""
        from roundtable.app.desk.gates import Gates

        return Gates(self._wiring)

    @cached_property
    def changes(self) -> Changes:
        """Changes to the code of this workspace."""
        from roundtable.app.desk.changes import Changes

        return Changes(self._wiring)

    @cached_property
    def setup(self) -> DeskSetup:
        """The machine, its voices and keys, and the config."""
        from roundtable.app.desk.setup import DeskSetup

        return DeskSetup(self._wiring)

    @property
    def parts(self) -> Parts:
        """What the desk is made of, for tests and programs that embed it."""
        return self._wiring.parts

    @property
    def wiring(self) -> Wiring:
        """What works on those parts, for tests and programs that embed the desk."""
        return self._wiring

    @property
    def workspace(self) -> Path:
        """The folder whose meetings these are."""
        return self._wiring.parts.workspace

    @property
    def redactor(self) -> Redactor:
        """Removes every known key from a text."""
        return self._wiring.parts.redactor

    @property
    def recovered(self) -> tuple[str, ...]:
        """A sentence for each change that an earlier process left half written here, and what became of it."""
        return self._wiring.recovered


async def hold(desk: Roundtable, agenda: Agenda) -> tuple[str, Decision]:
    """Open a session and run it to its end."""
    session = await desk.meetings.open(agenda)
    return session, await desk.meetings.run(session)
