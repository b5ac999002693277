"""What earlier meetings of a workspace left behind, how a new one hears of it, and how a person changes it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import msgspec

from roundtable.app.settings.config import MemorySettings
from roundtable.app.settings.secrets import Keys
from roundtable.core.events import EntryWritten, SessionOpened
from roundtable.core.faults import NotFound, RecordError, RoundtableError, UsageError
from roundtable.core.ledger import BINDING_KINDS, NO_REASON, Entry, EntryKind, EntryState
from roundtable.core.ports import Ledger, Store
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import complete_short_answer_text, content_words, end_sentence, split_words
from roundtable.core.values import Charter, Outcome, RecalledEntry
from roundtable.meetings import meeting_writes_files
from roundtable.report.memory_entries import LONGEST_ENTRY_TEXT, render_memory_entries
from roundtable.store.stored_events import store_timestamp
from roundtable.workshop.identity import current_user_name

NOTEBOOK = "notebook"
"""What a person writes into the ledger by hand is on the record too: in a session of its own for each workspace, held
under the workspace itself, so that no list takes it for a meeting."""

_TOLD = (EntryKind.DECISION, *BINDING_KINDS, EntryKind.ERROR)

MOST_RECALLED = 12
LEAST_BINDING = 4
"""How many are kept free for what was rejected or has failed, if there is so much of it."""

MOST_BYTES = 6000
MOST_LOOKED_AT = 500
LONGEST_TEXT, LONGEST_WHY = 300, 200
LEAST_SHARED = 0.25
"""The share of a question's content words that an entry must have to bear on it."""

MOST_FILED_AT_OPENING = 50
"""An opening waits for no more than this; the rest is filed by the next ones, or by whoever asks for the ledger."""


MemoryListener = Callable[[], Awaitable[None]]
"""What is done whenever a person has written something into the ledger."""


class WorkspaceMemory:
    """The ledger of one workspace."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        keys: Keys,
        workspace: str,
        settings: MemorySettings,
        written: MemoryListener,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._written = written
        self._keys = keys
        self._workspace = workspace
        self._settings = settings

    # --- looking up ------------------------------------------------------------------------------

    async def catch_up(self, most: int | None = None) -> None:
        """File what sessions came to since somebody last looked; one that cannot be read keeps nobody waiting."""
        for session in (await self._ledger.unfiled())[:most]:
            with suppress(RoundtableError):
                await self._file(session)

    async def _file(self, session: str) -> list[Entry]:
        state = Session.fold(session, await self._store.read(session))
        writes = meeting_writes_files(state.charter.meeting)
        return await self._ledger.file(
            session, state.seq, [self._dated(entry) for entry in render_memory_entries(state, writes_files=writes)]
        )

    def _dated(self, entry: Entry) -> Entry:
        """A prediction falls due so many days after the decision."""
        if entry.kind is not EntryKind.PREDICTION or entry.due or not entry.at:
            return entry
        due = date.fromisoformat(entry.at[:10]) + timedelta(days=self._settings.prediction_days)
        return msgspec.structs.replace(entry, due=due.isoformat())

    async def entries(self, kinds: Sequence[EntryKind] = (), asked: str = "", limit: int | None = 100) -> list[Entry]:
        """What is remembered here: newest first, or those that share words with these, the most relevant first."""
        await self.catch_up()
        if asked:
            return await self._ledger.search(asked, self._workspace, kinds, limit)
        return await self._ledger.entries(self._workspace, kinds, limit)

    async def entry(self, id: str, *kinds: EntryKind) -> Entry:
        """One entry by its id."""
        known = await self.entries(kinds, limit=None)
        found = next((entry for entry in known if entry.id.casefold() == id.casefold()), None)
        if found is None:
            what = " or ".join(map(str, kinds)) or "entry"
            raise NotFound(f"There is no {what} {sanitize_line(id, 40)} in this workspace.", _LISTS.get(kinds[:1], ""))
        return found

    async def recalled(self, question: str) -> tuple[list[RecalledEntry], list[RecalledEntry]]:
        """The entries that bear on a question, the most relevant first and few enough to be read; and every other no.

        A no is kept in mind whatever the question, and however much else there is to tell.
        """
        if not self._settings.recall:
            return [], []
        await self.catch_up(MOST_FILED_AT_OPENING)
        asked = set(content_words(question))
        found = await self._ledger.search(question, self._workspace, _TOLD, MOST_LOOKED_AT)
        near = [entry for entry in found if entry.is_relevant and _share(asked, entry.searchable) >= LEAST_SHARED]
        same = [entry for entry in near if split_words(entry.question) == split_words(question)]
        same.sort(key=lambda entry: entry.at, reverse=True)
        every = [
            entry for entry in await self._ledger.entries(self._workspace, BINDING_KINDS, None) if entry.is_relevant
        ]
        binding = _each_once((*(entry for entry in near if entry.kind in BINDING_KINDS), *every))
        wanted = _each_once((*same[:1], *binding[:LEAST_BINDING], *same, *near, *binding))
        room = {entry.id for entry in _bounded(map(self._told, wanted))}
        told = [self._told(entry) for entry in _each_once((*same, *near, *binding)) if entry.id in room]
        return told, [self._told(entry) for entry in binding if entry.id not in room]

    def _told(self, entry: Entry) -> RecalledEntry:
        """An entry as seats read it. A no is told in the words of the proposal, for that is what is compared."""
        text = entry.text
        if entry.kind is EntryKind.DECISION:
            outcome = "Rejected" if entry.state == Outcome.REJECTED else "Decided"
            text = f"{entry.question} {outcome}: {entry.text}"
        elif entry.kind is EntryKind.ERROR:
            text = f"{entry.text} (seen as: {entry.question})"
        clean = self._keys.redactor.redact
        return RecalledEntry(
            entry.id,
            str(entry.kind),
            sanitize_line(clean(text), LONGEST_TEXT),
            sanitize_line(clean(entry.why), LONGEST_WHY),
            sanitize_line(clean(entry.question), LONGEST_TEXT) if entry.kind is EntryKind.FAILURE else "",
        )

    # --- what a person writes ---------------------------------------------------------------------

    async def reject(self, text: str, why: str = "") -> Entry:
        """A decree: do not propose this again."""
        if not split_words(text):
            raise UsageError("A decree needs words.", "Say what is rejected, in a line as a seat would propose it.")
        id = f"R-{secrets.token_hex(3)}"
        entry = Entry(
            id,
            EntryKind.DECREE,
            text,
            why or NO_REASON,
            EntryState.STANDING,
            workspace=self._workspace,
            at=store_timestamp(),
        )
        return await self._write(entry)

    async def lift(self, id: str) -> Entry:
        """What was rejected, or has failed, may be proposed again."""
        entry = await self.entry(id, *BINDING_KINDS)
        if entry.state == EntryState.LIFTED:
            raise UsageError(f"{entry.id} is lifted already.")
        return await self._write(_changed(entry, state=EntryState.LIFTED))

    async def fail(self, id: str, why: str) -> Entry:
        """A decision did not work out: it is remembered as a failed approach, and why."""
        decision = await self.entry(id, EntryKind.DECISION)
        if decision.state == EntryState.FAILED:
            raise UsageError(f"{decision.id} is marked as failed already.", "`roundtable decrees` says why.")
        if decision.state != Outcome.REACHED:
            raise UsageError(
                f"{decision.id} ended as {decision.state}, so there is nothing that could have failed.",
                'Say what is not to be proposed again: roundtable decrees add "…"',
            )
        failure = msgspec.structs.replace(
            decision,
            id=decision.id.replace("D-", "F-", 1),
            kind=EntryKind.FAILURE,
            text=complete_short_answer_text(decision.question, decision.text),
            why=why,
            state=EntryState.STANDING,
            at=store_timestamp(),
        )
        return await self._write(failure, _changed(decision, state=EntryState.FAILED))

    async def close(self, id: str, how: str) -> Entry:
        """An error is dealt with."""
        entry = await self.entry(id, EntryKind.ERROR)
        if entry.state == EntryState.CLOSED:
            raise UsageError(f"{entry.id} is closed already.", f"Reopen it first: roundtable errors reopen {entry.id}")
        return await self._write(_changed(entry, why=_and_then(entry.why, f"Closed: {how}"), state=EntryState.CLOSED))

    async def reopen(self, id: str, why: str = "") -> Entry:
        """An error is back."""
        entry = await self.entry(id, EntryKind.ERROR)
        if entry.state != EntryState.CLOSED:
            raise UsageError(f"{entry.id} is not closed: it is {entry.state}.")
        told = _and_then(entry.why, f"Reopened: {why}" if why else "Reopened")
        return await self._write(_changed(entry, why=told, state=EntryState.LOGGED))

    async def settle(self, id: str, right: bool, seen: str) -> Entry:
        """Time has told about a prediction; saying it again corrects it."""
        entry = await self.entry(id, EntryKind.PREDICTION)
        told = _and_then(entry.why.partition(" Seen: ")[0], f"Seen: {seen}")
        return await self._write(_changed(entry, why=told, state=EntryState.RIGHT if right else EntryState.WRONG))

    async def _write(self, *entries: Entry) -> Entry:
        """Put entries on the record in the workspace's notebook, all or none, and file them; returns the first."""
        self._keys.learn_keychain_keys()
        user = current_user_name()
        facts = [EntryWritten(_cut(entry), by=user) for entry in entries]
        notebook = await self._notebook()
        first, *_ = await self._store.append_many(notebook, facts)
        await self._file(notebook)
        await self._written()
        assert isinstance(first.event, EntryWritten)
        return first.event.entry

    async def _notebook(self) -> str:
        session = str(uuid5(NAMESPACE_URL, f"roundtable:{NOTEBOOK}:{self._workspace}"))
        if not await self._store.read(session):
            charter = Charter("", (), NOTEBOOK, 1, workspace=self._workspace, parent="workspace")
            with suppress(RecordError):  # another process has opened it meanwhile
                await self._store.append(session, SessionOpened(charter))
        return session


_LISTS: dict[tuple[EntryKind, ...], str] = {
    (EntryKind.DECISION,): "`roundtable chronicle` lists the decisions.",
    (EntryKind.DECREE,): "`roundtable decrees` lists what was rejected or has failed.",
    (EntryKind.ERROR,): "`roundtable errors` lists the errors.",
    (EntryKind.PREDICTION,): "`roundtable predictions` lists them.",
}


def _changed(entry: Entry, **changes: str) -> Entry:
    return msgspec.structs.replace(entry, **changes)


def _and_then(why: str, more: str) -> str:
    return " ".join(end_sentence(part) for part in (why, more) if part)


def _cut(entry: Entry) -> Entry:
    return _changed(
        entry, text=sanitize_line(entry.text, LONGEST_ENTRY_TEXT), why=sanitize_line(entry.why, LONGEST_ENTRY_TEXT)
    )


def is_prediction_overdue(entry: Entry) -> bool:
    """Whether a prediction waits for somebody to say how it turned out."""
    return entry.state == EntryState.OPEN and entry.due <= datetime.now(UTC).date().isoformat()


def _share(asked: set[str], text: str) -> float:
    return len(asked.intersection(split_words(text))) / max(1, len(asked))


def _each_once(entries: Iterable[Entry]) -> list[Entry]:
    return list({entry.id: entry for entry in entries}.values())


def _bounded(told: Iterable[RecalledEntry]) -> Iterator[RecalledEntry]:
    """As many as may be told, and no more bytes than that."""
    room = MOST_BYTES
    for number, entry in enumerate(told):
        room -= sum(len(part.encode()) for part in (entry.text, entry.why, entry.question))
        if number == MOST_RECALLED or room < 0:
            return
        yield entry
