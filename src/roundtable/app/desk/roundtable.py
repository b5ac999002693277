"""The desk of one person in one workspace. Doors, tests and embedding programs use the product only through it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.app.desk.meetings import Meetings
from roundtable.app.desk.sessions import Sessions
from roundtable.app.parts import Parts
from roundtable.app.records.memory import WorkspaceMemory
from roundtable.app.settings.config import Settings
from roundtable.app.settings.places import Places
from roundtable.app.wiring import Record, Wiring
from roundtable.core.ports import Performer, Sandbox, Voices
from roundtable.core.text.redaction import Redactor

if TYPE_CHECKING:
    from roundtable.app.desk.changes import Changes
    from roundtable.app.desk.gates import Gates
    from roundtable.app.desk.setup import DeskSetup


class Roundtable:
    """The product as a library. `async with await Roundtable.open() as desk: …`

    `meetings` opens and runs meetings, `sessions` finds and steers sessions, `gates` answers open gates, `memory` is
    the ledger of the workspace, `changes` handles code changes, and `setup` is the machine and its config.
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
        """Open the desk of the current user in a workspace. With `settings`, no config is read.

        A given store, voices, sandbox or performer replaces the default one and is not closed with the desk.
        `opened_in` is the current folder of the person, if that is not the workspace.
        """
        return cls(
            await Wiring.open(
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
        """The gates: questions that only a person may answer."""
        from roundtable.app.desk.gates import Gates

        return Gates(self._wiring)

    @cached_property
    def changes(self) -> Changes:
        """The code changes of this workspace."""
        from roundtable.app.desk.changes import Changes

        return Changes(self._wiring)

    @cached_property
    def setup(self) -> DeskSetup:
        """The machine: its voices, keys and config."""
        from roundtable.app.desk.setup import DeskSetup

        return DeskSetup(self._wiring)

    @property
    def parts(self) -> Parts:
        """The ports, places and settings of the desk, for tests and embedding programs."""
        return self._wiring.parts

    @property
    def wiring(self) -> Wiring:
        """The objects that work on the parts, for tests and embedding programs."""
        return self._wiring

    @property
    def workspace(self) -> Path:
        """The workspace of this desk."""
        return self._wiring.parts.workspace

    @property
    def redactor(self) -> Redactor:
        """Removes every known key from a text."""
        return self._wiring.parts.redactor

    @property
    def recovered(self) -> tuple[str, ...]:
        """A sentence about each change that an earlier process left unfinished here."""
        return self._wiring.recovered
