"""The parts of a desk that the whole app uses: ports, places, settings and keys."""

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
"""Returns the sandbox of this desk, or the reason why there is none."""

FillEndpoint = Callable[[Endpoint], Endpoint | Fault]
"""Fills the environment variables into the address and headers of an endpoint."""


class Parts(msgspec.Struct, frozen=True):
    """The parts of one desk. `opened_in` is the workspace of the current folder, if that is another one."""

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
        """The redactor, which removes every known key from a text."""
        return self.keys.redactor

    @property
    def recorded_workspace(self) -> str:
        """The name of the workspace in the record, redacted like all of the record."""
        return self.redactor.redact(str(self.workspace))

    async def read_session(self, session: str) -> Session:
        """Return the current state of a session."""
        records = await self.record.read(session)
        if not records:
            raise NotFound(f"There is no session {session}.", "`roundtable list` lists the sessions.")
        return Session.fold(session, records)

    def find_session_workspace(self, session: Session) -> Path:
        """Return the workspace of a session, or the one of this desk if that no longer exists."""
        workspace = Path(session.charter.workspace)
        return workspace if workspace.is_dir() else self.workspace

    async def find_session(self, address: str, owner: str | None = None) -> str:
        """Return the id of the session at an address: an id, a slug, the beginning of either, a name, or `last`."""
        ids = await self.index.find(address, self.recorded_workspace, owner)
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise UsageError(
                f"The session address {address} matches {len(ids)} sessions.",
                "Write more characters of the address. `roundtable list` lists the sessions.",
            )
        if address == LAST_SESSION:
            start = (
                'Start one with `roundtable discuss "…"`. `roundtable list --all` lists the sessions of all workspaces.'
            )
            raise NotFound("There are no sessions in this workspace yet.", start)
        raise NotFound(f"There is no session {address}.", "`roundtable list` lists the sessions.")
