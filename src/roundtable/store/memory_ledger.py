"""The ledger without a file."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.events import Recorded
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.text.wording import content_words, words
from roundtable.store.filing import TO_FILE, Slip, file_entry


class MemoryLedger:
    """The port Ledger over plain dictionaries."""

    def __init__(self) -> None:
        self._slips: dict[tuple[str, str], Slip] = {}
        self._wanted: dict[str, int] = {}
        self._filed: dict[str, int] = {}

    def want_filing(self, recorded: Recorded) -> None:
        """Note down that a session has something to file."""
        if isinstance(recorded.event, TO_FILE):
            self._wanted[recorded.session] = recorded.seq

    def drop_filing(self, session: str) -> None:
        """There is nothing more to file of a session."""
        self._wanted.pop(session, None)

    async def unfiled(self) -> list[str]:
        """The sessions that have something to file, newest first."""
        waiting = (session for session, seq in self._wanted.items() if seq > self._filed.get(session, 0))
        return sorted(waiting, reverse=True)

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File what a session comes to; returns it as it is filed."""
        if self._filed.get(session, 0) > seq:
            return [slip.entry for it in entries if (slip := self.under(it.workspace, it.id))]
        self._filed[session] = seq
        return [file_entry(self, session, entry) for entry in entries]

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """What is remembered there, newest first."""
        found = [it.entry for it in self._slips.values() if it.entry.workspace == workspace]
        kept = [entry for entry in reversed(found) if not kinds or entry.kind in kinds]
        return sorted(kept, key=lambda entry: entry.at, reverse=True)[:limit]

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Those that share words with these, the most relevant first."""
        asked = set(content_words(words))
        found = [(_shared(asked, it), it) for it in await self.entries(workspace, kinds, None)]
        return [entry for shared, entry in sorted(found, key=lambda it: -it[0]) if shared][:limit]

    # --- as a shelf ------------------------------------------------------------------------------

    def under(self, workspace: str, id: str) -> Slip | None:
        """What is filed under an id."""
        return self._slips.get((workspace, id))

    def from_origin(self, origin: str) -> Slip | None:
        """What came from there."""
        return next((slip for slip in self._slips.values() if slip.origin == origin), None)

    def errors(self, workspace: str) -> int:
        """How many errors were ever filed there."""
        return sum(it.entry.kind is EntryKind.ERROR for it in self._slips.values() if it.entry.workspace == workspace)

    def put(self, slip: Slip) -> None:
        """Keep a slip under its id."""
        self._slips[slip.entry.workspace, slip.entry.id] = slip


def _shared(asked: set[str], entry: Entry) -> int:
    return len(asked & set(words(entry.searchable)))
