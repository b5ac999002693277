"""The ledger of a workspace: what it remembers of earlier meetings, what a new meeting recalls, and how it changes."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
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
from roundtable.core.text.wording import (
    complete_short_answer_text,
    content_words_of_text,
    end_text_as_sentence,
    split_words,
)
from roundtable.core.values import Charter, Outcome, RecalledEntry
from roundtable.meetings import meeting_writes_files
from roundtable.report.memory_entries import LONGEST_ENTRY_TEXT, build_session_memory_entries
from roundtable.store.stored_events import store_timestamp
from roundtable.workshop.identity import os_user_name

NOTEBOOK = "notebook"
"""The meeting name of the session that records what a person writes into the ledger by hand.

There is one for each workspace; its parent is the workspace, so it never appears in lists of meetings."""

_RECALLED_KINDS = (EntryKind.DECISION, *BINDING_KINDS, EntryKind.ERROR)

MAX_RECALLED = 12
MIN_BINDING = 4
"""The number of recalled entries that are reserved for decrees and failures."""

MAX_RECALLED_BYTES = 6000
MAX_SEARCHED = 500
MAX_TEXT_LENGTH, MAX_WHY_LENGTH = 300, 200
MIN_SHARED_WORDS = 0.25
"""The fraction of a question's content words that a relevant entry contains."""

MAX_FILED_AT_OPENING = 50
"""The number of sessions that are filed when a meeting opens; later openings and lookups file the rest."""


MemoryListener = Callable[[], Awaitable[None]]
"""Called after a person has written into the ledger."""


class WorkspaceMemory:
    """The ledger of one workspace."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        keys: Keys,
        workspace: str,
        settings: MemorySettings,
        on_write: MemoryListener,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._on_write = on_write
        self._keys = keys
        self._workspace = workspace
        self._settings = settings

    # --- looking up ------------------------------------------------------------------------------

    async def catch_up(self, max_sessions: int | None = None) -> None:
        """File the entries of sessions that have ended since the last call; unreadable sessions are skipped."""
        for session in (await self._ledger.unfiled())[:max_sessions]:
            with suppress(RoundtableError):
                await self._file(session)

    async def _file(self, session: str) -> list[Entry]:
        state = Session.fold(session, await self._store.read(session))
        writes = meeting_writes_files(state.charter.meeting)
        return await self._ledger.file(
            session,
            state.seq,
            [self._with_due_date(entry) for entry in build_session_memory_entries(state, writes_files=writes)],
        )

    def _with_due_date(self, entry: Entry) -> Entry:
        """Return a prediction with its due date, some days after the decision; other entries unchanged."""
        if entry.kind is not EntryKind.PREDICTION or entry.due or not entry.at:
            return entry
        due = date.fromisoformat(entry.at[:10]) + timedelta(days=self._settings.prediction_days)
        return msgspec.structs.replace(entry, due=due.isoformat())

    async def entries(self, kinds: Sequence[EntryKind] = (), words: str = "", limit: int | None = 100) -> list[Entry]:
        """Return entries, newest first; with `words`, those that share words with them, most relevant first."""
        await self.catch_up()
        if words:
            return await self._ledger.search(words, self._workspace, kinds, limit)
        return await self._ledger.entries(self._workspace, kinds, limit)

    async def entry(self, id: str, *kinds: EntryKind) -> Entry:
        """Return one entry by its id."""
        for entry in await self.entries(kinds, limit=None):
            if entry.id.casefold() == id.casefold():
                return entry
        kind = " or ".join(map(str, kinds)) or "entry"
        raise NotFound(f"There is no {kind} {sanitize_line(id, 40)} in this workspace.", _LIST_HELP.get(kinds[:1], ""))

    async def recall(self, question: str) -> tuple[list[RecalledEntry], list[RecalledEntry]]:
        """Return the entries relevant to a question, most relevant first, and all other decrees and failures.

        Decrees and failures count for every question, so those that do not fit among the first are returned apart.
        """
        if not self._settings.recall:
            return [], []
        await self.catch_up(MAX_FILED_AT_OPENING)
        question_words = set(content_words_of_text(question))
        entries = await self._ledger.search(question, self._workspace, _RECALLED_KINDS, MAX_SEARCHED)
        near = [
            entry
            for entry in entries
            if entry.is_relevant and _shared_fraction(question_words, entry.searchable) >= MIN_SHARED_WORDS
        ]
        same = [entry for entry in near if split_words(entry.question) == split_words(question)]
        same.sort(key=lambda entry: entry.at, reverse=True)
        prohibitions = [
            entry for entry in await self._ledger.entries(self._workspace, BINDING_KINDS, None) if entry.is_relevant
        ]
        binding = _unique((*(entry for entry in near if entry.kind in BINDING_KINDS), *prohibitions))
        candidates = _unique((*same[:1], *binding[:MIN_BINDING], *same, *near, *binding))
        fitting = {entry.id for entry in _take_fitting(map(self._to_recalled, candidates))}
        recalled = [self._to_recalled(entry) for entry in _unique((*same, *near, *binding)) if entry.id in fitting]
        return recalled, [self._to_recalled(entry) for entry in binding if entry.id not in fitting]

    def _to_recalled(self, entry: Entry) -> RecalledEntry:
        """Return an entry as seats read it; a decree is in the words of the proposal, because that is compared."""
        text = entry.text
        if entry.kind is EntryKind.DECISION:
            outcome = "Rejected" if entry.state == Outcome.REJECTED else "Decided"
            text = f"{entry.question} {outcome}: {entry.text}"
        elif entry.kind is EntryKind.ERROR:
            text = f"{entry.text} (seen as: {entry.question})"
        redact = self._keys.redactor.redact
        return RecalledEntry(
            entry.id,
            str(entry.kind),
            sanitize_line(redact(text), MAX_TEXT_LENGTH),
            sanitize_line(redact(entry.why), MAX_WHY_LENGTH),
            sanitize_line(redact(entry.question), MAX_TEXT_LENGTH) if entry.kind is EntryKind.FAILURE else "",
        )

    # --- what a person writes ---------------------------------------------------------------------

    async def reject(self, text: str, why: str = "") -> Entry:
        """Add a decree: this must not be proposed again."""
        if not split_words(text):
            raise UsageError(
                "The decree is empty.", "Write the rejected proposal in one line, as a seat would propose it."
            )
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
        """Lift a decree or failure: it may be proposed again."""
        entry = await self.entry(id, *BINDING_KINDS)
        if entry.state == EntryState.LIFTED:
            raise UsageError(f"{entry.id} is already lifted.")
        return await self._write(_changed(entry, state=EntryState.LIFTED))

    async def fail(self, id: str, why: str) -> Entry:
        """Mark a decision as failed: it is remembered as a failed approach with the reason."""
        decision = await self.entry(id, EntryKind.DECISION)
        if decision.state == EntryState.FAILED:
            raise UsageError(f"{decision.id} is already marked as failed.", "`roundtable decrees` shows the reason.")
        if decision.state != Outcome.REACHED:
            raise UsageError(
                f"{decision.id} was never decided (outcome: {decision.state}), so it cannot have failed.",
                'To forbid a proposal: roundtable decrees add "…"',
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
        """Close an error, with a note on how it was resolved."""
        entry = await self.entry(id, EntryKind.ERROR)
        if entry.state == EntryState.CLOSED:
            raise UsageError(f"{entry.id} is already closed.", f"Reopen it first: roundtable errors reopen {entry.id}")
        return await self._write(
            _changed(entry, why=_append_sentence(entry.why, f"Closed: {how}"), state=EntryState.CLOSED)
        )

    async def reopen(self, id: str, why: str = "") -> Entry:
        """Reopen an error."""
        entry = await self.entry(id, EntryKind.ERROR)
        if entry.state != EntryState.CLOSED:
            raise UsageError(f"{entry.id} is not closed: it is {entry.state}.")
        history = _append_sentence(entry.why, f"Reopened: {why}" if why else "Reopened")
        return await self._write(_changed(entry, why=history, state=EntryState.LOGGED))

    async def settle(self, id: str, right: bool, seen: str) -> Entry:
        """Record whether a prediction came true; a second call corrects the first."""
        entry = await self.entry(id, EntryKind.PREDICTION)
        history = _append_sentence(entry.why.partition(" Seen: ")[0], f"Seen: {seen}")
        return await self._write(_changed(entry, why=history, state=EntryState.RIGHT if right else EntryState.WRONG))

    async def _write(self, *entries: Entry) -> Entry:
        """Record entries in the workspace's notebook, all or none, file them, and return the first."""
        self._keys.learn_keychain_keys()
        user = os_user_name()
        facts = [EntryWritten(_shorten(entry), by=user) for entry in entries]
        notebook = await self._open_notebook()
        first, *_ = await self._store.append_many(notebook, facts)
        await self._file(notebook)
        await self._on_write()
        assert isinstance(first.event, EntryWritten)
        return first.event.entry

    async def _open_notebook(self) -> str:
        session = str(uuid5(NAMESPACE_URL, f"roundtable:{NOTEBOOK}:{self._workspace}"))
        if not await self._store.read(session):
            charter = Charter("", (), NOTEBOOK, 1, workspace=self._workspace, parent="workspace")
            with suppress(RecordError):  # another process has just opened it
                await self._store.append(session, SessionOpened(charter))
        return session


_LIST_HELP: dict[tuple[EntryKind, ...], str] = {
    (EntryKind.DECISION,): "`roundtable chronicle` lists the decisions.",
    (EntryKind.DECREE,): "`roundtable decrees` lists the decrees and failures.",
    (EntryKind.ERROR,): "`roundtable errors` lists the errors.",
    (EntryKind.PREDICTION,): "`roundtable predictions` lists the predictions.",
}


def _changed(entry: Entry, **changes: str) -> Entry:
    return msgspec.structs.replace(entry, **changes)


def _append_sentence(why: str, more: str) -> str:
    return " ".join(end_text_as_sentence(part) for part in (why, more) if part)


def _shorten(entry: Entry) -> Entry:
    return _changed(
        entry, text=sanitize_line(entry.text, LONGEST_ENTRY_TEXT), why=sanitize_line(entry.why, LONGEST_ENTRY_TEXT)
    )


def _shared_fraction(words: set[str], text: str) -> float:
    return len(words.intersection(split_words(text))) / max(1, len(words))


def _unique(entries: Iterable[Entry]) -> list[Entry]:
    return list({entry.id: entry for entry in entries}.values())


def _take_fitting(entries: Iterable[RecalledEntry]) -> Iterator[RecalledEntry]:
    """Yield the first entries, within the limits of their number and bytes."""
    room = MAX_RECALLED_BYTES
    for number, entry in enumerate(entries):
        room -= sum(len(part.encode()) for part in (entry.text, entry.why, entry.question))
        if number == MAX_RECALLED or room < 0:
            return
        yield entry
