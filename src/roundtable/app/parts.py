"""What everything in the app is made of: the ports, the person's places and settings, and nothing that acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.app.settings.config import Settings
from roundtable.app.settings.places import Places
from roundtable.app.settings.secrets import Keys
from roundtable.core.faults import Fault, NotFound, UsageError
from roundtable.core.index import LAST_SESSION
from roundtable.core.ports import Index, Leases, Ledger, Sandbox, Store, Voices
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.engine.feed import Feed
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.tariffs import Tariffs

if TYPE_CHECKING:
    from roundtable.voices.agents.catalog import Agent

FindSandbox = Callable[[], Awaitable[Sandbox | str]]
"""The sandbox of this desk, or why there is none."""

FillEndpoint = Callable[[Endpoint], Endpoint | Fault]
"""An endpoint with the environment variables that its address and headers name."""


class Parts(msgspec.Struct, frozen=True):
    """The parts of one desk, as `wiring` puts them together. `opened_in` is the workspace in which the person is,
    where that is another one."""

    places: Places
    workspace: Path
    settings: Settings
    endpoints: Mapping[str, Endpoint]
    keys: Keys
    record: Store
    index: Index
    leases: Leases
    ledger: Ledger
    voices: Voices
    fill_endpoint: FillEndpoint
    agents: Callable[[], Mapping[str, Agent]]
    tariffs: Tariffs
    find_sandbox: FindSandbox
    feed: Feed
    opened_in: str = ""

    @property
    def redactor(self) -> Redactor:
        """Removes every known key from a text."""
        return self.keys.redactor

    @property
    def recorded_workspace(self) -> str:
        """The workspace as the record names it, which keeps no key even where a folder is named like one."""
        return self.redactor.redact(str(self.workspace))

    async def read_session(self, session: str) -> Session:
        """One session as it is now."""
        records = await self.record.read(session)
        if not records:
            raise NotFound(f"There is no session {session}.", "`roundtable list` shows the sessions there are.")
        return Session.fold(session, records)

    async def find_session(self, address: str, owner: str | None = None) -> str:
        """The id of the session at an address: an id, a slug, the beginning of either, a name, or `last`."""
        found = await self.index.find(address, self.recorded_workspace, owner)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{address} fits {len(found)} sessions.", "Give more of it: `roundtable list`.")
        if address == LAST_SESSION:
            start = 'Start one: roundtable discuss "…". `roundtable list --all` shows those of other workspaces.'
            raise NotFound("There are no sessions in this workspace yet.", start)
        raise NotFound(f"There is no session {address}.", "`roundtable list` shows the sessions there are.")
